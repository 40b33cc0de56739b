// SPDX-License-Identifier: Apache-2.0
// The options of a verb. Only options.cpp and cli.cpp see the headers of the parser, which take seconds to compile.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace reprise::cli {

/// What the text of an option must be.
using Check = std::shared_ptr<const CLI::Validator>;
/// `error` gives nothing, or what is wrong with a text; the help calls a right one `name`.
Check check(std::function<std::string(const std::string&)> error, const std::string& name);
Check positive();
Check not_negative();
Check between(int least, int most);
/// `names` are separated by commas.
Check one_of(const std::string& names);

struct Rules {
  bool is_required = false;
  std::string type = {};  // shown in the help; by default what the variable says
  Check check = {};
  char delimiter = 0;          // between the elements of a list
  bool shows_default = false;  // the help shows what the variable holds now
  bool is_once = false;        // saying it again is wrong; otherwise what was said later holds
};

/// `name` is "--long", "-s,--long", or "word" for an argument without a dash. T is std::string, a std::vector of them,
/// int, std::int64_t, std::uint64_t or double.
template <class T>
void add_option(CLI::App& verb, const std::string& name, T& variable, const std::string& help, const Rules& rules = {});
void add_flag(CLI::App& verb, const std::string& name, bool& variable, const std::string& help);
/// What the help ends with.
void add_footer(CLI::App& verb, const std::string& text);

/// An Error where no file of one of these names could be written: found before the work whose result it is to hold.
/// Empty names are left out.
void expect_writable(std::initializer_list<std::string> paths);
/// An Error where one of them is `read`, which would be lost.
void expect_kept(const std::string& read, std::initializer_list<std::string> written);

/// What the help says, as data: completions and the manual are made of it.
struct OptionInfo {
  std::vector<std::string> names;  // "--output", "-o"; one without a dash: an argument
  std::string type, help;          // no type: a flag
  bool is_required = false;
  bool is_argument() const { return !names.front().starts_with('-'); }
};
struct VerbInfo {
  std::string name, purpose, footer;
  std::vector<OptionInfo> options;
};
/// Every verb of the command that this one belongs to, in order.
std::vector<VerbInfo> all_verbs(const CLI::App& verb);

}  // namespace reprise::cli
