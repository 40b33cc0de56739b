// SPDX-License-Identifier: Apache-2.0
// Programs that move values to a file and back.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "compile/build.h"
#include "execute/executor.h"
#include "message.h"
#include "reprise/autodiff.h"
#include "temporary.h"

namespace reprise::paging_tests {
namespace {

// Gates that must all be kept for the way back, or be computed again from the first ones on. Each reads those before
// it, so computing one again needs several in memory, which a disk does not.
Value gates(Value x) {
  Value first = x, second = tanh(x), third = sigmoid(x);
  for (int i = 0; i < 10; ++i) {
    Value next = tanh(third) * sigmoid(first) + second;
    first = second, second = third, third = next;
  }
  return sum(third);
}

Graph gates_graph() {
  Type types[] = {{DType::f32, {4096}}};
  return gradient(trace([](const Values& v) -> Values { return {gates(v[0])}; }, types), std::vector<int>{0});
}

void fill_input(const Executor& executor) {
  Tensor x = executor.pinned(executor.program().graph.inputs[0]);
  float value = -0.5f;
  for (float& e : x.span<float>()) e = value += 0.0003f;
}

std::vector<Tensor> results(Executor& executor) {
  fill_input(executor);
  executor.run();
  return {executor.output(0).clone(), executor.output(1).clone()};
}

// A disk so fast that values move there before any is computed again.
CompileOptions with_disk(const std::string& folder) {
  CompileOptions options{.measure = false, .disk = {.folder = folder, .write_rate = 1e12, .read_rate = 1e12}};
  options.planning.iterations = 500;
  return options;
}

ExecuteOptions watched(const std::string& folder) {
  return {.poison = true, .verify_recompute = true, .timeline = true, .page_folder = folder};
}

std::int64_t least(const Graph& graph, CompileOptions options) {
  options.budget = 1;
  return plan(graph, options).min_budget;
}

TEST(Pages, GiveTheSameBitsInLessMemoryThanComputingAgainNeeds) {
  TemporaryFolder folder;
  Graph graph = gates_graph();
  CompileOptions plain{.measure = false}, disk = with_disk(folder.path());
  Executor whole(build(ready_to_plan(graph), plain).program, {});
  std::vector<Tensor> expected = results(whole);
  disk.budget = least(graph, disk);
  EXPECT_LT(disk.budget, least(graph, plain));
  Built built = build(ready_to_plan(graph), disk);
  EXPECT_GT(paged_bytes(built.plan), 0);
  Executor tight(built.program, watched(folder.path()));
  EXPECT_LE(tight.arena_bytes(), disk.budget);
  for (int run = 0; run < 2; ++run) {
    std::vector<Tensor> got = results(tight);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(got[i], expected[i])) << "output " << i;
  }
}

TEST(Pages, FollowThePlanByteByByte) {
  TemporaryFolder folder;
  Graph graph = gates_graph();
  CompileOptions disk = with_disk(folder.path());
  disk.budget = least(graph, disk);
  Prepared prepared = prepare(graph, disk);
  PlanResult planned = plan(prepared, disk);
  Executor executor(link(prepared.graph, prepared.problem, planned.schedule, planned.layout), watched(folder.path()));
  results(executor);
  std::vector<std::int64_t> live(planned.schedule.steps.size(), 0);
  for (const Placement& p : planned.layout)
    for (int step = p.from; step < p.to; ++step) live[static_cast<std::size_t>(step)] += p.bytes;
  auto moment = executor.timeline().begin();
  int moves = 0;
  for (std::size_t step = 0; step < live.size(); ++step) {
    Step done = planned.schedule.steps[step];
    if (done.kind != Step::Kind::page_out && done.kind != Step::Kind::page_in) continue;
    while (moment != executor.timeline().end() && !moment->is_move) ++moment;
    ASSERT_NE(moment, executor.timeline().end());
    EXPECT_EQ(moment->name, to_string(done.kind));
    EXPECT_EQ(moment->node, prepared.problem.value(done.id).node);
    EXPECT_EQ(moment->live_bytes, live[step]) << "step " << step;
    ++moment;
    ++moves;
  }
  EXPECT_GT(moves, 1);
}

TEST(Pages, AreNotMadeOfWhatIsAskedToBeKeptOrRecomputed) {
  Type types[] = {{DType::f32, {4096}}};
  auto f = [](const Values& v) -> Values {
    Value kept = keep(tanh(v[0]));
    auto again = recompute([](const Value& x) { return tanh(sigmoid(x)); });
    return {sum(again(kept))};
  };
  Problem problem = problem_of(gradient(trace(f, types), std::vector<int>{0}), with_disk("."));
  int pageable = 0;
  for (int v = 0; v < problem.value_count(); ++v) {
    const Problem::Value& value = problem.value(v);
    pageable += problem.paging(v).has_value();
    EXPECT_FALSE(problem.paging(v) && (value.keep || value.never_keep_across >= 0)) << problem.node(value.node).name;
  }
  EXPECT_GT(pageable, 0);
}

// The file of pages, which has no name, through the process's own table of files.
std::string open_file_in(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error).string().starts_with(folder)) return entry.path().string();
  }
  return {};
}

std::string damaged_folder;  // whose pages the op below spoils

Kernel spoiling(const Signature& s) {
  return {[bytes = s.out().bytes()](const Buffers& b) {
    std::memcpy(b.outputs[0], b.inputs[0], static_cast<std::size_t>(bytes));
    int file = open(open_file_in(damaged_folder).c_str(), O_WRONLY);
    std::vector<char> zeros(1 << 20, 0);
    ASSERT_GT(pwrite(file, zeros.data(), zeros.size(), 0), 0);
    close(file);
  }};
}
const Op spoiler{.name = "spoiler",
                 .infer = [](const Signature& s) -> std::vector<Type> { return {s.in()}; },
                 .forward = spoiling,
                 .gradient = [](const Call&, const Values& dy) -> Values { return {dy[0]}; }};

TEST(Pages, ThatCameBackWithOtherBitsAreNoticed) {
  TemporaryFolder folder;
  damaged_folder = folder.path();
  Type types[] = {{DType::f32, {4096}}};
  auto f = [](const Values& v) -> Values { return {gates(record(spoiler, {gates(v[0]) + v[0]})[0])}; };
  Graph graph = gradient(trace(f, types), std::vector<int>{0});
  CompileOptions disk = with_disk(folder.path());
  disk.budget = least(graph, disk);
  Executor executor(build(ready_to_plan(graph), disk).program, watched(folder.path()));
  std::string why = message_of([&] { results(executor); });
  EXPECT_NE(why.find("came back with other bits than it left with"), std::string::npos) << why;
}

}  // namespace
}  // namespace reprise::paging_tests
