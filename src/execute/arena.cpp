// SPDX-License-Identifier: Apache-2.0
#include "execute/arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/free_memory.h"

namespace reprise {

Arena::Arena(std::int64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  auto size = static_cast<std::size_t>(bytes);
  void* block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) fail("[arena] the system has no {} to give: {}", format_bytes(bytes), std::strerror(errno));
  // Huge pages never reach beyond the mapping. Small arenas do not gain from them. Being refused them is no error.
  constexpr std::int64_t huge_page = 2 << 20;
  if (bytes >= 4 * huge_page) madvise(block, size, MADV_HUGEPAGE);
  base_ = static_cast<std::byte*>(block);
}

Arena::~Arena() {
  if (base_) munmap(base_, static_cast<std::size_t>(bytes_));
}

void Arena::touch() {
  give_back_free_memory();  // parameters have moved into the arena
  constexpr std::int64_t page = 4096;
  for (std::int64_t at = 0; at < bytes_; at += page) {
    volatile std::byte& byte = base_[at];
    byte = byte;
  }
}

void Arena::give_back(std::int64_t from, std::int64_t to) {
  constexpr std::int64_t page = 4096;
  from = (from + page - 1) / page * page;
  to = to / page * page;
  if (from < to) madvise(base_ + from, static_cast<std::size_t>(to - from), MADV_DONTNEED);
}

}  // namespace reprise
