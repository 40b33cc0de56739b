// SPDX-License-Identifier: Apache-2.0
// The judge of layouts: the definition, checked pair by pair. On purpose it shares nothing with the packer.
#include <algorithm>

#include "base/error.h"
#include "reprise/memory.h"

namespace reprise {
namespace {

std::string describe(const Buffer& b, std::int64_t offset) {
  return fmt::format("'{}' (bytes [{}, {}), live during [{}, {}))", b.name, offset, offset + b.size, b.lower, b.upper);
}

bool are_live_together(const Buffer& a, const Buffer& b) { return a.lower < b.upper && b.lower < a.upper; }

bool share_bytes(const Buffer& a, std::int64_t at_a, const Buffer& b, std::int64_t at_b) {
  return a.size > 0 && b.size > 0 && at_a < at_b + b.size && at_b < at_a + a.size;
}

}  // namespace

void validate(std::span<const Buffer> buffers, const Layout& layout, const PackOptions& options) {
  const auto& at = layout.offsets;
  if (at.size() != buffers.size()) fail("[layout] {} offsets for {} buffers", at.size(), buffers.size());
  std::int64_t height = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& b = buffers[i];
    std::int64_t top = 0;
    if (at[i] < 0) fail("[layout] '{}' has the negative offset {}", b.name, at[i]);
    if (__builtin_add_overflow(at[i], b.size, &top)) fail("[layout] '{}' ends past 2^63 bytes", b.name);
    if (at[i] % b.alignment != 0 || at[i] % options.alignment != 0)
      fail("[layout] {} is not aligned to {}", describe(b, at[i]), std::max(b.alignment, options.alignment));
    if (b.takes_over && at[i] != at[*b.takes_over])
      fail("[layout] {} must take over the place of {}", describe(b, at[i]),
           describe(buffers[*b.takes_over], at[*b.takes_over]));
    height = std::max(height, top);
  }
  for (std::size_t i = 0; i < buffers.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (are_live_together(buffers[i], buffers[j]) && share_bytes(buffers[i], at[i], buffers[j], at[j]))
        fail("[layout] {} and {} share bytes while both are live", describe(buffers[j], at[j]),
             describe(buffers[i], at[i]));
  if (height != layout.height) fail("[layout] the height is {}, not {}", height, layout.height);
  if (options.capacity && height > *options.capacity)
    fail("[layout] the height is {}, above the capacity {}", height, *options.capacity);
}

}  // namespace reprise
