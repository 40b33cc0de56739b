// SPDX-License-Identifier: Apache-2.0
// A node's inputs and attributes as its operator asks for them, and the table of all operators.
#include "onnx/operators.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "graph/builtin.h"

namespace reprise::onnx {
namespace {

struct Range {
  std::int64_t low, count;
};

// Of integers that are kept in a wider type.
const Range* range_of(std::int32_t data_type) {
  static constexpr Range uint8{0, 1 << 8}, int8{-(1 << 7), 1 << 8}, uint16{0, 1 << 16}, int16{-(1 << 15), 1 << 16},
      uint32{0, std::int64_t{1} << 32};
  switch (data_type) {
    case element_uint8: return &uint8;
    case element_int8: return &int8;
    case element_uint16: return &uint16;
    case element_int16: return &int16;
    case element_uint32: return &uint32;
    default: return nullptr;
  }
}

using Rows = std::unordered_map<std::string_view, std::vector<const Operator*>>;  // by name

Rows rows_of(std::initializer_list<std::span<const Operator>> tables) {
  Rows rows;
  for (std::span<const Operator> table : tables)
    for (const Operator& row : table) rows[row.name].push_back(&row);
  return rows;
}

const Rows& own_rows() {
  static const Rows rows =
      rows_of({math_operators(), activation_operators(), compare_operators(), reduce_operators(), shape_operators(),
               index_operators(), constant_operators(), linear_operators(), pool_operators(), norm_operators(),
               resize_operators(), recurrent_operators(), loss_operators()});
  return rows;
}

const std::vector<const Operator*>& named_rows_of(const Node& node) {
  static const Rows training = rows_of({training_operators()}), fused = rows_of({fused_operators()}), none;
  static const std::vector<const Operator*> nothing;
  const Rows& rows = node.domain.empty()              ? own_rows()
                     : node.domain == training_domain ? training
                     : node.domain == fused_domain    ? fused
                                                      : none;
  auto found = rows.find(node.op);
  return found == rows.end() ? nothing : found->second;
}

}  // namespace

const Operator* find_operator(const Node& node, std::int64_t opset) {
  for (const Operator* row : named_rows_of(node))
    if (row->first <= opset && opset <= row->last) return row;
  return nullptr;
}

bool knows_operator(const Node& node) { return !named_rows_of(node).empty(); }

std::set<std::string_view> own_operators() {
  std::set<std::string_view> names;
  for (const auto& [name, rows] : own_rows()) names.insert(name);
  return names;
}

const Value& NodeCall::in(int i) const {
  if (!has(i)) fail("[onnx] input {} is left out: {} needs it", i, node_.op);
  return inputs_[static_cast<std::size_t>(i)].value;
}

Values NodeCall::all() const {
  Values values;
  for (int i = 0; i < arity(); ++i) values.push_back(in(i));
  if (values.empty()) fail("[onnx] there is no input: {} needs one or more", node_.op);
  return values;
}

const NodeAttribute* NodeCall::find(std::string_view name) const {
  for (const NodeAttribute& a : node_.attributes)
    if (a.name == name) return &a;
  return nullptr;
}

template <class T>
const T* NodeCall::attribute(std::string_view name, std::string_view kind) const {
  const NodeAttribute* found = find(name);
  if (!found) return nullptr;
  const T* value = std::get_if<T>(&found->value);
  if (!value) fail("[onnx] attribute {} of {} is no {}", name, node_.op, kind);
  return value;
}

std::int64_t NodeCall::integer(std::string_view name, std::int64_t otherwise) const {
  const auto* value = attribute<std::int64_t>(name, "integer");
  return value ? *value : otherwise;
}
double NodeCall::real(std::string_view name, double otherwise) const {
  const auto* value = attribute<float>(name, "number");
  return value ? static_cast<double>(*value) : otherwise;
}
std::string NodeCall::text(std::string_view name, std::string_view otherwise) const {
  const auto* value = attribute<std::string>(name, "string");
  return value ? *value : std::string(otherwise);
}
std::vector<std::int64_t> NodeCall::integers(std::string_view name) const {
  const auto* value = attribute<std::vector<std::int64_t>>(name, "list of integers");
  return value ? *value : std::vector<std::int64_t>{};
}
std::vector<double> NodeCall::reals(std::string_view name) const {
  const auto* value = attribute<std::vector<float>>(name, "list of numbers");
  return value ? std::vector<double>(value->begin(), value->end()) : std::vector<double>{};
}
std::vector<std::string> NodeCall::texts(std::string_view name) const {
  const auto* value = attribute<std::vector<std::string>>(name, "list of strings");
  return value ? *value : std::vector<std::string>{};
}
Tensor NodeCall::tensor(std::string_view name) const {
  const auto* value = attribute<FileTensor>(name, "tensor");
  if (!value) fail("[onnx] attribute {} is missing: {} needs it", name, node_.op);
  return value->read();
}

const Tensor* NodeCall::known(int i) const {
  if (!has(i)) return nullptr;
  const Value& value = in(i);
  const reprise::Node& node = value.graph()->node(value.ref().node);
  return node.op == &constant_op ? std::get_if<Tensor>(node.attributes.find("value")) : nullptr;
}

const Tensor& NodeCall::tensor_of(int i) const {
  in(i);
  const Tensor* found = known(i);
  if (!found)
    unsupported("the numbers of its input {} ('{}') must be known while recording, but are computed from the inputs", i,
                node_.inputs[static_cast<std::size_t>(i)]);
  return *found;
}

std::vector<std::int64_t> NodeCall::integers_of(int i) const {
  const Tensor& t = tensor_of(i);
  if (is_float(t.dtype())) fail("[onnx] input {} of {} is {}: it takes integers", i, node_.op, to_string(t.type()));
  return t.to_vector<std::int64_t>();
}

std::vector<double> NodeCall::reals_of(int i) const { return tensor_of(i).to_vector<double>(); }

std::int64_t NodeCall::integer_of(int i) const {
  std::vector<std::int64_t> all = integers_of(i);
  if (all.size() != 1) fail("[onnx] input {} of {} has {} numbers: it takes one", i, node_.op, all.size());
  return all[0];
}

double NodeCall::real_of(int i) const {
  std::vector<double> all = reals_of(i);
  if (all.size() != 1) fail("[onnx] input {} of {} has {} numbers: it takes one", i, node_.op, all.size());
  return all[0];
}

std::vector<std::int64_t> NodeCall::integers_at(std::string_view name, std::int64_t last, int i) const {
  if (opset_ <= last) return integers(name);
  return has(i) ? integers_of(i) : std::vector<std::int64_t>{};
}

Value number(double value, const Value& x) { return Tensor::scalar(value, x.dtype()); }

int axis_of(const NodeCall& c, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    fail("[onnx] axis {} of {} does not exist in {} dimensions", axis, c.node().op, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Shape checked_shape(const NodeCall& c, const std::vector<std::int64_t>& sizes) {
  for (std::int64_t size : sizes)
    if (size < 0) fail("[onnx] {} asks for a size of {}: sizes are 0 or more", c.node().op, size);
  Shape shape(sizes);
  shape.elements();
  return shape;
}

Value wrapped(const Value& x, std::int32_t data_type) {
  const Range* range = range_of(data_type);
  if (!range) return x;
  Value wide = cast(x, DType::i64);
  Value low = number(static_cast<double>(range->low), wide);
  Value offset = modulo(wide - low, number(static_cast<double>(range->count), wide));
  return cast(offset + low, x.dtype());
}

Value to_element(const Value& x, std::int32_t data_type) {
  DType dtype = dtype_of_element(data_type);
  if (!range_of(data_type) || x.dtype() == DType::boolean) return cast(x, dtype);
  return cast(wrapped(cast(x, DType::i64), data_type), dtype);
}

std::int32_t element_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return element_float;
    case DType::f64: return element_double;
    case DType::i32: return element_int32;
    case DType::i64: return element_int64;
    case DType::boolean: return element_bool;
    case DType::f16: return element_float16;
    case DType::bf16: return element_bfloat16;
  }
  return 0;
}

Value axis_to_end(const Value& x, int axis) {
  std::vector<std::int64_t> order;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) order.push_back(i);
  order.push_back(axis);
  return transpose(x, order);
}

Value end_to_axis(const Value& x, int axis) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.rank()) - 1);
  std::iota(order.begin(), order.end(), 0);
  order.insert(order.begin() + axis, x.rank() - 1);
  return transpose(x, order);
}

}  // namespace reprise::onnx
