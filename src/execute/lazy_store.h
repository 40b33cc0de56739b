// SPDX-License-Identifier: Apache-2.0
// Values of the nodes of any number of graphs, held under one limit. Whoever asks for a value gets it: what is missing
// is computed, what stands in the way is dropped, and comes back the same way when it is asked for again.
#pragma once

#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "execute/kernel_cache.h"
#include "execute/lazy_components.h"
#include "execute/lazy_ledger.h"
#include "reprise/lazy.h"

namespace reprise {

struct Table;
class LevelRunner;

/// The state of one node. Views have no state: they are their root's memory under another shape.
struct alignas(64) Cell {
  // What the choice of the next to drop looks at, of hundreds of cells: one line of the cache.
  std::int32_t locks = 0;    // in use: not to be dropped
  std::int32_t wanted = 0;   // frames of the evaluation that will use it: dropped as a last resort
  std::int32_t pending = 0;  // nodes still to run in this evaluation that read it
  std::int32_t place = -1;   // in the list of what can be dropped
  std::int64_t bytes = 0;
  double seconds = 0;  // of its fastest run so far
  std::int64_t used = 0;
  // The components beside it, while it is present: looked up again only after a neighbour went or came. There is none
  // when it runs for the first time.
  static constexpr int most_near = 3, unknown = -1;
  std::int32_t near[most_near] = {};
  std::int32_t near_count = 0;
  std::int32_t component = -1;  // of dropped neighbours, while it is dropped
  std::int32_t depth = 0;       // of the latest frame that wants it

  std::int64_t made = 0, uses = 0;
  Table* table = nullptr;
  std::int32_t node = -1;
  Ref root = {};  // of a view: whose memory it is; else {node, 0}
  bool present = false;
  bool given = false;         // put there, not computed: never dropped
  bool is_put = false;        // given in place of a computed value
  bool was_computed = false;  // for its present inputs: running it again is recomputing
  bool is_expected = false;   // will run in this evaluation

  Tensor value;                // output 0, while it is present
  std::vector<Tensor> others;  // the other outputs
};

/// One graph's cells, and who reads whom.
struct Table {
  std::weak_ptr<Graph> owner;
  Graph* graph = nullptr;

  Cell& cell(std::int32_t i) {
    return chunks[static_cast<std::size_t>(i) / chunk][static_cast<std::size_t>(i) % chunk];
  }
  Cell& root(Ref r) { return cell(cell(r.node).root.node); }
  std::int32_t size = 0;

  static constexpr std::size_t chunk = 128;
  std::vector<std::unique_ptr<Cell[]>> chunks;

  // Readers of a node, as lists through one vector.
  struct Use {
    std::int32_t reader;
    std::int32_t next;
  };
  std::vector<std::int32_t> first_use;  // per node, -1: nobody
  std::vector<Use> uses;
};

inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct StoreOptions {
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  std::int64_t entries = std::numeric_limits<std::int64_t>::max();
  std::int64_t reserve = 0;  // of the limit: for what is allocated before the store hears of it
  CachePolicy policy = CachePolicy::cost_aware;
  bool counts_given = false;  // inputs and constants are part of the limit
  bool is_strict = false;     // what does not fit is an error; otherwise it passes through
  bool has_shares = true;     // computed values may share memory with others; false: counted by their bytes alone
  bool keeps_timeline = false;
  double (*now)() = steady_seconds;  // the clock by which runs are measured
};

/// Nothing more can be dropped, and it still does not fit.
struct NoRoom {
  std::int64_t bytes;  // that the whole would take
};

class LazyStore {
 public:
  explicit LazyStore(const StoreOptions& options) : options_(options) {}
  LazyStore(const LazyStore&) = delete;
  LazyStore& operator=(const LazyStore&) = delete;

  /// The cells of a graph, extended to its present nodes. Tables of graphs that are gone are forgotten.
  Table& table(const std::shared_ptr<Graph>& graph);
  Table* find(const std::shared_ptr<Graph>& graph) const;
  void extend(Table& table);
  void forget(Table& table);
  /// Cells from `size` on are gone.
  void shrink(Table& table, std::int32_t size);

  /// Makes an output of a node what the caller says, until it is taken back.
  void give(Cell& cell, const Tensor& value, std::int32_t output = 0);
  void take_back(Cell& cell);
  /// Computes a node's value if it is not present.
  void ensure(Table& table, std::int32_t node);
  /// The same for several values at once, level by level on several threads. False, and nothing is done, where they do
  /// not all fit.
  bool ensure_in_levels(Table& table, std::span<const Ref> targets, LevelRunner& runner);
  /// Before several `ensure`: what they will read, so that it is not dropped first.
  void expect(Table& table, std::span<const Ref> targets);
  void forget_expectations();
  /// A present value.
  Tensor read(Table& table, Ref ref);
  bool is_present(Table& table, Ref ref) { return table.root(ref).present; }

  void lock(Cell& cell) { ++cell.locks; }
  void unlock(Cell& cell) { --cell.locks; }
  /// The value goes; it is not an eviction, nobody needed the room.
  void drop(Cell& cell);
  /// Drops until `bytes` more fit. What cannot fit passes through, or throws NoRoom where the store is strict.
  void make_room(std::int64_t bytes, std::int64_t entries = 0);
  /// The same for a tensor that somebody gives; nothing where its memory is part of the whole already.
  void make_room_for(const Tensor& tensor) {
    if (!ledger_.is_held(tensor)) make_room(tensor.bytes());
  }
  /// The least that a node's run takes: beside its operands, outputs and scratch only what cannot be dropped.
  std::int64_t least_for(Table& table, std::int32_t node);
  /// What `bytes` more and these values take beside what cannot be dropped.
  std::int64_t least_with(Table& table, std::span<const Ref> values, std::int64_t bytes) const;
  /// The same; false where it does not fit.
  bool shed(std::int64_t bytes, std::int64_t entries);
  /// Back under the limits after something passed through.
  void trim() { shed(0, 0); }

  Ledger& ledger() { return ledger_; }
  const Ledger& ledger() const { return ledger_; }
  KernelCache& kernels() { return kernels_; }
  const StoreOptions& options() const { return options_; }
  const std::vector<Cell*>& droppable() const { return droppable_; }
  std::vector<std::unique_ptr<Table>>& tables() { return tables_; }
  /// Values held that were computed, or put in place of computed ones.
  std::int64_t entry_count() const;
  /// One output, put in place of a computed one, of a node with several.
  const Tensor* put_output(Table& table, Ref ref) const;
  LazyStats& stats() { return stats_; }
  void touch(Cell& cell);

  /// Where a present value is.
  void* data(Table& table, Ref r);
  const std::vector<LazyEvent>& events() const { return events_; }
  void forget_events() { events_.clear(); }

 private:
  struct Frame {
    std::int32_t node;
    std::int32_t descents = 0;
    std::vector<Cell*> held = {};  // inputs that stay until it runs
  };

  struct Candidate {
    double score;
    Cell* cell;
    std::int64_t used;  // when it was named
    bool is_exact;      // its neighbourhood is part of the score
  };

  bool is_limited() const;
  void connect(Table& table, std::int32_t i);
  void push(Table& table, std::int32_t node);
  void pop(Table& table);
  std::int32_t missing_input(Table& table, const Node& node);
  void hold_inputs(Table& table, Frame& frame);
  void run(Table& table, std::int32_t i);
  void run_kernel(Table& table, Cell& cell, const Node& node);
  std::int64_t bytes_of(const Table& table, std::int32_t node) const;
  void take_outputs(Cell& cell, const Node& node);
  void finish(Cell& cell, double seconds);
  std::vector<std::int32_t> missing_nodes(Table& table, std::span<const Ref> targets);
  void run_level(Table& table, const std::vector<std::int32_t>& nodes, LevelRunner& runner);
  void note(LazyEvent::Kind kind, const Cell& cell, double seconds);
  void settle(Table& table, Cell& cell);
  void take_constant(Cell& cell, const Tensor& value);
  void put_one(Cell& cell, const Tensor& value, std::size_t output);
  void substitute(Cell& cell);
  void release_outputs(Cell& cell);

  Cell* victim();
  void find_candidates();
  Cell* next_candidate();
  Cell* least_wanted();
  void renew_components();
  double score(const Cell& cell, double neighbourhood) const;
  template <class F>
  void for_each_neighbour(const Cell& cell, F&& f) const;
  double dropped_neighbourhood(Cell& cell) const;
  double sum_of_components(const Cell& cell) const;
  void find_near(Cell& cell) const;
  void evict(Cell& cell);
  void join_components(Cell& cell);
  void return_from_drop(Cell& cell);

  StoreOptions options_;
  KernelCache kernels_;
  Ledger ledger_;
  LazyStats stats_;
  std::vector<std::unique_ptr<Table>> tables_;
  std::vector<Cell*> droppable_;  // present, not given
  std::vector<Candidate> candidates_, heap_;
  Components components_;
  std::int64_t clock_ = 0;
  std::int64_t put_count_ = 0;

  std::vector<LazyEvent> events_;
  double beginning_ = options_.now();

  std::vector<Frame> stack_;
  std::vector<Cell*> expected_;
  std::unordered_map<Cell*, std::vector<std::optional<Tensor>>> substitutes_;  // given outputs of nodes with several
  std::vector<const void*> in_;
  std::vector<void*> out_;
};

}  // namespace reprise
