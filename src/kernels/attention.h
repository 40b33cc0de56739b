// SPDX-License-Identifier: Apache-2.0
// softmax(scale · q kᵀ + mask) v for many heads, in tiles: the queries × keys matrix is never stored, forward or
// backward (Dao et al. 2022, "FlashAttention"). Memory beside inputs and outputs: two tiles a thread.
#pragma once

#include "kernels/parallel.h"
#include "reprise/tensor.h"

namespace reprise::kernels {

enum class MaskKind : std::uint8_t { none, boolean, additive };

/// q is [batch, heads, queries, width], k [batch, kv_heads, keys, width], v [batch, kv_heads, keys, value_width], and
/// the output [batch, heads, queries, value_width]; or, with tokens_first, each with its second and third dimension
/// swapped. Consecutive heads share a kv head where there are fewer of those.
struct AttentionSizes {
  std::int64_t batch = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0, width = 0, value_width = 0;
  bool tokens_first = false;
  bool causal = false;  // query i sees keys 0..i
  double scale = 1;
  MaskKind mask = MaskKind::none;  // boolean: true may be seen; additive: added to the scores
  Shape mask_strides = {};         // of [batch, heads, queries, keys]; 0 where the mask repeats
  int threads = thread_count();    // at most this many; scratch grows with it
};

template <class T>
struct AttentionInputs {
  const T *q, *k, *v;
  const void* mask;
};

/// Of the backward pass: the logarithm of each row's sum of exponentials from the forward pass, the gradient of the
/// output, and delta = sum(output · its gradient) - (gradient of log_sum) per row.
template <class T>
struct AttentionGradientInputs {
  const T *log_sum, *out_gradient, *delta;
};

template <class T>
std::int64_t attention_scratch_bytes(const AttentionSizes& sizes);

/// log_sum has one number a row; a row that sees no key gets output 0 and log_sum 0.
template <class T>
void attention(const AttentionSizes& sizes, const AttentionInputs<T>& in, T* out, T* log_sum, void* scratch);

template <class T>
void attention_gradient(const AttentionSizes& sizes, const AttentionInputs<T>& in,
                        const AttentionGradientInputs<T>& back, T* dq, T* dk, T* dv, void* scratch);

/// The gradient of an additive mask, summed over the dimensions in which it repeats; it has `elements` elements.
template <class T>
void attention_mask_gradient(const AttentionSizes& sizes, const AttentionInputs<T>& in,
                             const AttentionGradientInputs<T>& back, T* dmask, std::int64_t elements, void* scratch);

}  // namespace reprise::kernels
