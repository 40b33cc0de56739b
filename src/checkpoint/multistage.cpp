// SPDX-License-Identifier: Apache-2.0
// P. Stumm and A. Walther, "MultiStage approaches for optimal offline checkpointing", SIAM J. Sci. Comput. 31(3), 2009:
// revolve over all slots together; a slot is a depth of its stack, and the depths used most are given to the fastest
// store.
#include <algorithm>
#include <numeric>

#include "checkpoint/revolve.h"

namespace reprise::chain {
namespace {

struct Multistage {
  static constexpr bool needs_data = false;
  struct Place {
    int store;
    std::int64_t slot;
  };
  std::vector<Place> places;  // by depth

  const Place& place(std::int64_t depth) const { return places[static_cast<std::size_t>(depth)]; }
  Move move(const View& view) const {
    std::int64_t depth = view.depth - (view.is_saved() ? 1 : 0);
    return {place(depth).store, view.at + split(view.length(), std::ssize(places) - depth)};
  }
  bool release(const View&) const { return false; }
  std::int64_t slot(std::int64_t depth, const Saved&) const { return place(depth).slot; }
};

/// Writes and reads of each depth, counted by reading the plain schedule once.
std::vector<std::int64_t> uses_of_depths(std::int64_t steps, std::int64_t slots) {
  std::vector<std::int64_t> uses(static_cast<std::size_t>(slots));
  for (Schedule plain = revolve(steps, slots); !plain.done();) {
    Action action = plain.next();
    if (auto* save = std::get_if<Save>(&action)) ++uses[static_cast<std::size_t>(save->slot)];
    if (auto* restore = std::get_if<Restore>(&action)) ++uses[static_cast<std::size_t>(restore->slot)];
  }
  return uses;
}

std::vector<Multistage::Place> assign(const std::vector<std::int64_t>& uses, const std::vector<Store>& stores) {
  std::vector<std::size_t> depths(uses.size());
  std::iota(depths.begin(), depths.end(), std::size_t{0});
  std::ranges::stable_sort(depths, [&](std::size_t a, std::size_t b) { return uses[a] > uses[b]; });
  std::vector<Multistage::Place> places(uses.size());
  int store = 0;
  std::int64_t filled = 0;
  for (std::size_t depth : depths) {
    while (filled == stores[static_cast<std::size_t>(store)].capacity) {
      ++store;
      filled = 0;
    }
    places[depth].store = store;
    ++filled;
  }
  std::vector<std::int64_t> below(stores.size());
  for (Multistage::Place& place : places) place.slot = below[static_cast<std::size_t>(place.store)]++;
  return places;
}

}  // namespace

Schedule multistage(std::int64_t steps, std::vector<Store> stores) {
  check_steps("multistage", steps);
  check_stores("multistage", steps, stores);
  std::int64_t slots = 0, most = std::max<std::int64_t>(steps - 1, 1);
  for (const Store& store : stores) slots = std::min(most, slots + std::min(most, store.capacity));
  constexpr std::int64_t most_slots = std::int64_t{1} << 26;
  if (slots > most_slots)
    refuse<BadRequest>(
        "[chain] multistage: {} slots are more than its table of {}: use chain::revolve or chain::periodic", slots,
        most_slots);
  Multistage policy{assign(uses_of_depths(steps, slots), stores)};
  return walk({.steps = steps, .stores = std::move(stores)}, std::move(policy));
}

}  // namespace reprise::chain
