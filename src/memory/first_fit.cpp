// SPDX-License-Identifier: Apache-2.0
// Places items in a given order, each in the lowest gap between those already placed that live at the same time.
#include "memory/gaps.h"
#include "memory/solvers.h"

namespace reprise::memory {
namespace {

/// Placed parts by section: a segment tree whose nodes hold the parts that cover them entirely or in part.
class Placed {
 public:
  explicit Placed(int sections) : sections_(sections), covering_(4 * index(sections)), within_(4 * index(sections)) {}

  void add(const Part& part, std::int64_t bottom) { add(1, 0, sections_, part, {bottom, bottom + part.size}); }
  /// Appends the blocks of all parts that share a section with [first, last); some twice.
  void collect(int first, int last, std::vector<Block>& blocks) const { collect(1, 0, sections_, first, last, blocks); }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  void add(std::size_t node, int from, int to, const Part& part, Block block) {
    if (part.last <= from || to <= part.first) return;
    if (part.first <= from && to <= part.last) {
      covering_[node].push_back(block);
      return;
    }
    within_[node].push_back(block);
    int middle = (from + to) / 2;
    add(2 * node, from, middle, part, block);
    add(2 * node + 1, middle, to, part, block);
  }
  void collect(std::size_t node, int from, int to, int first, int last, std::vector<Block>& blocks) const {
    if (last <= from || to <= first) return;
    blocks.insert(blocks.end(), covering_[node].begin(), covering_[node].end());
    if (first <= from && to <= last) {
      blocks.insert(blocks.end(), within_[node].begin(), within_[node].end());
      return;
    }
    int middle = (from + to) / 2;
    collect(2 * node, from, middle, first, last, blocks);
    collect(2 * node + 1, middle, to, first, last, blocks);
  }

  int sections_;
  std::vector<std::vector<Block>> covering_, within_;
};

class FirstFit {
 public:
  explicit FirstFit(const Instance& instance) : in_(instance), placed_(instance.sections) {}

  void put(const Item& item, std::int64_t offset) {
    for (const Part& part : in_.parts_of(item)) placed_.add(part, offset);
  }
  std::int64_t lowest_gap_for(const Item& item, Work& work) {
    forbidden_.clear();
    for (const Part& part : in_.parts_of(item)) {
      std::size_t before = forbidden_.size();
      placed_.collect(part.first, part.last, forbidden_);
      for (std::size_t k = before; k < forbidden_.size(); ++k) forbidden_[k].bottom -= part.size;
    }
    work.spend(static_cast<std::int64_t>(forbidden_.size()) + 1);
    return lowest_gap(forbidden_, item.alignment);
  }

 private:
  const Instance& in_;
  Placed placed_;
  std::vector<Block> forbidden_;
};

}  // namespace

Placement first_fit(const Instance& instance, std::span<const int> sequence, Work& work) {
  Placement placement(instance.items.size());
  FirstFit fit(instance);
  for (int i : sequence) {
    const Item& item = instance.items[static_cast<std::size_t>(i)];
    fit.put(item, placement[static_cast<std::size_t>(i)] = fit.lowest_gap_for(item, work));
  }
  return placement;
}

void insert(const Instance& instance, std::span<const int> items, Placement& placement, Work& work) {
  std::vector<bool> is_new(instance.items.size());
  for (int i : items) is_new[static_cast<std::size_t>(i)] = true;
  FirstFit fit(instance);
  for (std::size_t i = 0; i < instance.items.size(); ++i)
    if (!is_new[i]) fit.put(instance.items[i], placement[i]);
  for (int i : items) {
    const Item& item = instance.items[static_cast<std::size_t>(i)];
    fit.put(item, placement[static_cast<std::size_t>(i)] = fit.lowest_gap_for(item, work));
  }
}

}  // namespace reprise::memory
