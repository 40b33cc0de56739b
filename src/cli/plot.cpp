// SPDX-License-Identifier: Apache-2.0
#include "cli/plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace reprise::cli {
namespace {

using report::Point;

constexpr int width = 64, height = 14;

class Plot {
 public:
  explicit Plot(std::span<const Point> curve)
      : curve_(curve), rows_(height, std::string(width, ' ')), low_(curve.front().bound), high_(curve.front().time) {
    for (const Point& p : curve) low_ = std::min(low_, p.bound), high_ = std::max(high_, p.time);
    if (high_ - low_ < 1e-9) high_ = low_ + 1e-9;
  }

  std::string draw() {
    join('.', &Point::bound);
    join('*', &Point::time);
    if (int knee = report::knee(curve_); knee >= 0) {
      const Point& p = curve_[static_cast<std::size_t>(knee)];
      at(column(p), row(p.time)) = 'K';
    }
    std::string out;
    for (int r = 0; r < height; ++r) {
      bool has_label = r == 0 || r == height - 1 || r == height / 2;
      double time = high_ - (high_ - low_) * r / (height - 1);
      out += fmt::format("{:>10} |{}\n", has_label ? fmt::format("x{:.4f}", time) : "",
                         rows_[static_cast<std::size_t>(r)]);
    }
    std::string first = format_bytes(curve_.front().budget), last = format_bytes(curve_.back().budget);
    return out +
           fmt::format("{:>10} +{}\n{:>12}{:<{}}{}\n", "time", std::string(width, '-'), "", first,
                       width - static_cast<int>(last.size()), last) +
           "             * found   . proved: no schedule is faster   K the knee\n";
  }

 private:
  int column(const Point& p) const {
    double share = static_cast<double>(p.budget - curve_.front().budget) /
                   std::max(1.0, static_cast<double>(curve_.back().budget - curve_.front().budget));
    return static_cast<int>(std::lround(share * (width - 1)));
  }
  int row(double time) const { return static_cast<int>(std::lround((high_ - time) / (high_ - low_) * (height - 1))); }
  char& at(int c, int r) { return rows_[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]; }

  void join(char mark, double Point::*what) {
    for (std::size_t i = 1; i < curve_.size(); ++i) {
      int from = column(curve_[i - 1]), to = column(curve_[i]);
      double begin = curve_[i - 1].*what, end = curve_[i].*what;
      for (int c = from; c <= to; ++c)
        at(c, row(to == from ? end : begin + (end - begin) * (c - from) / (to - from))) = mark;
    }
  }

  std::span<const Point> curve_;
  std::vector<std::string> rows_;
  double low_, high_;
};

}  // namespace

std::string text_plot(std::span<const Point> curve) { return curve.size() < 2 ? std::string() : Plot(curve).draw(); }

}  // namespace reprise::cli
