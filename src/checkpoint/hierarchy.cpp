// SPDX-License-Identifier: Apache-2.0
// J. Herrmann and G. Pallez, "H-Revolve: a framework for adjoint computation on synchronous hierarchical platforms",
// ACM TOMS 46(2), 2020; with an unlimited last store, G. Aupy, J. Herrmann, P. Hovland and Y. Robert, "Optimal
// multistage algorithm for adjoint computation", 2016. Older states are in slower stores. For store k with m slots
// free, all faster stores empty:
//   free(k, m, n)   x_0 in hand, not saved:   min of free(k-1, all, n) and write_k + kept(k, m-1, n)
//   kept(k, m, n)   x_0 in hand and in k:     min over j of  j + free(k, m, n-j) + read_k + back(k, m, j)
//   back(k, m, n)   x_0 just read from k:     min of kept(k, m, n) and free(k, m+1, n), which takes it out of k
// all 0 for n = 1. In a store that costs nothing, `free` is revolve's closed form.
#include <algorithm>
#include <limits>

#include "checkpoint/min_plus.h"
#include "checkpoint/revolve.h"

namespace reprise::chain {
namespace {

using Costs = std::vector<double>;  // by number of steps

/// One store's part of the program. In a store as large as the chain the number of free slots does not matter: one row.
struct Level {
  bool is_free = false, is_unlimited = false;
  std::int64_t capacity = 0;
  std::vector<Costs> unsaved;                    // free(k, m, n), by m = 0..capacity
  std::vector<Costs> kept;                       // kept(k, m, n), by m = 0..capacity-1
  std::vector<std::vector<std::int32_t>> jumps;  // the best j of `kept`

  std::size_t row(std::int64_t m) const { return is_unlimited ? 0 : static_cast<std::size_t>(m); }
  double unsaved_cost(std::int64_t m, std::int64_t n) const {
    if (is_free) return n <= 1 ? 0 : m == 0 ? never : static_cast<double>(least_advances(n, m));
    return unsaved[is_unlimited ? 0 : row(m)][static_cast<std::size_t>(n)];
  }
  double kept_cost(std::int64_t m, std::int64_t n) const {
    return is_free ? unsaved_cost(m + 1, n) : kept[row(m)][static_cast<std::size_t>(n)];
  }
  std::int64_t jump(std::int64_t m, std::int64_t n) const {
    return is_free ? split(n, m + 1) : jumps[row(m)][static_cast<std::size_t>(n)];
  }
};

/// Rows kept(k, m, .) and free(k, m+1, .), given free(k, m, .) and free(k-1, all, .).
void add_rows(Level& level, const Store& store, const Costs& faster) {
  std::size_t n_end = faster.size();
  const Costs* unsaved = level.unsaved.empty() ? nullptr : &level.unsaved.back();
  Costs kept(n_end, 0.0), more(n_end, 0.0);
  std::vector<std::int32_t> jumps(n_end, 0);
  MinPlus split(n_end, 1 + store.read_cost, 0);
  for (std::size_t n = 2; n < n_end; ++n) {
    std::size_t j = split.best();
    kept[n] = split.value(n, j);
    jumps[n] = static_cast<std::int32_t>(j);
    more[n] = std::min(faster[n], store.write_cost + kept[n]);
    split.append(static_cast<double>(n) + store.read_cost + std::min(kept[n], more[n]),
                 unsaved ? (*unsaved)[n] : more[n]);
  }
  level.kept.push_back(std::move(kept));
  level.jumps.push_back(std::move(jumps));
  level.unsaved.push_back(std::move(more));
}

Level solve_level(std::int64_t steps, const Store& store, const Costs& faster) {
  Level level;
  level.is_unlimited = store.capacity >= steps - 1;
  level.capacity = std::min(store.capacity, steps);
  if (!level.is_unlimited) level.unsaved.push_back(faster);
  std::int64_t rows = level.is_unlimited ? 1 : level.capacity;
  for (std::int64_t m = 0; m < rows; ++m) add_rows(level, store, faster);
  return level;
}

struct Hierarchy {
  static constexpr bool needs_data = false;
  std::vector<Level> levels;

  const Level& level(int k) const { return levels[static_cast<std::size_t>(k)]; }
  std::int64_t room(const View& view, int k) const {
    return std::max<std::int64_t>(level(k).capacity - view.filled(k), 0);
  }

  Move move(const View& view) const {
    std::int64_t n = view.length();
    if (view.is_saved()) {
      int k = view.top->store;
      return {k, view.at + level(k).jump(room(view, k), n)};
    }
    // The slowest store that may still be used is the one used last; go down while faster stores alone do as well.
    int k = view.top ? view.top->store : static_cast<int>(levels.size()) - 1;
    while (k > 0 && level(k).unsaved_cost(room(view, k), n) >= level(k - 1).unsaved_cost(level(k - 1).capacity, n)) --k;
    return {k, view.at + level(k).jump(room(view, k) - 1, n)};
  }

  bool release(const View& view) const {
    int k = view.top->store;
    std::int64_t m = room(view, k);
    return level(k).unsaved_cost(m + 1, view.length()) < level(k).kept_cost(m, view.length());
  }
  std::int64_t slot(std::int64_t, const Saved& saved) const { return saved.filled - 1; }
};

Hierarchy solve(std::int64_t steps, const std::vector<Store>& stores) {
  Hierarchy hierarchy;
  Costs faster(static_cast<std::size_t>(steps) + 1, never);
  std::fill_n(faster.begin(), std::min<std::size_t>(faster.size(), 2), 0.0);
  for (const Store& store : stores) {
    bool is_free = hierarchy.levels.empty() && store.write_cost == 0 && store.read_cost == 0;
    Level level = is_free ? Level{.is_free = true, .capacity = std::min(store.capacity, steps)}
                          : solve_level(steps, store, faster);
    for (std::int64_t n = 0; n <= steps; ++n)
      faster[static_cast<std::size_t>(n)] = level.unsaved_cost(level.capacity, n);
    hierarchy.levels.push_back(std::move(level));
  }
  return hierarchy;
}

void check_table(const char* family, std::int64_t steps, const std::vector<Store>& stores) {
  constexpr double most_entries = 0x1p24;
  double rows = static_cast<double>(stores.size());
  for (const Store& store : stores)
    if (store.capacity < steps - 1 && (store.write_cost > 0 || store.read_cost > 0))
      rows += static_cast<double>(store.capacity);
  if (rows * static_cast<double>(steps) > most_entries)
    refuse<BadRequest>(
        "[chain] {}: {} steps in {} stores, with {:.0f} slots that cost something, need more than {:.0f} table "
        "entries: use chain::multistage or chain::periodic",
        family, steps, stores.size(), rows - static_cast<double>(stores.size()), most_entries);
}

Schedule optimal(const char* family, std::int64_t steps, std::vector<Store> stores) {
  check_steps(family, steps);
  check_stores(family, steps, stores);
  check_table(family, steps, stores);
  Hierarchy hierarchy = solve(steps, stores);
  return walk({.steps = steps, .stores = std::move(stores)}, std::move(hierarchy));
}

}  // namespace

Schedule hierarchical(std::int64_t steps, std::vector<Store> stores) {
  return optimal("hierarchical", steps, std::move(stores));
}

Schedule disk_revolve(std::int64_t steps, std::int64_t slots, double write_cost, double read_cost) {
  check_steps("disk_revolve", steps);
  check_slots("disk_revolve", slots);
  return optimal("disk_revolve", steps,
                 {{.name = "memory", .capacity = slots},
                  {.name = "disk", .capacity = steps, .write_cost = write_cost, .read_cost = read_cost}});
}

}  // namespace reprise::chain
