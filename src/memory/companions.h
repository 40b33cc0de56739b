// SPDX-License-Identifier: Apache-2.0
// Which items live at the same time: for searches that place the same items again and again.
#pragma once

#include "memory/instance.h"

namespace reprise::memory {

/// An item that shares sections with another, and how high the two are where they meet.
struct Companion {
  int item;
  std::int64_t own_size, size;
};

/// In order of their first sections, the parts that begin while a part lives are the next ones. Only those that live
/// when it begins are listed, so each pair of parts takes 4 bytes: a long network's schedule has a million pairs.
class Companions {
 public:
  explicit Companions(const Instance& instance);

  /// Calls f with each companion of the item; with one that meets it with several parts once for each pair.
  template <class F>
  void for_each(int item, F f) const {
    const Item& own = instance_.items[static_cast<std::size_t>(item)];
    for (int part = own.first_part; part < own.last_part; ++part) {
      const std::uint32_t rank = rank_[static_cast<std::size_t>(part)];
      const std::int64_t own_size = ranked_[rank].size;
      auto tell = [&](std::uint32_t other) { f(Companion{ranked_[other].item, own_size, ranked_[other].size}); };
      for (std::size_t k = ranked_[rank].first_earlier; k < ranked_[rank + 1].first_earlier; ++k) tell(earlier_[k]);
      for (std::uint32_t later = rank + 1; later < ranked_[rank].end_of_later; ++later) tell(later);
    }
  }

 private:
  struct Ranked {
    std::int64_t size = 0;
    std::size_t first_earlier = 0;  // of those that live when it begins, in earlier_
    int item = 0;
    std::uint32_t end_of_later = 0;  // of those that begin while it lives: [its own rank + 1, this)
  };

  const Instance& instance_;
  std::vector<std::uint32_t> rank_;  // of each part, by first section
  std::vector<Ranked> ranked_;       // in that order, and one more for the end
  std::vector<std::uint32_t> earlier_;
};

}  // namespace reprise::memory
