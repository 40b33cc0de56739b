// SPDX-License-Identifier: Apache-2.0
// How low and how fast buffers are packed: over the CSV files of a directory (`pack_bench DIRECTORY`; a capacity may
// stand in a file's name, as in A.1048576.csv) and over generated training steps.
#include <fmt/core.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "../tests/memory/lifetimes.h"
#include "memory/csv.h"

namespace {

using namespace reprise;

void print_header() {
  fmt::print("{:<36} {:>8} {:>14} {:>14} {:>9} {:>9}  {}\n", "problem", "buffers", "height", "capacity", "height/c.",
             "seconds", "found by");
}

/// `capacity` is what to compare the height with: the one asked for, or else the lower bound.
void print_row(const std::string& name, std::size_t count, const PackResult& r, std::int64_t capacity) {
  double ratio = capacity == 0 ? 1 : static_cast<double>(r.height) / static_cast<double>(capacity);
  fmt::print("{:<36} {:>8} {:>14} {:>14} {:>9.5f} {:>9.3f}  {}{}\n", name, count, r.height, capacity, ratio, r.seconds,
             r.algorithm, r.proven_optimal ? ", optimal" : "");
}

std::optional<std::int64_t> capacity_in(const std::filesystem::path& path) {
  std::string part = path.stem().extension().string();  // ".1048576" of A.1048576.csv
  std::int64_t capacity = 0;
  auto [rest, error] = std::from_chars(part.data() + !part.empty(), part.data() + part.size(), capacity);
  return error == std::errc() && rest == part.data() + part.size() ? std::optional(capacity) : std::nullopt;
}

void bench_files(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& path : files) {
    std::ifstream in(path, std::ios::binary);
    auto buffers = memory::read_csv(std::string{std::istreambuf_iterator<char>(in), {}});
    PackOptions options{.capacity = capacity_in(path)};
    PackResult r = pack(buffers, options);
    validate(buffers, r.layout);
    print_row(path.filename().string(), buffers.size(), r, options.capacity.value_or(r.lower_bound));
  }
}

void bench_training() {
  for (int layers : {100, 1'000, 20'000})
    for (double budget : {1.0, 0.5, 0.2})
      for (std::int64_t alignment : {1, 64}) {
        Random random(static_cast<std::uint64_t>(layers));
        auto buffers = memory::training_lifetimes(random, {.layers = layers, .budget = budget, .distinct_sizes = 0});
        PackResult r = pack(buffers, {.alignment = alignment});
        std::string name = fmt::format("{} layers, budget {:.0f} %, align {}", layers, 100 * budget, alignment);
        print_row(name, buffers.size(), r, largest_live_sum(buffers));
      }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    print_header();
    for (int i = 1; i < argc; ++i) bench_files(argv[i]);
    bench_training();
  } catch (const std::exception& e) {
    fmt::print(stderr, "pack_bench: {}\n", e.what());
    return 1;
  }
}
