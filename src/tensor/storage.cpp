// SPDX-License-Identifier: Apache-2.0
// Allocation and its meters. A block remembers the scopes it was allocated under, so that its death is credited to
// them wherever it happens. A meter costs two atomic operations.
#include "tensor/storage.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/error.h"
#include "reprise/tensor.h"

namespace reprise {

struct MemoryScope::Meter {
  std::atomic<std::int64_t> live{0};
  std::atomic<std::int64_t> peak{0};
  std::shared_ptr<Meter> outer;

  void add(std::int64_t bytes) {
    std::int64_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::int64_t seen = peak.load(std::memory_order_relaxed);
    while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
  }
  void subtract(std::int64_t bytes) { live.fetch_sub(bytes, std::memory_order_relaxed); }
  MemoryUse use() const { return {live.load(std::memory_order_relaxed), peak.load(std::memory_order_relaxed)}; }
};

namespace {

using Meter = MemoryScope::Meter;

// Blocks may die after static destruction has begun, so the process's meter is never destroyed.
Meter& process_meter() {
  static Meter* meter = new Meter;
  return *meter;
}
thread_local std::shared_ptr<Meter> innermost;

struct Free {
  std::int64_t bytes;
  std::shared_ptr<Meter> scope;
  void operator()(void* block) const {
    std::free(block);
    process_meter().subtract(bytes);
    for (Meter* m = scope.get(); m; m = m->outer.get()) m->subtract(bytes);
  }
};

}  // namespace

std::shared_ptr<void> allocate(std::int64_t bytes) {
  constexpr std::size_t alignment = 64;
  std::size_t rounded = (static_cast<std::size_t>(bytes) + alignment - 1) / alignment * alignment;
  void* block = std::aligned_alloc(alignment, rounded ? rounded : alignment);
  if (!block) fail("[tensor] the system has no memory for another {}", format_bytes(bytes));
  process_meter().add(bytes);
  for (Meter* m = innermost.get(); m; m = m->outer.get()) m->add(bytes);
  return {block, Free{bytes, innermost}};
}

MemoryUse memory_use() { return process_meter().use(); }

void reset_memory_peak() { process_meter().peak.store(process_meter().live.load()); }

MemoryScope::MemoryScope() : meter_(std::make_shared<Meter>()) {
  meter_->outer = innermost;
  innermost = meter_;
}

MemoryScope::~MemoryScope() { innermost = meter_->outer; }

MemoryUse MemoryScope::use() const { return meter_->use(); }

}  // namespace reprise
