// SPDX-License-Identifier: Apache-2.0
// Keeps every n-th activation of a pass over layers and recomputes the others when they are asked for:
//
//   ActivationCheckpointer checkpointer({.checkpoint_every_n_layers = 3});
//   auto y  = checkpointer.checkpointed_forward(x, layers, layer);            // layer(index, x) → y
//   auto x4 = checkpointer.recompute_from_checkpoint(4, layers, layer);       // the output of layer 4
//   auto dx = checkpointer.checkpointed_backward(dy, layers, layer, vjp);     // vjp(index, x, dy) → dx
//
// A pass is a list of layer indices, in any order and with repeats; positions in it are what is kept and replayed.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reprise/checkpoint_errors.h"
#include "reprise/checkpoint_strategy.h"
#include "reprise/export.h"
#include "reprise/stores.h"

namespace reprise {

/// How kept activations are stored; f32 means as they are.
enum class Precision { f32, f16, bf16, int8 };

struct CheckpointConfig {
  std::int64_t checkpoint_every_n_layers = 4;  // 0: never
  std::int64_t max_checkpoints = 64;
  bool use_mixed_precision = false;  // short for precision f16; beside bf16 or int8 it is refused
  Precision precision = Precision::f32;
  std::int64_t int8_block = 64;    // elements that share one scale
  CheckpointBudget budget = {};    // for the bytes of the checkpoints
  bool evict_when_full = true;     // otherwise a save without room throws MaximumReached or BudgetExceeded
  bool check_determinism = false;  // backward first runs every layer twice and names the first that differs
};

namespace detail {

/// Throws where the configuration makes no sense.
REPRISE_API void check_config(const CheckpointConfig& config);
REPRISE_API EncodingOptions encoding_of(const CheckpointConfig& config);
/// Of the sorted `candidates`, at most `most`, such that the longest replay is shortest: from the kept position before
/// it, or from -1, to any position of 0 … length-1.
REPRISE_API std::vector<std::int64_t> choose_positions(std::span<const std::int64_t> candidates, std::int64_t length,
                                                       std::int64_t most);
/// Of the sorted `kept`, the one whose loss costs least, but not `spared`: those after it, up to the next (or `end`),
/// would be replayed from the one before it (or `begin`; where that is empty from nowhere, so the first goes last).
REPRISE_API std::int64_t cheapest_to_lose(std::span<const std::int64_t> kept, std::int64_t spared,
                                          std::optional<std::int64_t> begin, std::int64_t end);

}  // namespace detail

/// `Store` is any of reprise/stores.h, empty; the default one takes its precision from the configuration. Copies are
/// independent.
template <class Activation = std::vector<float>, class Store = EncodedStore<Activation>>
class ActivationCheckpointer {
  static_assert(detail::check_storable<Activation>());

 public:
  using Layers = std::vector<std::int64_t>;

  explicit ActivationCheckpointer(CheckpointConfig config = {}) requires std::same_as<Store, EncodedStore<Activation>>
      : config_((detail::check_config(config), std::move(config))), store_(detail::encoding_of(config_)) {}
  ActivationCheckpointer(CheckpointConfig config, Store store)
      : config_((detail::check_config(config), std::move(config))), store_(std::move(store)) {
    detail::check_empty("checkpointer", store_);
    if (detail::encoding_of(config_).encoding != Encoding::plain)
      throw BadRequest("[checkpointer] a store of your own has its own precision: leave the configuration's at f32");
  }

  /// Keeps the output of a layer, or replaces it. Without room, the checkpoint whose loss costs least goes. A value
  /// that cannot be encoded, or is larger than the budget or a slot, is an error that changes nothing. Where the store
  /// itself fails (a disk, or one of your own), the checkpoint that made room is gone.
  void save(std::int64_t layer, const Activation& activation) { keep(key_of(layer), activation); }

  /// The kept output of a layer (of its last run, where the pass repeats it); throws NothingStored where there is none.
  Activation get(std::int64_t layer) const {
    std::int64_t key = key_of(layer);
    if (!kept_.contains(key))
      throw NothingStored("checkpointer", layer, "save it first, or ask recompute_from_checkpoint for it");
    return store_.get(key);
  }

  /// Drops everything, also the last pass and its input.
  void clear() {
    while (!kept_.empty()) drop(kept_.begin()->first);
    pass_.clear();
    last_position_.clear();
    input_.reset();
    plain_bytes_ = 0;
  }

  std::int64_t num_checkpoints() const { return std::ssize(kept_); }
  /// Bytes the checkpoints hold. The input of the last pass is held beside them: input_bytes().
  std::int64_t memory_stored_bytes() const { return stored_bytes_; }
  /// Bytes a plain run would hold for the last pass (and for what was saved by hand) less those that are stored.
  std::int64_t memory_saved_bytes() const { return plain_bytes_ - memory_stored_bytes(); }
  std::int64_t input_bytes() const { return input_ ? stored_bytes(*input_) : 0; }
  /// The largest error that storing made in any element; 0 for f32.
  double largest_error() const { return store_.largest_error(); }
  bool is_checkpoint_layer(std::int64_t layer) const {
    return layer >= 0 && config_.checkpoint_every_n_layers > 0 && layer % config_.checkpoint_every_n_layers == 0;
  }
  const CheckpointConfig& config() const { return config_; }
  /// Layers that the last recompute or backward ran again.
  std::int64_t recomputed_layers() const { return recomputed_; }

  /// Runs `layer(index, x)` over the list, keeps the input and the outputs of checkpoint layers, and forgets the pass
  /// before. With more checkpoint layers than max_checkpoints it keeps those that make the longest replay shortest.
  /// Where it throws, nothing is kept.
  template <class Layer>
  Activation checkpointed_forward(const Activation& input, const Layers& layers, Layer&& layer) {
    clear();
    try {
      return run_and_keep(input, layers, layer);
    } catch (...) {
      clear();
      throw;
    }
  }

  /// The output of layer `target` (of its last run): the nearest kept value at or before it, replayed forward.
  template <class Layer>
  Activation recompute_from_checkpoint(std::int64_t target, const Layers& layers, Layer&& layer) {
    for (std::int64_t position = std::ssize(layers); position-- > 0;)
      if (layers[static_cast<std::size_t>(position)] == target) return recompute_at(position, layers, layer);
    throw BadRequest("[checkpointer] layer " + std::to_string(target) +
                     " is not in the list of layers: give the list of the pass it ran in");
  }

  /// The output at a position of the list.
  template <class Layer>
  Activation recompute_at(std::int64_t position, const Layers& layers, Layer&& layer) {
    if (position < 0 || position >= std::ssize(layers))
      throw IndexOutOfBounds("checkpointer", position, std::ssize(layers));
    auto [at, x] = nearest(position, layers);
    recomputed_ = position - at;
    while (at < position) x = layer(layers[static_cast<std::size_t>(++at)], std::as_const(x));
    return std::move(x);
  }

  /// The whole reverse sweep over the last pass: each stretch between kept values is recomputed once, then
  /// `vjp(index, input, output_gradient)` runs from the last layer to the first. Returns the gradient of the pass's
  /// input.
  template <class Layer, class Vjp, class Gradient = Activation>
  Gradient checkpointed_backward(Gradient gradient, const Layers& layers, Layer&& layer, Vjp&& vjp) {
    if (!input_) throw OutOfTurn("[checkpointer] backward needs a checkpointed_forward before it");
    if (layers.size() != pass_.size())
      throw DimensionMismatch("[checkpointer] the forward pass ran " + std::to_string(pass_.size()) +
                                  " layers and the backward was given " + std::to_string(layers.size()) +
                                  ": give it the same list",
                              std::ssize(pass_), std::ssize(layers));
    check_same_pass(layers, std::ssize(layers));
    if (config_.check_determinism) run_twice(layers, layer);
    recomputed_ = 0;
    for (std::int64_t end = std::ssize(pass_) - 1; end >= 0;) {
      auto [begin, x] = nearest_in_pass(end - 1);
      std::vector<Activation> inputs;
      inputs.push_back(std::move(x));
      for (std::int64_t at = begin + 1; at < end; ++at, ++recomputed_)
        inputs.push_back(layer(layers[static_cast<std::size_t>(at)], std::as_const(inputs.back())));
      for (; end > begin; --end, inputs.pop_back())
        gradient = vjp(layers[static_cast<std::size_t>(end)], std::as_const(inputs.back()), std::as_const(gradient));
    }
    return gradient;
  }

 private:
  static constexpr std::int64_t layer_limit = std::int64_t{1} << 62;
  struct Size {
    std::int64_t plain = 0, stored = 0;
  };

  // Layers of the pass are kept under their last position; others behind it, in the order of their numbers.
  std::int64_t key_of(std::int64_t layer) const {
    if (layer < 0 || layer >= layer_limit) throw IndexOutOfBounds("checkpointer", layer, layer_limit);
    auto at = last_position_.find(layer);
    return at != last_position_.end() ? at->second : std::ssize(pass_) + layer;
  }
  bool is_of_pass(std::int64_t key) const { return key < std::ssize(pass_); }

  template <class Layer>
  Activation run_and_keep(const Activation& input, const Layers& layers, Layer& layer) {
    Layers candidates;
    for (std::int64_t position = 0; position < std::ssize(layers); ++position) {
      std::int64_t index = layers[static_cast<std::size_t>(position)];
      key_of(index);  // a bad index is an error before anything runs
      if (is_checkpoint_layer(index)) candidates.push_back(position);
    }
    pass_ = layers;
    for (std::int64_t position = 0; position < std::ssize(layers); ++position)
      last_position_[layers[static_cast<std::size_t>(position)]] = position;
    input_ = input;
    Layers chosen = detail::choose_positions(candidates, std::ssize(layers), config_.max_checkpoints);
    std::size_t next = 0;
    Activation x = input;
    for (std::int64_t position = 0; position < std::ssize(layers); ++position) {
      x = layer(layers[static_cast<std::size_t>(position)], std::as_const(x));
      plain_bytes_ += stored_bytes(x);
      if (next < chosen.size() && chosen[next] == position) keep(position, x), ++next;
    }
    return x;
  }

  // Room is made only for a value that is ready to be put there.
  void keep(std::int64_t key, const Activation& activation) {
    std::int64_t plain = stored_bytes(activation);
    if constexpr (detail::EncodingStore<Store, Activation>) {
      detail::Encoded encoded = store_.encode(key, activation);
      make_room(key, std::ssize(encoded.bytes));
      count(key, plain, guarded([&] { return store_.put_encoded(key, std::move(encoded)); }));
    } else {
      Activation copy = activation;
      make_room(key, plain);
      count(key, plain, guarded([&]() -> std::int64_t {
              if constexpr (detail::CountingStore<Store, Activation>) {
                return store_.put(key, std::move(copy));
              } else {
                store_.put(key, std::move(copy));
                return plain;
              }
            }));
    }
  }

  // A call of the store, which may tell that the disk has lost something.
  template <class Call>
  auto guarded(Call call) {
    try {
      return call();
    } catch (...) {
      forget_what_is_lost();
      throw;
    }
  }

  void count(std::int64_t key, std::int64_t plain, std::int64_t stored) {
    Size& place = kept_[key];
    config_.budget.free(place.stored);
    config_.budget.allocate(stored);
    stored_bytes_ += stored - place.stored;
    if (!is_of_pass(key)) plain_bytes_ += plain - place.plain;
    place = {plain, stored};
  }

  // A disk store that fails behind a put has emptied that slot.
  void forget_what_is_lost() {
    if constexpr (requires(std::int64_t key) { store_.holds(key); })
      for (auto at = kept_.begin(); at != kept_.end();) {
        std::int64_t key = at++->first;
        if (!store_.holds(key)) drop(key);
      }
  }

  void make_room(std::int64_t key, std::int64_t bytes) {
    std::int64_t most = config_.budget.remaining() + stored_bytes_;  // some of the budget may be others'
    if (bytes > most) throw BudgetExceeded(bytes, most);
    auto old = kept_.find(key);
    std::int64_t freed = old == kept_.end() ? 0 : old->second.stored;
    while (!config_.budget.can_allocate(std::max<std::int64_t>(bytes - freed, 0))) evict(key, bytes);
    if (old == kept_.end() && num_checkpoints() == config_.max_checkpoints) evict(key, bytes);
  }

  // The value being saved is no candidate, but its place counts.
  void evict(std::int64_t saving, std::int64_t bytes) {
    if (!config_.evict_when_full) {
      if (num_checkpoints() == config_.max_checkpoints) throw MaximumReached("checkpointer", config_.max_checkpoints);
      throw BudgetExceeded(bytes, config_.budget.remaining());
    }
    Layers keys;
    for (const auto& [key, size] : kept_) keys.push_back(key);
    keys.insert(std::ranges::lower_bound(keys, saving), kept_.contains(saving) ? 0 : 1, saving);
    if (keys.size() == 1) throw BudgetExceeded(bytes, config_.budget.remaining());
    // What no replay leads to goes last, and costs the pass's checkpoints nothing.
    auto others = std::ranges::lower_bound(keys, std::ssize(pass_));
    if (std::any_of(keys.begin(), others, [&](std::int64_t key) { return key != saving; }))
      keys.erase(others, keys.end());
    auto begin = input_ ? std::optional<std::int64_t>(-1) : std::nullopt;
    drop(detail::cheapest_to_lose(keys, saving, begin, std::max<std::int64_t>(std::ssize(pass_), keys.back() + 1)));
  }

  void drop(std::int64_t key) {
    store_.drop(key);
    auto at = kept_.find(key);
    config_.budget.free(at->second.stored);
    stored_bytes_ -= at->second.stored;
    if (!is_of_pass(key)) plain_bytes_ -= at->second.plain;
    kept_.erase(at);
  }

  void check_same_pass(const Layers& layers, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i)
      if (i >= std::ssize(pass_) || layers[static_cast<std::size_t>(i)] != pass_[static_cast<std::size_t>(i)])
        throw BadRequest("[checkpointer] the layers differ from those of the forward pass at position " +
                         std::to_string(i) + ": give the same list");
  }

  template <class Layer>
  void run_twice(const Layers& layers, Layer& layer) {
    if constexpr (!detail::Comparable<Activation>) {
      throw BadRequest("[checkpointer] check_determinism compares values: they have to have operator==");
    } else {
      Activation x = *input_;
      for (std::int64_t at = 0; at < std::ssize(layers); ++at) {
        Activation once = layer(layers[static_cast<std::size_t>(at)], std::as_const(x));
        Activation again = layer(layers[static_cast<std::size_t>(at)], std::as_const(x));
        if (!detail::same_value(once, again)) throw NotDeterministic("[checkpointer] the layer at position", at);
        x = kept_.contains(at) ? guarded([&] { return store_.get(at); }) : std::move(once);
      }
    }
  }

  // The last kept value at or before a position, and its position: -1 is the input of the pass.
  std::pair<std::int64_t, Activation> nearest(std::int64_t position, const Layers& layers) {
    if (!input_) return nearest_by_layer(position, layers);
    check_same_pass(layers, position + 1);
    return nearest_in_pass(position);
  }
  std::pair<std::int64_t, Activation> nearest_in_pass(std::int64_t position) {
    auto after = kept_.upper_bound(position);
    if (after == kept_.begin()) return {-1, *input_};
    std::int64_t key = std::prev(after)->first;
    return {key, guarded([&] { return store_.get(key); })};
  }

  // What was saved by hand belongs to the last run of its layer.
  std::pair<std::int64_t, Activation> nearest_by_layer(std::int64_t position, const Layers& layers) {
    for (std::int64_t at = position; at >= 0; --at) {
      std::int64_t layer = layers[static_cast<std::size_t>(at)];
      if (!kept_.contains(layer)) continue;
      if (std::find(layers.begin() + at + 1, layers.end(), layer) == layers.end()) return {at, store_.get(layer)};
    }
    throw NothingStored("checkpointer", layers[static_cast<std::size_t>(position)],
                        "save it or a layer before it first, or run a checkpointed_forward");
  }

  CheckpointConfig config_;
  mutable Store store_;  // a disk store's get is not const
  std::map<std::int64_t, Size> kept_;
  Layers pass_;
  std::unordered_map<std::int64_t, std::int64_t> last_position_;  // of each layer in the pass
  std::optional<Activation> input_;                               // of the pass
  std::int64_t plain_bytes_ = 0, stored_bytes_ = 0, recomputed_ = 0;
};

}  // namespace reprise
