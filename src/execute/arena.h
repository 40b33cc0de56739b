// SPDX-License-Identifier: Apache-2.0
// One block of memory for a whole step: mapped once, on huge pages where the system gives them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reprise {

class Arena {
 public:
  explicit Arena(std::int64_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Makes every page present, so that no step waits for one; keeps what is written there.
  void touch();
  /// Gives the whole pages between two offsets back to the system; they read as zeros when they are next used.
  void give_back(std::int64_t from, std::int64_t to);

  std::byte* base() const { return base_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* base_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace reprise
