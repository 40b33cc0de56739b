// SPDX-License-Identifier: Apache-2.0
// The packing problem as the algorithms see it. Time is cut into *sections*, the moments at which the set of live
// buffers is maximal; an *item* is a buffer, or a row of buffers that take over each other's place: a shape with a flat
// bottom whose top may step from part to part.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reprise/memory.h"

namespace reprise::memory {

/// Sections [first, last) at which an item is `size` high.
struct Part {
  int first = 0, last = 0;
  std::int64_t size = 0;   // rounded up to Instance::unit
  std::int64_t bytes = 0;  // not rounded
};

struct Item {
  int first = 0, last = 0;            // sections [first, last)
  int first_part = 0, last_part = 0;  // its parts, in Instance::parts
  std::int64_t height = 0;            // of its highest part, not rounded
  std::int64_t alignment = 1;
};

struct Instance {
  int sections = 0;
  std::vector<Item> items;
  std::vector<Part> parts;
  std::int64_t unit = 1;         // divides every offset
  std::int64_t lower_bound = 0;  // of the height of any placement

  std::span<const Part> parts_of(const Item& item) const {
    return std::span(parts).subspan(static_cast<std::size_t>(item.first_part),
                                    static_cast<std::size_t>(item.last_part - item.first_part));
  }
  std::int64_t duration(const Item& item) const { return item.last - item.first; }
};

/// Offset of each item.
using Placement = std::vector<std::int64_t>;

std::int64_t height_of(const Instance& instance, const Placement& placement);

/// Live bytes of each section, rounded up to units.
std::vector<std::int64_t> live_sums(const Instance& instance);

inline std::int64_t align_up(std::int64_t offset, std::int64_t alignment) {
  return (offset + alignment - 1) & -alignment;
}

/// A buffer without its name, in less than half the room: a long network's schedule has tens of thousands.
struct Lifetime {
  static constexpr std::uint32_t nothing = static_cast<std::uint32_t>(-1);
  std::int64_t lower = 0, upper = 0;  // live during [lower, upper)
  std::int64_t size = 0;
  std::uint32_t takes_over = nothing;  // the one whose place it takes
  std::uint8_t alignment_bits = 0;     // its alignment is 2 to the power of this

  std::int64_t alignment() const { return std::int64_t{1} << alignment_bits; }
};

std::vector<Lifetime> lifetimes_of(std::span<const Buffer> buffers);

/// An item before time is cut into sections: the lifetimes it is made of, in order of time. They are listed elsewhere,
/// row after row.
using Row = std::span<const std::uint32_t>;

/// The rows that lifetimes form by taking over each other's place; one that does not is a row of its own. `listed`
/// must live as long as they do.
std::vector<Row> rows_of(std::span<const Lifetime> lifetimes, std::vector<std::uint32_t>& listed);

/// Groups of rows between which there is a moment when nothing is live, in order of time.
std::vector<std::vector<Row>> split_at_idle_moments(std::span<const Lifetime> lifetimes, std::vector<Row> rows);

/// Items are in the order of `rows`; every offset will be a multiple of `unit`.
Instance make_instance(std::span<const Lifetime> lifetimes, std::span<const Row> rows, std::int64_t unit);

}  // namespace reprise::memory
