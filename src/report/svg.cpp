// SPDX-License-Identifier: Apache-2.0
// The memory picture as a file: what is in memory over time, and below it the place of every value.
#include <fmt/core.h>

#include <algorithm>

#include "base/index.h"
#include "report/sections.h"
#include "report/text.h"

namespace reprise::report {
namespace {

constexpr std::size_t most_columns = 1200, most_bars = 4000;
constexpr double width = 1100, left = 84, right = 16, memory_top = 62, memory_floor = 320, layout_top = 372,
                 layout_floor = 720;

constexpr const char* style =
    "<style>svg{background:#fff;font:13px "
    "system-ui,sans-serif}text{fill:#1c2024}.end{text-anchor:end}.name{font-weight:600}"
    ".grid{stroke:#e1e5ea}.budget{stroke:#c2410c;stroke-width:2;stroke-dasharray:7 "
    "5}.budget-name{fill:#c2410c;text-anchor:end}"
    ".unlimited{fill:none;stroke:#1c2024;stroke-width:1.5;stroke-dasharray:2 3}rect{stroke:#fff;stroke-width:.4}"
    ".again{fill-opacity:.55}"
    ".g0{fill:#5b7083}.g1{fill:#3b73b9}.g2{fill:#7a5bb5}.g3{fill:#8a8f98}.g4{fill:#b7791f}.g5{fill:#2f9e8f}.g6{fill:#"
    "d9634c}"
    ".g7{fill:#c04f8d}.g8{fill:#74962c}.g9{fill:#4aa3c7}.g10{fill:#946b4a}.g11{fill:#6a6fd1}"
    "@media(prefers-color-scheme:dark){svg{background:#14171b}text{fill:#e4e8ec}.grid{stroke:#2b3138}"
    ".unlimited{stroke:#e4e8ec}rect{stroke:#14171b}}</style>\n";

// One of the two panels: bytes from its floor up.
struct Panel {
  double top, floor, bytes;
  double y(double value) const { return floor - value / bytes * (floor - top); }
};

class MemoryPicture {
 public:
  explicit MemoryPicture(const Shown& shown)
      : shown_(shown),
        end_(std::max({shown.picture.times.back(), shown.unlimited.times.back(), 1e-300})),
        memory_{memory_top, memory_floor, highest() * 1.04},
        layout_{layout_top, layout_floor, std::max(1.0, static_cast<double>(shown.plan.layout_bytes)) * 1.04} {}

  std::string draw() {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" "
        "aria-label=\"{}\">\n<title>{}</title>\n{}",
        width, layout_floor + 40, escaped(shown_.plan.summary()), escaped(shown_.page.title), style);
    text(left, 22, "name", shown_.page.title);
    text(left, 42, "", shown_.plan.summary());
    axis(memory_);
    axis(layout_);
    areas();
    unlimited();
    bars();
    budget(memory_);
    legend();
    return out_ + "</svg>\n";
  }

 private:
  double highest() const {
    double most = std::max(1.0, static_cast<double>(std::max(shown_.plan.peak, limit_of(shown_.plan))));
    for (std::int64_t bytes : shown_.unlimited.total) most = std::max(most, static_cast<double>(bytes));
    return most;
  }
  double x(double time) const { return left + time / end_ * (width - left - right); }

  void text(double px, double py, const char* kind, const std::string& words) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", px, py, kind,
                        escaped(shortened(words, 160)));
  }

  void axis(const Panel& panel) {
    for (double t : byte_ticks(panel.bytes, 5)) {
      out_ += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left, panel.y(t), width - right);
      text(left - 6, panel.y(t) + 4, "end", format_bytes(static_cast<std::int64_t>(t)));
    }
  }

  void areas() {
    Columns columns = columns_of(shown_.picture, most_columns);
    std::vector<double> below(columns.moments.size(), 0);
    for (std::size_t g = 0; g < shown_.picture.groups.size(); ++g) {
      std::string up, down;
      for (std::size_t c = 0; c < below.size(); ++c) {
        double from = x(columns.times[c]), to = x(columns.times[c + 1]), floor = memory_.y(below[c]);
        below[c] += static_cast<double>(shown_.picture.memory[g][at(columns.moments[c])]);
        up += fmt::format("{}{:.1f} {:.1f}H{:.1f}", c == 0 ? "M" : "L", from, memory_.y(below[c]), to);
        down = fmt::format("L{:.1f} {:.1f}H{:.1f}", to, floor, from) + down;
      }
      if (!up.empty())
        out_ += fmt::format("<path class=\"g{}\" d=\"{}{}Z\"><title>{}</title></path>\n", g % 12, up, down,
                            escaped(shown_.picture.groups[g]));
    }
  }

  void unlimited() {
    Columns columns = columns_of(shown_.unlimited, most_columns);
    std::string path;
    for (std::size_t c = 0; c < columns.moments.size(); ++c)
      path += fmt::format("{}{:.1f} {:.1f}H{:.1f}", c == 0 ? "M" : "L", x(columns.times[c]),
                          memory_.y(static_cast<double>(shown_.unlimited.total[at(columns.moments[c])])),
                          x(columns.times[c + 1]));
    if (!path.empty()) out_ += "<path class=\"unlimited\" d=\"" + path + "\"><title>without a limit</title></path>\n";
  }

  void bars() {
    DrawnBars drawn = drawn_bars(shown_.picture, most_bars);
    for (const Bar& bar : drawn.bars) {
      double from = x(shown_.picture.times[at(bar.from)]), to = x(shown_.picture.times[at(bar.to)]);
      auto low = static_cast<double>(shown_.problem.resident_bytes() + bar.offset);
      double top = layout_.y(low + static_cast<double>(bar.bytes));
      bool is_scratch = bar.kind == Placement::Kind::scratch;
      bool is_again = !is_scratch && shown_.reasons.runs[at(shown_.problem.value(bar.id).node)] > 1;
      bool is_moved = !is_scratch && shown_.reasons.of[at(bar.id)] == Reason::moved;
      out_ += fmt::format(
          "<rect class=\"g{}{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"><title>{}: {}, "
          "{}</title></rect>\n",
          bar.group % 12, is_again ? " again" : "", from, top, std::max(0.2, to - from),
          std::max(0.2, layout_.y(low) - top), escaped(shortened(name_of(shown_.problem, bar), 96)),
          format_bytes(bar.bytes),
          is_again     ? "recomputed"
          : is_scratch ? "scratch"
          : is_moved   ? "moved to disk"
                       : "kept");
    }
    if (drawn.merged > 0)
      text(left, layout_floor + 34, "",
           fmt::format("{} smaller lives, at most {} together, are not drawn", drawn.merged,
                       format_bytes(drawn.merged_bytes)));
  }

  void budget(const Panel& panel) {
    std::int64_t limit = limit_of(shown_.plan);
    if (limit < 0) return;
    double y = panel.y(static_cast<double>(limit));
    out_ += fmt::format("<path class=\"budget\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left, y, width - right);
    text(width - right - 4, y - 6, "budget-name", "budget " + format_bytes(limit));
  }

  void legend() {
    double px = left;
    for (std::size_t g = 0; g < shown_.picture.groups.size(); ++g) {
      out_ += fmt::format("<rect class=\"g{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\"/>\n", g % 12, px,
                          memory_floor + 14);
      text(px + 17, memory_floor + 25, "", shortened(shown_.picture.groups[g], 24));
      px += 34 + 7.5 * static_cast<double>(shortened(shown_.picture.groups[g], 24).size());
    }
    text(left, layout_top - 6, "name", "every value: when it lives, and where (paler: recomputed)");
  }

  const Shown& shown_;
  double end_;
  Panel memory_, layout_;
  std::string out_;
};

}  // namespace

void svg(const Page& page, const std::string& path) { write_file(path, MemoryPicture(shown(page)).draw()); }

void svg(std::span<const Point> curve, const std::string& path) {
  write_file(path, line_chart_file(curve_chart(curve, -1, 1)));
}

}  // namespace reprise::report
