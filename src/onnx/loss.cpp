// SPDX-License-Identifier: Apache-2.0
#include "onnx/loss.h"

#include <iterator>

#include "base/error.h"
#include "reprise/ops.h"

namespace reprise::onnx {
namespace {

struct LossRow {
  LossKind kind;
  const char* name;
  bool needs_target;
};
constexpr LossRow losses[] = {
    {LossKind::own, "own", false}, {LossKind::cross_entropy, "cross_entropy", true},
    {LossKind::mse, "mse", true},  {LossKind::bce, "bce", true},
    {LossKind::sum, "sum", false},
};

const LossRow& row_of(LossKind kind) { return losses[static_cast<std::size_t>(kind)]; }

Shape without(const Shape& shape, int axis) {
  Shape rest;
  for (int i = 0; i < shape.rank(); ++i)
    if (i != axis) rest.push_back(shape[i]);
  return rest;
}

void expect_classes(const Shape& output, int axis) {
  if (output[axis] == 0)
    fail("[onnx] the output has shape {}: it has no classes to choose from; choose another loss", to_string(output));
}

Value class_loss(const Value& logits, const Value& labels) {
  CrossEntropyOptions options{.ignore_label = -100};
  int axis = class_axis(logits.shape(), labels.shape());
  if (axis < logits.rank() && without(logits.shape(), axis) == labels.shape()) {
    options.axis = axis;
    return cross_entropy(logits, labels, options);
  }
  return cross_entropy(reshape(logits, {-1, logits.shape().back()}), reshape(labels, {-1}), options);
}

Value shaped_like(const Value& output, const Value& target) {
  if (target.type().elements() != output.type().elements())
    fail("[onnx] the target is {}, the output {}: they must have as many elements", to_string(target.type()),
         to_string(output.type()));
  return reshape(cast(target, output.dtype()), output.shape());
}

}  // namespace

LossKind loss_named(const std::string& name, const Type& output) {
  if (name.empty()) return output.elements() == 1 && is_float(output.dtype) ? LossKind::own : LossKind::cross_entropy;
  std::string names;
  for (const LossRow& row : losses) {
    if (name == row.name && row.kind == LossKind::own && output.elements() != 1)
      fail("[onnx] the output is {}, no loss of its own: choose cross_entropy, mse, bce or sum", to_string(output));
    if (name == row.name) return row.kind;
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  fail("[onnx] there is no loss '{}': choose from {}", name, names);
}

std::string name_of(LossKind loss) { return row_of(loss).name; }
bool needs_target(LossKind loss) { return row_of(loss).needs_target; }

Type usual_target(LossKind loss, const Type& output) {
  if (loss != LossKind::cross_entropy) return {DType::f32, output.shape};
  if (output.shape.rank() == 0) fail("[onnx] the output is one number: it has no classes to choose from");
  int axis = output.shape.rank() >= 4 ? 1 : output.shape.rank() - 1;
  expect_classes(output.shape, axis);
  return {DType::i64, without(output.shape, axis)};
}

int class_axis(const Shape& output, const Shape& labels) {
  int last = output.rank() - 1;
  if (last >= 0) {
    bool is_second = last >= 1 && without(output, 1) == labels, is_last = without(output, last) == labels;
    bool is_row = labels.rank() == 1 && output.back() > 0 && labels[0] == output.elements() / output.back();
    int axis = is_second && (last >= 3 || !is_last) ? 1 : last;
    if (is_second || is_last || is_row) return expect_classes(output, axis), axis;
  }
  fail("[onnx] the labels are {}, the output is {}: they must be its shape without the axis of the classes",
       to_string(labels), to_string(output));
}

void check_target(LossKind loss, const Type& target) {
  if (loss == LossKind::cross_entropy && (is_float(target.dtype) || target.dtype == DType::boolean))
    fail(
        "[onnx] the target is {}: cross_entropy wants classes, which are integers; the losses of numbers are mse and "
        "bce",
        to_string(target));
}

Value loss_value(LossKind loss, const Value& output, const Value& target) {
  if (!is_float(output.dtype())) fail("[onnx] the output is {}: only floats can be learned", to_string(output.type()));
  Value y = output.dtype() == DType::f64 ? output : cast(output, DType::f32);
  switch (loss) {
    case LossKind::own: return reshape(y, Shape{});
    case LossKind::sum: return sum(y);
    case LossKind::mse: return mse(y, shaped_like(y, target));
    case LossKind::bce: return bce_with_logits(y, shaped_like(y, target));
    case LossKind::cross_entropy: break;
  }
  check_target(loss, target.type());
  return class_loss(y, target);
}

Value classes_last(const Value& output, int axis) {
  std::vector<std::int64_t> order;
  for (int i = 0; i < output.rank(); ++i)
    if (i != axis) order.push_back(i);
  order.push_back(axis);
  return axis == output.rank() - 1 ? output : transpose(output, order);
}

}  // namespace reprise::onnx
