// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/error.h"
#include "data/permutation.h"
#include "reprise/data.h"

namespace reprise::data {
namespace {

constexpr std::uint64_t split_stream = ~std::uint64_t{0};  // no epoch's

// Samples [first, first + count) after a rearrangement.
template <class Place>
Dataset part(const Dataset& whole, std::int64_t first, std::int64_t count, const Place& place) {
  Dataset some = whole;
  some.size = count;
  some.read = [read = whole.read, first, place](std::int64_t i, void* x, void* y) { read(place(first + i), x, y); };
  return some;
}

}  // namespace

Split split(const Dataset& data, double validation_fraction, std::uint64_t seed) {
  if (!(validation_fraction >= 0 && validation_fraction < 1))
    fail("[data] a validation share of {}: it must be at least 0 and less than 1", validation_fraction);
  if (data.size < 1) fail("[data] {} has no samples to split", data.name);
  auto count = static_cast<std::int64_t>(std::llround(validation_fraction * static_cast<double>(data.size)));
  if (validation_fraction > 0) count = std::max<std::int64_t>(count, 1);
  if (count >= data.size)
    fail("[data] {} has {} samples, too few to set {} of them aside for validation: use a smaller share", data.name,
         data.size, validation_fraction);
  std::int64_t rest = data.size - count;
  if (data.is_ordered) {
    auto in_order = [](std::int64_t i) { return i; };
    return {part(data, 0, rest, in_order), part(data, rest, count, in_order)};
  }
  Permutation shuffled(data.size, seed, split_stream);
  return {part(data, 0, rest, shuffled), part(data, rest, count, shuffled)};
}

}  // namespace reprise::data
