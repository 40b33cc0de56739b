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

// What an example shows before its main, without the lines that introduce it.
std::string shown_part(const std::string& example) {
  std::string text = contents(source_dir / "examples" / example);
  std::size_t begin = text.find("#include"), end = text.find("\nint main");
  return text.substr(begin, end - begin);
}

TEST(CheckpointingPage, IsTwoExamplesInOrderSoThatEachBlockCompilesWithThoseAboveIt) {
  std::string shown;
  for (const std::string& block : cpp_blocks(contents(source_dir / "docs/checkpointing.md")))
    shown += (shown.empty() ? "" : "\n") + block;
  EXPECT_EQ(shown, shown_part("checkpointing.cpp") + "\n" + shown_part("checkpoint_drivers.cpp"));
}

}  // namespace
}  // namespace reprise
