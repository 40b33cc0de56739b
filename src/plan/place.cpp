// SPDX-License-Identifier: Apache-2.0
#include "plan/place.h"

#include <algorithm>
#include <utility>

#include "base/index.h"
#include "reprise/memory.h"

namespace reprise::plan {
namespace {

// The buffers of all rows that need memory, and which row each is.
class Buffers {
 public:
  Buffers(const Problem& problem, const std::vector<Placement>& lives) : last_(problem.values().size(), none) {
    buffers.reserve(lives.size());
    rows.reserve(lives.size());
    for (std::size_t r = 0; r < lives.size(); ++r) {
      const Placement& row = lives[r];
      bool is_value = row.kind == Placement::Kind::value;
      int input = is_value ? problem.value(row.id).in_place_of : -1;
      bool needs_memory = add(row, r, input >= 0 ? taken(input, row.from) : none);
      if (is_value && needs_memory) last_[at(row.id)] = buffers.size() - 1;
    }
  }

  std::vector<Buffer> buffers;
  std::vector<std::size_t> rows;

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  // The buffer of the value's life that ends at this step, if nobody has taken it yet.
  std::size_t taken(int value, int step) {
    std::size_t buffer = last_[at(value)];
    if (buffer == none || buffers[buffer].upper != step) return none;
    return std::exchange(last_[at(value)], none);
  }

  // What is taken over is still read in the step that takes it, so all its bytes stay until that is done.
  bool add(const Placement& row, std::size_t r, std::size_t taken) {
    Buffer buffer{.lower = row.from, .upper = row.to, .size = row.bytes};
    if (taken != none && row.bytes == 0) ++buffers[taken].upper;
    if (row.bytes == 0 || row.from == row.to) return false;
    if (taken != none) {
      buffer.takes_over = taken;
      if (buffers[taken].size > row.bytes) {
        push({.lower = row.from, .upper = row.from + 1, .size = buffers[taken].size, .takes_over = taken}, r);
        if (row.to == row.from + 1) return true;
        buffer.lower = row.from + 1;
        buffer.takes_over = buffers.size() - 1;
      }
    }
    push(std::move(buffer), r);
    return true;
  }

  void push(Buffer buffer, std::size_t r) {
    buffers.push_back(std::move(buffer));
    rows.push_back(r);
  }

  std::vector<std::size_t> last_;  // per value, the buffer of its latest life
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
  Placed placed{.layout = lives(problem, schedule)};
  Buffers parts(problem, placed.layout);
  PackResult packed = pack(parts.buffers, packing);
  for (std::size_t b = 0; b < parts.rows.size(); ++b) placed.layout[parts.rows[b]].offset = packed.layout.offsets[b];
  placed.bytes = packed.height + problem.resident_bytes();
  return placed;
}

}  // namespace reprise::plan
