// SPDX-License-Identifier: Apache-2.0
#include "compile/profile.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "graph/text.h"
#include "ops/rules.h"

namespace reprise {
namespace {

constexpr const char* header = "reprise profile 1";

// Floats of 0.5, integers and booleans of 0: valid as indices and as keys.
Tensor made_up(const Type& type) { return Tensor::full(type, is_float(type.dtype) ? 0.5 : 0); }

double median_of_runs(const Kernel& kernel, const Buffers& buffers) {
  using Clock = std::chrono::steady_clock;
  constexpr int most_runs = 5;
  constexpr double enough_seconds = 0.05;
  std::vector<double> seconds;
  double total = 0;
  kernel.run(buffers);  // caches, pages, primitives
  while (static_cast<int>(seconds.size()) < most_runs && total < enough_seconds) {
    Clock::time_point start = Clock::now();
    kernel.run(buffers);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    total += seconds.back();
  }
  std::ranges::nth_element(seconds, seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
  return seconds[seconds.size() / 2];
}

}  // namespace

double roofline_seconds(const Signature& signature) {
  constexpr double flops_per_second = 5e10, bytes_per_second = 1e10, start_seconds = 1e-6;
  Cost cost = cost_of(signature);
  return start_seconds + std::max(cost.flops / flops_per_second, cost.bytes / bytes_per_second);
}

double measured_seconds(const Signature& signature, const Kernel& kernel) {
  std::vector<Tensor> inputs, outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Type& type : signature.inputs) in.push_back(inputs.emplace_back(made_up(type)).data());
  for (const Type& type : signature.outputs) out.push_back(outputs.emplace_back(Tensor::empty(type)).data());
  Tensor scratch = Tensor::empty({DType::boolean, {kernel.scratch_bytes}});
  try {
    return median_of_runs(kernel, {in, out, scratch.data()});
  } catch (const Error&) {
    return roofline_seconds(signature);
  }
}

std::string profile_key(const Signature& signature) {
  std::string key(signature.name());
  for (const Type& type : signature.inputs) key += " " + to_string(type);
  for (const auto& [name, attribute] : signature.attributes)
    if (!std::holds_alternative<Tensor>(attribute)) key += " " + name + "=" + to_string(attribute);
  return key;
}

std::optional<double> Profile::find(const std::string& key) const {
  auto found = seconds_.find(key);
  return found == seconds_.end() ? std::nullopt : std::optional(found->second);
}

void Profile::set(const std::string& key, double seconds) { seconds_[key] = seconds; }

void Profile::save(const std::string& path) const {
  std::ofstream file(path);
  file << header << "\n";
  for (const auto& [key, seconds] : seconds_) file << fmt::format("{:.9g} {}\n", seconds, key);
  if (!file.flush()) fail("[profile] cannot write '{}': check the folder and its permissions", path);
}

Profile Profile::load(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail("[profile] cannot read '{}': save one there first, or measure anew", path);
  std::string line;
  if (!std::getline(file, line) || line != header)
    fail("[profile] '{}' is not a profile that this version wrote: its first line must be \"{}\"", path, header);
  Profile profile;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    double seconds = -1;
    std::string key;
    if (!(words >> seconds).get() || !std::getline(words, key) || !(seconds >= 0))
      fail("[profile] '{}' has a line that is not \"seconds op types\": {}", path, line);
    profile.set(key, seconds);
  }
  return profile;
}

}  // namespace reprise
