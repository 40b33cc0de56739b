// SPDX-License-Identifier: Apache-2.0
// The sentences of the typed errors.
#include <fmt/core.h>

#include "reprise/checkpoint_errors.h"

namespace reprise {

BudgetExceeded::BudgetExceeded(std::int64_t need_, std::int64_t available_)
    : Error(
          fmt::format("[budget] exceeded: need {} bytes, {} are available: keep fewer checkpoints or raise the budget",
                      need_, available_)),
      need(need_),
      available(available_) {}

EmptyNetwork::EmptyNetwork() : Error("[network] has no segments: build it from at least one") {}

IndexOutOfBounds::IndexOutOfBounds(std::string_view where, std::int64_t index_, std::int64_t limit_)
    : Error(fmt::format("[{}] index {} is out of bounds: it must be at least 0 and below {}", where, index_, limit_)),
      index(index_),
      limit(limit_) {}

NothingStored::NothingStored(std::string_view where, std::int64_t index_, std::string_view remedy)
    : Error(fmt::format("[{}] nothing is stored for {}: {}", where, index_, remedy)), index(index_) {}

MaximumReached::MaximumReached(std::string_view where, std::int64_t limit_)
    : Error(fmt::format("[{}] the maximum of {} is reached: raise it, clear what is kept, or let it evict", where,
                        limit_)),
      limit(limit_) {}

NotDeterministic::NotDeterministic(std::string_view what, std::int64_t index_)
    : Error(fmt::format("{} {} is not deterministic: two runs with one input gave two results: derive its random "
                        "numbers from a key that is part of its input",
                        what, index_)),
      index(index_) {}

StoreCorrupted::StoreCorrupted(std::int64_t slot_)
    : Error(
          fmt::format("[disk store] slot {} is corrupted: its checksum is not that of what was written: put the state "
                      "again, and have the disk checked",
                      slot_)),
      slot(slot_) {}

}  // namespace reprise
