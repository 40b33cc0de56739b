// SPDX-License-Identifier: Apache-2.0
// The planner: which values of a computation to keep, drop, recompute, compress or page out so that it fits a budget,
// at the least cost, with a proof of how far from the best that is. It knows sizes, costs and edges only.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/base.h"

namespace reprise {

// ---------------------------------------------------------------------------------------------------------- the
// problem

/// One value of a Problem: output number `output` of node number `node`. `fft[1]` is the second output of `fft`.
struct ValueRef {
  int node = 0;
  int output = 0;
  ValueRef operator[](int other_output) const { return {node, other_output}; }
  friend auto operator<=>(const ValueRef&, const ValueRef&) = default;
};

/// Bytes of a node's outputs: one number, or a list for a node with several outputs.
class Sizes : public std::vector<std::int64_t> {
 public:
  Sizes(std::int64_t bytes = 0) : vector{bytes} {}
  Sizes(std::initializer_list<std::int64_t> bytes) : vector(bytes) {}
  Sizes(std::vector<std::int64_t> bytes) : vector(std::move(bytes)) {}
};

/// What Problem::add is told about a node.
struct NodeSpec {
  std::string name;
  Sizes bytes;
  double cost = 0;           // of one run, in any unit
  std::int64_t scratch = 0;  // bytes needed only while it runs
  bool pinned = false;       // an input of the step that nobody computes: always in memory, no inputs, no cost
  std::string group = {};    // what its values are (parameters, gradients ...): reports add up by it, plans ignore it
};

/// A smaller form a value can be kept in. While it is encoded or decoded both forms are in memory.
struct Compression {
  std::int64_t bytes = 0;  // of the compressed form
  double encode_cost = 0;
  double decode_cost = 0;
  friend bool operator==(const Compression&, const Compression&) = default;
};

/// A value can be moved out of memory and back.
struct Paging {
  double out_cost = 0;
  double in_cost = 0;
  friend bool operator==(const Paging&, const Paging&) = default;
};

/// A computation: nodes in their base order, the values they make and read, and what may be done with them. A plain
/// value; copies share what they hold until one changes.
///
///   reprise::Problem p;
///   auto load = p.add({"load", 40_MiB, 0.2});
///   auto fft = p.add({"fft", 80_MiB, 1.5}, {load});
///   p.output(fft);
///
/// Every function throws Error when what it is told cannot be.
class REPRISE_API Problem {
 public:
  Problem() = default;
  Problem(const Problem&) = default;  // moves are copies: what was moved from still holds what it held
  Problem& operator=(const Problem&) = default;

  struct Node {
    std::string name;
    double cost = 0;
    std::int64_t scratch = 0;
    bool pinned = false;
    bool never_recompute = false;
    int first_value = 0;  // its values are first_value … first_value + value_count - 1
    int value_count = 1;
    int first_input = 0, input_count = 0;  // see Problem::inputs
    int updates = -1;                      // the pinned value it overwrites, or -1
    int group = -1;                        // see Problem::group
    friend bool operator==(const Node&, const Node&) = default;
  };
  struct Value {
    int node = 0;
    std::int64_t bytes = 0;      // 0 for a view: its bytes are those of what it views
    bool output = false;         // in memory at the end
    bool keep = false;           // in memory from its first run to its last use
    int never_keep_across = -1;  // the node during whose runs it must not be in memory, or -1
    int view_of = -1;            // the value whose memory it shares (never itself a view), or -1
    int in_place_of = -1;        // the value whose memory it may take over (never a view), or -1
    int updated_by = -1;         // the node that overwrites it, or -1
    friend bool operator==(const Value&, const Value&) = default;
  };

  /// Makes room for so many nodes and values, so that adding them takes no more memory than they need.
  void reserve(int nodes, int values);
  /// Adds a node after all others. Inputs are values of nodes added before.
  ValueRef add(NodeSpec spec, const std::vector<ValueRef>& inputs = {});

  /// The value stays in memory to the end.
  void output(ValueRef value);
  /// The value is neither recomputed, compressed nor paged: once made it stays until its last use. Of a view, so does
  /// what it views.
  void keep(ValueRef value);
  /// The value is not in memory while `across` runs; who needs it later computes it again. The nodes must be able to
  /// run so in the order in which they were added. Of a view, what it views may stay.
  void never_keep(ValueRef value, ValueRef across);
  /// The node runs exactly once.
  void never_recompute(ValueRef node);
  /// `value` is the memory of `of`, an input of its node, which otherwise reads pinned values only (unless `of` itself
  /// is pinned). It is gone when `of` is dropped or made again. This and in_place are said before further nodes are
  /// added.
  void view(ValueRef value, ValueRef of);
  /// `value` takes over the memory of `input`, an input of its node at least as large, if that is dropped right after
  /// the run.
  void in_place(ValueRef value, ValueRef input);
  /// The node overwrites the pinned value: it runs once, and nothing that reads the old value runs after it.
  void update(ValueRef node, ValueRef pinned);
  void compressible(ValueRef value, Compression how);
  void pageable(ValueRef value, Paging how);
  /// Bytes that are in memory throughout besides all values.
  void resident(std::int64_t bytes);

  int node_count() const { return static_cast<int>(data_->nodes.size()); }
  int value_count() const { return static_cast<int>(data_->values.size()); }
  const Node& node(int index) const { return data_->nodes[static_cast<std::size_t>(index)]; }
  const Value& value(int index) const { return data_->values[static_cast<std::size_t>(index)]; }
  std::span<const Node> nodes() const { return data_->nodes; }
  std::span<const Value> values() const { return data_->values; }
  /// Value numbers, each once, in the order given.
  std::span<const int> inputs(const Node& node) const {
    return {data_->inputs.data() + node.first_input, static_cast<std::size_t>(node.input_count)};
  }
  std::span<const int> inputs(int node) const { return inputs(this->node(node)); }
  /// What the node's values are, for reports; may be empty.
  std::string_view group(const Node& node) const;
  /// How a value can be compressed or paged, if it can.
  const std::optional<Compression>& compression(int value) const;
  const std::optional<Paging>& paging(int value) const;
  std::int64_t resident_bytes() const { return data_->resident_bytes; }
  /// The number of a value; throws Error when there is none.
  int index(ValueRef value) const;
  /// The node of that name, or -1.
  int find(std::string_view name) const;
  /// "fft", or "fft:1" for the outputs after the first.
  std::string value_name(int value) const;
  /// The same with all sizes rounded up to multiples: what values take whose offsets are multiples.
  Problem aligned(std::int64_t alignment) const;

  friend REPRISE_API bool operator==(const Problem& a, const Problem& b);

 private:
  struct Data {
    std::vector<Node> nodes;
    std::vector<Value> values;
    std::vector<int> inputs;                              // of all nodes
    std::vector<std::string> groups;                      // each once
    std::vector<std::optional<Compression>> compression;  // by value; what is beyond the end has none
    std::vector<std::optional<Paging>> paging;            // the same
    std::vector<int> by_name;  // nodes, where the hashes of their names say or next to that; -1: free
    std::int64_t resident_bytes = 0;
    std::int64_t total_bytes = 0;
  };
  static void grow_names(Data& data, std::size_t nodes);
  static void enter_name(Data& data, int node);
  Data& own();  // what it holds, shared with no other copy, so that it may change
  int check_reads_last(ValueRef value, ValueRef input, const char* what) const;
  int check_has_own_memory(ValueRef value) const;
  void check_reads_only(ValueRef view, int root) const;

  std::shared_ptr<Data> data_ = std::make_shared<Data>();  // never null
};

// --------------------------------------------------------------------------------------------------------- the
// schedule

/// One thing to do. `id` is a node number for `run` and a value number for everything else.
struct Step {
  enum class Kind : std::uint8_t { run, drop, page_out, page_in, compress, expand };
  Kind kind = Kind::run;
  int id = 0;
  friend auto operator<=>(const Step&, const Step&) = default;
};

/// The word for a kind of step in plan.json: "run", "drop", "page_out" …
REPRISE_API std::string_view to_string(Step::Kind kind);

/// What to do, in order. Every node runs at least once (pinned ones too: their run does nothing and costs nothing).
///
/// A run makes all values of its node; a run of a node whose values are still in memory replaces them. A value is in
/// memory until it is dropped, made again, compressed or paged out; its views go with it. Memory during a step is what
/// is in memory before it, plus what it makes, plus its scratch. After `compress` or `page_out` only the compressed
/// form, or nothing, is in memory; `expand` and `page_in` bring the value back, and its other form is gone.
struct Schedule {
  std::vector<Step> steps;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// The schedule that runs `nodes` in this order and drops every value after its last use before it is made again.
REPRISE_API Schedule with_drops(const Problem& problem, std::span<const int> nodes);
/// The same for any steps other than drops.
REPRISE_API Schedule with_drops(const Problem& problem, std::span<const Step> steps);
/// Every node once, in base order; again only what must not be kept across a node but is needed after it. Throws Error
/// where no way to do that is found.
REPRISE_API Schedule keep_all(const Problem& problem);

/// What the judge says of a schedule.
struct Verdict {
  bool ok = false;
  std::string why;        // empty when ok
  std::int64_t peak = 0;  // bytes, up to the step that failed
  double cost = 0;
  int peak_step = 0;  // the first step that reaches the peak
  explicit operator bool() const { return ok; }
};

/// The judge: replays the schedule by definition. Shares no code with the solvers.
REPRISE_API Verdict validate(const Problem& problem, const Schedule& schedule,
                             std::int64_t budget = std::numeric_limits<std::int64_t>::max());
/// Largest number of bytes in memory at once; throws Error if the schedule is not valid.
REPRISE_API std::int64_t peak(const Problem& problem, const Schedule& schedule);
/// Sum of the costs of all steps; throws Error if the schedule is not valid.
REPRISE_API double cost(const Problem& problem, const Schedule& schedule);

// -------------------------------------------------------------------------------------------------------- the layout

/// Where one life of a value, of its compressed form, or of a run's scratch lies in the arena. A life is the steps
/// [from, to): from the step that makes the value (the first step for pinned ones) to the one that drops it, replaces
/// it or ends the schedule; the dropping step still belongs to it. A value whose memory is taken over in place ends
/// with the step that takes it.
struct Placement {
  enum class Kind : std::uint8_t { value, compressed, scratch };
  Kind kind = Kind::value;
  int id = 0;  // value number; node number for scratch
  int from = 0;
  int to = 0;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  friend auto operator<=>(const Placement&, const Placement&) = default;
};

/// Every life that a schedule gives rise to, with offsets of 0. Where an output can take over an input that dies, it
/// does.
REPRISE_API std::vector<Placement> lives(const Problem& problem, const Schedule& schedule);

/// The judge of layouts: every life has its row, and no two rows share a byte at the same step. The verdict's peak is
/// the arena with all that is resident. Quadratic on purpose; shares no code with what makes layouts.
REPRISE_API Verdict validate(const Problem& problem, const Schedule& schedule, std::span<const Placement> layout,
                             std::int64_t budget = std::numeric_limits<std::int64_t>::max());

// ------------------------------------------------------------------------------------------------------------ the
// solver

/// What a running solve has reached so far.
struct PlanProgress {
  double seconds = 0;
  std::optional<double> cost;  // of the best schedule within the budget, if there is one yet
  double lower_bound = 0;
  std::string_view solver;  // the one at work
};

struct PlanOptions {
  std::int64_t budget = std::numeric_limits<std::int64_t>::max();  // bytes, resident ones included
  std::vector<std::string> solvers = {};                           // only these, by name; empty: all
  std::vector<std::string> without = {};                           // none of these
  std::optional<Schedule> start = {};  // a schedule known already, from which the search may start
  std::int64_t alignment = 1;          // a power of two: offsets in the arena are multiples of it
  std::uint64_t seed = 1;
  std::int64_t iterations =
      20'000;  // moves each search may try; with no time limit the same problem gives the same plan
  double time_limit = std::numeric_limits<double>::infinity();  // seconds
  // Where nothing is found within the time limit, a search without one decides whether anything fits; in problems of at
  // most 20,000 nodes.
  bool settle = false;
  // False: where nothing fits, min_budget is the lowest that was seen, and no more is searched for it.
  bool names_smallest = true;
  int threads = 1;  // 2: the second raises the bound and, with a time limit, searches too
  double gap = 0;   // stop as soon as the cost is proved to be within this share of the best possible
  std::function<void(const PlanProgress&)> progress = {};  // called now and then, from the calling thread only
  std::stop_token cancel = {};                             // ends the search early; the best so far is returned
};

/// The moment that forces cost: while `node` first runs, what it reads and makes leaves `free_bytes` for everything
/// that is needed later.
struct Binding {
  int node = -1;                  // -1: no moment does, the base order fits
  std::int64_t node_bytes = 0;    // inputs, outputs and scratch of the node, and what is always resident
  std::int64_t free_bytes = 0;    // budget - node_bytes
  std::int64_t needed_bytes = 0;  // values that are needed then or later, if everything were kept
  bool any_order = false;         // the bound holds for every order of first runs, not only for the base order
};

struct PlanResult {
  bool feasible = false;
  std::shared_ptr<const Problem> problem;  // what was planned
  Schedule schedule;                       // the best found; empty when not feasible
  std::vector<Placement> layout;           // where everything lies in one arena; empty when not feasible
  std::int64_t layout_bytes = 0;           // the arena and what is resident: never above the budget
  std::int64_t budget = 0;
  std::int64_t peak = 0;           // of the schedule
  std::int64_t keep_all_peak = 0;  // of the base order without recomputing
  bool is_decided = true;          // false: nothing was found in the time given, which need not mean that nothing fits
  /// The smallest for which a schedule and its layout were found. Where nothing fits and there is no time limit, one
  /// byte less is refused; except in problems of more than 4,000 nodes that are no chains.
  std::int64_t min_budget = 0;
  std::int64_t min_budget_bound = 0;  // below this none exists; equal to min_budget: that is exact
  double cost = 0;
  double base_cost = 0;    // of running every node once
  double lower_bound = 0;  // no schedule within the budget costs less, for the order of first runs `binding` names
  double lower_bound_any_order = 0;  // nor does any in whatever order
  Binding binding;
  int recomputed = 0;  // values made more than once
  int value_count = 0;
  std::string solver;  // that found the schedule
  double seconds = 0;
  std::string where;  // name of the node at which memory is tightest, for the messages
  std::string split;  // what is in memory there, for the messages

  explicit operator bool() const { return feasible; }
  /// cost / base_cost - 1.
  REPRISE_API double overhead() const;
  /// The cost is at most this share above the best possible.
  REPRISE_API double gap() const;
  /// One line: budget, peak, time, how much is recomputed, and how good that is.
  REPRISE_API std::string summary() const;
  /// Why nothing fits and what would, or which moment forces the cost.
  REPRISE_API std::string why() const;
};

/// Finds the cheapest schedule whose layout fits the budget. Not finding one is a result, not an error.
REPRISE_API PlanResult solve(const Problem& problem, PlanOptions options = {});

/// The whole trade-off: the best plan for each budget, by ascending budget. Cost never rises and the bound never rises
/// with the budget. Plans found on the way are used again.
REPRISE_API std::vector<PlanResult> sweep(const Problem& problem, std::span<const std::int64_t> budgets,
                                          const PlanOptions& options = {});
/// The same for so many budgets, evenly spread from the smallest that fits to the one that needs no recomputing.
REPRISE_API std::vector<PlanResult> sweep(const Problem& problem, int points, const PlanOptions& options = {});
/// The inverse question: the plan with the lowest layout, within a thousandth, whose cost is at most 1 + overhead times
/// that of running every node once. Its budget is what its layout takes.
REPRISE_API PlanResult smallest_budget(const Problem& problem, double overhead, const PlanOptions& options = {});

/// Names of the solvers that PlanOptions can choose from, in the order in which they run.
REPRISE_API std::vector<std::string_view> solver_names();

}  // namespace reprise
