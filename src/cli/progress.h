// SPDX-License-Identifier: Apache-2.0
// Progress on standard error: a line that is rewritten on a terminal, a plain line now and then elsewhere.
#pragma once

#include <string>

namespace reprise::cli {

class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows `text`; `done` is the share of the work that is over, or negative if nobody knows.
  void show(const std::string& text, double done = -1);
  /// Takes the line on the terminal away, for other output to follow.
  void clear();

 private:
  double seconds() const;

  bool is_terminal_;
  double start_ = 0;
  double last_ = 0;  // seconds since the start, of the last line shown
  bool is_shown_ = false;
};

}  // namespace reprise::cli
