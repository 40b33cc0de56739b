// SPDX-License-Identifier: Apache-2.0
// A chain of segments whose forward keeps some of the segments' inputs and whose backward recomputes the others:
//
//   CheckpointedNetwork<LinearSegment> network(segments, {.strategy = CheckpointStrategy::sqrt()});
//   auto y = network.forward(x);
//   auto gradients = network.backward(dy);   // .input, and .parameters of each segment
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reprise/checkpoint_errors.h"
#include "reprise/checkpoint_strategy.h"
#include "reprise/recomputable.h"
#include "reprise/stores.h"

namespace reprise {

struct NetworkOptions {
  CheckpointStrategy strategy = CheckpointStrategy::every();
  CheckpointBudget budget = {};    // for what is kept between forward and backward
  bool check_determinism = false;  // backward first runs every segment twice and names the first that differs
};

template <class R>
struct NetworkGradients {
  typename R::Input input;
  std::vector<ParameterGradients<R>> parameters;  // one per segment
};

/// Inputs are kept in `Store`: any of reprise/stores.h, empty, or one of your own with put, get and drop.
///
/// A forward begins by dropping what the last one kept. Where it throws (a segment, the budget, the store), nothing
/// stays kept. A backward leaves what is kept as it is, so it can be repeated. What a segment throws passes through; a
/// DimensionMismatch is given the segment's number on the way.
template <Recomputable R, class Store = MemoryStore<typename R::Input>>
requires std::same_as<typename R::Input, typename R::Output>
class CheckpointedNetwork {
 public:
  using Value = typename R::Input;

  explicit CheckpointedNetwork(std::vector<std::shared_ptr<const R>> segments, NetworkOptions options = {},
                               Store store = {})
      : segments_(std::move(segments)), options_(std::move(options)), store_(std::move(store)) {
    if (segments_.empty()) throw EmptyNetwork();
    detail::check_empty("network", store_);
    for (std::size_t i = 0; i < segments_.size(); ++i)
      if (!segments_[i]) throw BadRequest("[network] segment " + std::to_string(i) + " is null: give one");
  }
  explicit CheckpointedNetwork(std::vector<R> segments, NetworkOptions options = {}, Store store = {})
      : CheckpointedNetwork(shared(std::move(segments)), std::move(options), std::move(store)) {}

  Value forward(const Value& input) {
    clear();
    try {
      return run_and_keep(input);
    } catch (...) {
      clear();
      throw;
    }
  }

  NetworkGradients<R> backward(const Value& output_gradient) requires DifferentiableSegment<R> {
    if (kept_.empty()) throw OutOfTurn("[network] backward needs a forward before it");
    if (options_.check_determinism) check_determinism();
    recomputed_ = peak_bytes_ = 0;
    NetworkGradients<R> gradients{output_gradient, {}};
    for (std::size_t k = kept_.size(); k-- > 0;) reverse(kept_[k], end_of(k), gradients);
    std::ranges::reverse(gradients.parameters);
    return gradients;
  }

  /// The kept input of a layer with its segment; NothingStored where the layer's input was dropped.
  Checkpoint<R> checkpoint(std::int64_t layer) {
    if (layer < 0 || layer >= size()) throw IndexOutOfBounds("network", layer, size());
    if (!std::ranges::binary_search(kept_, layer))
      throw NothingStored("network", layer, "run a forward first, under a strategy that keeps this layer");
    return {segments_[static_cast<std::size_t>(layer)], store_.get(layer)};
  }
  /// Layers whose inputs are kept now, sorted.
  const std::vector<std::int64_t>& kept_layers() const { return kept_; }
  std::int64_t size() const { return std::ssize(segments_); }

  /// Bytes kept by the last forward.
  std::int64_t memory_bytes() const { return kept_bytes_; }
  /// Bytes a plain tape of the last forward would hold, as measured in it: the input and every segment's output.
  std::int64_t full_memory_bytes() const { return full_bytes_; }
  /// Bytes of the outputs alone.
  std::int64_t output_memory_bytes() const { return full_bytes_ - input_bytes_; }
  /// The share of full_memory_bytes that is not kept, in [0,1).
  double memory_savings() const {
    if (full_bytes_ == 0) return 0;
    return std::max(0., 1 - static_cast<double>(memory_bytes()) / static_cast<double>(full_bytes_));
  }
  /// Segments that the last backward ran again.
  std::int64_t recomputed_segments() const { return recomputed_; }
  /// Most bytes of inputs alive at once in the last backward: what is kept and what was recomputed.
  std::int64_t backward_peak_bytes() const { return peak_bytes_; }
  const CheckpointBudget& budget() const { return options_.budget; }

  /// Drops what is kept.
  void clear() {
    for (std::int64_t layer : kept_) store_.drop(layer);
    kept_.clear();
    options_.budget.free(kept_bytes_);
    kept_bytes_ = full_bytes_ = input_bytes_ = 0;
  }

 private:
  static std::vector<std::shared_ptr<const R>> shared(std::vector<R> segments) {
    std::vector<std::shared_ptr<const R>> result;
    for (R& segment : segments) result.push_back(std::make_shared<const R>(std::move(segment)));
    return result;
  }

  std::int64_t end_of(std::size_t k) const { return k + 1 < kept_.size() ? kept_[k + 1] : size(); }
  // A segment does not know where in the network it is, so its own message could not say.
  template <class Call>
  static auto naming_segment(std::int64_t layer, Call call) {
    try {
      return call();
    } catch (const DimensionMismatch& e) {
      throw DimensionMismatch("[network] segment " + std::to_string(layer) + ": " + e.what(), e.expected, e.got);
    }
  }
  Value run(std::int64_t layer, const Value& x) const {
    return naming_segment(layer, [&]() -> Value { return segments_[static_cast<std::size_t>(layer)]->forward(x); });
  }
  std::int64_t bytes_of(std::int64_t layer, const Value& x) const {
    return segments_[static_cast<std::size_t>(layer)]->input_memory_bytes(x);
  }

  Value run_and_keep(const Value& input) {
    std::vector<std::int64_t> chosen = options_.strategy.select_layers(size());
    if (chosen.empty()) chosen.push_back(0);  // every strategy that chooses at all chooses layer 0
    std::size_t next = 0;
    Value x = input;
    input_bytes_ = full_bytes_ = bytes_of(0, x);
    for (std::int64_t layer = 0; layer < size(); ++layer) {
      if (next < chosen.size() && chosen[next] == layer) keep(layer, x), ++next;
      x = run(layer, x);
      full_bytes_ += bytes_of(layer, x);
    }
    return x;
  }

  // Memory costs what the segment says. Stores that encode say themselves, but only afterwards.
  void keep(std::int64_t layer, const Value& x) {
    if constexpr (detail::CountingStore<Store, Value>) {
      kept_.push_back(layer);
      charge(store_.put(layer, x));
    } else {
      charge(bytes_of(layer, x));
      kept_.push_back(layer);
      store_.put(layer, x);
    }
  }
  void charge(std::int64_t bytes) {
    options_.budget.allocate(bytes);
    kept_bytes_ += bytes;
  }

  void reverse(std::int64_t begin, std::int64_t end, NetworkGradients<R>& gradients) {
    std::vector<Value> inputs;
    inputs.push_back(store_.get(begin));
    std::int64_t bytes = memory_bytes();
    for (std::int64_t layer = begin; layer + 1 < end; ++layer, ++recomputed_) {
      inputs.push_back(run(layer, inputs.back()));
      bytes += bytes_of(layer + 1, inputs.back());
    }
    peak_bytes_ = std::max(peak_bytes_, bytes);
    for (std::int64_t layer = end; layer-- > begin; inputs.pop_back()) {
      auto both = naming_segment(
          layer, [&] { return segments_[static_cast<std::size_t>(layer)]->vjp(inputs.back(), gradients.input); });
      gradients.input = std::move(both.first);
      gradients.parameters.push_back(std::move(both.second));
    }
  }

  void check_determinism() {
    if constexpr (!detail::Comparable<Value>)
      throw BadRequest("[network] check_determinism compares values: they have to have operator== or reprise::Serial");
    else
      run_twice();
  }
  void run_twice() {
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      Value x = store_.get(kept_[k]);
      for (std::int64_t layer = kept_[k]; layer < end_of(k); ++layer) {
        Value once = run(layer, x);
        if (!detail::same_value<Value>(once, run(layer, x))) throw NotDeterministic("[network] segment", layer);
        x = std::move(once);
      }
    }
  }

  std::vector<std::shared_ptr<const R>> segments_;
  NetworkOptions options_;
  Store store_;
  std::vector<std::int64_t> kept_;
  std::int64_t kept_bytes_ = 0, full_bytes_ = 0, input_bytes_ = 0, recomputed_ = 0, peak_bytes_ = 0;
};

}  // namespace reprise
