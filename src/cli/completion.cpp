// SPDX-License-Identifier: Apache-2.0
// `reprise completion`: scripts for the shells, written from the options themselves.
#include <fmt/core.h>

#include <memory>

#include "base/error.h"
#include "cli/verbs.h"
#include "reprise/models.h"

namespace reprise::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

std::vector<std::string> option_words(const VerbInfo& verb) {
  std::vector<std::string> words;
  for (const OptionInfo& option : verb.options)
    if (!option.is_argument()) words.insert(words.end(), option.names.begin(), option.names.end());
  return words;
}

// Words that an argument of the verb can be, besides files.
std::vector<std::string> argument_words(const VerbInfo& verb) {
  std::vector<std::string> words;
  for (const OptionInfo& option : verb.options) {
    if (!option.is_argument()) continue;
    if (option.type.find("MODEL") != std::string::npos)
      for (const ModelInfo& model : built_in_models()) words.emplace_back(model.name);
    if (option.type == "SHELL") words = {"bash", "zsh", "fish"};
  }
  return words;
}

std::string bash(const std::vector<VerbInfo>& verbs) {
  std::string names, cases;
  for (const VerbInfo& verb : verbs) {
    names += (names.empty() ? "" : " ") + verb.name;
    cases += fmt::format("    {}) options='{}'; words='{}' ;;\n", verb.name, joined(option_words(verb)),
                         joined(argument_words(verb)));
  }
  return fmt::format(
      "# bash completion for reprise: source <(reprise completion bash)\n"
      "_reprise() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} options='' words=''\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '{} --help' -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n{}  esac\n"
      "  case $current in\n"
      "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$current\")) ;;\n"
      "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$current\") $(compgen -f -- \"$current\")) ;;\n"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _reprise reprise\n",
      names, cases);
}

// Inside '...' of a shell, without what zsh's specifications give a meaning.
std::string quoted(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':')
      out += std::string("\\") + c;
    else
      out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string zsh(const std::vector<VerbInfo>& verbs) {
  std::string names, cases;
  for (const VerbInfo& verb : verbs) {
    names += fmt::format("    '{}:{}'\n", verb.name, quoted(verb.purpose));
    std::string specs;
    for (const OptionInfo& option : verb.options) {
      if (option.is_argument()) continue;
      for (const std::string& name : option.names)
        specs += fmt::format(" \\\n        '{}[{}]{}'", name, quoted(option.help),
                             option.type.empty() ? "" : ":value:_files");
    }
    std::string words = joined(argument_words(verb));
    specs += words.empty() ? " \\\n        '*:file:_files'"
                           : fmt::format(" \\\n        '*:argument:{{ compadd {}; _files }}'", words);
    cases += fmt::format("      {}) _arguments{} ;;\n", verb.name, specs);
  }
  return fmt::format(
      "#compdef reprise\n# zsh completion for reprise: put it as _reprise into a folder of $fpath\n"
      "_reprise() {{\n  local -a verbs\n  verbs=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n    _describe 'verb' verbs\n    return\n  fi\n"
      "  local verb=$words[2]\n  shift words\n  (( CURRENT-- ))\n"
      "  case $verb in\n{}  esac\n}}\n"
      "if [ \"$funcstack[1]\" = _reprise ]; then _reprise \"$@\"; else compdef _reprise reprise; fi\n",
      names, cases);
}

std::string fish_quoted(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string fish(const std::vector<VerbInfo>& verbs) {
  std::string out = "# fish completion for reprise: reprise completion fish | source\n";
  for (const VerbInfo& verb : verbs) {
    out += fmt::format("complete -c reprise -n __fish_use_subcommand -f -a {} -d '{}'\n", verb.name,
                       fish_quoted(verb.purpose));
    std::string where = fmt::format("complete -c reprise -n '__fish_seen_subcommand_from {}'", verb.name);
    for (const OptionInfo& option : verb.options) {
      if (option.is_argument()) continue;
      std::string names;
      for (const std::string& name : option.names)
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      out += fmt::format("{}{}{} -d '{}'\n", where, names, option.type.empty() ? "" : " -r", fish_quoted(option.help));
    }
    if (std::string words = joined(argument_words(verb)); !words.empty())
      out += fmt::format("{} -a '{}'\n", where, words);
  }
  return out;
}

}  // namespace

std::function<Status()> add_completion(CLI::App& verb) {
  auto shell = std::make_shared<std::string>();
  Check is_shell = check(
      [](const std::string& text) {
        bool is_known = text == "bash" || text == "zsh" || text == "fish";
        return is_known ? std::string() : fmt::format("there is no script for '{}': choose bash, zsh or fish", text);
      },
      "SHELL");
  add_option(verb, "shell", *shell, "bash, zsh or fish", {.is_required = true, .type = "SHELL", .check = is_shell});
  add_footer(verb,
             "Examples:\n"
             "  source <(reprise completion bash)                        in ~/.bashrc\n"
             "  reprise completion zsh > ~/.zfunc/_reprise               with ~/.zfunc in fpath\n"
             "  reprise completion fish > ~/.config/fish/completions/reprise.fish");
  return [shell, &verb] {
    std::vector<VerbInfo> verbs = all_verbs(verb);
    fmt::print("{}", *shell == "bash" ? bash(verbs) : *shell == "zsh" ? zsh(verbs) : fish(verbs));
    return done;
  };
}

}  // namespace reprise::cli
