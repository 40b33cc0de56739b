// SPDX-License-Identifier: Apache-2.0
#include "execute/executor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compile/build.h"
#include "message.h"
#include "reprise/autodiff.h"

namespace reprise {
namespace {

Value deep(Value x) {
  for (int i = 0; i < 12; ++i) x = tanh(x * 1.1);
  return sum(x);
}

// The gradient of a deep chain within this share of what keeping everything takes.
Built tight_chain(double share) {
  Type types[] = {{DType::f32, {1000}}};
  Graph graph = gradient(trace([](const Values& v) -> Values { return {deep(v[0])}; }, types), std::vector<int>{0});
  CompileOptions options{.measure = false};
  std::int64_t whole = plan(graph, options).layout_bytes;
  options.budget = static_cast<std::int64_t>(share * static_cast<double>(whole));
  return build(ready_to_plan(graph), options);
}

void fill_input(const Executor& executor) {
  Tensor x = executor.pinned(executor.program().graph.inputs[0]);
  float value = -0.5f;
  for (float& e : x.span<float>()) e = value += 0.001f;
}

TEST(Executor, TheArenaIsAsLargeAsThePlanSaid) {
  Built built = tight_chain(0.5);
  std::int64_t planned = built.plan.layout_bytes;
  Executor executor(std::move(built.program), {});
  EXPECT_EQ(executor.arena_bytes(), planned);
}

// What the judge of schedules counts at each run, against what the executor counts as it goes.
TEST(Executor, LiveBytesFollowThePlanInstructionByInstruction) {
  for (double share : {1.0, 0.7, 0.4}) {
    Type types[] = {{DType::f32, {1000}}};
    Graph graph = gradient(trace([](const Values& v) -> Values { return {deep(v[0])}; }, types), std::vector<int>{0});
    CompileOptions options{.measure = false};
    options.budget = static_cast<std::int64_t>(share * static_cast<double>(plan(graph, options).layout_bytes));
    Prepared prepared = prepare(graph, options);
    PlanResult planned = plan(prepared, options);
    ASSERT_TRUE(planned);
    Program program = link(prepared.graph, prepared.problem, planned.schedule, planned.layout);
    Executor executor(program, {.timeline = true});
    fill_input(executor);
    executor.run();
    std::vector<std::int64_t> live(planned.schedule.steps.size(), 0);
    for (const Placement& p : planned.layout)
      for (int step = p.from; step < p.to; ++step) live[static_cast<std::size_t>(step)] += p.bytes;
    std::size_t next = 0;
    std::int64_t highest = 0;
    for (std::size_t step = 0; step < live.size(); ++step) {
      if (planned.schedule.steps[step].kind != Step::Kind::run) continue;
      int node = planned.schedule.steps[step].id;
      while (next < executor.timeline().size() && program.instructions[next].kind != Instruction::Kind::run) ++next;
      if (next == executor.timeline().size() || executor.timeline()[next].node != node) continue;  // a view or an input
      EXPECT_EQ(executor.timeline()[next].live_bytes, live[step]) << "share " << share << ", step " << step;
      highest = std::max(highest, live[step]);
      ++next;
    }
    EXPECT_EQ(highest, planned.peak);
  }
}

TEST(Executor, FillsDroppedMemoryWithNanSoThatAReadOfItShows) {
  Built built = tight_chain(0.5);
  // Wrong on purpose: a later run reads what an earlier drop has freed.
  Program program = *built.program;
  std::int64_t dropped = -1;
  for (const Instruction& i : program.instructions) {
    if (i.kind == Instruction::Kind::drop && dropped < 0) dropped = program.outputs_of(i)[0];
    if (i.kind == Instruction::Kind::run && dropped >= 0) {
      program.offsets[static_cast<std::size_t>(i.first)] = dropped;
      break;
    }
  }
  ASSERT_GE(dropped, 0);
  Executor executor(std::move(program), {.poison = true});
  fill_input(executor);
  executor.run();
  EXPECT_TRUE(std::isnan(executor.output(0).item()));
}

// An op that gives another result each time it runs.
Kernel counting(const Signature& s) {
  return {[n = s.out().elements(), calls = std::make_shared<float>(0)](const Buffers& b) {
    *calls += 1;
    for (std::int64_t i = 0; i < n; ++i) b.out<float>()[i] = b.in<float>()[i] + *calls;
  }};
}
const Op unsteady{.name = "unsteady",
                  .infer = [](const Signature& s) -> std::vector<Type> { return {s.in()}; },
                  .forward = counting,
                  .gradient = [](const Call& c, const Values& dy) -> Values { return {dy[0] * c.out()}; }};

TEST(Executor, NamesTheOpWhoseRecomputationDiffers) {
  Type types[] = {{DType::f32, {1000}}};
  Graph graph = gradient(trace(
                             [](const Values& v) -> Values {
                               Value x = record(unsteady, {v[0]})[0];
                               return {sum(tanh(x))};
                             },
                             types),
                         std::vector<int>{0});
  CompileOptions options{.measure = false};
  Prepared prepared = prepare(graph, options);
  // By hand: everything once, but the unsteady op again before what reads it in the backward pass.
  std::vector<int> order;
  int op = -1;
  for (std::int32_t i = 0; i < prepared.graph.size(); ++i) {
    order.push_back(i);
    if (prepared.graph.node(i).op == &unsteady) op = i;
    if (prepared.graph.node(i).op->name == "sum") order.push_back(op);
  }
  Schedule schedule = with_drops(prepared.problem, order);
  std::vector<Placement> layout = lives(prepared.problem, schedule);
  std::int64_t at = 0;
  for (Placement& p : layout) p.offset = at, at += p.bytes;  // nothing shares anything
  Executor executor(link(prepared.graph, prepared.problem, schedule, layout), {.verify_recompute = true});
  fill_input(executor);
  std::string why = message_of([&] { executor.run(); });
  EXPECT_EQ(why.find("[unsteady] recomputing 'unsteady."), 0u) << why;
}

TEST(Arena, TouchingKeepsWhatIsWritten) {
  Arena arena(3 << 20);
  std::memset(arena.base(), 7, 3 << 20);
  arena.touch();
  for (std::int64_t i = 0; i < arena.bytes(); i += 511) EXPECT_EQ(arena.base()[i], std::byte{7});
}

}  // namespace
}  // namespace reprise
