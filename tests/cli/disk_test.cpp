// SPDX-License-Identifier: Apache-2.0
// `--disk`: values of a step that move to a folder.
#include <nlohmann/json.hpp>

#include "cli/tool.h"

namespace reprise::cli::disk_tests {
namespace {

using nlohmann::json;
using DiskCommand = CommandTest;

const std::string model = "digits --batch 64 --estimate --iterations 50 ";
const std::string run = model + "--threads 1 --validation 0 --steps 2 ";

json result_of(const std::string& arguments) {
  Outcome done = tool(arguments + " --json 2>/dev/null");
  EXPECT_EQ(done.status, 0) << arguments;
  return done.status == 0 ? json::parse(done.output) : json{};
}

std::string smallest(const std::string& arguments) {
  return result_of("train " + run + "--dry-run " + arguments)["min_budget_bytes"].dump();
}

TEST_F(DiskCommand, TrainsWithTheSameBitsWhereNothingFitsWithoutADisk) {
  std::string disk = "--disk " + in(""), budget = smallest(disk), tight = run + "--budget " + budget + " ";
  EXPECT_LT(std::stoll(budget), std::stoll(smallest("")));
  Outcome refused = complaint("train " + tight);
  EXPECT_EQ(refused.status, 3);
  EXPECT_TRUE(holds(refused.output, "  --disk DIR fits (at least ")) << refused.output;
  EXPECT_TRUE(holds(refused.output, " a step to disk and back")) << refused.output;
  json whole = result_of("train " + run), moved = result_of("train " + tight + disk);
  EXPECT_EQ(moved["losses"], whole["losses"]);
  EXPECT_EQ(whole["paged_bytes"], 0);
  EXPECT_GT(moved["paged_bytes"], 0);
  EXPECT_LE(moved["measured_peak_bytes"], moved["budget_bytes"]);
  EXPECT_LE(moved["rss_peak_bytes"].get<std::int64_t>(), moved["budget_bytes"].get<std::int64_t>() + (16 << 20));
  EXPECT_TRUE(holds(tool("train " + tight + disk + " --dry-run").output, " a step go to disk and come back"));
  EXPECT_TRUE(std::filesystem::is_empty(in(""))) << "nothing stays behind";
}

TEST_F(DiskCommand, SaysBeforeTheFirstStepThatTheDiskIsFull) {
  std::string disk = "--disk " + in(""), command = "train " + run + disk + " --budget " + smallest(disk);
  Outcome full = shell("ulimit -f 16; " + std::string(REPRISE_TOOL) + " " + command + " 2>&1 >/dev/null");
  EXPECT_EQ(full.status, 1);
  EXPECT_TRUE(holds(full.output, "[disk] cannot take the ")) << full.output;
  EXPECT_TRUE(holds(full.output, "make room there, name another folder, or give more memory")) << full.output;
  EXPECT_FALSE(holds(full.output, "step 1/")) << full.output;
  EXPECT_TRUE(holds(complaint("train " + run + "--disk " + in("none") + " --budget 50%").output, "[disk] cannot make"));
}

TEST_F(DiskCommand, BenchesPlansSweepsAndReports) {
  std::string disk = "--disk " + in("") + " ";
  json curve = result_of("sweep " + model + disk + "--points 2");
  ASSERT_EQ(curve.size(), 2u);
  EXPECT_GT(curve[0]["paged_bytes"], 0);
  EXPECT_EQ(curve[1]["paged_bytes"], 0);
  std::string budget = "--budget " + curve[0]["budget_bytes"].dump() + " ";
  EXPECT_GT(result_of("plan " + model + disk + budget)["paged_bytes"], 0);
  EXPECT_TRUE(holds(tool("plan " + model + disk + budget + "2>/dev/null").output, "largest moved to disk"));
  json bench = result_of("bench " + model + "--threads 1 --steps 2 " + disk + budget);
  EXPECT_GT(bench["paged_bytes"], 0);
  EXPECT_EQ(bench["losses"], result_of("bench " + model + "--threads 1 --steps 2")["losses"]);
  json report = result_of("report " + model + disk + budget + "--run 1 --points 0 -o " + in("page.html"));
  EXPECT_GT(report["paged_bytes"], 0);
  EXPECT_TRUE(holds(text_in(in("page.html")), ">moved to disk</td>"));
}

}  // namespace
}  // namespace reprise::cli::disk_tests
