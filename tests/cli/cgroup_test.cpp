// SPDX-License-Identifier: Apache-2.0
// The budget holds where the kernel itself counts: by what the process takes at most, and in a memory cgroup that kills
// whoever takes more.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/tool.h"

namespace reprise::cli {
namespace {

using nlohmann::json;

/// A memory cgroup of its own, of version 2 or 1, gone with the object. `made` is false where the system allows none.
class MemoryGroup {
 public:
  explicit MemoryGroup(std::int64_t bytes) {
    for (auto [root, limit] :
         {std::pair("/sys/fs/cgroup", "memory.max"), std::pair("/sys/fs/cgroup/memory", "memory.limit_in_bytes")}) {
      folder_ = std::string(root) + "/reprise_test_" + std::to_string(getpid()) + "_" + std::to_string(bytes);
      std::error_code error;
      if (!std::filesystem::create_directory(folder_, error)) continue;
      if (std::filesystem::exists(folder_ + "/" + limit))
        made_ = (std::ofstream(folder_ + "/" + limit) << bytes).flush().good();
      // Nor may it hide in swap, where there is any.
      if (made_) limit_if_there("memory.swap.max", 0), limit_if_there("memory.memsw.limit_in_bytes", bytes);
      if (made_) return;
      std::filesystem::remove(folder_, error);
    }
  }
  ~MemoryGroup() {
    std::error_code error;
    if (made_) std::filesystem::remove(folder_, error);
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  bool is_made() const { return made_; }
  /// Runs the tool inside.
  Outcome tool(const std::string& arguments) const {
    return shell("echo 0 > " + folder_ + "/cgroup.procs && exec " + REPRISE_TOOL + " " + arguments);
  }

 private:
  void limit_if_there(const std::string& file, std::int64_t bytes) const {
    if (std::filesystem::exists(folder_ + "/" + file)) std::ofstream(folder_ + "/" + file) << bytes;
  }

  std::string folder_;
  bool made_ = false;
};

TEST(Budget, HoldsInAMemoryCgroupOfBudgetAndBaselineAnd16MiB) {
  const std::string bench =
      "bench gpt4s --batch 64 --estimate --time-limit 1 --steps 1 --json --budget 60% 2>/dev/null";
  Outcome outside = cli::tool(bench);
  ASSERT_EQ(outside.status, 0);
  json r = json::parse(outside.output);
  std::int64_t budget = r["budget_bytes"], baseline = r["rss_before_bytes"];
  MemoryGroup group(budget + baseline + (16 << 20));
  if (!group.is_made()) GTEST_SKIP() << "this system lets us make no memory cgroup";
  EXPECT_EQ(group.tool(bench).status, 0);
  // The group does limit.
  MemoryGroup tight(2 * budget / 3);
  ASSERT_TRUE(tight.is_made());
  EXPECT_NE(tight.tool(bench).status, 0);
}

struct Tight {
  std::string model;
  std::string budget;  // nearly the smallest
  int seconds = 5;     // for planning, which holds more the farther it gets
};

bool is_full() { return std::getenv("REPRISE_FULL_MODELS"); }

std::vector<Tight> tight_models() {
  if (!is_full()) return {{"rnn512", "29%", 4}, {"lstm512", "7%", 4}, {"digits", "37%", 4}, {"gpt4s", "29%", 4}};
  return {{"rnn512", "28.1%"}, {"rnn512", "28.1%", 30}, {"lstm512", "6.95%"}, {"lstm512", "6.95%", 30},
          {"digits", "37%"},   {"gpt4s", "29%"},        {"mlp16", "72%"},     {"gpt6", "38%"},
          {"resnet18", "48%"}, {"resnet50", "38.5%"},   {"vgg16", "80.5%"},   {"unet", "29%"}};
}

class EveryModel : public testing::TestWithParam<Tight> {};

// Planning, recording and the program itself are counted, too. Long networks have tens of thousands of instructions.
TEST_P(EveryModel, TakesTheBudgetAnd16MiBAtMost) {
  auto [model, budget, seconds] = GetParam();
  std::string bench = "bench " + model + " --estimate --steps 1 --json 2>/dev/null --budget " + budget +
                      " --time-limit " + std::to_string(seconds);
  Outcome run = tool(bench);
  ASSERT_EQ(run.status, 0) << bench;
  json r = json::parse(run.output);
  std::int64_t allowed = r["budget_bytes"], taken = r["rss_peak_bytes"];
  EXPECT_LE(taken, allowed + (16 << 20)) << bench << ": " << static_cast<double>(taken - allowed) / (1 << 20) << " MiB";
  EXPECT_LE(r["measured_peak_bytes"].get<std::int64_t>(), allowed) << bench;
  RecordProperty("kib_beside_the_budget", static_cast<int>((taken - allowed) / 1024));
}

INSTANTIATE_TEST_SUITE_P(Budget, EveryModel, testing::ValuesIn(tight_models()), [](const auto& given) {
  return given.param.model + "In" + std::to_string(given.param.seconds);
});

}  // namespace
}  // namespace reprise::cli
