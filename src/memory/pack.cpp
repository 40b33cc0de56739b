// SPDX-License-Identifier: Apache-2.0
// pack: checks, splits at idle moments, solves the groups, the most loaded first, and reports.
#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"
#include "memory/pack.h"
#include "memory/portfolio.h"
#include "memory/solvers.h"

namespace reprise {
namespace {

using namespace memory;

void check_options(std::span<const Lifetime> lifetimes, const PackOptions& options) {
  if (options.alignment <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(options.alignment)))
    fail("[pack] alignment {} is not a power of two", options.alignment);
  if (options.capacity && *options.capacity < 0) fail("[pack] capacity {} is negative", *options.capacity);
  if (options.work_limit < 0) fail("[pack] work limit {} is negative", options.work_limit);
  if (!(options.time_limit_seconds >= 0)) fail("[pack] time limit {} is not 0 or more", options.time_limit_seconds);
  std::int64_t sum = 0;
  for (const Lifetime& b : lifetimes) {
    std::int64_t padding = 0;
    if (__builtin_add_overflow(b.alignment(), options.alignment, &padding) ||
        __builtin_add_overflow(sum, padding, &sum) || __builtin_add_overflow(sum, b.size, &sum) ||
        sum > std::numeric_limits<std::int64_t>::max() / 2)
      fail("[pack] sizes aligned to {} sum up to more than 2^62 bytes", options.alignment);
  }
}

/// The least alignment of all: what divides every offset.
std::int64_t unit_of(std::span<const Lifetime> lifetimes, const PackOptions& options) {
  auto least = std::ranges::min_element(lifetimes, {}, &Lifetime::alignment_bits);
  return least == lifetimes.end() ? options.alignment : std::max(least->alignment(), options.alignment);
}

struct Group {
  std::vector<Row> rows;
  Instance instance;
};

std::vector<Group> groups_of(std::span<const Lifetime> lifetimes, const PackOptions& options,
                             std::vector<std::uint32_t>& listed) {
  std::vector<Row> rows = rows_of(lifetimes, listed);
  std::erase_if(rows, [&](const Row& row) { return lifetimes[row.front()].size == 0; });
  const std::int64_t unit = unit_of(lifetimes, options);
  std::vector<Group> groups;
  for (auto& part : split_at_idle_moments(lifetimes, std::move(rows))) {
    Instance instance = make_instance(lifetimes, part, unit);
    groups.push_back({std::move(part), std::move(instance)});
  }
  std::ranges::stable_sort(groups, std::greater<>{}, [](const Group& g) { return g.instance.lower_bound; });
  return groups;
}

/// The moment with the largest live sum.
std::pair<std::int64_t, std::int64_t> fullest_moment(std::span<const Buffer> buffers) {
  std::map<std::int64_t, std::int64_t> changes;
  for (const Buffer& b : buffers) changes[b.lower] += b.size, changes[b.upper] -= b.size;
  std::pair<std::int64_t, std::int64_t> fullest{0, 0};
  std::int64_t live = 0;
  for (auto [moment, change] : changes)
    if ((live += change) > fullest.second) fullest = {moment, live};
  return fullest;
}

std::string why_not(std::span<const Buffer> buffers, const PackResult& r, std::int64_t capacity, bool is_refuted) {
  auto [moment, live] = fullest_moment(buffers);
  if (live > capacity)
    return fmt::format("no layout fits {} bytes: {} are live together at moment {}", capacity, live, moment);
  if (r.lower_bound > capacity)
    return fmt::format("no layout fits {} bytes: {} are live together once offsets are aligned", capacity,
                       r.lower_bound);
  if (is_refuted)
    return fmt::format("no layout fits {} bytes, although only {} are live together: every arrangement was searched",
                       capacity, live);
  return fmt::format(
      "no layout of {} bytes was found within the limits of the search; the lowest has {}, the bound is {}", capacity,
      r.height, r.lower_bound);
}

}  // namespace

std::int64_t largest_live_sum(std::span<const Buffer> buffers) { return fullest_moment(buffers).second; }

namespace memory {

Packed pack(std::span<const Lifetime> lifetimes, const PackOptions& options) {
  check_options(lifetimes, options);
  Work work(options.work_limit, options.time_limit_seconds);
  std::vector<std::uint32_t> listed;  // what the groups' rows look at
  std::vector<Group> groups = groups_of(lifetimes, options, listed);
  Packed packed{
      .result = {.layout = {.offsets = std::vector<std::int64_t>(lifetimes.size())}, .algorithm = "none needed"}};
  PackResult& result = packed.result;
  if (!groups.empty()) result.lower_bound = groups.front().instance.lower_bound;
  for (const Group& group : groups) {
    Goal goal{std::max(options.capacity.value_or(result.lower_bound), result.height), options.capacity.has_value()};
    GroupResult solved = solve_group(lifetimes, group.rows, group.instance, goal, options.seed, work);
    packed.refuted = std::max(packed.refuted, solved.refuted);
    if (solved.height > result.height) result.height = solved.height, result.algorithm = solved.algorithm;
    for (std::size_t i = 0; i < group.rows.size(); ++i)
      for (std::size_t b : group.rows[i]) result.layout.offsets[b] = solved.placement[i];
  }
  result.layout.height = result.height;
  result.proven_optimal = result.height <= packed.refuted + 1;
  result.fits = !options.capacity || result.height <= *options.capacity;
  result.work = work.used();
  result.seconds = work.seconds();
  return packed;
}

}  // namespace memory

PackResult pack(std::span<const Buffer> buffers, const PackOptions& options) {
  check_buffers(buffers);
  auto [result, refuted] = memory::pack(lifetimes_of(buffers), options);
  if (!result.fits) result.why = why_not(buffers, result, *options.capacity, refuted >= *options.capacity);
  return std::move(result);
}

}  // namespace reprise
