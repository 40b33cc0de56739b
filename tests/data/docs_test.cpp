// SPDX-License-Identifier: Apache-2.0
// The page about data shows code that is compiled and run, and files that load as it says.
#include <sstream>

#include "data/files.h"

namespace reprise::data {
namespace {

std::string contents(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(REPRISE_SOURCE_DIR "/" + name).rdbuf();
  return text.str();
}

TEST(DataPage, ShowsOnlyCodeThatStandsInTheExample) {
  const std::string page = contents("docs/data.md"), example = contents("examples/data.cpp"), begin = "```cpp\n";
  int blocks = 0;
  for (std::size_t at = 0; (at = page.find(begin, at)) != std::string::npos; ++blocks) {
    at += begin.size();
    std::string block = page.substr(at, page.find("```", at) - at);
    EXPECT_NE(example.find(block), std::string::npos) << "not in the example:\n" << block;
  }
  EXPECT_EQ(blocks, 3);
}

}  // namespace
}  // namespace reprise::data
