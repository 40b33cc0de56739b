// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace reprise::cli {

Check check(std::function<std::string(const std::string&)> error, const std::string& name) {
  return std::make_shared<CLI::Validator>([error = std::move(error)](std::string& text) { return error(text); }, name);
}
Check positive() { return std::make_shared<CLI::Validator>(CLI::PositiveNumber); }
Check not_negative() { return std::make_shared<CLI::Validator>(CLI::NonNegativeNumber); }
Check between(int least, int most) { return std::make_shared<CLI::Validator>(CLI::Range(least, most)); }

template <class T>
void add_option(CLI::App& verb, const std::string& name, T& variable, const std::string& help, const Rules& rules) {
  CLI::Option* option = verb.add_option(name, variable, help)->required(rules.is_required);
  if (!rules.type.empty()) option->type_name(rules.type);
  if (rules.check) option->check(*rules.check);
  if (rules.delimiter) option->delimiter(rules.delimiter);
  if (rules.shows_default) option->capture_default_str();
}
template void add_option(CLI::App&, const std::string&, std::string&, const std::string&, const Rules&);
template void add_option(CLI::App&, const std::string&, std::vector<std::string>&, const std::string&, const Rules&);
template void add_option(CLI::App&, const std::string&, int&, const std::string&, const Rules&);
template void add_option(CLI::App&, const std::string&, std::int64_t&, const std::string&, const Rules&);
template void add_option(CLI::App&, const std::string&, std::uint64_t&, const std::string&, const Rules&);
template void add_option(CLI::App&, const std::string&, double&, const std::string&, const Rules&);

void add_flag(CLI::App& verb, const std::string& name, bool& variable, const std::string& help) {
  verb.add_flag(name, variable, help);
}

void add_footer(CLI::App& verb, const std::string& text) { verb.footer(text); }

}  // namespace reprise::cli
