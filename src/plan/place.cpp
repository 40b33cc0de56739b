// SPDX-License-Identifier: Apache-2.0
#include "plan/place.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "memory/pack.h"

namespace reprise::plan {
namespace {

// The lifetimes of all lives that need memory, and which life each is.
class Lifetimes {
 public:
  Lifetimes(const Problem& problem, const std::vector<Placement>& lives) : last_(problem.values().size(), none) {
    lifetimes.reserve(lives.size());
    rows.reserve(lives.size());
    for (std::uint32_t r = 0; r < lives.size(); ++r) {
      const Placement& row = lives[r];
      bool is_value = row.kind == Placement::Kind::value;
      int input = is_value ? problem.value(row.id).in_place_of : -1;
      bool needs_memory = add(row, r, input >= 0 ? taken(input, row.from) : none);
      if (is_value && needs_memory) last_[at(row.id)] = static_cast<std::uint32_t>(lifetimes.size() - 1);
    }
  }

  std::vector<memory::Lifetime> lifetimes;
  std::vector<std::uint32_t> rows;

 private:
  static constexpr std::uint32_t none = memory::Lifetime::nothing;

  // The lifetime of the value's life that ends at this step, if nobody has taken it yet.
  std::uint32_t taken(int value, int step) {
    std::uint32_t lifetime = last_[at(value)];
    if (lifetime == none || lifetimes[lifetime].upper != step) return none;
    return std::exchange(last_[at(value)], none);
  }

  // What is taken over is still read in the step that takes it, so all its bytes stay until that is done.
  bool add(const Placement& row, std::uint32_t r, std::uint32_t taken) {
    memory::Lifetime lifetime{.lower = row.from, .upper = row.to, .size = row.bytes, .takes_over = none};
    if (taken != none && row.bytes == 0) ++lifetimes[taken].upper;
    if (row.bytes == 0 || row.from == row.to) return false;
    if (taken != none) {
      lifetime.takes_over = taken;
      if (lifetimes[taken].size > row.bytes) {
        push({.lower = row.from, .upper = row.from + 1, .size = lifetimes[taken].size, .takes_over = taken}, r);
        if (row.to == row.from + 1) return true;
        lifetime.lower = row.from + 1;
        lifetime.takes_over = static_cast<std::uint32_t>(lifetimes.size() - 1);
      }
    }
    push(lifetime, r);
    return true;
  }

  void push(const memory::Lifetime& lifetime, std::uint32_t r) {
    lifetimes.push_back(lifetime);
    rows.push_back(r);
  }

  std::vector<std::uint32_t> last_;  // per value, the lifetime of its latest life
};

constexpr std::int64_t most_work = 60'000'000;     // to fit a budget
constexpr std::int64_t lowering_work = 6'000'000;  // to lower an arena that nobody limits

}  // namespace

Placed place(const Problem& problem, const Schedule& schedule, const PlaceOptions& options) {
  bool is_limited = options.budget < std::numeric_limits<std::int64_t>::max();
  PackOptions packing{.alignment = options.alignment,
                      .work_limit = is_limited ? most_work : lowering_work,
                      .time_limit_seconds = options.seconds};
  if (is_limited) packing.capacity = std::max<std::int64_t>(0, options.budget - problem.resident_bytes());
  Placed placed;
  std::optional<std::vector<Placement>> rows = lives(problem, schedule);
  placed.offsets.resize(rows->size());
  Lifetimes parts(problem, *rows);
  rows.reset();  // packing needs the room
  PackResult packed = memory::pack(parts.lifetimes, packing).result;
  for (std::size_t b = 0; b < parts.rows.size(); ++b) placed.offsets[parts.rows[b]] = packed.layout.offsets[b];
  placed.bytes = packed.height + problem.resident_bytes();
  return placed;
}

std::vector<Placement> layout_of(const Problem& problem, const Schedule& schedule,
                                 std::span<const std::int64_t> offsets) {
  std::vector<Placement> layout = lives(problem, schedule);
  if (layout.size() != offsets.size()) fail("[internal] the offsets are those of another schedule");
  for (std::size_t r = 0; r < layout.size(); ++r) layout[r].offset = offsets[r];
  return layout;
}

}  // namespace reprise::plan
