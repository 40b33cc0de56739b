// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"

#include <cmath>
#include <limits>

#include "kernels/gemm.h"
#include "kernels/math.h"
#include "kernels/parallel.h"
#include "kernels/simd.h"

namespace reprise::kernels {
namespace {

// Tiles of scores: products of this size ran at 76 to 89 GFLOP/s on one core, larger ones (128×256, 64×256) slower.
constexpr std::int64_t tile_rows = 64, tile_columns = 128;
constexpr std::int64_t tile = tile_rows * tile_columns;

// How one of q, k, v, out lies in memory: rows of `width` numbers for each batch and head.
struct Rows {
  std::int64_t heads, count, width;
  bool tokens_first;

  std::int64_t stride() const { return tokens_first ? heads * width : width; }
  std::int64_t offset(std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return width * (tokens_first ? (batch * count + row) * heads + head : (batch * heads + head) * count + row);
  }
};

Rows q_rows(const AttentionSizes& s) { return {s.heads, s.queries, s.width, s.tokens_first}; }
Rows out_rows(const AttentionSizes& s) { return {s.heads, s.queries, s.value_width, s.tokens_first}; }
Rows row_numbers(const AttentionSizes& s) { return {s.heads, s.queries, 1, s.tokens_first}; }
Rows k_rows(const AttentionSizes& s) { return {s.kv_heads, s.keys, s.width, s.tokens_first}; }
Rows v_rows(const AttentionSizes& s) { return {s.kv_heads, s.keys, s.value_width, s.tokens_first}; }

// Rows i..i+rows of one head's queries against keys j..j+columns.
struct Tile {
  std::int64_t batch, head, kv_head, i, j, rows, columns;
};

Tile tile_at(const AttentionSizes& s, std::int64_t batch, std::int64_t head, std::int64_t i, std::int64_t j) {
  return {batch,
          head,
          head / (s.heads / s.kv_heads),
          i,
          j,
          std::min(tile_rows, s.queries - i),
          std::min(tile_columns, s.keys - j)};
}

bool sees_nothing(const AttentionSizes& s, const Tile& t) { return s.causal && t.j > t.i + t.rows - 1; }

// c (dense tile) = alpha · a bᵀ over rows of a and rows of b.
template <class T>
void rows_times_rows(const Tile& t, std::int64_t width, T alpha, const T* a, std::int64_t lda, const T* b,
                     std::int64_t ldb, T* c) {
  gemm({t.rows, t.columns, width, false, true, lda, ldb, tile_columns}, alpha, a, b, T(0), c);
}

template <class T>
void hide_unseen(const AttentionSizes& s, const Tile& t, const void* mask, T* scores) {
  constexpr T hidden = -std::numeric_limits<T>::infinity();
  for (std::int64_t r = 0; r < t.rows; ++r) {
    T* row = scores + r * tile_columns;
    if (s.mask != MaskKind::none) {
      const Shape& m = s.mask_strides;
      std::int64_t at = t.batch * m[0] + t.head * m[1] + (t.i + r) * m[2] + t.j * m[3];
      for (std::int64_t c = 0; c < t.columns; ++c, at += m[3])
        if (s.mask == MaskKind::additive)
          row[c] += static_cast<const T*>(mask)[at];
        else if (!static_cast<const bool*>(mask)[at])
          row[c] = hidden;
    }
    if (!s.causal) continue;
    for (std::int64_t c = std::max<std::int64_t>(0, t.i + r + 1 - t.j); c < t.columns; ++c) row[c] = hidden;
  }
}

template <class T>
void compute_scores(const AttentionSizes& s, const Tile& t, const AttentionInputs<T>& in, T* scores) {
  Rows q = q_rows(s), k = k_rows(s);
  rows_times_rows(t, s.width, static_cast<T>(s.scale), in.q + q.offset(t.batch, t.head, t.i), q.stride(),
                  in.k + k.offset(t.batch, t.kv_head, t.j), k.stride(), scores);
  hide_unseen(s, t, in.mask, scores);
}

// Running softmax of one row: the largest score so far and the sum of exponentials relative to it.
template <class T>
struct Running {
  T largest = -std::numeric_limits<T>::infinity(), sum = 0;
};

// Turns scores into exponentials; what `out` summed before is rescaled to the new largest score.
template <class T>
void accumulate_row(Running<T>& state, T* scores, std::int64_t columns, T* out, std::int64_t width) {
  T largest = state.largest;
#pragma omp simd reduction(max : largest)
  for (std::int64_t c = 0; c < columns; ++c) largest = scores[c] > largest ? scores[c] : largest;
  T base = std::isinf(largest) ? T(0) : largest, sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < columns; ++c) {
    scores[c] = exp(scores[c] - base);
    sum += scores[c];
  }
  T kept = std::isinf(state.largest) ? T(0) : exp(state.largest - base);
#pragma omp simd
  for (std::int64_t c = 0; c < width; ++c) out[c] *= kept;
  state = {largest, state.sum * kept + sum};
}

template <class T>
void forward_rows(const AttentionSizes& s, const AttentionInputs<T>& in, std::int64_t batch, std::int64_t head,
                  std::int64_t i, T* out, T* log_sum, T* scores) {
  Rows o = out_rows(s), v = v_rows(s), l = row_numbers(s);
  Tile t = tile_at(s, batch, head, i, 0);
  T* out_at = out + o.offset(batch, head, i);
  for (std::int64_t r = 0; r < t.rows; ++r) std::fill_n(out_at + r * o.stride(), s.value_width, T(0));
  Running<T> running[tile_rows];
  for (std::int64_t j = 0; j < s.keys; j += tile_columns) {
    t = tile_at(s, batch, head, i, j);
    if (sees_nothing(s, t)) break;
    compute_scores(s, t, in, scores);
    simd([&] {
      for (std::int64_t r = 0; r < t.rows; ++r)
        accumulate_row(running[r], scores + r * tile_columns, t.columns, out_at + r * o.stride(), s.value_width);
    });
    gemm({t.rows, s.value_width, t.columns, false, false, tile_columns, v.stride(), o.stride()}, T(1), scores,
         in.v + v.offset(batch, t.kv_head, j), T(1), out_at);
  }
  for (std::int64_t r = 0; r < t.rows; ++r) {
    bool saw = running[r].sum > 0;
    T factor = saw ? T(1) / running[r].sum : T(0);
    for (std::int64_t c = 0; c < s.value_width; ++c) out_at[r * o.stride() + c] *= factor;
    log_sum[l.offset(batch, head, i + r)] = saw ? running[r].largest + std::log(running[r].sum) : T(0);
  }
}

// Calls f(item, its scratch tiles) for items 0..count. Items go round the threads, so that the short rows of causal
// attention are spread evenly.
template <class T, class F>
void for_items(const AttentionSizes& s, std::int64_t count, void* scratch, const F& f) {
  std::int64_t slots = std::max<std::int64_t>(1, std::min<std::int64_t>(count, s.threads));
  parallel_ranges(slots, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t slot = begin; slot < end; ++slot)
      for (std::int64_t item = slot; item < count; item += slots) f(item, static_cast<T*>(scratch) + slot * 2 * tile);
  });
}

// Scores become probabilities p = exp(score - log_sum), and dp becomes p · (dp - delta) · scale.
template <class T>
void differentiate_row(T* p, T* dp, std::int64_t columns, T log_sum, T delta, T scale) {
#pragma omp simd
  for (std::int64_t c = 0; c < columns; ++c) {
    p[c] = exp(p[c] - log_sum);
    dp[c] = p[c] * (dp[c] - delta) * scale;
  }
}

// p: probabilities of the tile; ds: gradient of its scores, times `scale`.
template <class T>
void differentiate_tile(const AttentionSizes& s, const Tile& t, const AttentionInputs<T>& in,
                        const AttentionGradientInputs<T>& back, T scale, T* p, T* ds) {
  Rows o = out_rows(s), v = v_rows(s), l = row_numbers(s);
  compute_scores(s, t, in, p);
  rows_times_rows(t, s.value_width, T(1), back.out_gradient + o.offset(t.batch, t.head, t.i), o.stride(),
                  in.v + v.offset(t.batch, t.kv_head, t.j), v.stride(), ds);
  simd([&] {
    for (std::int64_t r = 0; r < t.rows; ++r) {
      std::int64_t at = l.offset(t.batch, t.head, t.i + r);
      differentiate_row(p + r * tile_columns, ds + r * tile_columns, t.columns, back.log_sum[at], back.delta[at],
                        scale);
    }
  });
}

template <class T>
struct Results {
  T *dq, *dk, *dv;
};

template <class T>
void add_tile(const AttentionSizes& s, const Tile& t, const AttentionInputs<T>& in,
              const AttentionGradientInputs<T>& back, const Results<T>& out, T* p, T* ds) {
  Rows q = q_rows(s), k = k_rows(s), v = v_rows(s), o = out_rows(s);
  differentiate_tile(s, t, in, back, static_cast<T>(s.scale), p, ds);
  std::int64_t q_at = q.offset(t.batch, t.head, t.i), k_at = k.offset(t.batch, t.kv_head, t.j);
  gemm({t.columns, s.value_width, t.rows, true, false, tile_columns, o.stride(), v.stride()}, T(1), p,
       back.out_gradient + o.offset(t.batch, t.head, t.i), T(1), out.dv + v.offset(t.batch, t.kv_head, t.j));
  gemm({t.rows, s.width, t.columns, false, false, tile_columns, k.stride(), q.stride()}, T(1), ds, in.k + k_at, T(1),
       out.dq + q_at);
  gemm({t.columns, s.width, t.rows, true, false, tile_columns, q.stride(), k.stride()}, T(1), ds, in.q + q_at, T(1),
       out.dk + k_at);
}

template <class T>
void clear_head(const Rows& rows, std::int64_t batch, std::int64_t head, T* data) {
  for (std::int64_t r = 0; r < rows.count; ++r) std::fill_n(data + rows.offset(batch, head, r), rows.width, T(0));
}

}  // namespace

template <class T>
std::int64_t attention_scratch_bytes(const AttentionSizes& s) {
  return static_cast<std::int64_t>(sizeof(T)) * 2 * tile * s.threads;
}

template <class T>
void attention(const AttentionSizes& s, const AttentionInputs<T>& in, T* out, T* log_sum, void* scratch) {
  std::int64_t blocks = (s.queries + tile_rows - 1) / tile_rows;
  for_items<T>(s, s.batch * s.heads * blocks, scratch, [&](std::int64_t item, T* tiles) {
    std::int64_t head = item / blocks;
    forward_rows(s, in, head / s.heads, head % s.heads, item % blocks * tile_rows, out, log_sum, tiles);
  });
}

template <class T>
void attention_gradient(const AttentionSizes& s, const AttentionInputs<T>& in, const AttentionGradientInputs<T>& back,
                        T* dq, T* dk, T* dv, void* scratch) {
  for_items<T>(s, s.batch * s.kv_heads, scratch, [&](std::int64_t item, T* tiles) {
    std::int64_t batch = item / s.kv_heads, kv_head = item % s.kv_heads, group = s.heads / s.kv_heads;
    clear_head(k_rows(s), batch, kv_head, dk);
    clear_head(v_rows(s), batch, kv_head, dv);
    for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      clear_head(q_rows(s), batch, head, dq);
      for (std::int64_t j = 0; j < s.keys; j += tile_columns)
        for (std::int64_t i = 0; i < s.queries; i += tile_rows) {
          Tile t = tile_at(s, batch, head, i, j);
          if (!sees_nothing(s, t)) add_tile<T>(s, t, in, back, {dq, dk, dv}, tiles, tiles + tile);
        }
    }
  });
}

template <class T>
void attention_mask_gradient(const AttentionSizes& s, const AttentionInputs<T>& in,
                             const AttentionGradientInputs<T>& back, T* dmask, std::int64_t elements, void* scratch) {
  T *p = static_cast<T*>(scratch), *ds = p + tile;
  const Shape& m = s.mask_strides;
  std::fill_n(dmask, elements, T(0));
  for (std::int64_t head = 0; head < s.batch * s.heads; ++head)
    for (std::int64_t i = 0; i < s.queries; i += tile_rows)
      for (std::int64_t j = 0; j < s.keys; j += tile_columns) {
        Tile t = tile_at(s, head / s.heads, head % s.heads, i, j);
        if (sees_nothing(s, t)) continue;
        differentiate_tile(s, t, in, back, T(1), p, ds);
        for (std::int64_t r = 0; r < t.rows; ++r)
          for (std::int64_t c = 0; c < t.columns; ++c)
            dmask[t.batch * m[0] + t.head * m[1] + (i + r) * m[2] + (j + c) * m[3]] += ds[r * tile_columns + c];
      }
}

template std::int64_t attention_scratch_bytes<float>(const AttentionSizes&);
template std::int64_t attention_scratch_bytes<double>(const AttentionSizes&);
template void attention(const AttentionSizes&, const AttentionInputs<float>&, float*, float*, void*);
template void attention(const AttentionSizes&, const AttentionInputs<double>&, double*, double*, void*);
template void attention_gradient(const AttentionSizes&, const AttentionInputs<float>&,
                                 const AttentionGradientInputs<float>&, float*, float*, float*, void*);
template void attention_gradient(const AttentionSizes&, const AttentionInputs<double>&,
                                 const AttentionGradientInputs<double>&, double*, double*, double*, void*);
template void attention_mask_gradient(const AttentionSizes&, const AttentionInputs<float>&,
                                      const AttentionGradientInputs<float>&, float*, std::int64_t, void*);
template void attention_mask_gradient(const AttentionSizes&, const AttentionInputs<double>&,
                                      const AttentionGradientInputs<double>&, double*, std::int64_t, void*);

}  // namespace reprise::kernels
