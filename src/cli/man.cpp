// SPDX-License-Identifier: Apache-2.0
// `reprise man`: the manual page, written from the options themselves.
#include <fmt/core.h>

#include "cli/verbs.h"
#include "reprise/base.h"

namespace reprise::cli {
namespace {

// Text as troff shows it: nothing in it is a command.
std::string plain(const std::string& text) {
  std::string out;
  bool is_line_start = true;
  for (char c : text) {
    if (is_line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    is_line_start = c == '\n';
  }
  return out;
}

std::string option_text(const OptionInfo& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += (names.empty() ? "" : ", ") + fmt::format("\\fB{}\\fR", plain(name));
  if (option.is_argument()) names = fmt::format("\\fI{}\\fR", plain(option.names.front()));
  if (!option.type.empty()) names += fmt::format(" \\fI{}\\fR", plain(option.type));
  return fmt::format(".TP\n{}\n{}{}\n", names, plain(option.help), option.is_required ? " (required)" : "");
}

std::string verb_text(const VerbInfo& verb) {
  std::string arguments, options;
  for (const OptionInfo& option : verb.options) {
    options += option_text(option);
    if (option.is_argument())
      arguments += fmt::format(" \\fI{}\\fR", plain(option.type.empty() ? option.names[0] : option.type));
  }
  std::string footer = verb.footer.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", plain(verb.footer));
  return fmt::format(".SS \\fBreprise {}\\fR{} [options]\n{}.\n{}{}", plain(verb.name), arguments, plain(verb.purpose),
                     options, footer);
}

constexpr const char* ending =
    ".SH SIZES\n"
    "512MiB, 2GB, 1.5 GiB or a number of bytes; where a whole is known also 50%. KB, MB, GB are powers of 1000, KiB, "
    "MiB,\n"
    "GiB (and K, M, G) powers of 1024.\n"
    ".SH EXIT STATUS\n"
    ".TP\n0\ndone\n.TP\n1\nfailed: a file, a check\n.TP\n2\nthe command was wrong\n.TP\n3\nno schedule fits the "
    "budget\n"
    ".TP\n4\ntraining diverged\n.TP\n130, 143\nstopped by SIGINT or SIGTERM\n"
    ".SH NOTES\n"
    "The answer goes to standard output, progress and complaints to standard error.\n";

}  // namespace

std::function<Status()> add_man(CLI::App& verb) {
  add_footer(verb, "Example:\n  reprise man > reprise.1 && man ./reprise.1");
  return [&verb] {
    fmt::print(
        ".TH REPRISE 1 \"\" \"reprise {}\" \"User Commands\"\n.SH NAME\nreprise \\- train in the memory you have\n"
        ".SH SYNOPSIS\n\\fBreprise\\fR \\fIverb\\fR [arguments] [options]\n.br\n\\fBreprise\\fR \\fIverb\\fR "
        "\\fB\\-\\-help\\fR\n.SH DESCRIPTION\nDecides which values of a computation to keep, to drop and to compute "
        "again, so "
        "that it fits a number of bytes,\nas fast as that budget allows.\n.SH VERBS\n",
        version());
    for (const VerbInfo& info : all_verbs(verb)) fmt::print("{}", verb_text(info));
    fmt::print("{}", ending);
    return done;
  };
}

}  // namespace reprise::cli
