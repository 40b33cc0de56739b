// SPDX-License-Identifier: Apache-2.0
#include "report/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/text.h"
#include "reprise/base.h"

namespace reprise::report {
namespace {

const char file_style[] =
    "<style>svg{background:#fff;font:12px system-ui,sans-serif}text{fill:#333}.name{font-weight:600}"
    ".end{text-anchor:end}.middle{text-anchor:middle}.grid{stroke:#ddd}.axis{stroke:#888;fill:none}"
    ".line{fill:none;stroke-width:2}.found,.loss{stroke:#0b6bcb}.bound{stroke:#777;stroke-dasharray:4 4}"
    ".chosen,.val{stroke:#c2410c}.rate{stroke:#15803d}.dot{stroke:#fff;stroke-width:1}"
    ".dot.found{fill:#0b6bcb}.dot.chosen{fill:#c2410c}.dot.rate{fill:#15803d}"
    "@media(prefers-color-scheme:dark){svg{background:#16181d}text{fill:#ddd}.grid{stroke:#333}}</style>\n";

constexpr double left = 78, right = 18, top = 30, bottom = 46;

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void take(double value) { low = std::min(low, value), high = std::max(high, value); }
  // Room around what is flat or empty, so that it has a place on the axis.
  void widen() {
    if (!(low <= high)) low = 0, high = 1;
    if (high - low <= 1e-9 * std::max(std::abs(low), std::abs(high)))
      low -= std::abs(low) * 0.05 + 1e-12, high += std::abs(high) * 0.05 + 1e-12;
  }
};

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) {
    for (const Series& s : chart.series)
      for (auto [x, y] : s.points) x_.take(x), y_.take(y);
    x_.widen();
    y_.widen();
  }

  std::string draw(const std::string& attributes, const std::string& style) {
    out_ = fmt::format("<svg {} viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n<title>{}</title>\n{}",
                       attributes, chart_.width, chart_.height, escaped(chart_.title), escaped(chart_.title), style);
    axes();
    for (const Series& s : chart_.series) line(s);
    legend();
    return out_ + "</svg>\n";
  }

 private:
  double x(double value) const { return left + (value - x_.low) / (x_.high - x_.low) * (chart_.width - left - right); }
  double y(double value) const {
    return chart_.height - bottom - (value - y_.low) / (y_.high - y_.low) * (chart_.height - top - bottom);
  }

  void text(double at_x, double at_y, const char* style, const std::string& words) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", at_x, at_y, style, escaped(words));
  }

  void axes() {
    double floor = chart_.height - bottom;
    for (double t : ticks(y_.low, y_.high, 5)) {
      out_ += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n", left,
                          chart_.width - right, y(t), y(t));
      text(left - 6, y(t) + 4, "tick end", chart_.y_text ? chart_.y_text(t) : number(t));
    }
    for (double t : chart_.is_x_bytes ? byte_ticks_within() : ticks(x_.low, x_.high, 7)) {
      out_ += fmt::format("<line class=\"axis\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x(t),
                          x(t), floor, floor + 4);
      text(x(t), floor + 17, "tick middle", chart_.is_x_bytes ? format_bytes(static_cast<std::int64_t>(t)) : number(t));
    }
    out_ += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n", left, top, floor,
                        chart_.width - right);
    text((left + chart_.width - right) / 2, chart_.height - 8, "name middle", chart_.x_name);
    text(4, top - 12, "name", chart_.y_name);
  }

  std::vector<double> byte_ticks_within() const {
    std::vector<double> all = byte_ticks(x_.high, 7);
    std::erase_if(all, [&](double t) { return t < x_.low; });
    return all;
  }

  void line(const Series& s) {
    if (s.points.empty()) return;
    std::string path;
    for (auto [px, py] : s.points) path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(px), y(py));
    out_ += fmt::format("<path class=\"line {}\" d=\"{}\"><title>{}</title></path>\n", s.style, path, escaped(s.name));
    for (std::size_t i = 0; i < s.titles.size(); ++i)
      out_ += fmt::format("<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>{}</title></circle>\n",
                          s.style, x(s.points[i].first), y(s.points[i].second), escaped(s.titles[i]));
  }

  void legend() {
    double at = chart_.width - right;
    for (auto s = chart_.series.rbegin(); s != chart_.series.rend(); ++s) {
      text(at, top - 12, "tick end", s->name);
      at -= 7.0 * static_cast<double>(s->name.size()) + 8;
      out_ += fmt::format("<line class=\"line {}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                          s->style, at - 18, at, top - 16, top - 16);
      at -= 30;
    }
  }

  const Chart& chart_;
  Range x_, y_;
  std::string out_;
};

}  // namespace

std::vector<double> ticks(double low, double high, int count) {
  // Steps that a double beside `high` can tell apart.
  double least = 1e-12 * std::max(std::abs(low), std::abs(high));
  double rough = std::max((high - low) / count, least), unit = std::pow(10, std::floor(std::log10(rough)));
  double step = unit;
  for (double factor : {2.0, 5.0, 10.0})
    if (step < rough * 0.999) step = factor * unit;
  std::vector<double> all;
  for (double t = std::ceil(low / step - 1e-9) * step; t <= high + step * 1e-9; t += step)
    all.push_back(std::abs(t) < step * 1e-9 ? 0 : t);
  return all;
}

std::vector<double> byte_ticks(double high, int count) {
  double unit = 1;
  while (high / unit >= 1024) unit *= 1024;
  std::vector<double> all = ticks(0, std::max(high, 1.0) / unit, count);
  for (double& t : all) t *= unit;
  return all;
}

std::string number(double value) { return fmt::format("{:.6g}", value); }

std::string line_chart(const Chart& chart) { return Drawing(chart).draw("class=\"chart\"", ""); }

std::string line_chart_file(const Chart& chart) {
  return Drawing(chart).draw("xmlns=\"http://www.w3.org/2000/svg\"", file_style);
}

}  // namespace reprise::report
