// SPDX-License-Identifier: Apache-2.0
#include "compile/build.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/free_memory.h"
#include "compile/problem_of.h"
#include "compile/profile.h"
#include "compile/updates.h"
#include "graph/builtin.h"

namespace reprise {
namespace {

// The most that one node reads and makes besides what is pinned, which is there all the time.
std::int64_t largest_node(const Graph& graph) {
  std::vector<char> is_update(static_cast<std::size_t>(graph.size()), false);  // these write over what is pinned
  for (const Update& u : graph.updates) is_update[static_cast<std::size_t>(u.value.node)] = true;
  std::int64_t most = 0;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    if (is_given(graph.node(i)) || graph.node(i).op->view_of >= 0) continue;
    std::int64_t bytes = 0;
    for (Ref r : graph.node(i).inputs) bytes += is_given(graph.node(r.node)) ? 0 : graph.type(r).bytes();
    if (!is_update[static_cast<std::size_t>(i)])
      for (const Type& type : graph.node(i).outputs) bytes += type.bytes();
    most = std::max(most, bytes);
  }
  return most;
}

// Parameters, what an optimizer keeps, the batch and constants: what is there before a step runs.
std::int64_t given_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Node& node : graph.nodes())
    if (is_given(node))
      for (const Type& type : node.outputs) bytes += type.bytes();
  return bytes;
}

std::int64_t bytes_of(const Signature& signature) {
  std::int64_t bytes = 0;
  for (const Type& type : signature.inputs) bytes += type.bytes();
  for (const Type& type : signature.outputs) bytes += type.bytes();
  return bytes;
}

// Facts of nodes, each op and types asked once.
class Facts {
 public:
  Facts(const Graph& graph, const CompileOptions& options)
      : graph_(graph),
        options_(options),
        largest_node_(largest_node(graph)),
        room_(std::max<std::int64_t>(0, options.budget - given_bytes(graph))) {}

  NodeFacts of(std::int32_t node) {
    Signature signature = graph_.signature(node, types_);
    std::string key = profile_key(signature);
    auto [known, is_new] = known_.try_emplace(key);
    if (!is_new) return known->second;
    Kernel kernel = signature.op.forward(signature);
    return known->second = {seconds(key, signature, kernel), kernel.scratch_bytes};
  }

 private:
  double seconds(const std::string& key, const Signature& signature, const Kernel& kernel) const {
    if (options_.profile)
      if (std::optional<double> known = options_.profile->find(key)) return *known;
    // Timing an op, on memory of its own, must not take more than the budget, nor much more than the step itself will,
    // nor what only planning for it should not need.
    constexpr std::int64_t little = 4 << 20, much = 256 << 20;
    std::int64_t bytes = bytes_of(signature);
    bool is_small =
        bytes <= std::max(little, largest_node_) && bytes + kernel.scratch_bytes <= std::min<std::int64_t>(much, room_);
    if (!options_.measure || !is_small) return roofline_seconds(signature);
    double measured = measured_seconds(signature, kernel);
    if (options_.profile) options_.profile->set(key, measured);
    return measured;
  }

  const Graph& graph_;
  const CompileOptions& options_;
  std::int64_t largest_node_;
  std::int64_t room_;  // beside what is given
  std::map<std::string, NodeFacts> known_;
  std::vector<Type> types_;
};

Problem problem_with_costs(const Graph& graph, const CompileOptions& options) {
  Facts facts(graph, options);
  std::optional<DiskTimes> disk;
  if (!options.disk.folder.empty()) disk = disk_times(options);
  return problem_of(
      graph, [&](std::int32_t node) { return facts.of(node); }, disk);
}

PlanOptions planning_of(const CompileOptions& options) {
  PlanOptions planning = options.planning;
  planning.budget = options.budget;
  planning.alignment = arena_alignment;
  return planning;
}

// Costs by the model of the machine, which are the same in every run.
CompileOptions without_times(CompileOptions options) {
  options.measure = false;
  options.profile = nullptr;
  return options;
}

}  // namespace

Graph ready_to_plan(Graph graph) {
  // A constant is in memory all the time, so only small ones are worth their place.
  constexpr std::int64_t largest_constant = 1024;
  graph = fold_constants(graph, largest_constant);  // one after another: a graph may have many nodes
  graph = eliminate_common_subexpressions(graph);
  graph = eliminate_dead_code(graph);
  graph = with_updates_in_place(graph);
  return graph;  // moved: an argument may live as long as the caller's expression
}

Prepared prepare(Graph recorded, const CompileOptions& options) {
  Graph graph = ready_to_plan(std::move(recorded));
  Problem problem = problem_with_costs(graph, options);
  return {std::move(graph), std::move(problem)};
}

PlanResult plan(const Prepared& prepared, const CompileOptions& options) {
  return solve(prepared.problem, planning_of(options));
}

namespace {

PlanOptions first_that_fits(const PlanOptions& options) {
  return {.budget = options.budget,
          .solvers = options.solvers,
          .without = options.without,
          .alignment = options.alignment,
          .iterations = std::min(options.iterations, PlanOptions{}.iterations),
          .names_smallest = options.names_smallest,
          .gap = std::numeric_limits<double>::infinity(),
          .progress = options.progress,
          .cancel = options.cancel};
}

}  // namespace

PlanResult settled(const ProblemMaker& estimated, const ProblemMaker& timed, PlanOptions options) {
  constexpr int most_nodes = 20'000;  // with more it would take minutes
  auto made = [](const ProblemMaker& make) {
    std::shared_ptr<const Problem> problem = make();
    give_back_free_memory();  // what follows needs the room
    return problem;
  };
  const PlanOptions first = first_that_fits(options);
  double seconds = 0;
  {
    std::shared_ptr<const Problem> problem = made(estimated);
    if (problem->node_count() > most_nodes) return solve(*timed(), std::move(options));
    PlanResult fits = solve(*problem, first);
    if (!fits) return fits;
    if (!options.start) options.start = std::move(fits.schedule);
    seconds = fits.seconds;
  }
  PlanResult result = solve(*made(timed), std::move(options));
  if (!result) {
    seconds += result.seconds;
    result = solve(*made(estimated), first);  // the same again: to keep it would take room meanwhile
  }
  result.seconds += seconds;
  return result;
}

Problem problem_of(const Graph& graph, const CompileOptions& options) { return prepare(graph, options).problem; }

PlanResult plan(const Graph& graph, const CompileOptions& options) { return plan(prepare(graph, options), options); }

namespace {

PlanResult plan_within(const Graph& graph, const CompileOptions& options) {
  auto with = [&](const CompileOptions& costs) {
    return std::make_shared<const Problem>(problem_with_costs(graph, costs));
  };
  auto estimated = [&] { return with(without_times(options)); };
  bool has_times = options.measure || (options.profile && options.profile->size() > 0);
  if (has_times)
    return settled(
        estimated, [&] { return with(options); }, planning_of(options));
  auto once = [problem = estimated()] { return problem; };
  return settled(once, once, planning_of(options));
}

}  // namespace

Built build(Graph ready, const CompileOptions& options) {
  bool is_limited = options.budget < std::numeric_limits<std::int64_t>::max();
  if (is_limited) give_back_free_memory();  // of recording and passes
  PlanResult result =
      is_limited ? plan_within(ready, options) : solve(problem_with_costs(ready, options), planning_of(options));
  if (!result) throw NoScheduleFits(result.why(), result.min_budget);
  if (is_limited) give_back_free_memory();  // of planning
  auto program = std::make_shared<Program>(link(std::move(ready), *result.problem, result.schedule, result.layout));
  return {std::move(result), std::move(program)};
}

std::int64_t paged_bytes(const PlanResult& plan) {
  std::int64_t bytes = 0;
  for (Step step : plan.schedule.steps)
    if (step.kind == Step::Kind::page_out) bytes += plan.problem->value(step.id).bytes;
  return bytes;
}

std::string key_of(std::span<const Type> types) {
  std::string key;
  for (const Type& type : types) key += to_string(type) + " ";
  return key;
}

}  // namespace reprise
