// SPDX-License-Identifier: Apache-2.0
// Functions of two numbers, element by element, with NumPy's broadcasting.
#include "ops/map.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

constexpr std::string_view shapes =
    "f32[2,3] f32[2,3]; f32[2,3] f32[3]; f32[2,1] f32[1,4]; f32[] f32[5]; f32[0,3] f32[1,3]; i64[4]{1..9} i64[4]{1..9}";

const Op table[] = {
    {.name = "add",
     .infer = broadcast_type,
     .forward = zip<[](auto x, auto y) { return x + y; }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {sum_to(dy[0], c.in(0).shape()), sum_to(dy[0], c.in(1).shape())};
     },
     .cost = per_element<1>,
     .may_overwrite = 3,
     .examples = shapes,
     .onnx = "Add",
     .doc = "a + b"},
    {.name = "subtract",
     .infer = broadcast_type,
     .forward = zip<[](auto x, auto y) { return x - y; }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {sum_to(dy[0], c.in(0).shape()), sum_to(-dy[0], c.in(1).shape())};
     },
     .cost = per_element<1>,
     .may_overwrite = 3,
     .examples = shapes,
     .onnx = "Sub",
     .doc = "a - b"},
    {.name = "multiply",
     .infer = broadcast_type,
     .forward = zip<[](auto x, auto y) { return x * y; }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {sum_to(dy[0] * c.in(1), c.in(0).shape()), sum_to(dy[0] * c.in(0), c.in(1).shape())};
     },
     .cost = per_element<1>,
     .may_overwrite = 3,
     .examples = shapes,
     .onnx = "Mul",
     .doc = "a * b"},
    {.name = "divide",
     .infer = broadcast_type,
     .forward = zip<[](auto x, auto y) { return x / y; }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       Value dx = dy[0] / c.in(1);
       return {sum_to(dx, c.in(0).shape()), sum_to(-dx * c.out(), c.in(1).shape())};
     },
     .cost = per_element<4>,
     .may_overwrite = 3,
     .examples = "f32[2,3] f32[2,3]{0.5..2}; f32[2,3] f32[3]{0.5..2}; f32[] f32[5]{1..2}; i64[4]{1..9} i64[4]{1..9}",
     .onnx = "Div",
     .doc = "a / b"},
};

}  // namespace

std::span<const Op> binary_ops() { return table; }

Value add(const Value& a, const Value& b) { return record("add", {a, b}); }
Value subtract(const Value& a, const Value& b) { return record("subtract", {a, b}); }
Value multiply(const Value& a, const Value& b) { return record("multiply", {a, b}); }
Value divide(const Value& a, const Value& b) { return record("divide", {a, b}); }

}  // namespace reprise
