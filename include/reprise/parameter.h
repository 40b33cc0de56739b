// SPDX-License-Identifier: Apache-2.0
// Parameters: tensors that outlive steps, the names layers give them, and the seeds they start from.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "reprise/graph.h"

namespace reprise::nn {

/// A tensor that outlives steps: trained, frozen, or kept by a layer (running statistics). Copies share it, which is
/// how weights are tied.
class REPRISE_API Parameter {
 public:
  /// What copies share. A step that is compiled moves the value into its arena.
  struct State {
    Type type;
    Tensor value;     // empty as long as nobody looked
    double fill = 0;  // what an empty value stands for, unless it is loaded
    bool present = true;
    bool trainable = true;
    std::function<void(const Tensor& to)> load = {};

    /// Writes what an empty value stands for into memory of its type.
    REPRISE_API void begin(const Tensor& place) const;
  };

  Parameter();
  Parameter(const Parameter&) = default;  // moves are copies: what was moved from is still the same parameter
  Parameter& operator=(const Parameter&) = default;
  explicit Parameter(Tensor value, bool trainable = true);
  /// Takes no memory before it is read or a step needs it.
  Parameter(const Type& type, double fill, bool trainable = true);
  /// Likewise; `load` then writes the numbers into memory of that type, such as a step's arena.
  Parameter(const Type& type, std::function<void(const Tensor& to)> load, bool trainable = true);

  const Type& type() const { return state_->type; }
  const Tensor& value() const;
  /// Copies the numbers; the type must stay.
  void set(const Tensor& value);
  bool trainable() const { return state_->trainable; }
  void train(bool trainable) { state_->trainable = trainable; }
  /// The same tensor, not an equal one.
  friend bool operator==(const Parameter& a, const Parameter& b) { return a.state_ == b.state_; }

  /// The parameter as an input of x's graph: the same one however often it is used there.
  Value in(const Value& x) const;
  /// At the end of a step the parameter takes over `next`, however often the nodes before it are recomputed.
  void update(const Value& next) const;

  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// A parameter with its dotted path: "blocks.3.attention.query.weight".
struct Named {
  std::string name;
  Parameter parameter;
};
using Fields = std::vector<Named>;

template <class Part>
concept HasFields = requires(Part& part) {
  { part.fields() } -> std::convertible_to<Fields>;
};

/// A number that initial values are drawn from; the same seed gives the same weights.
using Seed = std::uint64_t;
/// The seed of the next layer that is not given one: a different one each time, the same ones in every run.
REPRISE_API Seed next_seed();
/// Starts the seeds of this thread anew.
REPRISE_API void set_seed(Seed seed);

}  // namespace reprise::nn

namespace reprise {
namespace detail {

template <class Part>
void append_fields(nn::Fields& all, const std::string& name, Part& part) {
  if constexpr (std::is_same_v<std::remove_const_t<Part>, nn::Parameter>) {
    all.push_back({name, part});
  } else if constexpr (nn::HasFields<Part>) {
    for (nn::Named& inner : part.fields()) all.push_back({name + "." + inner.name, std::move(inner.parameter)});
  } else if constexpr (requires {
                         part.begin();
                         part.size();
                       }) {
    int i = 0;
    for (auto& one : part) append_fields(all, name + "." + std::to_string(i++), one);
  }
}

inline void append_all(nn::Fields&) {}
template <class Part, class... Rest>
void append_all(nn::Fields& all, const char* name, Part& part, Rest&&... rest) {
  append_fields(all, name, part);
  append_all(all, std::forward<Rest>(rest)...);
}

}  // namespace detail

/// Names the parts of a layer: parameters, layers, vectors of layers. Parts without parameters are passed over.
template <class... NamesAndParts>
nn::Fields fields(NamesAndParts&&... names_and_parts) {
  nn::Fields all;
  detail::append_all(all, std::forward<NamesAndParts>(names_and_parts)...);
  return all;
}

}  // namespace reprise

namespace reprise::nn {

/// The layer's parameters, each once.
template <class Layer>
Fields parameters(Layer& layer) {
  Fields all = layer.fields(), distinct;
  for (Named& p : all) {
    bool seen = false;
    for (const Named& q : distinct) seen = seen || q.parameter == p.parameter;
    if (!seen) distinct.push_back(std::move(p));
  }
  return distinct;
}

}  // namespace reprise::nn
