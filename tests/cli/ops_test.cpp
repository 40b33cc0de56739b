// SPDX-License-Identifier: Apache-2.0
// `reprise ops`, run as a program.
#include <nlohmann/json.hpp>

#include "cli/tool.h"
#include "reprise/graph.h"

namespace reprise::cli {
namespace {

TEST(OpsCommandTest, ListsEveryOpOfTheRegistry) {
  Outcome run = tool("ops");
  EXPECT_EQ(run.status, 0);
  for (const Op* op : all_ops()) EXPECT_NE(run.output.find(std::string(op->doc)), std::string::npos) << op->name;
}

TEST(OpsCommandTest, PrintsOneJsonObjectWithWhatIsKnownOfEachOp) {
  Outcome run = tool("ops --json");
  EXPECT_EQ(run.status, 0);
  auto ops = nlohmann::json::parse(run.output).at("ops");
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
