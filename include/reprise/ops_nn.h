// SPDX-License-Identifier: Apache-2.0
// Matrix products, convolution, pooling, attention, recurrent nets, dropout and random numbers.
#pragma once

#include "reprise/graph.h"
#include "reprise/ops_math.h"

namespace reprise {

/// NumPy's matrix product: vectors count as a row (a) or a column (b), batch dimensions broadcast. The flags use the
/// last two dimensions of an operand swapped, without storing them so; a vector ignores its flag.
REPRISE_API Value matmul(const Value& a, const Value& b, bool transpose_a = false, bool transpose_b = false);
/// x · weightᵀ + bias over the last dimension of x; weight is [out, in], bias [out].
REPRISE_API Value linear(const Value& x, const Value& weight);
REPRISE_API Value linear(const Value& x, const Value& weight, const Value& bias);

/// How a window slides over the spatial dimensions of [n, channels, spatial...]. Nothing given: step by one, no gaps,
/// no padding. One number holds for every dimension; `pads` may also be one per side, all beginnings before all ends.
struct ConvOptions {
  std::vector<std::int64_t> strides = {}, dilations = {}, pads = {};
  std::int64_t groups = 1;  // as many as input channels: depthwise
};
struct ConvTransposeOptions {
  std::vector<std::int64_t> strides = {}, dilations = {}, pads = {};
  std::int64_t groups = 1;
  std::vector<std::int64_t> output_padding = {};  // extra elements at the end of each spatial dimension
};

/// Convolution over one to three spatial dimensions: weight is [out, in / groups, kernel...], bias [out].
///     conv(x, weight, {.strides = {2}, .pads = {1}, .groups = 4})
REPRISE_API Value conv(const Value& x, const Value& weight, const ConvOptions& options = {});
REPRISE_API Value conv(const Value& x, const Value& weight, const Value& bias, const ConvOptions& options = {});
/// The transposed convolution, which grows its input by the stride: weight is [in, out / groups, kernel...].
REPRISE_API Value conv_transpose(const Value& x, const Value& weight, const ConvTransposeOptions& options = {});
REPRISE_API Value conv_transpose(const Value& x, const Value& weight, const Value& bias,
                                 const ConvTransposeOptions& options = {});

struct PoolOptions {
  std::vector<std::int64_t> strides = {};  // none: the kernel's sizes
  std::vector<std::int64_t> dilations = {}, pads = {};
  bool ceil_mode = false;          // a last window may reach past the end
  bool count_include_pad = false;  // of avg_pool: padding counts as elements of value 0
};
/// The largest or the mean element of windows over [n, channels, spatial...]. One number holds for every dimension. Of
/// equal elements the first takes the gradient.
REPRISE_API Value max_pool(const Value& x, const std::vector<std::int64_t>& kernel, const PoolOptions& options = {});
REPRISE_API Value avg_pool(const Value& x, const std::vector<std::int64_t>& kernel, const PoolOptions& options = {});
/// Windows chosen so that the result has these spatial sizes.
REPRISE_API Value adaptive_max_pool(const Value& x, const std::vector<std::int64_t>& size);
REPRISE_API Value adaptive_avg_pool(const Value& x, const std::vector<std::int64_t>& size);
/// Over all spatial dimensions, which stay with size 1.
REPRISE_API Value global_max_pool(const Value& x);
REPRISE_API Value global_avg_pool(const Value& x);

struct ResizeOptions {
  bool linear = true;          // linear in every spatial dimension (bilinear for images), or the nearest element
  bool align_corners = false;  // first and last elements keep their places
  bool half_pixel = true;      // positions are elements' middles; false: their left edges
};
/// [n, channels, spatial...] resampled to these spatial sizes.
REPRISE_API Value resize(const Value& x, const std::vector<std::int64_t>& size, const ResizeOptions& options = {});
/// Every element repeated `factor` times along each spatial dimension.
REPRISE_API Value upsample_nearest(const Value& x, std::int64_t factor);

struct DeformableOptions {
  std::vector<std::int64_t> strides = {}, dilations = {}, pads = {};
  std::int64_t groups = 1;
  std::int64_t offset_groups = 1;  // groups of input channels with offsets of their own
  Value mask = {};                 // [n, offset groups · taps, output...]: weighs each tap
};
/// Convolution of images whose taps read beside their places, between elements: offsets is
/// [n, offset groups · taps · 2, output...] (down, then right, in elements).
REPRISE_API Value deformable_conv(const Value& x, const Value& offsets, const Value& weight,
                                  const DeformableOptions& options = {});

struct AttentionOptions {
  bool causal = false;  // query i sees keys 0..i
  Value mask = {};   // broadcast to [batch, heads, queries, keys]; bool: true may be seen; float: added to the scores
  double scale = 0;  // 0: 1 / sqrt(width)
};
/// softmax(scale · q kᵀ + mask) v per head: q is [batch, heads, queries, width], k and v [batch, kv heads, keys,
/// width]; heads may share kv heads. Memory grows with the number of tokens, not with its square. A query that sees no
/// key gives 0.
REPRISE_API Value attention(const Value& q, const Value& k, const Value& v, const AttentionOptions& options = {});

/// Weights are [out, in] as in linear(); biases may be left out.
struct MultiHeadWeights {
  Value query, key, value, out;
  Value query_bias = {}, key_bias = {}, value_bias = {}, out_bias = {};
};
/// Projects x [batch, tokens, width] to queries, keys and values, attends in `heads` heads, and projects back. With
/// `context` keys and values come from there. A narrower key projection means that heads share kv heads.
REPRISE_API Value multi_head_attention(const Value& x, const MultiHeadWeights& weights, std::int64_t heads,
                                       const AttentionOptions& options = {});
REPRISE_API Value multi_head_attention(const Value& x, const Value& context, const MultiHeadWeights& weights,
                                       std::int64_t heads, const AttentionOptions& options = {});

// Random numbers. A key, i64[2], decides everything: the same key gives the same numbers, on any number of threads.

REPRISE_API Tensor random_key(std::int64_t seed, std::int64_t stream = 0);
/// Another key, as different as another seed: for each layer, each step, ...
REPRISE_API Value fold_in(const Value& key, const Value& number);
REPRISE_API Value fold_in(const Value& key, std::int64_t number);
/// Uniform in [low, high).
REPRISE_API Value random_uniform(const Value& key, const Shape& shape, double low = 0, double high = 1,
                                 DType dtype = DType::f32);
REPRISE_API Value random_normal(const Value& key, const Shape& shape, double mean = 0, double deviation = 1,
                                DType dtype = DType::f32);
/// 1 with probability p, else 0.
REPRISE_API Value random_bernoulli(const Value& key, const Shape& shape, double p, DType dtype = DType::f32);
/// Uniform in [low, high).
REPRISE_API Value random_integers(const Value& key, const Shape& shape, std::int64_t low, std::int64_t high);
/// Zero with probability p, else x / (1 - p). No mask is kept: the gradient draws it again.
REPRISE_API Value dropout(const Value& x, const Value& key, double p);

// Recurrent nets over sequences [T, B, inputs], with PyTorch's weights and order of gates (i, f, g, o; r, z, n with the
// reset gate after the product). T must be known when recording: the steps are nodes that a planner can drop.

/// Of one layer and direction, G gates (1, 4 or 3) and H hidden units. A bias may stay empty.
struct RecurrentWeights {
  Value input;        // [G·H, inputs]
  Value hidden;       // [G·H, H]
  Value input_bias;   // [G·H]
  Value hidden_bias;  // [G·H]
};
struct RecurrentOptions {
  bool bidirectional = false;            // weights come in pairs: forwards, backwards
  std::string_view activation = "tanh";  // of rnn: or "relu"
};
struct RecurrentOutput {
  Value output;  // [T, B, directions·H]: of the last layer
  Value h;       // [layers·directions, B, H]: of each after its last step
  Value c;       // the same of an lstm's cells
};
/// One set of weights a layer (or two, when bidirectional). Initial states are [layers·directions, B, H]; an empty
/// Value means zeros.
REPRISE_API RecurrentOutput rnn(const Value& x, const Value& h0, const std::vector<RecurrentWeights>& weights,
                                const RecurrentOptions& options = {});
REPRISE_API RecurrentOutput lstm(const Value& x, const Value& h0, const Value& c0,
                                 const std::vector<RecurrentWeights>& weights, const RecurrentOptions& options = {});
REPRISE_API RecurrentOutput gru(const Value& x, const Value& h0, const std::vector<RecurrentWeights>& weights,
                                const RecurrentOptions& options = {});

}  // namespace reprise
