// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace reprise::cli {
namespace {

constexpr int bar_width = 24;  // of the bar

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string bar(double done) {
  auto full = static_cast<std::size_t>(std::clamp(done, 0.0, 1.0) * bar_width);
  return fmt::format("[{:<{}}] {:3.0f} %  ", std::string(full, '#'), bar_width, 100 * std::clamp(done, 0.0, 1.0));
}

}  // namespace

Progress::Progress() : is_terminal_(isatty(STDERR_FILENO) == 1), start_(now()), last_(is_terminal_ ? -1 : 0) {}

Progress::~Progress() { clear(); }

double Progress::seconds() const { return now() - start_; }

void Progress::show(const std::string& text, double done) {
  double pause = is_terminal_ ? 0.1 : 2;
  if (seconds() - last_ < pause) return;
  last_ = seconds();
  if (is_terminal_)
    fmt::print(stderr, "\r\033[K{}{}", done >= 0 ? bar(done) : "", text);
  else
    fmt::print(stderr, "{:.1f} s: {}\n", last_, text);
  std::fflush(stderr);
  is_shown_ = true;
}

void Progress::clear() {
  if (is_terminal_ && is_shown_) fmt::print(stderr, "\r\033[K");
  is_shown_ = false;
}

}  // namespace reprise::cli
