// SPDX-License-Identifier: Apache-2.0
// What can go wrong while values are kept, dropped and recomputed: each kind is its own type and carries its numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reprise/base.h"
#include "reprise/export.h"

namespace reprise {

/// Values that make no sense: negative sizes, no slots, a period of zero, stores that do not match the schedule.
struct REPRISE_API BadRequest : Error {
  using Error::Error;
};

/// Nothing of the kind asked for fits the capacity or the budget given.
struct REPRISE_API DoesNotFit : Error {
  using Error::Error;
};

/// Something was asked for at the wrong moment: an action after the last, an end after the end, a backward before its
/// forward.
struct REPRISE_API OutOfTurn : Error {
  using Error::Error;
};

/// More bytes were asked for than the budget has left. Nothing was taken from it.
struct REPRISE_API BudgetExceeded : Error {
  BudgetExceeded(std::int64_t need, std::int64_t available);
  std::int64_t need, available;
};

/// A value has another length than the place it goes to, or a list another than the one it has to match.
struct REPRISE_API DimensionMismatch : Error {
  DimensionMismatch(const std::string& message, std::int64_t expected_, std::int64_t got_)
      : Error(message), expected(expected_), got(got_) {}
  std::int64_t expected, got;
};

/// A network without segments computes nothing.
struct REPRISE_API EmptyNetwork : Error {
  EmptyNetwork();
};

/// An index that is negative, or not below `limit`.
struct REPRISE_API IndexOutOfBounds : Error {
  IndexOutOfBounds(std::string_view where, std::int64_t index, std::int64_t limit);
  std::int64_t index, limit;
};

/// Nothing is kept under this slot or layer: it was never put there, or it was dropped.
struct REPRISE_API NothingStored : Error {
  NothingStored(std::string_view where, std::int64_t index, std::string_view remedy = "put it there first");
  std::int64_t index;
};

/// All places are taken and the configuration forbids dropping one of them.
struct REPRISE_API MaximumReached : Error {
  MaximumReached(std::string_view where, std::int64_t limit);
  std::int64_t limit;
};

/// The debug mode ran this step (of a sweep) or segment (of a network) twice with one input and got two results.
struct REPRISE_API NotDeterministic : Error {
  NotDeterministic(std::string_view what, std::int64_t index);
  std::int64_t index;
};

/// The disk could not make room for, write or read a store's file, or a state is larger than its slot. `slot` is -1
/// where no single slot is concerned.
struct REPRISE_API StoreFailed : Error {
  StoreFailed(const std::string& message, std::int64_t slot_) : Error(message), slot(slot_) {}
  std::int64_t slot;
};

/// What came back from the disk is not what was written.
struct REPRISE_API StoreCorrupted : Error {
  explicit StoreCorrupted(std::int64_t slot);
  std::int64_t slot;
};

}  // namespace reprise
