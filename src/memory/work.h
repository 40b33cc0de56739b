// SPDX-License-Identifier: Apache-2.0
// How much a search may still do: counted steps (the same on every machine) and, where asked for, a clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace reprise::memory {

class Work {
 public:
  Work(std::int64_t limit, double seconds) : limit_(limit), seconds_(seconds), start_(Clock::now()) {}

  void spend(std::int64_t steps) {
    used_ += steps;
    if (seconds_ > 0 && used_ >= next_look_) look_at_clock();
  }
  bool is_over() const { return late_ || used_ >= limit_; }
  std::int64_t used() const { return used_; }
  std::int64_t left() const { return is_over() ? 0 : limit_ - used_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  void look_at_clock() {
    next_look_ = used_ + 10'000;
    late_ = seconds() >= seconds_;
  }

  std::int64_t limit_;
  double seconds_;
  Clock::time_point start_;
  std::int64_t used_ = 0, next_look_ = 0;
  bool late_ = false;
};

}  // namespace reprise::memory
