// SPDX-License-Identifier: Apache-2.0
#include "compile/build.h"

#include "base/error.h"
#include "compile/problem_of.h"
#include "compile/profile.h"
#include "compile/updates.h"

namespace reprise {
namespace {

// Facts of nodes, each op and types asked once.
class Facts {
 public:
  Facts(const Graph& graph, const CompileOptions& options) : graph_(graph), options_(options) {}

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
    if (!options_.measure) return roofline_seconds(signature);
    double measured = measured_seconds(signature, kernel);
    if (options_.profile) options_.profile->set(key, measured);
    return measured;
  }

  const Graph& graph_;
  const CompileOptions& options_;
  std::map<std::string, NodeFacts> known_;
  std::vector<Type> types_;
};

}  // namespace

Prepared prepare(const Graph& recorded, const CompileOptions& options) {
  // A constant is in memory all the time, so only small ones are worth their place.
  constexpr std::int64_t largest_constant = 1024;
  Graph graph = with_updates_in_place(
      eliminate_dead_code(eliminate_common_subexpressions(fold_constants(recorded, largest_constant))));
  Facts facts(graph, options);
  Problem problem = problem_of(graph, [&](std::int32_t node) { return facts.of(node); });
  return {std::move(graph), std::move(problem)};
}

PlanResult plan(const Prepared& prepared, const CompileOptions& options) {
  PlanOptions planning = options.planning;
  planning.budget = options.budget;
  planning.alignment = arena_alignment;
  return solve(prepared.problem, planning);
}

Problem problem_of(const Graph& graph, const CompileOptions& options) { return prepare(graph, options).problem; }

PlanResult plan(const Graph& graph, const CompileOptions& options) { return plan(prepare(graph, options), options); }

Built build(Prepared prepared, const CompileOptions& options) {
  PlanResult result = plan(prepared, options);
  if (!result) throw NoScheduleFits(result.why(), result.min_budget);
  auto program = std::make_shared<const Program>(
      link(std::move(prepared.graph), prepared.problem, result.schedule, result.layout));
  return {std::move(result), std::move(program)};
}

std::string key_of(std::span<const Type> types) {
  std::string key;
  for (const Type& type : types) key += to_string(type) + " ";
  return key;
}

}  // namespace reprise
