// SPDX-License-Identifier: Apache-2.0
#include "memory/companions.h"

#include <algorithm>
#include <numeric>

namespace reprise::memory {

std::vector<std::vector<Companion>> companions_of(const Instance& instance) {
  std::vector<std::vector<Companion>> companions(instance.items.size());
  std::vector<int> by_first(instance.items.size());
  std::iota(by_first.begin(), by_first.end(), 0);
  std::ranges::sort(by_first, {}, [&](int i) { return instance.items[static_cast<std::size_t>(i)].first; });
  for (std::size_t k = 0; k < by_first.size(); ++k) {
    const Item& a = instance.items[static_cast<std::size_t>(by_first[k])];
    for (std::size_t m = k + 1; m < by_first.size(); ++m) {
      const Item& b = instance.items[static_cast<std::size_t>(by_first[m])];
      if (b.first >= a.last) break;
      for (const Part& p : instance.parts_of(a))
        for (const Part& q : instance.parts_of(b)) {
          if (p.last <= q.first || q.last <= p.first) continue;
          companions[static_cast<std::size_t>(by_first[k])].push_back({by_first[m], p.size, q.size});
          companions[static_cast<std::size_t>(by_first[m])].push_back({by_first[k], q.size, p.size});
        }
    }
  }
  return companions;
}

}  // namespace reprise::memory
