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

// The next that goes; of very many the next few, cheapest last: scores change slowly, and looking at all of them for
// every drop would cost more than it saves.
void LazyStore::find_candidates() {
  constexpr std::size_t many = 128, share = 8;
  candidates_.clear();
  for (Cell* cell : droppable_)
    if (cell->locks == 0 && cell->wanted == 0) candidates_.push_back({score(*cell), cell, cell->used});
  std::size_t count =
      candidates_.size() <= many ? std::min<std::size_t>(1, candidates_.size()) : candidates_.size() / share;
  auto by_score = [](const Candidate& a, const Candidate& b) { return a.score < b.score; };
  auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(candidates_.begin(), end, candidates_.end(), by_score);
  candidates_.erase(end, candidates_.end());
  std::ranges::reverse(candidates_);
}

// What no open frame wants, and was not used since it was named.
Cell* LazyStore::next_candidate() {
  while (!candidates_.empty()) {
    Candidate c = candidates_.back();
    candidates_.pop_back();
    if (c.cell->place >= 0 && c.cell->locks == 0 && c.cell->wanted == 0 && c.cell->used == c.used) return c.cell;
  }
  return nullptr;
}

// What the frames that run last want.
Cell* LazyStore::least_wanted() {
  Cell* best = nullptr;
  for (Cell* cell : droppable_)
    if (cell->locks == 0 && (!best || cell->depth < best->depth)) best = cell;
  return best;
}

Cell* LazyStore::victim() {
  if (Cell* cell = next_candidate()) return cell;
  find_candidates();
  if (Cell* cell = next_candidate()) return cell;
  return least_wanted();
}

bool LazyStore::shed(std::int64_t bytes, std::int64_t entries) {
  auto is_over = [&] {
    return ledger_.held() + bytes > options_.limit - options_.reserve || entry_count() + entries > options_.entries;
  };
  while (is_over()) {
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

// Sets that were merged stay merged, and empty ones stay too: now and then all begins anew.
void LazyStore::renew_components() {
  constexpr std::size_t most = 1 << 20;
  if (components_.size() < most) return;
  components_ = {};
  for (auto& table : tables_)
    for (std::int32_t i = 0; i < table->size; ++i) table->cell(i).component = -1;
}

void LazyStore::join_components(Cell& cell) {
  renew_components();
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
