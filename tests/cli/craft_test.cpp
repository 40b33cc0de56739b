// SPDX-License-Identifier: Apache-2.0
// What every verb has: help, a place in the manual and in the completions, and suggestions.
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "cli/help.h"
#include "cli/tool.h"

namespace reprise::cli {
namespace {

TEST(CommandLine, ListsItsVerbs) {
  std::vector<std::string> names = listed_verbs();
  for (const char* verb : {"plan", "sweep", "check", "report", "version", "completion", "man"})
    EXPECT_EQ(std::ranges::count(names, verb), 1) << verb;
}

TEST(CommandLine, HasAManualWithEveryVerbAndOption) {
  Outcome manual = tool("man");
  ASSERT_EQ(manual.status, 0);
  EXPECT_TRUE(manual.output.starts_with(".TH REPRISE 1"));
  std::string plain;
  for (std::size_t i = 0; i < manual.output.size(); ++i)  // "\-\-budget" is "--budget"
    if (manual.output.compare(i, 2, "\\-") != 0) plain += manual.output[i];
  for (const std::string& verb : listed_verbs()) {
    std::size_t begin = plain.find(".SS \\fBreprise " + verb + "\\fR");
    ASSERT_NE(begin, std::string::npos) << verb;
    std::string part = plain.substr(begin, plain.find(".SS ", begin + 4) - begin);
    for (const std::string& option : listed_options(verb))
      EXPECT_NE(part.find("\\fB" + option + "\\fR"), std::string::npos) << verb << " " << option;
  }
}

TEST(CommandLine, CompletesEveryVerbAndOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    Outcome script = tool(std::string("completion ") + shell);
    ASSERT_EQ(script.status, 0);
    for (const std::string& verb : listed_verbs()) {
      EXPECT_NE(script.output.find(verb), std::string::npos) << shell << " " << verb;
      for (const std::string& option : listed_options(verb)) {
        std::string word = std::string(shell) == "fish" ? " -l " + option.substr(2) : option;
        EXPECT_NE(script.output.find(word), std::string::npos) << shell << " " << verb << " " << option;
      }
    }
  }
  EXPECT_EQ(complaint("completion csh").status, 2);
}

TEST(CommandLine, CompletesInBash) {
  std::string tried = "bash -c 'source <(" REPRISE_TOOL
                      " completion bash); COMP_WORDS=(reprise \"$@\"); COMP_CWORD=$#; _reprise; "
                      "echo ${COMPREPLY[@]}' x ";
  auto replies = [&](const std::string& words) {
    std::FILE* pipe = popen((tried + words).c_str(), "r");
    std::string text;
    for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
    EXPECT_EQ(pclose(pipe), 0);
    return text;
  };
  EXPECT_EQ(replies("sw"), "sweep\n");
  EXPECT_EQ(replies("plan --bu"), "--budget\n");
  EXPECT_EQ(replies("plan gpt4"), "gpt4s\n");
}

TEST(CommandLine, SuggestsTheNearestVerbAndOption) {
  std::map<std::string, std::string> meant = {{"reprot x", "report"},
                                              {"--hlep", "--help"},
                                              {"report x --titel y", "--title"},
                                              {"sweep x --point=3", "--points"},
                                              {"version --jsn", "--json"}};
  for (const auto& [wrong, right] : meant) {
    Outcome run = complaint(wrong);
    EXPECT_EQ(run.status, 2) << wrong;
    EXPECT_NE(run.output.find("did you mean '" + right + "'?"), std::string::npos) << run.output;
  }
}

TEST(CommandLine, NamesAVerbThatThereIsNot) {
  Outcome run = complaint("frobnicate");
  EXPECT_EQ(run.status, 2);
  EXPECT_TRUE(holds(run.output, "'frobnicate' is not known: `reprise --help`")) << run.output;
}

TEST(CommandLine, TellsItsVersionAsJson) {
  nlohmann::json facts = nlohmann::json::parse(tool("version --json").output);
  EXPECT_EQ("reprise " + facts["version"].get<std::string>() + "\n", tool("version").output);
  EXPECT_TRUE(facts["compiler"].is_string());
  EXPECT_TRUE(facts["assertions"].is_boolean());
  EXPECT_GT(facts["cores"], 0);
}

}  // namespace
}  // namespace reprise::cli
