// SPDX-License-Identifier: Apache-2.0
// `reprise ops`, run as a program.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "reprise/graph.h"

namespace reprise::cli {
namespace {

std::string output_of(const std::string& arguments) {
  std::FILE* pipe = popen((std::string(REPRISE_TOOL) + " " + arguments).c_str(), "r");
  std::string output;
  for (int c; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  EXPECT_EQ(WEXITSTATUS(pclose(pipe)), 0) << arguments;
  return output;
}

TEST(OpsCommandTest, ListsEveryOpOfTheRegistry) {
  std::string table = output_of("ops");
  for (const Op* op : all_ops()) EXPECT_NE(table.find(std::string(op->doc)), std::string::npos) << op->name;
}

TEST(OpsCommandTest, PrintsOneJsonObjectWithWhatIsKnownOfEachOp) {
  auto ops = nlohmann::json::parse(output_of("ops --json")).at("ops");
  EXPECT_EQ(ops.size(), all_ops().size());
  for (const auto& op : ops) {
    const Op* known = find_op(op.at("name").get<std::string>());
    ASSERT_TRUE(known) << op;
    EXPECT_EQ(op.at("differentiable").get<bool>(), known->gradient != nullptr);
    EXPECT_EQ(op.at("view").get<bool>(), known->view_of >= 0);
    EXPECT_EQ(op.at("onnx").get<std::string>(), known->onnx);
  }
}

}  // namespace
}  // namespace reprise::cli
