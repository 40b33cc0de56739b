// SPDX-License-Identifier: Apache-2.0
// Functions of one number, element by element.
#include <cmath>

#include "ops/map.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

const Op table[] = {
    {.name = "negate",
     .infer = same_number_type,
     .forward = map<[](auto x) { return -x; }>,
     .gradient = [](const Call&, const Values& dy) -> Values { return {-dy[0]}; },
     .cost = per_element<1>,
     .may_overwrite = 1,
     .examples = "f32[2,3]; f32[0]; f64[5]; i32[3]{-5..5}",
     .onnx = "Neg",
     .doc = "-x"},
    {.name = "square",
     .infer = same_number_type,
     .forward = map<[](auto x) { return x * x; }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {2 * c.in() * dy[0]}; },
     .cost = per_element<1>,
     .may_overwrite = 1,
     .examples = "f32[2,3]; f32[0]; f64[5]; i64[3]{-5..5}",
     .doc = "x * x"},
    {.name = "sin",
     .infer = same_type,
     .forward = map<[](auto x) { return std::sin(x); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {dy[0] * cos(c.in())}; },
     .cost = per_element<12>,
     .may_overwrite = 1,
     .examples = "f32[2,3]; f32[0]; f64[5]",
     .onnx = "Sin",
     .doc = "sine"},
    {.name = "cos",
     .infer = same_type,
     .forward = map<[](auto x) { return std::cos(x); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {-dy[0] * sin(c.in())}; },
     .cost = per_element<12>,
     .may_overwrite = 1,
     .examples = "f32[2,3]; f32[0]; f64[5]",
     .onnx = "Cos",
     .doc = "cosine"},
    {.name = "tanh",
     .infer = same_type,
     .forward = map<[](auto x) { return std::tanh(x); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {dy[0] * (1 - square(c.out()))}; },
     .cost = per_element<12>,
     .may_overwrite = 1,
     .examples = "f32[2,3]; f32[0]; f64[5]",
     .onnx = "Tanh",
     .doc = "hyperbolic tangent"},
};

}  // namespace

std::span<const Op> unary_ops() { return table; }

Value negate(const Value& x) { return record("negate", {x}); }
Value square(const Value& x) { return record("square", {x}); }
Value sin(const Value& x) { return record("sin", {x}); }
Value cos(const Value& x) { return record("cos", {x}); }
Value tanh(const Value& x) { return record("tanh", {x}); }

}  // namespace reprise
