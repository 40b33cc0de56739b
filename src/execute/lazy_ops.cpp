// SPDX-License-Identifier: Apache-2.0
// Ops by enum and by name.
#include "reprise/lazy_ops.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "base/spelling.h"

namespace reprise {
namespace {

template <class Enum>
struct Name {
  std::string_view name;
  Enum op;
};

// The first name of an op is the one that is printed.
constexpr Name<ElemOp> elem_names[] = {
    {"relu", ElemOp::relu},           {"sigmoid", ElemOp::sigmoid}, {"logistic", ElemOp::sigmoid},
    {"one_minus", ElemOp::one_minus}, {"not", ElemOp::one_minus},   {"complement", ElemOp::one_minus},
};
constexpr Name<BinaryOp> binary_names[] = {
    {"add", BinaryOp::add},
    {"plus", BinaryOp::add},
    {"subtract", BinaryOp::subtract},
    {"sub", BinaryOp::subtract},
    {"minus", BinaryOp::subtract},
    {"multiply", BinaryOp::multiply},
    {"mul", BinaryOp::multiply},
    {"times", BinaryOp::multiply},
    {"prod", BinaryOp::multiply},
    {"divide", BinaryOp::divide},
    {"div", BinaryOp::divide},
    {"min", BinaryOp::min},
    {"minimum", BinaryOp::min},
    {"max", BinaryOp::max},
    {"maximum", BinaryOp::max},
    {"eq", BinaryOp::eq},
    {"equal", BinaryOp::eq},
    {"lt", BinaryOp::lt},
    {"less", BinaryOp::lt},
    {"gt", BinaryOp::gt},
    {"greater", BinaryOp::gt},
    {"lte", BinaryOp::lte},
    {"le", BinaryOp::lte},
    {"less_equal", BinaryOp::lte},
    {"gte", BinaryOp::gte},
    {"ge", BinaryOp::gte},
    {"greater_equal", BinaryOp::gte},
    {"or_max", BinaryOp::or_max},
    {"or_prob_sum", BinaryOp::or_prob_sum},
    {"prob_sum", BinaryOp::or_prob_sum},
    {"nand", BinaryOp::nand},
    {"nor", BinaryOp::nor},
    {"exclusive_or", BinaryOp::exclusive_or},
    {"xor", BinaryOp::exclusive_or},
};
constexpr Name<ReduceOp> reduce_names[] = {
    {"sum", ReduceOp::sum},         {"add", ReduceOp::sum},      {"max", ReduceOp::max},
    {"maximum", ReduceOp::max},     {"min", ReduceOp::min},      {"minimum", ReduceOp::min},
    {"mean", ReduceOp::mean},       {"avg", ReduceOp::mean},     {"average", ReduceOp::mean},
    {"product", ReduceOp::product}, {"prod", ReduceOp::product},
};

std::string plain(std::string_view name) {
  std::string result;
  for (char c : name)
    if (c != '_' && c != '-') result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

template <class Enum, std::size_t n>
Enum parse(std::string_view kind, std::string_view name, const Name<Enum> (&names)[n]) {
  std::vector<std::string_view> known;
  for (const auto& entry : names) {
    if (plain(entry.name) == plain(name)) return entry.op;
    known.push_back(entry.name);
  }
  std::string lower = plain(name);
  auto near = nearest(lower, known);
  fail("[{}] there is no '{}'{}", kind, name, near ? fmt::format(": did you mean '{}'?", *near) : "");
}

template <class Enum, std::size_t n>
std::string_view first_name(Enum op, const Name<Enum> (&names)[n]) {
  return std::ranges::find(names, op, &Name<Enum>::op)->name;
}

}  // namespace

ElemOp parse_elem_op(std::string_view name) { return parse("elem_op", name, elem_names); }
BinaryOp parse_binary_op(std::string_view name) { return parse("elem_op_binary", name, binary_names); }
ReduceOp parse_reduce_op(std::string_view name) { return parse("reduce", name, reduce_names); }
std::string_view to_string(ElemOp op) { return first_name(op, elem_names); }
std::string_view to_string(BinaryOp op) { return first_name(op, binary_names); }
std::string_view to_string(ReduceOp op) { return first_name(op, reduce_names); }

Value elem_op(ElemOp op, const Value& x) {
  constexpr std::array<Value (*)(const Value&), 3> functions = {relu, sigmoid, one_minus};
  return functions[static_cast<std::size_t>(op)](x);
}

Value elem_op_binary(BinaryOp op, const Value& a, const Value& b) {
  constexpr std::array<Value (*)(const Value&, const Value&), 16> functions = {add,
                                                                               subtract,
                                                                               multiply,
                                                                               divide,
                                                                               minimum,
                                                                               maximum,
                                                                               fuzzy::eq,
                                                                               fuzzy::lt,
                                                                               fuzzy::gt,
                                                                               fuzzy::lte,
                                                                               fuzzy::gte,
                                                                               fuzzy::or_max,
                                                                               fuzzy::or_prob_sum,
                                                                               fuzzy::nand,
                                                                               fuzzy::nor,
                                                                               fuzzy::exclusive_or};
  return functions[static_cast<std::size_t>(op)](a, b);
}

Value reduce(ReduceOp op, const Value& x, const Axes& axes, bool keepdims) {
  constexpr std::array<Value (*)(const Value&, const Axes&, bool), 5> functions = {sum, max, min, mean, prod};
  return functions[static_cast<std::size_t>(op)](x, axes, keepdims);
}

}  // namespace reprise
