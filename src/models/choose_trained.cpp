// SPDX-License-Identifier: Apache-2.0
// Which parameters of a model are trained, by patterns on their names.
#include <algorithm>

#include "base/error.h"
#include "reprise/models.h"

namespace reprise {
namespace {

// * stands for anything, ? for one character.
bool matches_whole(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1, n = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool matches(const std::string& pattern, const std::string& name) {
  bool is_pattern = pattern.find_first_of("*?") != std::string::npos;
  return is_pattern ? matches_whole(pattern, name) : name.starts_with(pattern);
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& p) { return matches(p, name); });
}

void expect_matches(const nn::Fields& parameters, const std::string& model, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns)
    if (std::ranges::none_of(parameters, [&](const nn::Named& p) { return matches(pattern, p.name); }))
      fail("[train] no parameter's name {} '{}': {} has '{}' to '{}'",
           pattern.find_first_of("*?") == std::string::npos ? "begins with" : "is like", pattern, model,
           parameters.front().name, parameters.back().name);
}

}  // namespace

void choose_trained(const BuiltInModel& model, const TrainedChoice& choice) {
  nn::Fields trained;
  for (const nn::Named& p : model.parameters)
    if (p.parameter.trainable()) trained.push_back(p);
  if (trained.empty() || (choice.freeze.empty() && choice.train.empty())) return;
  expect_matches(trained, model.name, choice.freeze);
  expect_matches(trained, model.name, choice.train);
  bool any = false;
  for (const nn::Named& p : trained) {
    bool is_trained =
        (choice.train.empty() || matches_any(choice.train, p.name)) && !matches_any(choice.freeze, p.name);
    nn::Parameter(p.parameter).train(is_trained);
    any = any || is_trained;
  }
  if (!any)
    fail("[train] every parameter of {} is frozen: --train names what trains, --freeze takes from it", model.name);
}

}  // namespace reprise
