// SPDX-License-Identifier: Apache-2.0
#include "ops/window.h"

#include "base/error.h"

namespace reprise {
namespace {

Shape part(const std::vector<std::int64_t>& numbers, int from, int count) {
  return Shape(std::span(numbers).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(count)));
}

std::vector<std::int64_t> checked(const Signature& s, std::string_view name, int count, std::int64_t lowest) {
  const auto& numbers = s.integers(name);
  if (static_cast<int>(numbers.size()) != count)
    fail("[{}] {} has {} numbers: {} are needed for {}", s.name(), name, numbers.size(), count, to_string(s.in()));
  for (std::int64_t n : numbers)
    if (n < lowest || n > 1 << 24) fail("[{}] {} holds {}: give {} or more", s.name(), name, n, lowest);
  return numbers;
}

std::vector<std::int64_t> spread(std::string_view who, std::string_view name, const std::vector<std::int64_t>& given,
                                 int count, std::int64_t otherwise) {
  auto n = static_cast<std::size_t>(count);
  if (given.empty()) return std::vector<std::int64_t>(n, otherwise);
  if (given.size() == 1) return std::vector<std::int64_t>(n, given[0]);
  if (given.size() != n)
    fail("[{}] {} has {} numbers: give one, or one per dimension ({})", who, name, given.size(), n);
  return given;
}

}  // namespace

Window window_of(const Signature& s, int spatial_rank) {
  auto pads = checked(s, "pads", 2 * spatial_rank, 0);
  return {part(checked(s, "strides", spatial_rank, 1), 0, spatial_rank),
          part(checked(s, "dilations", spatial_rank, 1), 0, spatial_rank), part(pads, 0, spatial_rank),
          part(pads, spatial_rank, spatial_rank)};
}

std::int64_t window_count(std::int64_t size, std::int64_t kernel, const Window& w, int axis, bool ceil_mode) {
  std::int64_t room = size + w.pads_begin[axis] + w.pads_end[axis] - ((kernel - 1) * w.dilations[axis] + 1);
  if (room < 0) return 0;
  std::int64_t count = room / w.strides[axis] + 1;
  bool overhangs = ceil_mode && room % w.strides[axis] != 0 && count * w.strides[axis] < size + w.pads_begin[axis];
  return overhangs ? count + 1 : count;
}

Attributes window_attributes(std::string_view who, const WindowOptions& options, int spatial_rank) {
  std::vector<std::int64_t> pads = options.pads;
  if (static_cast<int>(pads.size()) != 2 * spatial_rank) {
    pads = spread(who, "pads", options.pads, spatial_rank, 0);
    pads.insert(pads.end(), pads.begin(), pads.begin() + spatial_rank);
  }
  return {{"strides", spread(who, "strides", options.strides, spatial_rank, 1)},
          {"dilations", spread(who, "dilations", options.dilations, spatial_rank, 1)},
          {"pads", pads}};
}

}  // namespace reprise
