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
  return options_.limit != LazyOptions::unlimited || options_.entries != LazyOptions::unlimited;
}

template <class F>
void LazyStore::for_each_neighbour(const Cell& cell, F&& f) const {
  Table& table = *cell.table;
  for (Ref r : table.graph->node(cell.node).inputs) f(table.root(r));
  for (std::int32_t u = table.first_use[static_cast<std::size_t>(cell.node)]; u >= 0;
       u = table.uses[static_cast<std::size_t>(u)].next)
    f(table.cell(table.uses[static_cast<std::size_t>(u)].reader));
}

// Where there are more than a cell has places for, one more than there are places.
void LazyStore::find_near(Cell& cell) const {
  cell.near_count = 0;
  for_each_neighbour(cell, [&](const Cell& neighbour) {
    if (neighbour.component < 0 || cell.near_count > Cell::most_near) return;
    std::int32_t c = components_.find(neighbour.component);
    if (std::find(cell.near, cell.near + cell.near_count, c) != cell.near + cell.near_count) return;
    if (cell.near_count < Cell::most_near) cell.near[cell.near_count] = c;
    ++cell.near_count;
  });
}

double LazyStore::dropped_neighbourhood(Cell& cell) const {
  if (cell.near_count == Cell::unknown) find_near(cell);
  if (cell.near_count > Cell::most_near) return sum_of_components(cell);
  double sum = 0;
  for (int k = 0; k < cell.near_count; ++k) {
    cell.near[k] = components_.find(cell.near[k]);
    if (std::find(cell.near, cell.near + k, cell.near[k]) == cell.near + k) sum += components_.cost(cell.near[k]);
  }
  return sum;
}

double LazyStore::sum_of_components(const Cell& cell) const {
  std::int32_t seen[8];
  int count = 0;
  double sum = 0;
  for_each_neighbour(cell, [&](const Cell& neighbour) {
    if (neighbour.component < 0) return;
    std::int32_t c = components_.find(neighbour.component);
    if (std::find(seen, seen + count, c) != seen + count) return;
    if (count < 8) seen[count++] = c;
    sum += components_.cost(c);
  });
  return sum;
}

// The lowest is dropped first. The cost-aware score grows with what the dropped neighbourhood costs.
double LazyStore::score(const Cell& cell, double neighbourhood) const {
  switch (options_.policy) {
    case CachePolicy::fifo: return static_cast<double>(cell.made);
    case CachePolicy::lfu: return static_cast<double>(cell.uses) + 1e-12 * static_cast<double>(cell.used);
    case CachePolicy::lru:
    case CachePolicy::none: return static_cast<double>(cell.used);
    case CachePolicy::cost_aware: break;
  }
  constexpr double not_needed_soon = 1.0 / 16;
  double cost = cell.seconds + neighbourhood + 1e-9;
  double staleness = static_cast<double>(clock_ - cell.used + 1);
  double soon = cell.pending > 0 ? 1 : not_needed_soon;
  return soon * cost / (static_cast<double>(cell.bytes + 1) * staleness);
}

// The next that goes; of very many the next few, cheapest last: scores change slowly, and looking at all of them for
// every drop would cost more than it saves. Neighbourhoods are looked at only where a score without them is among the
// lowest.
void LazyStore::find_candidates() {
  constexpr std::size_t many = 128, share = 8;
  bool is_exact = options_.policy != CachePolicy::cost_aware;
  heap_.clear();
  for (Cell* cell : droppable_)
    if (cell->locks == 0 && cell->wanted == 0) heap_.push_back({score(*cell, 0), cell, cell->used, is_exact});
  std::size_t count = heap_.size() <= many ? std::min<std::size_t>(1, heap_.size()) : heap_.size() / share;
  auto is_higher = [](const Candidate& a, const Candidate& b) { return a.score > b.score; };
  std::ranges::make_heap(heap_, is_higher);
  candidates_.clear();
  while (candidates_.size() < count) {
    std::ranges::pop_heap(heap_, is_higher);
    Candidate& lowest = heap_.back();
    if (lowest.is_exact) {
      candidates_.push_back(lowest);
      heap_.pop_back();
      continue;
    }
    lowest.score = score(*lowest.cell, dropped_neighbourhood(*lowest.cell));
    lowest.is_exact = true;
    std::ranges::push_heap(heap_, is_higher);
  }
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

std::int64_t LazyStore::least_with(Table& table, std::span<const Ref> values, std::int64_t bytes) const {
  std::int64_t least = ledger_.held() + bytes + options_.reserve;
  for (const Cell* cell : droppable_) least -= cell->bytes;
  std::vector<std::int32_t> seen;
  for (Ref r : values) {
    const Cell& cell = table.root(r);
    if (cell.given || std::ranges::find(seen, cell.node) != seen.end()) continue;
    seen.push_back(cell.node);
    least += bytes_of(table, cell.node);
  }
  return least;
}

std::int64_t LazyStore::least_for(Table& table, std::int32_t node) {
  std::int64_t bytes = bytes_of(table, node) + kernels_.of(*table.graph, node).scratch_bytes;
  return least_with(table, table.graph->node(node).inputs, bytes);
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
    for (std::int32_t i = 0; i < table->size; ++i) {
      table->cell(i).component = -1;
      table->cell(i).near_count = Cell::unknown;
    }
}

void LazyStore::join_components(Cell& cell) {
  renew_components();
  cell.component = components_.add(cell.seconds);
  for_each_neighbour(cell, [&](Cell& neighbour) {
    neighbour.near_count = Cell::unknown;
    if (neighbour.component >= 0) components_.unite(cell.component, neighbour.component);
  });
}

void LazyStore::return_from_drop(Cell& cell) {
  if (cell.component < 0) return;
  components_.subtract(cell.component, cell.seconds);
  cell.component = -1;
  cell.near_count = Cell::unknown;
  for_each_neighbour(cell, [](Cell& neighbour) { neighbour.near_count = Cell::unknown; });
}

}  // namespace reprise
