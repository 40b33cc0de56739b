// SPDX-License-Identifier: Apache-2.0
// What stands behind a chain::Schedule: a place in a stream of actions.
#pragma once

#include <limits>
#include <memory>
#include <optional>

#include "checkpoint/refuse.h"
#include "reprise/chain.h"

namespace reprise::chain {

/// The cost of what cannot be done.
inline constexpr double never = std::numeric_limits<double>::infinity();

class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual std::unique_ptr<Cursor> clone() const = 0;
  virtual bool done() const = 0;
  virtual Action next() = 0;
  /// Of its own state, without the tables that copies share.
  virtual std::size_t bytes() const = 0;
  /// Whether the stream is still in a forward run of unknown length.
  virtual bool is_open() const { return false; }
  /// Ends an open run; returns its number of steps.
  virtual std::int64_t finish() { return -1; }
  /// The forecast, where it is known without reading the stream.
  virtual std::optional<Forecast> closed_form() const { return std::nullopt; }
};

/// The checks every family shares.
void check_steps(const char* family, std::int64_t steps);
void check_slots(const char* family, std::int64_t slots);
void check_cost(const char* family, const char* what, double cost);
void check_stores(const char* family, std::int64_t steps, const std::vector<Store>& stores);
/// That the cost of a whole sweep, in which no step's reversal needs more than one read and one write, stays a number.
void check_traffic(const char* family, std::int64_t steps, double write_cost, double read_cost);

}  // namespace reprise::chain
