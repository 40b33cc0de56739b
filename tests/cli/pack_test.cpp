// SPDX-License-Identifier: Apache-2.0
// `reprise pack`, run as a program.
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/tool.h"

namespace reprise::cli {
namespace {

class PackCommandTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    lives_ = write("lives.csv", "id,lower,upper,size\na,0,2,64\nb,1,3,32\nc,2,4,64\n");
  }

  std::string lives_;
};

TEST_F(PackCommandTest, PrintsOneJsonObjectWithTheKeysOthersRelyOn) {
  Outcome run = tool("pack " + lives_ + " --json");
  EXPECT_EQ(run.status, 0);
  auto json = nlohmann::json::parse(run.output);
  EXPECT_EQ(json["capacity"], 96);
  EXPECT_EQ(json["lower_bound"], 96);
  EXPECT_TRUE(json["seconds"].is_number());
  EXPECT_EQ(json["proven_optimal"], true);
}

TEST_F(PackCommandTest, WritesTheRowsWithTheirOffsets) {
  Outcome run = tool("pack " + lives_ + " -o " + in("placed.csv"));
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(run.output.find("3 buffers | arena 96 bytes"), std::string::npos) << run.output;
  std::ifstream file(in("placed.csv"));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, "id,lower,upper,size,offset\na,0,2,64,32\nb,1,3,32,0\nc,2,4,64,32\n");
}

TEST_F(PackCommandTest, ReadsCapacitiesAsPeopleWriteThemAndAlignments) {
  EXPECT_EQ(tool("pack " + lives_ + " --capacity 1KiB").status, 0);
  EXPECT_EQ(tool("pack " + lives_ + " --capacity 0.05KiB 2>/dev/null").status, 3);
  EXPECT_EQ(nlohmann::json::parse(tool("pack " + lives_ + " --align 64 --json").output)["capacity"], 96);
  EXPECT_EQ(nlohmann::json::parse(tool("pack " + lives_ + " --align 128 --json").output)["capacity"], 160);
}

// Thirty buffers for which placing one after another, which is done in any case, is not enough.
TEST_F(PackCommandTest, SearchesAsLongAsItMay) {
  std::string rows = "id,lower,upper,size\n";
  std::uint32_t state = 2;
  auto below = [&](std::uint32_t n) { return ((state = (state * 1103515245u + 12345u) % 2147483648u) >> 8) % n; };
  for (int i = 0; i < 30; ++i) {
    std::uint32_t from = below(40), to = from + 1 + below(15), size = 1 + below(40);
    rows += fmt::format("b{},{},{},{}\n", i, from, to, size);
  }
  auto packed = [&](const std::string& options) {
    return nlohmann::json::parse(tool("pack " + write("many.csv", rows) + " --json" + options).output);
  };
  EXPECT_EQ(packed("")["proven_optimal"], true);
  EXPECT_EQ(packed(" --time-limit 60")["capacity"], packed("")["capacity"]);
  EXPECT_EQ(packed(" --time-limit 0.000001")["proven_optimal"], false);
  EXPECT_GT(packed(" --time-limit 0.000001")["capacity"], packed("")["capacity"]);
}

TEST_F(PackCommandTest, EndsWithStatus3AndTheReasonWhenTheCapacityIsTooSmall) {
  Outcome run = tool("pack " + lives_ + " --capacity 95 --json -o " + in("placed.csv") + " 2>" + in("why"));
  EXPECT_EQ(run.status, 3);
  auto json = nlohmann::json::parse(run.output);
  EXPECT_EQ(json["fits"], false);
  EXPECT_EQ(json["why"], "no layout fits 95 bytes: 96 are live together at moment 1");
  EXPECT_FALSE(std::filesystem::exists(in("placed.csv")));
  EXPECT_GT(std::filesystem::file_size(in("why")), 0u);
}

TEST_F(PackCommandTest, EndsWithStatus1WhenAFileFails) {
  Outcome missing = tool("pack " + in("nowhere.csv") + " 2>&1");
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.output.find("cannot open"), std::string::npos) << missing.output;
  Outcome bad = tool("pack " + write("bad.csv", "id,lower,upper,size\na,5,2,64\n") + " 2>&1");
  EXPECT_EQ(bad.status, 1);
  EXPECT_NE(bad.output.find("buffer 'a' lives during [5, 2)"), std::string::npos) << bad.output;
  EXPECT_EQ(tool("pack " + lives_ + " -o " + in("no/such/folder.csv") + " 2>&1").status, 1);
}

TEST_F(PackCommandTest, EndsWithStatus1WhenItsResultCannotBeWritten) {
  Outcome run = tool("pack " + lives_ + " --json 2>&1 >/dev/full");
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(holds(run.output, "cannot write to standard output: ")) << run.output;
}

TEST_F(PackCommandTest, EndsWithStatus2WhenTheCommandIsWrong) {
  for (const char* wrong :
       {"pack", "pack a.csv b.csv", "pack a.csv --capacity heap", "pack a.csv --align 48", "pack a.csv --align -1",
        "pack a.csv --align 4611686018427387904", "pack a.csv --time-limit 0", "pack a.csv --frobnicate"})
    EXPECT_EQ(tool(std::string(wrong) + " >/dev/null 2>&1").status, 2) << wrong;
}

TEST_F(PackCommandTest, TeachesWithAnExample) {
  Outcome run = tool("pack --help");
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(run.output.find("reprise pack lives.csv -o placed.csv"), std::string::npos);
}

}  // namespace
}  // namespace reprise::cli
