// SPDX-License-Identifier: Apache-2.0
// What buffers must be before anything is packed.
#include <bit>
#include <string_view>
#include <unordered_set>

#include "base/error.h"
#include "reprise/memory.h"

namespace reprise {
namespace {

std::string label(std::span<const Buffer> buffers, std::size_t i) {
  return buffers[i].name.empty() ? fmt::format("number {}", i) : fmt::format("'{}'", buffers[i].name);
}

void check_buffer(std::span<const Buffer> buffers, std::size_t i) {
  const Buffer& b = buffers[i];
  if (b.size < 0) fail("[pack] buffer {} has size {}: sizes are 0 or more", label(buffers, i), b.size);
  if (b.lower >= b.upper)
    fail("[pack] buffer {} lives during [{}, {}): its upper end must be above its lower end", label(buffers, i),
         b.lower, b.upper);
  if (b.alignment <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(b.alignment)))
    fail("[pack] buffer {} has alignment {}: it must be a power of two", label(buffers, i), b.alignment);
}

void check_takeover(std::span<const Buffer> buffers, std::size_t i) {
  const Buffer& b = buffers[i];
  std::size_t j = *b.takes_over;
  if (j >= buffers.size())
    fail("[pack] buffer {} takes over number {}, but there are {} buffers", label(buffers, i), j, buffers.size());
  const Buffer& other = buffers[j];
  if (other.upper != b.lower)
    fail("[pack] buffer {} begins at {} and cannot take over {}, which ends at {}: the two must meet",
         label(buffers, i), b.lower, label(buffers, j), other.upper);
  if (b.size == 0 || other.size == 0)
    fail("[pack] buffer {} takes over {}: both must have at least one byte", label(buffers, i), label(buffers, j));
}

}  // namespace

void check_buffers(std::span<const Buffer> buffers) {
  if (buffers.size() > std::size_t{1} << 29) fail("[pack] {} buffers are too many: 2^29 is the most", buffers.size());
  std::unordered_set<std::string_view> names;
  std::vector<bool> is_taken(buffers.size());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& b = buffers[i];
    check_buffer(buffers, i);
    if (!b.name.empty() && !names.insert(b.name).second) fail("[pack] two buffers are called '{}'", b.name);
    if (__builtin_add_overflow(sum, b.size, &sum) || __builtin_add_overflow(sum, b.alignment, &sum))
      fail("[pack] sizes sum up to more than 2^63 bytes at buffer {} (size {})", label(buffers, i), b.size);
    if (!b.takes_over) continue;
    check_takeover(buffers, i);
    if (is_taken[*b.takes_over]) fail("[pack] two buffers take over {}", label(buffers, *b.takes_over));
    is_taken[*b.takes_over] = true;
  }
}

}  // namespace reprise
