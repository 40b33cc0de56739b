// SPDX-License-Identifier: Apache-2.0
// Line charts as SVG: axes with round numbers, lines, dots that say what they are.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace reprise::report {

struct Series {
  std::string name;
  std::string style;  // a class of the page's style sheet
  std::vector<std::pair<double, double>> points;
  std::vector<std::string> titles = {};  // one for each point: dots are drawn, which say this when pointed at
};

struct Chart {
  std::string title;           // read aloud, and shown above
  std::string x_name, y_name;  // what is shown, with its unit
  std::vector<Series> series = {};
  std::function<std::string(double)> y_text = {};  // of a tick; the number itself by default
  bool is_x_bytes = false;
  int width = 640, height = 280;
};

/// An <svg> element for a page, whose style sheet knows its classes.
std::string line_chart(const Chart& chart);
/// The same as a file of its own.
std::string line_chart_file(const Chart& chart);

/// Round numbers from `low` to `high`, about `count` of them.
std::vector<double> ticks(double low, double high, int count);
/// The same in steps that are round in KiB, MiB or GiB.
std::vector<double> byte_ticks(double high, int count);
/// A number without needless digits.
std::string number(double value);

}  // namespace reprise::report
