// SPDX-License-Identifier: Apache-2.0
// From buffers to an Instance: rows that take over each other's place, idle moments, sections.
#include "memory/instance.h"

#include <algorithm>
#include <bit>

namespace reprise::memory {
namespace {

std::size_t buffers_in(std::span<const Row> rows) {
  std::size_t count = 0;
  for (const Row& row : rows) count += row.size();
  return count;
}

/// How many sections are over by a moment. A section ends where buffers end after others have begun: at such moments
/// the live set is maximal, and what holds there holds at every other moment.
class SectionClock {
 public:
  SectionClock(std::span<const Lifetime> lifetimes, std::span<const Row> rows) {
    std::vector<std::int64_t> starts, ends;
    starts.reserve(buffers_in(rows));
    ends.reserve(buffers_in(rows));
    for (const Row& row : rows)
      for (std::size_t i : row) starts.push_back(lifetimes[i].lower), ends.push_back(lifetimes[i].upper);
    std::ranges::sort(starts);
    std::ranges::sort(ends);
    auto start = starts.begin();
    for (std::int64_t end : ends) {
      bool has_begun = start != starts.end() && *start < end;
      if (!has_begun) continue;
      while (start != starts.end() && *start < end) ++start;
      ends_.push_back(end);
    }
  }
  int sections() const { return static_cast<int>(ends_.size()); }
  int over_by(std::int64_t time) const {
    return static_cast<int>(std::ranges::upper_bound(ends_, time) - ends_.begin());
  }

 private:
  std::vector<std::int64_t> ends_;
};

/// At each moment all live bytes lie on top of each other, and only the topmost may end inside its last unit.
std::int64_t lower_bound_of(const Instance& instance) {
  std::vector<std::int64_t> sums = live_sums(instance), most_padding(sums.size());
  for (const Item& item : instance.items)
    for (const Part& part : instance.parts_of(item))
      for (int x = part.first; instance.unit > 1 && x < part.last; ++x)
        most_padding[static_cast<std::size_t>(x)] =
            std::max(most_padding[static_cast<std::size_t>(x)], part.size - part.bytes);
  std::int64_t bound = 0;
  for (std::size_t x = 0; x < sums.size(); ++x) bound = std::max(bound, sums[x] - most_padding[x]);
  for (const Item& item : instance.items) bound = std::max(bound, item.height);
  return bound;
}

}  // namespace

std::vector<std::int64_t> live_sums(const Instance& instance) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(instance.sections) + 1);
  for (const Part& part : instance.parts) {
    sums[static_cast<std::size_t>(part.first)] += part.size;
    sums[static_cast<std::size_t>(part.last)] -= part.size;
  }
  for (std::size_t x = 1; x < sums.size(); ++x) sums[x] += sums[x - 1];
  sums.pop_back();
  return sums;
}

std::int64_t height_of(const Instance& instance, const Placement& placement) {
  std::int64_t height = 0;
  for (std::size_t i = 0; i < placement.size(); ++i) height = std::max(height, placement[i] + instance.items[i].height);
  return height;
}

std::vector<Lifetime> lifetimes_of(std::span<const Buffer> buffers) {
  std::vector<Lifetime> lifetimes;
  lifetimes.reserve(buffers.size());
  for (const Buffer& b : buffers)
    lifetimes.push_back({b.lower, b.upper, b.size,
                         b.takes_over ? static_cast<std::uint32_t>(*b.takes_over) : Lifetime::nothing,
                         static_cast<std::uint8_t>(std::countr_zero(static_cast<std::uint64_t>(b.alignment)))});
  return lifetimes;
}

std::vector<Row> rows_of(std::span<const Lifetime> lifetimes, std::vector<std::uint32_t>& listed) {
  const auto count = static_cast<std::uint32_t>(lifetimes.size());
  std::vector<std::uint32_t> next(count, count);
  std::size_t row_count = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (lifetimes[i].takes_over != Lifetime::nothing)
      next[lifetimes[i].takes_over] = i;
    else
      ++row_count;
  }
  listed.clear();
  listed.reserve(count);  // rows look at it while it grows
  std::vector<Row> rows;
  rows.reserve(row_count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (lifetimes[i].takes_over != Lifetime::nothing) continue;
    std::size_t first = listed.size();
    for (std::uint32_t j = i; j < count; j = next[j]) listed.push_back(j);
    rows.emplace_back(listed.data() + first, listed.size() - first);
  }
  return rows;
}

std::vector<std::vector<Row>> split_at_idle_moments(std::span<const Lifetime> lifetimes, std::vector<Row> rows) {
  std::ranges::stable_sort(rows, {}, [&](const Row& row) { return lifetimes[row.front()].lower; });
  std::vector<std::vector<Row>> groups;
  std::int64_t busy_until = 0;
  for (Row row : rows) {
    if (groups.empty() || lifetimes[row.front()].lower >= busy_until) groups.emplace_back();
    std::int64_t end = lifetimes[row.back()].upper;
    busy_until = groups.back().empty() ? end : std::max(busy_until, end);
    groups.back().push_back(row);
  }
  return groups;
}

Instance make_instance(std::span<const Lifetime> lifetimes, std::span<const Row> rows, std::int64_t unit) {
  SectionClock clock(lifetimes, rows);
  Instance instance{.sections = clock.sections(), .unit = unit};
  instance.items.reserve(rows.size());
  instance.parts.reserve(buffers_in(rows));
  for (const Row& row : rows) {
    Item item{.first = clock.over_by(lifetimes[row.front()].lower),
              .last = clock.over_by(lifetimes[row.back()].upper),
              .first_part = static_cast<int>(instance.parts.size()),
              .alignment = unit};
    for (std::size_t i : row) {
      const Lifetime& b = lifetimes[i];
      instance.parts.push_back({clock.over_by(b.lower), clock.over_by(b.upper), align_up(b.size, unit), b.size});
      item.height = std::max(item.height, b.size);
      item.alignment = std::max(item.alignment, b.alignment());
    }
    item.last_part = static_cast<int>(instance.parts.size());
    instance.items.push_back(item);
  }
  instance.lower_bound = lower_bound_of(instance);
  return instance;
}

}  // namespace reprise::memory
