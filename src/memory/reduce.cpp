// SPDX-License-Identifier: Apache-2.0
#include "memory/reduce.h"

#include <algorithm>
#include <numeric>

namespace reprise::memory {
namespace {

/// Sums over positions 0..n-1 that change one at a time (Fenwick).
class Sums {
 public:
  explicit Sums(std::size_t count) : tree_(count + 1) {}
  void add(int at, std::int64_t value) {
    for (std::size_t k = static_cast<std::size_t>(at) + 1; k < tree_.size(); k += k & -k) tree_[k] += value;
  }
  std::int64_t before(int end) const {
    std::int64_t sum = 0;
    for (std::size_t k = static_cast<std::size_t>(end); k > 0; k -= k & -k) sum += tree_[k];
    return sum;
  }

 private:
  std::vector<std::int64_t> tree_;
};

/// Number and bytes of the parts that share a section with an item.
class Company {
 public:
  explicit Company(const Instance& instance) : instance_(instance) {
    for (const Item& item : instance.items) count(item, 1);
  }
  void remove(const Item& item) { count(item, -1); }
  std::int64_t parts(const Item& item) const { return starts_.before(item.last) - ends_.before(item.first + 1); }
  std::int64_t bytes(const Item& item) const {
    return start_bytes_.before(item.last) - end_bytes_.before(item.first + 1);
  }

 private:
  void count(const Item& item, int sign) {
    for (const Part& part : instance_.parts_of(item)) {
      starts_.add(part.first, sign), start_bytes_.add(part.first, sign * part.size);
      ends_.add(part.last, sign), end_bytes_.add(part.last, sign * part.size);
    }
  }

  const Instance& instance_;
  std::size_t moments_ = static_cast<std::size_t>(instance_.sections) + 1;
  Sums starts_{moments_}, ends_{moments_}, start_bytes_{moments_}, end_bytes_{moments_};
};

}  // namespace

std::vector<int> postponable(const Instance& instance, std::int64_t height) {
  Company company(instance);
  std::vector<int> waiting(instance.items.size()), aside;
  std::iota(waiting.begin(), waiting.end(), 0);
  std::ranges::stable_sort(waiting, {}, [&](int i) { return instance.items[static_cast<std::size_t>(i)].height; });
  for (std::size_t before = waiting.size() + 1; waiting.size() < before;) {
    before = waiting.size();
    std::erase_if(waiting, [&](int i) {
      const Item& item = instance.items[static_cast<std::size_t>(i)];
      std::int64_t own = 0;
      for (const Part& part : instance.parts_of(item)) own += part.size;
      std::int64_t others = company.parts(item) - (item.last_part - item.first_part);
      std::int64_t free = height - (company.bytes(item) - own);
      // k others leave at most k + 1 gaps, so the largest has at least free / (k + 1) bytes
      if (free / (others + 1) < item.height + item.alignment) return false;
      company.remove(item);
      aside.push_back(i);
      return true;
    });
  }
  return aside;
}

}  // namespace reprise::memory
