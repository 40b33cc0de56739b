// SPDX-License-Identifier: Apache-2.0
// The whole way from a recorded graph to a program: passes, updates in place, costs, plan, layout, instructions.
#pragma once

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

PlanResult plan(const Prepared& prepared, const CompileOptions& options);

/// A plan and its instructions; throws NoScheduleFits.
struct Built {
  PlanResult plan;
  std::shared_ptr<const Program> program;
};
/// Where nothing fits within the planning's time limit: refuse at once, or search on until that is sure.
enum class Effort { limited, settle };
Built build(Prepared prepared, const CompileOptions& options, Effort effort = Effort::settle);

/// Types that a compiled function is kept by.
std::string key_of(std::span<const Type> types);

}  // namespace reprise
