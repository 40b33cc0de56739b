// SPDX-License-Identifier: Apache-2.0
// The whole way from a recorded graph to a program: passes, updates in place, costs, plan, layout, instructions.
#pragma once

#include <functional>
#include <memory>

#include "compile/program.h"
#include "reprise/compile.h"

namespace reprise {

/// A graph ready to be planned, and its problem.
struct Prepared {
  Graph graph;
  Problem problem;
};
Prepared prepare(Graph recorded, const CompileOptions& options);
/// The graph alone: what build takes.
Graph ready_to_plan(Graph recorded);

PlanResult plan(const Prepared& prepared, const CompileOptions& options);

using ProblemMaker = std::function<std::shared_ptr<const Problem>()>;
/// A plan for the timed problem. Whether one fits is decided by the same problem with costs that are the same in every
/// run, without a time limit: neither a busy machine nor a lucky search changes which budgets are refused, and what is
/// refused is never timed. Problems of more than 20,000 nodes are only searched within the options' limits. Each
/// problem is made when it is needed.
PlanResult settled(const ProblemMaker& estimated, const ProblemMaker& timed, PlanOptions options);

/// A plan and its instructions; throws NoScheduleFits, before an op is timed.
struct Built {
  PlanResult plan;
  std::shared_ptr<Program> program;
};
Built build(Graph ready, const CompileOptions& options);

/// Types that a compiled function is kept by.
std::string key_of(std::span<const Type> types);

}  // namespace reprise
