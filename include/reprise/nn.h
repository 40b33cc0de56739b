// SPDX-License-Identifier: Apache-2.0
// Layers: plain structs that name their parts. A layer is anything that can be called with a Value and gives a Value.
//
//     struct GatedMlp {
//       nn::Linear gate, up, down;
//       Value operator()(const Value& x) const { return x + down(gelu(gate(x)) * up(x)); }
//       auto fields() { return reprise::fields("gate", gate, "up", up, "down", down); }
//     };
#pragma once

#include <functional>

#include "reprise/ops.h"
#include "reprise/parameter.h"

namespace reprise::nn {

// Every layer starts as PyTorch's of the same name does: weights uniform within ±1/sqrt(inputs of an element) unless
// said otherwise. A layer built without a seed takes the next one.

/// y = x Wᵀ + b over the last dimension.
struct REPRISE_API Linear {
  Parameter weight;  // [out, in]
  Parameter bias;    // [out]
  bool has_bias = true;

  Linear() = default;
  Linear(std::int64_t in, std::int64_t out, bool with_bias = true, Seed seed = next_seed());
  Value operator()(const Value& x) const;
  Fields fields();
};

/// Convolution over as many spatial dimensions as the kernel has sizes.
///     nn::Conv(3, 64, {7, 7}, {.strides = {2}, .pads = {3}}, false)
struct REPRISE_API Conv {
  Parameter weight;  // [out, in / groups, kernel...]
  Parameter bias;    // [out]
  ConvOptions options;
  bool has_bias = true;

  Conv() = default;
  Conv(std::int64_t in, std::int64_t out, const std::vector<std::int64_t>& kernel, ConvOptions options = {},
       bool with_bias = true, Seed seed = next_seed());
  Value operator()(const Value& x) const;
  Fields fields();
};

/// The transposed convolution.
struct REPRISE_API ConvTranspose {
  Parameter weight;  // [in, out / groups, kernel...]
  Parameter bias;    // [out]
  ConvTransposeOptions options;
  bool has_bias = true;

  ConvTranspose() = default;
  ConvTranspose(std::int64_t in, std::int64_t out, const std::vector<std::int64_t>& kernel,
                ConvTransposeOptions options = {}, bool with_bias = true, Seed seed = next_seed());
  Value operator()(const Value& x) const;
  Fields fields();
};

/// Normalises each channel of [batch, channels, ...] over the batch, and keeps running statistics that change once a
/// step. `training = false` normalises by these instead.
struct REPRISE_API BatchNorm {
  Parameter weight, bias, running_mean, running_var;
  double epsilon = 1e-5, momentum = 0.1;
  bool training = true;

  BatchNorm() = default;
  explicit BatchNorm(std::int64_t channels, double epsilon = 1e-5, double momentum = 0.1);
  Value operator()(const Value& x) const;
  Fields fields();
};

/// Over the last dimension.
struct REPRISE_API LayerNorm {
  Parameter weight, bias;
  double epsilon = 1e-5;

  LayerNorm() = default;
  explicit LayerNorm(std::int64_t width, double epsilon = 1e-5);
  Value operator()(const Value& x) const;
  Fields fields();
};
struct REPRISE_API RmsNorm {
  Parameter weight;
  double epsilon = 1e-5;

  RmsNorm() = default;
  explicit RmsNorm(std::int64_t width, double epsilon = 1e-5);
  Value operator()(const Value& x) const;
  Fields fields();
};

/// Over groups of channels; as many groups as channels is instance norm.
struct REPRISE_API GroupNorm {
  std::int64_t groups = 1;
  Parameter weight, bias;
  double epsilon = 1e-5;

  GroupNorm() = default;
  GroupNorm(std::int64_t groups, std::int64_t channels, double epsilon = 1e-5);
  Value operator()(const Value& x) const;
  Fields fields();
};

/// Rows of a table, by index. Rows start from the standard normal distribution.
struct REPRISE_API Embedding {
  Parameter weight;  // [count, width]

  Embedding() = default;
  Embedding(std::int64_t count, std::int64_t width, Seed seed = next_seed());
  Value operator()(const Value& indices) const;
  Fields fields();
};

/// Drops elements with probability p, other ones each step and at each use; a recomputed mask is the same mask.
struct REPRISE_API Dropout {
  double p = 0.5;
  Parameter key;
  bool training = true;

  Dropout() = default;
  explicit Dropout(double p, Seed seed = next_seed());
  Value operator()(const Value& x) const;
  Fields fields();
};

/// Self-attention of [batch, tokens, width] in `heads` heads, or attention to a context.
struct REPRISE_API MultiHeadAttention {
  Linear query, key, value, out;
  std::int64_t heads = 1;
  bool causal = false;

  MultiHeadAttention() = default;
  MultiHeadAttention(std::int64_t width, std::int64_t heads, bool causal = false, bool with_bias = true,
                     Seed seed = next_seed());
  Value operator()(const Value& x) const { return attend(x, x); }
  Value attend(const Value& x, const Value& context) const;
  Fields fields();
};

/// The weights of one recurrent layer, with PyTorch's names and order of gates.
struct REPRISE_API RecurrentLayer {
  Parameter weight_ih, weight_hh, bias_ih, bias_hh;

  RecurrentLayer() = default;
  RecurrentLayer(std::int64_t inputs, std::int64_t hidden, std::int64_t gates, Seed seed);
  RecurrentWeights in(const Value& x) const;
  Fields fields();
};
/// One step: x [batch, inputs], h [batch, hidden] to the next h.
struct REPRISE_API RnnCell : RecurrentLayer {
  RnnCell() = default;
  RnnCell(std::int64_t inputs, std::int64_t hidden, Seed seed = next_seed())
      : RecurrentLayer(inputs, hidden, 1, seed) {}
  Value operator()(const Value& x, const Value& h) const;
};
struct REPRISE_API GruCell : RecurrentLayer {
  GruCell() = default;
  GruCell(std::int64_t inputs, std::int64_t hidden, Seed seed = next_seed())
      : RecurrentLayer(inputs, hidden, 3, seed) {}
  Value operator()(const Value& x, const Value& h) const;
};
/// h and c to the next h and c.
struct REPRISE_API LstmCell : RecurrentLayer {
  LstmCell() = default;
  LstmCell(std::int64_t inputs, std::int64_t hidden, Seed seed = next_seed())
      : RecurrentLayer(inputs, hidden, 4, seed) {}
  std::pair<Value, Value> operator()(const Value& x, const Value& h, const Value& c) const;
};
/// Whole sequences [steps, batch, inputs] from a state of zeros: the outputs of every step.
struct REPRISE_API Rnn : RecurrentLayer {
  Rnn() = default;
  Rnn(std::int64_t inputs, std::int64_t hidden, Seed seed = next_seed()) : RecurrentLayer(inputs, hidden, 1, seed) {}
  Value operator()(const Value& x) const { return rnn(x, {}, {in(x)}).output; }
};
struct REPRISE_API Gru : RecurrentLayer {
  Gru() = default;
  Gru(std::int64_t inputs, std::int64_t hidden, Seed seed = next_seed()) : RecurrentLayer(inputs, hidden, 3, seed) {}
  Value operator()(const Value& x) const { return gru(x, {}, {in(x)}).output; }
};
struct REPRISE_API Lstm : RecurrentLayer {
  Lstm() = default;
  Lstm(std::int64_t inputs, std::int64_t hidden, Seed seed = next_seed()) : RecurrentLayer(inputs, hidden, 4, seed) {}
  Value operator()(const Value& x) const { return lstm(x, {}, {}, {in(x)}).output; }
};

/// Layers one after another; functions such as `reprise::gelu` are layers too.
class REPRISE_API Sequential {
 public:
  template <class... Layers>
  requires(std::invocable<Layers&, const Value&>&&...) explicit Sequential(Layers... layers) {
    (add(std::move(layers)), ...);
  }
  template <class Layer>
  void add(Layer layer) {
    auto shared = std::make_shared<Layer>(std::move(layer));
    layers_.push_back({[shared](const Value& x) { return Value((*shared)(x)); },
                       [shared] {
                         Fields all;
                         if constexpr (HasFields<Layer>) all = shared->fields();
                         return all;
                       }});
  }
  Value operator()(const Value& x) const;
  Fields fields();

 private:
  struct Erased {
    std::function<Value(const Value&)> call;
    std::function<Fields()> fields;
  };
  std::vector<Erased> layers_;
};

}  // namespace reprise::nn
