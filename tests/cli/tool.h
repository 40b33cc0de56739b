// SPDX-License-Identifier: Apache-2.0
// Runs the tool as people do, and a folder for its files.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

namespace reprise::cli {

struct Outcome {
  std::string output;  // standard output, and what the arguments redirect there
  int status;          // -1: a signal ended it
};

inline Outcome shell(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("popen failed");
  Outcome run{};
  for (int c; (c = std::fgetc(pipe)) != EOF;) run.output += static_cast<char>(c);
  int status = pclose(pipe);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

/// Runs `reprise arguments` in a shell.
inline Outcome tool(const std::string& arguments) {
  std::string command = REPRISE_TOOL;
  return shell(command.append(" ").append(arguments));
}

/// The same, once in all for equal arguments: for runs that write no file, which several tests look at.
inline const Outcome& tool_once(const std::string& arguments) {
  static std::map<std::string, Outcome> known;
  auto found = known.find(arguments);
  if (found == known.end()) found = known.emplace(arguments, tool(arguments)).first;
  return found->second;
}

/// Standard error alone.
inline Outcome complaint(const std::string& arguments) { return tool(arguments + " 2>&1 >/dev/null"); }

inline std::string text_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline bool holds(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

/// A test with a folder of its own.
class CommandTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string in(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(in(name)) << text;
    return in(name);
  }

 private:
  std::string folder_ = testing::TempDir() + "reprise_command_" + std::to_string(getpid());
};

}  // namespace reprise::cli
