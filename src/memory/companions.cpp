// SPDX-License-Identifier: Apache-2.0
#include "memory/companions.h"

#include <algorithm>
#include <numeric>

namespace reprise::memory {
namespace {

// Calls f with each part, in order of rank, and the ranks of those before it that live when it begins.
template <class F>
void sweep(const Instance& instance, std::span<const std::uint32_t> by_first, F f) {
  std::vector<std::uint32_t> live;
  for (std::uint32_t rank = 0; rank < by_first.size(); ++rank) {
    int now = instance.parts[by_first[rank]].first;
    std::erase_if(live, [&](std::uint32_t earlier) { return instance.parts[by_first[earlier]].last <= now; });
    f(rank, live);
    live.push_back(rank);
  }
}

}  // namespace

Companions::Companions(const Instance& instance)
    : instance_(instance), rank_(instance.parts.size()), ranked_(instance.parts.size() + 1) {
  std::vector<std::uint32_t> by_first(instance.parts.size());
  std::iota(by_first.begin(), by_first.end(), 0);
  auto first = [&](std::uint32_t part) { return instance.parts[part].first; };
  std::ranges::stable_sort(by_first, {}, first);
  for (std::uint32_t rank = 0; rank < by_first.size(); ++rank) {
    const Part& part = instance.parts[by_first[rank]];
    rank_[by_first[rank]] = rank;
    ranked_[rank].size = part.size;
    ranked_[rank].end_of_later =
        static_cast<std::uint32_t>(std::ranges::lower_bound(by_first, part.last, {}, first) - by_first.begin());
  }
  for (std::size_t i = 0; i < instance.items.size(); ++i)
    for (int part = instance.items[i].first_part; part < instance.items[i].last_part; ++part)
      ranked_[rank_[static_cast<std::size_t>(part)]].item = static_cast<int>(i);
  std::size_t count = 0;
  sweep(instance, by_first, [&](std::uint32_t rank, const std::vector<std::uint32_t>& live) {
    ranked_[rank].first_earlier = count;
    count += live.size();
  });
  ranked_.back().first_earlier = count;
  earlier_.reserve(count);
  sweep(instance, by_first, [&](std::uint32_t, const std::vector<std::uint32_t>& live) {
    earlier_.insert(earlier_.end(), live.begin(), live.end());
  });
}

}  // namespace reprise::memory
