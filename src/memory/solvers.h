// SPDX-License-Identifier: Apache-2.0
// The algorithms, one file each.
#pragma once

#include <memory>
#include <optional>

#include "memory/instance.h"
#include "memory/work.h"

namespace reprise::memory {

/// What the next item is chosen by: the largest key first.
enum class Order { size, duration, area, start, load };
inline constexpr Order orders[] = {Order::duration, Order::area, Order::size, Order::start, Order::load};

const char* name(Order order);

/// Keys of the items; see Order.
std::vector<double> keys(const Instance& instance, Order order);

/// Fills the lowest place of the skyline first, with the item of the largest key that fits there. O(n log n) or so.
Placement skyline(const Instance& instance, std::span<const double> keys, Work& work);

/// Places the items in order, each in the lowest gap that takes it. O(pairs that live together).
Placement first_fit(const Instance& instance, std::span<const int> sequence, Work& work);

/// Places further items into a placement, each in its lowest gap; `placement` holds all but `items`.
void insert(const Instance& instance, std::span<const int> items, Placement& placement, Work& work);

/// Changes the order of first_fit until the height is at most `goal` or the allowance is spent.
Placement order_search(const Instance& instance, const Placement& start, std::int64_t goal, std::int64_t allowance,
                       std::uint64_t seed, Work& work);

/// Looks for a placement of at most `capacity`, starting from the items of `start` that lie within it.
std::optional<Placement> ejection(const Instance& instance, const Placement& start, std::int64_t capacity,
                                  std::int64_t allowance, std::uint64_t seed, Work& work);

enum class Outcome { found, refuted, unknown };
struct Decision {
  Outcome outcome = Outcome::unknown;
  Placement placement;  // when found
};

/// Is there a placement of at most `capacity`? Complete: `refuted` is a proof. Goes on where it stopped when it is run
/// again.
class Exact {
 public:
  Exact(const Instance& instance, std::int64_t capacity, std::uint64_t seed, Work& work);
  ~Exact();
  Decision run(std::int64_t allowance);

 private:
  struct State;
  const Instance& instance_;
  Work& work_;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::memory
