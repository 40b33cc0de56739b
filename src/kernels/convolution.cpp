// SPDX-License-Identifier: Apache-2.0
// Values are plain row-major outside. Convolutions wider than one tap run on oneDNN's blocked layouts, with reorders
// into and out of scratch memory: measured, that mostly beats its plain path by 1.2 to 2.4 (depthwise by far), and
// often needs less scratch than the plain path's unfolded windows. One-tap convolutions are matrix products: there
// plain wins, as it does for weight gradients of small images, whose weights are what would have to be converted. But
// forward, with many channels or strides, blocked is as fast and adds in the order that PyTorch does. Large batches go
// through in chunks of pictures, so that scratch memory is that of one chunk; how many depends on the sizes alone, and
// so do the bits.
#include "kernels/convolution.h"

#include <memory>
#include <optional>

#include "kernels/elementwise.h"
#include "kernels/naive_convolution.h"
#include "kernels/onednn.h"
#include "kernels/parallel.h"
#include "kernels/unfolded_convolution.h"

namespace reprise::kernels {
namespace {

using dnnl::memory;
using onednn::Primitive;

memory::dims dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

memory::dims weight_dims(const ConvSizes& s) {
  memory::dims dims = dims_of(s.weight);
  if (s.groups == 1) return dims;
  dims[0] /= s.groups;
  dims.insert(dims.begin(), s.groups);
  return dims;
}

memory::desc plain_desc(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {dims, memory::data_type::f32, strides};
}

memory::desc free_desc(const memory::dims& dims) { return {dims, memory::data_type::f32, memory::format_tag::any}; }

bool has_one_tap(const ConvSizes& s) {
  return std::all_of(s.weight.begin() + 2, s.weight.end(), [](std::int64_t k) { return k == 1; });
}

bool plain_wins(const ConvSizes& s, ConvPass pass) {
  constexpr std::int64_t small_image = 14 * 14, many_channels = 256;
  std::int64_t image = 1;
  for (int d = 2; d < s.y.rank(); ++d) image *= s.y[d];
  bool has_strides = std::ranges::any_of(s.strides, [](std::int64_t stride) { return stride > 1; });
  if (has_one_tap(s)) return pass != ConvPass::forward || (s.weight[1] < many_channels && !has_strides);
  return pass == ConvPass::weight_gradient && s.groups == 1 && image <= small_image;
}

// The three tensors of a convolution, in the order (a, b, result) of a pass, and the primitive over them.
struct Chosen {
  dnnl::primitive primitive;
  memory::desc a, b, result, scratch;
  int a_number = 0, b_number = 0, result_number = 0;
};

class Chooser {
 public:
  Chooser(const ConvSizes& s, ConvPass pass, bool has_bias) : pass_(pass) {
    auto desc = plain_wins(s, pass) ? plain_desc : free_desc;
    x_ = desc(dims_of(s.x));
    w_ = desc(weight_dims(s));
    y_ = desc(dims_of(s.y));
    if (has_bias) bias_ = plain_desc({s.y[1]});
    strides_ = dims_of(s.strides);
    dilations_ = dims_of(s.dilations);
    for (auto& d : dilations_) d -= 1;  // oneDNN counts the gaps
    begin_ = dims_of(s.pads_begin);
    end_ = dims_of(s.pads_end);
  }

  Chosen choose() const {
    if (pass_ == ConvPass::forward) return forward();
    return pass_ == ConvPass::data_gradient ? data_gradient() : weight_gradient();
  }

 private:
  static constexpr auto direct = dnnl::algorithm::convolution_direct;

  dnnl::convolution_forward::primitive_desc forward_desc() const {
    auto kind = dnnl::prop_kind::forward_training;
    using Desc = dnnl::convolution_forward::desc;
    Desc desc = bias_.is_zero() ? Desc(kind, direct, x_, w_, y_, strides_, dilations_, begin_, end_)
                                : Desc(kind, direct, x_, w_, bias_, y_, strides_, dilations_, begin_, end_);
    return {desc, onednn::user_scratchpad(), onednn::engine()};
  }
  Chosen forward() const {
    auto d = forward_desc();
    return {dnnl::convolution_forward(d), d.src_desc(), d.weights_desc(), d.dst_desc(),
            d.scratchpad_desc(),          DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
  }
  Chosen data_gradient() const {
    dnnl::convolution_backward_data::primitive_desc d({direct, x_, w_, y_, strides_, dilations_, begin_, end_},
                                                      onednn::user_scratchpad(), onednn::engine(), forward_desc());
    return {dnnl::convolution_backward_data(d),
            d.diff_dst_desc(),
            d.weights_desc(),
            d.diff_src_desc(),
            d.scratchpad_desc(),
            DNNL_ARG_DIFF_DST,
            DNNL_ARG_WEIGHTS,
            DNNL_ARG_DIFF_SRC};
  }
  Chosen weight_gradient() const {
    dnnl::convolution_backward_weights::primitive_desc d({direct, x_, w_, y_, strides_, dilations_, begin_, end_},
                                                         onednn::user_scratchpad(), onednn::engine(), forward_desc());
    return {dnnl::convolution_backward_weights(d),
            d.src_desc(),
            d.diff_dst_desc(),
            d.diff_weights_desc(),
            d.scratchpad_desc(),
            DNNL_ARG_SRC,
            DNNL_ARG_DIFF_DST,
            DNNL_ARG_DIFF_WEIGHTS};
  }

  ConvPass pass_;
  memory::desc x_, w_, y_, bias_;
  memory::dims strides_, dilations_, begin_, end_;
};

// A tensor that is plain outside and may be blocked inside: where in scratch its blocked form lives, and how it gets
// there or back.
struct Operand {
  std::unique_ptr<Primitive> reorder;  // null where the plain form is used as it is
  std::int64_t offset = 0;

  void* inside(const void* outside, void* scratch) const {
    return reorder ? static_cast<char*>(scratch) + offset : const_cast<void*>(outside);
  }
};

class Scratch {
 public:
  std::int64_t take(std::size_t bytes) {
    std::int64_t offset = bytes_;
    bytes_ += (static_cast<std::int64_t>(bytes) + 63) / 64 * 64;
    return offset;
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

Operand operand(const memory::desc& from, const memory::desc& to, const memory::desc& blocked, Scratch& scratch) {
  if (from == to) return {};
  dnnl::reorder::primitive_desc desc(onednn::engine(), from, onednn::engine(), to, onednn::user_scratchpad());
  Operand result;
  result.reorder = std::make_unique<Primitive>(
      dnnl::reorder(desc),
      std::vector<onednn::Argument>{
          {DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}});
  result.offset = scratch.take(blocked.get_size());
  return result;
}

class BlockedConvolution {
 public:
  BlockedConvolution(ConvPass pass, const ConvSizes& s, bool has_bias) : has_bias_(has_bias) {
    Chosen c = Chooser(s, pass, has_bias).choose();
    memory::desc x = plain_desc(dims_of(s.x)), w = plain_desc(weight_dims(s)), y = plain_desc(dims_of(s.y));
    Scratch scratch;
    const memory::desc& a = pass == ConvPass::data_gradient ? y : x;
    const memory::desc& b = pass == ConvPass::weight_gradient ? y : w;
    const memory::desc& result = pass == ConvPass::forward ? y : pass == ConvPass::data_gradient ? x : w;
    a_ = operand(a, c.a, c.a, scratch);
    b_ = operand(b, c.b, c.b, scratch);
    result_ = operand(c.result, result, c.result, scratch);
    own_offset_ = scratch.take(c.scratch.get_size());
    scratch_bytes_ = scratch.bytes();
    std::vector<onednn::Argument> arguments{
        {c.a_number, c.a}, {c.b_number, c.b}, {c.result_number, c.result}, {DNNL_ARG_SCRATCHPAD, c.scratch}};
    if (has_bias) arguments.push_back({DNNL_ARG_BIAS, plain_desc({s.y[1]})});
    primitive_ = std::make_unique<Primitive>(c.primitive, std::move(arguments));
  }

  std::int64_t scratch_bytes() const { return scratch_bytes_; }

  /// Converts the second operand, which stays in scratch memory for any number of `multiply`.
  void take_second(const float* b, void* scratch) const {
    if (b_.reorder) b_.reorder->run(std::array<void*, 3>{const_cast<float*>(b), b_.inside(b, scratch), own(scratch)});
  }

  void multiply(const float* a, const float* b, const float* bias, float* result, void* scratch) const {
    void *in_a = a_.inside(a, scratch), *in_b = b_.inside(b, scratch), *in_result = result_.inside(result, scratch);
    if (a_.reorder) a_.reorder->run(std::array<void*, 3>{const_cast<float*>(a), in_a, own(scratch)});
    std::array<void*, 5> data{in_a, in_b, in_result, own(scratch), const_cast<float*>(bias)};
    primitive_->run(std::span(data.data(), has_bias_ ? 5 : 4));
    if (result_.reorder) result_.reorder->run(std::array<void*, 3>{in_result, result, own(scratch)});
  }

 private:
  void* own(void* scratch) const { return static_cast<char*>(scratch) + own_offset_; }

  bool has_bias_;
  Operand a_, b_, result_;
  std::unique_ptr<Primitive> primitive_;
  std::int64_t own_offset_ = 0, scratch_bytes_ = 0;
};

// How many pictures go through at once: those whose operands take some MiB, enough for threads to meet seldom, and no
// less than the weights, which every chunk meets anew. Where nothing is converted, all.
std::int64_t pictures_at_once(const ConvSizes& s, ConvPass pass) {
  if (plain_wins(s, pass)) return s.x[0];
  constexpr std::int64_t chunk_bytes = 16 << 20;
  std::int64_t wanted = std::max(chunk_bytes, 4 * s.weight.elements()), all = 4 * (s.x.elements() + s.y.elements());
  std::int64_t chunks = std::max<std::int64_t>(1, all / wanted);
  return (s.x[0] + chunks - 1) / chunks;
}

// Runs a convolution of a few pictures on one chunk of the batch after the other. Weight gradients of the chunks are
// added in their order.
class ChunkedConvolution {
 public:
  ChunkedConvolution(ConvPass pass, const ConvSizes& s, bool has_bias)
      : pass_(pass),
        batch_(s.x[0]),
        chunk_(pictures_at_once(s, pass)),
        x_size_(s.x.elements() / batch_),
        y_size_(s.y.elements() / batch_),
        weight_size_(s.weight.elements()),
        full_(pass, with_batch(s, chunk_), has_bias) {
    if (std::int64_t left = batch_ % chunk_; left > 0) last_.emplace(pass, with_batch(s, left), has_bias);
    Scratch scratch;
    if (pass == ConvPass::weight_gradient && chunk_ < batch_) scratch.take(static_cast<std::size_t>(weight_size_) * 4);
    part_offset_ = scratch.bytes();
    scratch_bytes_ = part_offset_ + std::max(full_.scratch_bytes(), last_ ? last_->scratch_bytes() : 0);
  }

  std::int64_t scratch_bytes() const { return scratch_bytes_; }

  void run(const float* a, const float* b, const float* bias, float* result, void* scratch) const {
    for (std::int64_t first = 0; first < batch_; first += chunk_) {
      bool is_last = first + chunk_ > batch_;
      const BlockedConvolution& part = is_last ? *last_ : full_;
      void* own = static_cast<char*>(scratch) + part_offset_;
      if (pass_ == ConvPass::weight_gradient) {
        add_weight_gradient(part, a + first * x_size_, b + first * y_size_, first == 0, result, scratch);
        continue;
      }
      bool is_forward = pass_ == ConvPass::forward;
      if (first == 0 || is_last) part.take_second(b, own);
      part.multiply(a + first * (is_forward ? x_size_ : y_size_), b, bias,
                    result + first * (is_forward ? y_size_ : x_size_), own);
    }
  }

 private:
  static ConvSizes with_batch(ConvSizes s, std::int64_t pictures) {
    s.x[0] = s.y[0] = pictures;
    return s;
  }

  void add_weight_gradient(const BlockedConvolution& part, const float* x, const float* dy, bool is_first,
                           float* dweight, void* scratch) const {
    void* own = static_cast<char*>(scratch) + part_offset_;
    auto* more = static_cast<float*>(scratch);
    part.take_second(dy, own);
    part.multiply(x, dy, nullptr, is_first ? dweight : more, own);
    if (is_first) return;
    parallel_ranges(weight_size_, elementwise_grain, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) dweight[i] += more[i];
    });
  }

  ConvPass pass_;
  std::int64_t batch_, chunk_;    // pictures
  std::int64_t x_size_, y_size_;  // elements of a picture
  std::int64_t weight_size_;
  BlockedConvolution full_;
  std::optional<BlockedConvolution> last_;  // of fewer pictures
  std::int64_t part_offset_ = 0, scratch_bytes_ = 0;
};

// Whether every element of x is seen by one tap of one window.
bool is_tiled(const ConvSizes& s) {
  bool is = true;
  for (int d = 0; d < s.strides.rank(); ++d)
    is = is && s.strides[d] == s.weight[d + 2] && s.dilations[d] == 1 && s.pads_begin[d] == 0 && s.pads_end[d] == 0 &&
         s.x[d + 2] == s.y[d + 2] * s.weight[d + 2];
  return is;
}

template <class T, class Prepared>
Convolution<T> running(std::shared_ptr<const Prepared> prepared) {
  return {[prepared](const T* a, const T* b, const T* bias, T* result, void* scratch) {
            prepared->run(a, b, bias, result, scratch);
          },
          prepared->scratch_bytes()};
}

template <class T>
Convolution<T> plain_convolution(ConvPass pass, const ConvSizes& sizes) {
  return {[=](const T* a, const T* b, const T* bias, T* result, void*) {
    naive::convolve(pass, sizes, a, b, bias, result);
  }};
}

}  // namespace

Convolution<float> prepare_convolution_f32(ConvPass pass, const ConvSizes& sizes, bool has_bias) {
  // Nothing to multiply: the loops write the zeros, or the bias.
  if (sizes.x.elements() == 0 || sizes.weight.elements() == 0 || sizes.y.elements() == 0)
    return plain_convolution<float>(pass, sizes);
  if (pass == ConvPass::data_gradient && !has_one_tap(sizes) && is_tiled(sizes) &&
      UnfoldedConvolution<float>::pays(sizes))
    return running<float>(std::make_shared<const UnfoldedConvolution<float>>(pass, sizes));
  try {
    return running<float>(std::make_shared<const ChunkedConvolution>(pass, sizes, has_bias));
  } catch (const dnnl::error& e) {
    if (e.status != dnnl_unimplemented && e.status != dnnl_invalid_arguments) throw;
    return plain_convolution<float>(pass, sizes);  // e.g. padding wider than the window, which oneDNN refuses
  }
}

Convolution<double> prepare_convolution_f64(ConvPass pass, const ConvSizes& sizes) {
  if (!UnfoldedConvolution<double>::pays(sizes)) return plain_convolution<double>(pass, sizes);
  return running<double>(std::make_shared<const UnfoldedConvolution<double>>(pass, sizes));
}

}  // namespace reprise::kernels
