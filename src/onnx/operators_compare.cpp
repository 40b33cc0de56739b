// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic and choices.
#include <limits>

#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

template <Value (*fn)(const Value&, const Value&)>
Values compared(const NodeCall& c) {
  return {fn(c.in(0), c.in(1))};
}

Values equals(const NodeCall& c) { return {equal(c.in(0), c.in(1))}; }
Values chosen(const NodeCall& c) { return {where(c.in(0), c.in(1), c.in(2))}; }
Values is_nan(const NodeCall& c) { return {not_equal(c.in(0), c.in(0))}; }

Values is_infinite(const NodeCall& c) {
  Value x = c.in(0);
  constexpr double infinite = std::numeric_limits<double>::infinity();
  Value above = equal(x, infinite), below = equal(x, -infinite);
  bool up = c.flag("detect_positive", true), down = c.flag("detect_negative", true);
  if (up && down) return {logical_or(above, below)};
  return {up ? above : down ? below : logical_and(above, below)};
}

constexpr Operator compare_table[] = {
    {"And", 7, 21, tells, compared<logical_and>},
    {"Equal", 7, 21, tells, equals},
    {"Greater", 7, 21, tells, compared<greater>},
    {"GreaterOrEqual", 12, 21, tells, compared<greater_equal>},
    {"IsInf", 10, 21, tells, is_infinite},
    {"IsNaN", 9, 21, tells, is_nan},
    {"Less", 7, 21, tells, compared<less>},
    {"LessOrEqual", 12, 21, tells, compared<less_equal>},
    {"Not", 1, 21, tells, unary<logical_not>},
    {"Or", 7, 21, tells, compared<logical_or>},
    {"Where", 9, 21, moves, chosen},
    {"Xor", 7, 21, tells, compared<logical_xor>},
};

}  // namespace

std::span<const Operator> compare_operators() { return compare_table; }

}  // namespace reprise::onnx
