// SPDX-License-Identifier: Apache-2.0
// Comparisons and logic: from numbers to bool, among bools, and choosing by them.
#include <cmath>

#include "base/error.h"
#include "ops/map.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

constexpr std::string_view shapes =
    "f32[2,3] f32[2,3]; f32[2,3] f32[3]; f32[2,1] f32[1,4]; f32[] f32[5]; f32[0,3] f32[1,3]; i64[9]{1..3} i64[9]{1..3}";
constexpr std::string_view bools = "bool[9] bool[9]; bool[2,1] bool[3]; bool[] bool[2]; bool[0] bool[1]";

std::vector<Type> ordering_type(const Signature& s) {
  expect_arity(s, 2);
  expect_number(s);
  return broadcast_bool(s);
}

std::vector<Type> equal_type(const Signature& s) {
  expect_arity(s, 2);
  if (s.in().dtype != DType::boolean) expect_number(s);
  if (!(s.real("tolerance") >= 0)) fail("[{}] tolerance is {}: it must not be negative", s.name(), s.real("tolerance"));
  return broadcast_bool(s);
}

std::vector<Type> logic_type(const Signature& s) {
  for (int i = 0; i < s.arity(); ++i) expect_dtype(s, i, DType::boolean);
  return broadcast_bool(s);
}

template <auto f>
Kernel compare(const Signature& s) {
  return element_kernel(s, with_number(s.name(), s.in().dtype, [](auto tag) {
                          using T = typename decltype(tag)::type;
                          return kernels::element_loop<bool, T, T>(f);
                        }));
}

template <auto f>
Kernel logic(const Signature& s) {
  return element_kernel(s, same_type_loop<bool>(f));
}

// Equal, or not further apart than the tolerance; infinities equal themselves.
template <bool wanted>
Kernel equality(const Signature& s) {
  if (s.in().dtype == DType::boolean) return logic<[](bool x, bool y) { return (x == y) == wanted; }>(s);
  if (s.real("tolerance") == 0) return compare<[](auto x, auto y) { return (x == y) == wanted; }>(s);
  return element_kernel(s, with_number(s.name(), s.in().dtype, [t = s.real("tolerance")](auto tag) {
                          using T = typename decltype(tag)::type;
                          return kernels::element_loop<bool, T, T>([t](T x, T y) {
                            return (x == y || std::fabs(static_cast<double>(x) - static_cast<double>(y)) <= t) ==
                                   wanted;
                          });
                        }));
}

std::vector<Type> where_type(const Signature& s) {
  expect_arity(s, 3);
  expect_dtype(s, 0, DType::boolean);
  if (s.in(1).dtype != s.in(2).dtype)
    fail("[where] the dtypes of {} and {} differ: cast one of them", to_string(s.in(1)), to_string(s.in(2)));
  return {{s.in(1).dtype, broadcast("where", s.in(0).shape, broadcast("where", s.in(1).shape, s.in(2).shape))}};
}

// Only the size of the elements matters.
template <class T>
kernels::ElementLoop choice() {
  return kernels::element_loop<T, bool, T, T>([](bool c, T x, T y) { return c ? x : y; });
}

Kernel where_kernel(const Signature& s) {
  switch (size_of(s.out().dtype)) {
    case 1: return element_kernel(s, choice<std::uint8_t>());
    case 2: return element_kernel(s, choice<std::uint16_t>());
    case 4: return element_kernel(s, choice<std::uint32_t>());
    default: return element_kernel(s, choice<std::uint64_t>());
  }
}

Kernel cast_kernel(const Signature& s) {
  return element_kernel(s, with_dtype(s.in().dtype, [&](auto from) {
                          return with_dtype(s.out().dtype, [](auto to) {
                            using T = typename decltype(from)::type;
                            using U = typename decltype(to)::type;
                            return kernels::element_loop<U, T>([](T x) { return convert<U>(x); });
                          });
                        }));
}

const Op compare_table[] = {
    {.name = "equal",
     .infer = equal_type,
     .forward = equality<true>,
     .cost = per_element<1>,
     .examples =
         "f32[2,3] f32[3] tolerance=0.0; i32[9]{1..3} i32[9]{1..3} tolerance=0.0; bool[4] bool[4] tolerance=0.0; "
         "f32[0] f32[] tolerance=1e-10; f64[5] f64[5] tolerance=0.5",
     .onnx = "Equal",
     .doc = "a = b, within a tolerance"},
    {.name = "not_equal",
     .infer = equal_type,
     .forward = equality<false>,
     .cost = per_element<1>,
     .examples =
         "f32[2,3] f32[3] tolerance=0.0; i32[9]{1..3} i32[9]{1..3} tolerance=0.0; bool[4] bool[4] tolerance=0.0",
     .doc = "the opposite of equal"},
    {.name = "less",
     .infer = ordering_type,
     .forward = compare<[](auto x, auto y) { return x < y; }>,
     .cost = per_element<1>,
     .examples = shapes,
     .onnx = "Less",
     .doc = "a < b"},
    {.name = "less_equal",
     .infer = ordering_type,
     .forward = compare<[](auto x, auto y) { return x <= y; }>,
     .cost = per_element<1>,
     .examples = shapes,
     .onnx = "LessOrEqual",
     .doc = "a <= b"},
    {.name = "greater",
     .infer = ordering_type,
     .forward = compare<([](auto x, auto y) { return x > y; })>,
     .cost = per_element<1>,
     .examples = shapes,
     .onnx = "Greater",
     .doc = "a > b"},
    {.name = "greater_equal",
     .infer = ordering_type,
     .forward = compare<[](auto x, auto y) { return x >= y; }>,
     .cost = per_element<1>,
     .examples = shapes,
     .onnx = "GreaterOrEqual",
     .doc = "a >= b"},
    {.name = "logical_and",
     .infer = logic_type,
     .forward = logic<[](bool x, bool y) { return x && y; }>,
     .cost = per_element<1>,
     .may_overwrite = 3,
     .examples = bools,
     .onnx = "And",
     .doc = "a and b"},
    {.name = "logical_or",
     .infer = logic_type,
     .forward = logic<[](bool x, bool y) { return x || y; }>,
     .cost = per_element<1>,
     .may_overwrite = 3,
     .examples = bools,
     .onnx = "Or",
     .doc = "a or b"},
    {.name = "logical_xor",
     .infer = logic_type,
     .forward = logic<[](bool x, bool y) { return x != y; }>,
     .cost = per_element<1>,
     .may_overwrite = 3,
     .examples = bools,
     .onnx = "Xor",
     .doc = "either a or b"},
    {.name = "logical_not",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       expect_dtype(s, 0, DType::boolean);
       return {s.in()};
     },
     .forward = logic<[](bool x) { return !x; }>,
     .cost = per_element<1>,
     .may_overwrite = 1,
     .examples = "bool[9]; bool[]; bool[0]",
     .onnx = "Not",
     .doc = "not a"},
    {.name = "where",
     .infer = where_type,
     .forward = where_kernel,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       Value zero = scalar_like(dy[0], 0);
       return {Value{}, sum_to(where(c.in(0), dy[0], zero), c.in(1).shape()),
               sum_to(where(c.in(0), zero, dy[0]), c.in(2).shape())};
     },
     .cost = per_element<1>,
     .may_overwrite = 6,
     .examples =
         "bool[2,3] f32[2,3] f32[2,3]; bool[3] f32[2,3] f32[]; bool[2,1] f32[] f32[1,3]; bool[] f32[2] f32[2]; "
         "bool[0] f32[0] f32[]; bool[4] i64[4]{0..9} i64[4]{0..9}; bool[2,1,3] f64[4,1] f64[3]; bool[3] bool[3] bool[]",
     .onnx = "Where",
     .doc = "a where the condition holds, b elsewhere"},
    {.name = "cast",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       return {{dtype_attribute(s), s.in().shape}};
     },
     .forward = cast_kernel,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {cast(dy[0], c.in().dtype())}; },
     .cost = per_element<1>,
     .tolerance = 1e-2,  // its result may be a 16-bit number
     .examples =
         R"(f32[2,3] dtype="f64"; f64[3] dtype="f32"; f32[4] dtype="i32"; i64[3]{0..9} dtype="f32"; )"
         R"(f32[0] dtype="bool"; bool[4] dtype="f32"; f32[] dtype="bf16"; f32[3] dtype="f16"; i32[3]{0..9} dtype="i64")",
     .onnx = "Cast",
     .doc = "another dtype: to integers toward zero and within their range (NaN to 0), to bool by \"is not 0\", to 16 "
            "bits to nearest even"},
};

Value as_number(const Value& truth, const Value& like) { return cast(truth, like.dtype()); }

constexpr double fuzzy_tolerance = 1e-10;

}  // namespace

std::span<const Op> compare_ops() { return compare_table; }

Value equal(const Value& a, const Value& b, double tolerance) {
  return record("equal", {a, b}, {{"tolerance", tolerance}});
}
Value not_equal(const Value& a, const Value& b, double tolerance) {
  return record("not_equal", {a, b}, {{"tolerance", tolerance}});
}
Value less(const Value& a, const Value& b) { return record("less", {a, b}); }
Value less_equal(const Value& a, const Value& b) { return record("less_equal", {a, b}); }
Value greater(const Value& a, const Value& b) { return record("greater", {a, b}); }
Value greater_equal(const Value& a, const Value& b) { return record("greater_equal", {a, b}); }
Value equal(const Value& a, double b) { return equal(a, number_like("equal", a, b)); }
Value less(const Value& a, double b) { return less(a, number_like("less", a, b)); }
Value greater(const Value& a, double b) { return greater(a, number_like("greater", a, b)); }
Value logical_and(const Value& a, const Value& b) { return record("logical_and", {a, b}); }
Value logical_or(const Value& a, const Value& b) { return record("logical_or", {a, b}); }
Value logical_xor(const Value& a, const Value& b) { return record("logical_xor", {a, b}); }
Value logical_not(const Value& x) { return record("logical_not", {x}); }
Value where(const Value& condition, const Value& a, const Value& b) { return record("where", {condition, a, b}); }
Value cast(const Value& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return record("cast", {x}, {{"dtype", std::string(to_string(dtype))}});
}

namespace fuzzy {

Value or_max(const Value& a, const Value& b) {
  return as_told_by("or_max", [&] { return maximum(a, b); });
}
Value or_prob_sum(const Value& a, const Value& b) {
  return as_told_by("or_prob_sum", [&] { return a + b - a * b; });
}
Value nand(const Value& a, const Value& b) {
  return as_told_by("nand", [&] { return one_minus(a * b); });
}
Value nor(const Value& a, const Value& b) {
  return as_told_by("nor", [&] { return one_minus(maximum(a, b)); });
}
Value exclusive_or(const Value& a, const Value& b) {
  return as_told_by("exclusive_or", [&] { return a + b - 2 * a * b; });
}
Value eq(const Value& a, const Value& b) { return as_number(equal(a, b, fuzzy_tolerance), a); }
Value lt(const Value& a, const Value& b) { return as_number(less(a, b), a); }
Value gt(const Value& a, const Value& b) { return as_number(greater(a, b), a); }
Value lte(const Value& a, const Value& b) { return as_number(less_equal(a, b), a); }
Value gte(const Value& a, const Value& b) { return as_number(greater_equal(a, b), a); }

}  // namespace fuzzy
}  // namespace reprise
