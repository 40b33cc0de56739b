// SPDX-License-Identifier: Apache-2.0
// What the constructive algorithms choose the next item by.
#include <algorithm>

#include "memory/solvers.h"

namespace reprise::memory {
namespace {

/// The largest live sum an item meets.
std::vector<double> loads(const Instance& instance) {
  std::vector<std::int64_t> sums = live_sums(instance);
  std::vector<double> loads;
  for (const Item& item : instance.items)
    loads.push_back(static_cast<double>(*std::max_element(sums.begin() + item.first, sums.begin() + item.last)));
  return loads;
}

double area(const Instance& instance, const Item& item) {
  double area = 0;
  for (const Part& part : instance.parts_of(item))
    area += static_cast<double>(part.size) * static_cast<double>(part.last - part.first);
  return area;
}

}  // namespace

const char* name(Order order) {
  constexpr const char* names[] = {"size", "duration", "area", "start", "load"};
  return names[static_cast<std::size_t>(order)];
}

std::vector<double> keys(const Instance& instance, Order order) {
  if (order == Order::load) return loads(instance);
  std::vector<double> keys;
  for (const Item& item : instance.items) switch (order) {
      case Order::size: keys.push_back(static_cast<double>(item.height)); break;
      case Order::duration: keys.push_back(static_cast<double>(instance.duration(item))); break;
      case Order::area: keys.push_back(area(instance, item)); break;
      default: keys.push_back(static_cast<double>(instance.sections - item.first)); break;
    }
  return keys;
}

}  // namespace reprise::memory
