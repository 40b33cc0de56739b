// SPDX-License-Identifier: Apache-2.0
// Values on demand, held under a limit.
//
//     LazyExecutor lazy{{.cache = 64_MiB}};
//     Value x = lazy.input(batch, "x");
//     Value h = tanh(matmul(x, w));
//     Tensor a = lazy.evaluate(left(h));                   // runs what is missing
//     Tensor b = lazy.evaluate(right(h));                  // h is still there, or comes back by itself
//     lazy.set_input(x, next_batch);                       // what depends on x, and nothing else, is computed again
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/graph.h"
#include "reprise/lazy_ops.h"
#include "reprise/ops.h"

namespace reprise {

/// What is dropped first when the cache is full.
enum class CachePolicy : std::uint8_t {
  cost_aware,  // what is cheapest to recompute, its dropped neighbours included, per byte and by how long it lay unused
  lru,         // what was used longest ago
  fifo,        // what was computed longest ago
  lfu,         // what was used least often
  none,        // nothing outlives the call that computed it
};
/// "cost_aware", "lru", ...
REPRISE_API std::string_view to_string(CachePolicy policy);

struct LazyOptions {
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

  std::int64_t cache = unlimited;    // bytes of computed values and of what a running op needs beside its inputs
  std::int64_t entries = unlimited;  // how many nodes' values
  CachePolicy policy = CachePolicy::cost_aware;
  int threads = 1;              // on which independent branches run when that pays; the bits stay the same
  bool keeps_timeline = false;  // for timeline()
};

/// What happened since the beginning, or since reset_stats().
struct LazyStats {
  std::int64_t hits = 0;        // values asked for, by the caller or by an op, that were there
  std::int64_t misses = 0;      // ... that were not
  std::int64_t evictions = 0;   // values dropped for want of room
  std::int64_t executed = 0;    // ops run
  std::int64_t recomputed = 0;  // of these: again, after being dropped or invalidated, with the same inputs
  std::int64_t bytes = 0;       // held now
  std::int64_t peak_bytes = 0;  // the most held at once, running ops included
  std::int64_t entries = 0;     // values held now
  double seconds = 0;           // running ops
  double recompute_seconds = 0;

  double hit_rate() const {
    return hits + misses == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(hits + misses);
  }
};

/// An op that ran, or a value that was dropped for want of room.
struct LazyEvent {
  enum class Kind : std::uint8_t { ran, dropped };
  Kind kind = Kind::ran;
  std::string op;
  std::int32_t node = -1;
  double begin = 0;  // seconds since the executor was made
  double seconds = 0;
  std::int64_t live_bytes = 0;  // held afterwards
};

/// Evaluates values of any graphs on demand and keeps what it computed. Tensors that it returns share the cache's
/// memory: read them, clone() them to change them. Inputs and constants are the caller's: they are not part of the
/// cache.
class REPRISE_API LazyExecutor {
 public:
  explicit LazyExecutor(const LazyOptions& options = {});
  ~LazyExecutor();
  LazyExecutor(LazyExecutor&&) noexcept;
  LazyExecutor& operator=(LazyExecutor&&) noexcept;

  /// A new input of the executor's own graph.
  Value input(const Tensor& tensor, std::string name = {});
  /// Gives an input of any graph its tensor. What depends on it is computed again when it is asked for. A tensor whose
  /// numbers changed in place must be set again.
  void set_input(const Value& input, const Tensor& tensor);

  Tensor evaluate(const Value& value);
  std::vector<Tensor> evaluate(const Values& values);

  /// The graph's outputs, for the inputs set before or given here, in the order of graph->inputs.
  std::vector<Tensor> forward(const std::shared_ptr<Graph>& graph);
  std::vector<Tensor> forward(const std::shared_ptr<Graph>& graph, std::span<const Tensor> inputs);
  /// The gradient of every float input, given that of the graph's first output. The gradient's nodes are recorded on
  /// the graph the first time, and share its values.
  std::vector<Tensor> backward(const std::shared_ptr<Graph>& graph, const Tensor& loss_gradient);

  // One op at once, on tensors; ops also by name, whatever its case, and by short names.
  Tensor einsum(std::string_view spec, const std::vector<Tensor>& inputs);
  Tensor elem_op(ElemOp op, const Tensor& x);
  Tensor elem_op(std::string_view op, const Tensor& x) { return elem_op(parse_elem_op(op), x); }
  Tensor elem_op_binary(BinaryOp op, const Tensor& a, const Tensor& b);
  Tensor elem_op_binary(std::string_view op, const Tensor& a, const Tensor& b) {
    return elem_op_binary(parse_binary_op(op), a, b);
  }
  Tensor reduce(ReduceOp op, const Tensor& x, const Axes& axes, bool keepdims = false);
  Tensor reduce(std::string_view op, const Tensor& x, const Axes& axes, bool keepdims = false) {
    return reduce(parse_reduce_op(op), x, axes, keepdims);
  }

  /// The value if it is there.
  std::optional<Tensor> get_cached(const Value& value) const;
  /// Says what a value is, in place of what its node would compute, until it is invalidated or something it depends on
  /// changes. What depends on it is computed again. It is never dropped.
  void put_cached(const Value& value, const Tensor& tensor);
  /// Drops the value and all that depends on it.
  void invalidate_node(const Value& value);
  /// Drops everything that was computed or put; inputs stay.
  void invalidate_cache();
  /// How many nodes' values are held.
  std::int64_t cached_count() const;
  /// The bytes that would be held after forward(graph) without a limit.
  std::int64_t memory_estimate_for(const std::shared_ptr<Graph>& graph) const;

  LazyStats stats() const;
  void reset_stats();
  /// What happened, in order; empty unless the options ask for it.
  const std::vector<LazyEvent>& timeline() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace reprise
