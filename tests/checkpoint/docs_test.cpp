// SPDX-License-Identifier: Apache-2.0
// The code on the page about checkpointing is code that is compiled and run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace reprise {
namespace {

const std::filesystem::path source_dir = REPRISE_SOURCE_DIR;

std::string contents(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> cpp_blocks(const std::string& page) {
  const std::string begin = "```cpp\n", end = "```";
  std::vector<std::string> blocks;
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    blocks.push_back(page.substr(at, page.find(end, at) - at));
  }
  return blocks;
}

TEST(CheckpointingPage, ShowsOnlyCodeThatStandsInAnExample) {
  std::string examples;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir / "examples"))
    if (entry.path().extension() == ".cpp") examples += contents(entry.path());
  std::vector<std::string> blocks = cpp_blocks(contents(source_dir / "docs/checkpointing.md"));
  EXPECT_GE(blocks.size(), 5u);
  for (const std::string& block : blocks)
    EXPECT_NE(examples.find(block), std::string::npos) << "in no example:\n" << block;
}

}  // namespace
}  // namespace reprise
