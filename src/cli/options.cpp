// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace reprise::cli {

Check check(std::function<std::string(const std::string&)> error, const std::string& name) {
  return std::make_shared<CLI::Validator>([error = std::move(error)](std::string& text) { return error(text); }, name);
}

namespace {

// NaN for what is no number.
double number_in(const std::string& text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : std::nan("");
}

}  // namespace

Check positive() {
  return check(
      [](const std::string& text) {
        double value = number_in(text);
        return value > 0 && std::isfinite(value) ? std::string() : fmt::format("'{}' is not a number above 0", text);
      },
      "POSITIVE");
}
Check not_negative() {
  return check(
      [](const std::string& text) {
        double value = number_in(text);
        return value >= 0 && std::isfinite(value) ? std::string()
                                                  : fmt::format("'{}' is not 0 or a number above", text);
      },
      "NONNEGATIVE");
}
Check between(int least, int most) {
  return check(
      [=](const std::string& text) {
        double value = number_in(text);
        bool is_right = value >= least && value <= most && value == std::floor(value);
        return is_right ? std::string() : fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
      },
      fmt::format("{} to {}", least, most));
}

Check one_of(const std::string& names) {
  return check(
      [names](const std::string& text) {
        bool is_there = ("," + names + ",").find("," + text + ",") != std::string::npos ||
                        (", " + names + ",").find(", " + text + ",") != std::string::npos;
        return is_there && !text.empty() ? std::string() : fmt::format("'{}' is not one of {}", text, names);
      },
      "NAME");
}

namespace {

// The parser takes -1 for the largest number there is, and for it what is larger still.
template <class T>
std::string range_error(const std::string& text) {
  if (std::is_unsigned_v<T> && text.starts_with('-')) return fmt::format("'{}' is below 0", text);
  T value{};
  bool is_beyond = std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc::result_out_of_range;
  return is_beyond ? fmt::format("'{}' is out of range", text) : std::string();
}

}  // namespace

template <class T>
void add_option(CLI::App& verb, const std::string& name, T& variable, const std::string& help, const Rules& rules) {
  CLI::Option* option = verb.add_option(name, variable, help)->required(rules.is_required);
  if constexpr (std::is_integral_v<T>) option->check(CLI::Validator(range_error<T>, ""));
  if (!rules.type.empty()) option->type_name(rules.type);
  if (rules.check) option->check(*rules.check);
  if (rules.delimiter) option->delimiter(rules.delimiter);
  if (rules.shows_default) option->capture_default_str();
  bool is_list = option->get_items_expected_max() > 1;
  if (name.starts_with('-') && !is_list && !rules.is_once) option->take_last();  // what was said later holds
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

namespace {

// "TEXT:SIZE" is a text that is checked to be a size: only the check's name says something.
std::string short_type(const std::string& type) {
  return type.starts_with("TEXT:") ? type.substr(5) : type.substr(0, type.find(':'));
}

OptionInfo info_of(const CLI::Option& option) {
  OptionInfo info{.help = option.get_description(), .is_required = option.get_required()};
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  if (info.names.empty()) info.names.push_back(option.get_name(true));
  bool is_flag = option.get_type_size_max() == 0;
  if (!is_flag) info.type = short_type(option.get_type_name());
  return info;
}

}  // namespace

std::vector<VerbInfo> all_verbs(const CLI::App& verb) {
  std::vector<VerbInfo> verbs;
  for (const CLI::App* sub : verb.get_parent()->get_subcommands([](const CLI::App*) { return true; })) {
    VerbInfo info{sub->get_name(), sub->get_description(), sub->get_footer(), {}};
    for (const CLI::Option* option : sub->get_options()) info.options.push_back(info_of(*option));
    verbs.push_back(std::move(info));
  }
  return verbs;
}

void expect_writable(std::initializer_list<std::string> paths) {
  for (const std::string& path : paths) {
    std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder))
      fail("cannot write '{}': there is no folder '{}', make it first", path, folder.string());
    if (std::filesystem::is_directory(path)) fail("cannot write '{}': it is a folder, name a file in it", path);
  }
}

void expect_kept(const std::string& read, std::initializer_list<std::string> written) {
  std::error_code ignored;  // what does not exist is no other file
  for (const std::string& path : written) {
    if (!path.empty() && std::filesystem::equivalent(read, path, ignored))
      fail("'{}' would be written over '{}', which is read: name another file", path, read);
  }
}

}  // namespace reprise::cli
