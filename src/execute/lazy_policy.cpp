// SPDX-License-Identifier: Apache-2.0
// What is dropped when there is no room. The cost-aware policy is that of Dynamic Tensor Rematerialization (Kirisame et
// al. 2021): the value whose return costs least, its dropped neighbours included, per byte and by how long it lay
// unused.
#include <algorithm>

#include "execute/lazy_store.h"

namespace reprise {

std::string_view to_string(CachePolicy policy) {
  constexpr std::string_view names[] = {"cost_aware", "lru", "fifo", "lfu", "none"};
  return names[static_cast<std::size_t>(policy)];
}

bool LazyStore::is_limited() const {
  return options_.meters && (options_.limit != LazyOptions::unlimited || options_.entries != LazyOptions::unlimited);
}

double LazyStore::dropped_neighbourhood(const Cell& cell) const {
  std::int32_t seen[8];
  int count = 0;
  double sum = 0;
  auto add = [&](const Cell& neighbour) {
    if (neighbour.component < 0) return;
    std::int32_t c = components_.find(neighbour.component);
    if (std::find(seen, seen + count, c) != seen + count) return;
    if (count < 8) seen[count++] = c;
    sum += components_.cost(c);
  };
  Table& table = *cell.table;
  for (Ref r : table.graph->node(cell.node).inputs) add(table.root(r));
  for (std::int32_t u = table.first_use[static_cast<std::size_t>(cell.node)]; u >= 0;
       u = table.uses[static_cast<std::size_t>(u)].next)
    add(table.cell(table.uses[static_cast<std::size_t>(u)].reader));
  return sum;
}

// The lowest is dropped first.
double LazyStore::score(const Cell& cell) const {
  switch (options_.policy) {
    case CachePolicy::fifo: return static_cast<double>(cell.made);
    case CachePolicy::lfu: return static_cast<double>(cell.uses) + 1e-12 * static_cast<double>(cell.used);
    case CachePolicy::lru:
    case CachePolicy::none: return static_cast<double>(cell.used);
    case CachePolicy::cost_aware: break;
  }
  constexpr double not_needed_soon = 1.0 / 16;
  double cost = cell.seconds + dropped_neighbourhood(cell) + 1e-9;
  double staleness = static_cast<double>(clock_ - cell.used + 1);
  double soon = cell.pending > 0 ? 1 : not_needed_soon;
  return soon * cost / (static_cast<double>(cell.bytes + 1) * staleness);
}

// First what no open frame wants; then what the frames that run last want.
Cell* LazyStore::victim() {
  Cell* best = nullptr;
  bool best_is_wanted = true;
  double best_score = 0;
  for (Cell* cell : droppable_) {
    bool is_wanted = cell->wanted > 0;
    if (cell->locks > 0 || (is_wanted && !best_is_wanted)) continue;
    double s = is_wanted ? cell->depth : score(*cell);
    if (best && is_wanted == best_is_wanted && s >= best_score) continue;
    best = cell, best_is_wanted = is_wanted, best_score = s;
  }
  return best;
}

// With very many small values, looking at each for every drop would take longer than recomputing them.
void LazyStore::shed_many() {
  std::vector<std::pair<double, Cell*>> scores;
  for (Cell* cell : droppable_)
    if (cell->locks == 0 && cell->wanted == 0) scores.emplace_back(score(*cell), cell);
  std::size_t count = scores.size() / 64;
  auto middle = scores.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(scores.begin(), middle, scores.end());
  std::for_each(scores.begin(), middle, [&](const auto& s) { evict(*s.second); });
}

bool LazyStore::shed(std::int64_t bytes, std::int64_t entries) {
  constexpr std::size_t many = 2048;
  auto is_over = [&] {
    return ledger_.held() + bytes > options_.limit - options_.reserve || entry_count() + entries > options_.entries;
  };
  while (is_over()) {
    if (droppable_.size() > many) {
      std::size_t before = droppable_.size();
      shed_many();
      if (droppable_.size() < before) continue;
    }
    Cell* cell = victim();
    if (!cell) return false;
    evict(*cell);
  }
  return true;
}

void LazyStore::make_room(std::int64_t bytes, std::int64_t entries) {
  if (!shed(bytes, entries) && options_.is_strict) throw NoRoom{ledger_.held() + bytes + options_.reserve};
}

void LazyStore::evict(Cell& cell) {
  ++stats_.evictions;
  drop(cell);
  if (options_.keeps_timeline) note(LazyEvent::Kind::dropped, cell, 0);
  if (options_.policy == CachePolicy::cost_aware) join_components(cell);
}

void LazyStore::join_components(Cell& cell) {
  cell.component = components_.add(cell.seconds);
  Table& table = *cell.table;
  auto join = [&](const Cell& neighbour) {
    if (neighbour.component >= 0) components_.unite(cell.component, neighbour.component);
  };
  for (Ref r : table.graph->node(cell.node).inputs) join(table.root(r));
  for (std::int32_t u = table.first_use[static_cast<std::size_t>(cell.node)]; u >= 0;
       u = table.uses[static_cast<std::size_t>(u)].next)
    join(table.cell(table.uses[static_cast<std::size_t>(u)].reader));
}

void LazyStore::return_from_drop(Cell& cell) {
  if (cell.component < 0) return;
  components_.subtract(cell.component, cell.seconds);
  cell.component = -1;
}

}  // namespace reprise
