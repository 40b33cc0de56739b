// SPDX-License-Identifier: Apache-2.0
// Packing: offsets in one arena for buffers whose lifetimes are known. Two buffers that are live at the same moment
// never share a byte; everything else may. Knows no tensor: any set of lifetimes will do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reprise/base.h"
#include "reprise/export.h"

namespace reprise {

/// One block of memory, live during [lower, upper).
struct Buffer {
  std::string name;            ///< For messages only; may be empty.
  std::int64_t lower = 0;      ///< First moment it is live.
  std::int64_t upper = 0;      ///< First moment it is no longer live; above lower.
  std::int64_t size = 0;       ///< Bytes.
  std::int64_t alignment = 1;  ///< Its offset is a multiple of this power of two.
  /// Index of a buffer whose upper is this one's lower and whose offset this one must inherit (an operation that works
  /// in place). At most one buffer takes over another.
  std::optional<std::size_t> takes_over = {};

  friend bool operator==(const Buffer&, const Buffer&) = default;
};

/// Where the buffers lie.
struct Layout {
  std::vector<std::int64_t> offsets;  ///< One per buffer, in the order given.
  std::int64_t height = 0;            ///< Bytes of the arena: the highest offset + size.

  friend bool operator==(const Layout&, const Layout&) = default;
};

struct PackOptions {
  /// The arena there is: the search ends as soon as a layout fits it. Without one the lowest layout is sought.
  std::optional<std::int64_t> capacity = {};
  std::int64_t alignment = 1;             ///< Every offset is a multiple of this power of two.
  std::int64_t work_limit = 500'000'000;  ///< Elementary steps of the search, so that equal input gives equal output.
  double time_limit_seconds = 0;          ///< Also ends the search, wherever it is; 0 means no clock is read.
  std::uint64_t seed = 1;                 ///< Of the random choices in the search.
};

struct PackResult {
  Layout layout;            ///< Always complete and valid, whether or not it fits the capacity.
  std::int64_t height = 0;  ///< layout.height.
  std::int64_t lower_bound =
      0;             ///< No layout is lower: the largest sum of bytes live together (alignment counted), or more.
  bool fits = true;  ///< The height is within the capacity asked for.
  bool proven_optimal = false;  ///< The height equals the lower bound.
  std::string algorithm;        ///< The one that found the layout.
  std::int64_t work = 0;        ///< Elementary steps spent.
  double seconds = 0;
  std::string why;  ///< When it does not fit: what stands in the way.

  explicit operator bool() const { return fits; }
};

/// Finds a low layout. Throws Error on malformed buffers (see `check_buffers`).
///
///     auto r = pack(std::vector<Buffer>{{"a", 0, 2, 64}, {"b", 1, 3, 32}, {"c", 2, 4, 64}});
///     // r.height == 96: a and c never meet and share a place, b lies beside them
REPRISE_API PackResult pack(std::span<const Buffer> buffers, const PackOptions& options = {});

/// The largest sum of bytes live at one moment.
REPRISE_API std::int64_t largest_live_sum(std::span<const Buffer> buffers);

/// Throws Error on what no layout can have: negative sizes, lower >= upper, sums past 2^63, alignments that are not
/// powers of two, repeated names, and buffers that take over what they cannot.
REPRISE_API void check_buffers(std::span<const Buffer> buffers);

/// The judge: throws Error naming the first rule of the layout that is broken. Quadratic, and shares no code with
/// `pack`.
REPRISE_API void validate(std::span<const Buffer> buffers, const Layout& layout, const PackOptions& options = {});

}  // namespace reprise
