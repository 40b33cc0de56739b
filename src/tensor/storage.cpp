// SPDX-License-Identifier: Apache-2.0
// Allocation and its meters. A block remembers the scopes it was allocated under, so that its death is credited to
// them wherever it happens. A meter costs two atomic operations.
#include "tensor/storage.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

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

constexpr std::size_t alignment = 64;

void* new_block(std::size_t bytes) { return std::aligned_alloc(alignment, bytes); }

#if defined(__SANITIZE_ADDRESS__)
// Every block comes and goes by itself, so that the sanitizer sees reads of dead ones.
void* take_block(std::size_t bytes) { return new_block(bytes); }
void give_block(void* block, std::size_t) { std::free(block); }
#else
// Small blocks that died wait, by size, for the next of their thread: aligned allocation is dear beside a tiny op.
struct SmallBlocks {
  struct Link {
    Link* next;
  };
  static constexpr std::size_t largest = 16 << 10, most = 1 << 20;  // bytes of a block, and of all that wait
  Link* first[largest / alignment + 1] = {};
  std::size_t bytes = 0;

  ~SmallBlocks();
};
thread_local bool is_over = false;  // blocks may still die after their thread's lists have
thread_local SmallBlocks small_blocks;

SmallBlocks::~SmallBlocks() {
  is_over = true;
  for (Link* link : first)
    while (link) std::free(std::exchange(link, link->next));
}

void* take_block(std::size_t bytes) {
  if (bytes > SmallBlocks::largest || is_over) return new_block(bytes);
  SmallBlocks::Link*& first = small_blocks.first[bytes / alignment];
  if (!first) return new_block(bytes);
  small_blocks.bytes -= bytes;
  return std::exchange(first, first->next);
}

void give_block(void* block, std::size_t bytes) {
  if (bytes > SmallBlocks::largest || is_over || small_blocks.bytes + bytes > SmallBlocks::most)
    return std::free(block);
  SmallBlocks::Link*& first = small_blocks.first[bytes / alignment];
  first = new (block) SmallBlocks::Link{first};
  small_blocks.bytes += bytes;
}
#endif

// Blocks have at least one byte, so that each has an address of its own.
std::size_t rounded(std::int64_t bytes) {
  return (static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)) + alignment - 1) / alignment * alignment;
}

// For the counts that a block's owners share: small blocks too.
template <class T>
struct CountAllocator {
  using value_type = T;
  CountAllocator() = default;
  template <class U>
  CountAllocator(const CountAllocator<U>&) {}
  T* allocate(std::size_t n) {
    void* block = take_block(rounded(static_cast<std::int64_t>(n * sizeof(T))));
    return block ? static_cast<T*>(block) : throw std::bad_alloc();
  }
  void deallocate(T* block, std::size_t n) { give_block(block, rounded(static_cast<std::int64_t>(n * sizeof(T)))); }
  friend bool operator==(const CountAllocator&, const CountAllocator&) { return true; }
};

struct Free {
  std::int64_t bytes;
  std::shared_ptr<Meter> scope;
  void operator()(void* block) const {
    give_block(block, rounded(bytes));
    process_meter().subtract(bytes);
    for (Meter* m = scope.get(); m; m = m->outer.get()) m->subtract(bytes);
  }
};

}  // namespace

std::shared_ptr<void> allocate(std::int64_t bytes) {
  void* block = take_block(rounded(bytes));
  if (!block) fail("[tensor] the system has no memory for another {}", format_bytes(bytes));
  process_meter().add(bytes);
  for (Meter* m = innermost.get(); m; m = m->outer.get()) m->add(bytes);
  return {block, Free{bytes, innermost}, CountAllocator<char>()};
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
