// SPDX-License-Identifier: Apache-2.0
// Losses against class labels: cross entropy, fused with its softmax, and negative log likelihood.
#include "kernels/cross_entropy.h"

#include "base/error.h"
#include "graph/backpropagate.h"
#include "ops/map.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

Shape without_axis(const Shape& shape, int axis) {
  Shape result;
  for (int i = 0; i < shape.rank(); ++i)
    if (i != axis) result.push_back(shape[i]);
  return result;
}

// Logits, labels of the same shape without the class axis.
Type label_like(const Signature& s) {
  expect_float(s);
  expect_integer(s, 1);
  int axis = normal_axis(s.name(), s.integer("axis"), s.in().shape.rank());
  Shape shape = without_axis(s.in().shape, axis);
  if (s.in(1).shape != shape)
    fail("[{}] labels do not fit: logits {} with classes along axis {} need labels of shape {}, not {}", s.name(),
         to_string(s.in()), axis, to_string(shape), to_string(s.in(1)));
  if (s.in().shape[axis] == 0 && shape.elements() > 0)
    fail("[{}] {} has no classes: the class axis needs one or more", s.name(), to_string(s.in()));
  if (!(s.real("smoothing") >= 0 && s.real("smoothing") <= 1))
    fail("[{}] smoothing is {}: it must be between 0 and 1", s.name(), s.real("smoothing"));
  if (s.has("ignore")) s.integer("ignore");
  return {s.in().dtype, shape};
}

kernels::CrossEntropy plan_of(const Signature& s) {
  int axis = normal_axis(s.name(), s.integer("axis"), s.in().shape.rank());
  kernels::CrossEntropy plan{kernels::axis_view(s.in().shape, axis), s.real("smoothing")};
  if (s.has("ignore")) plan.ignore = s.integer("ignore");
  return plan;
}

void check_labels(const kernels::CrossEntropy& plan, kernels::Labels labels) {
  if (std::int64_t at = kernels::first_wrong_label(plan, labels); at >= 0)
    fail("[cross_entropy] label {} at position {} is not a class: there are {}", labels[at], at, plan.view.size);
}

Value class_mask(const Value& labels, std::int64_t classes, std::int64_t axis) {
  return record("class_mask", {labels}, {{"classes", classes}, {"axis", axis}});
}

// 1 where a position counts, 0 where its label is ignored.
Value counted(const Value& labels, std::int64_t ignore, DType dtype) {
  return cast(not_equal(labels, Tensor::scalar(static_cast<double>(ignore), labels.dtype())), dtype);
}

Values gradient_expression(const Call& c) {
  Value x = c.in(0);
  int axis = normal_axis("cross_entropy", c.integer("axis"), x.rank());
  std::int64_t classes = x.shape()[axis];
  Shape kept = x.shape();
  kept[axis] = 1;
  double smoothing = c.real("smoothing");
  Value target = (1 - smoothing) * cast(class_mask(c.in(1), classes, axis), x.dtype());
  Value softmax = exp(x - reshape(c.in(2), kept)) - smoothing / static_cast<double>(classes);
  Value dloss = c.has("ignore") ? c.in(3) * counted(c.in(1), c.integer("ignore"), x.dtype()) : c.in(3);
  return {(softmax - target) * reshape(dloss, kept)};
}

constexpr std::string_view examples =
    "f32[3,4] i64[3]{0..3} axis=1 smoothing=0.0; f32[2,3,2] i32[2,2]{0..2} axis=1 smoothing=0.1; f32[4] "
    "i64[]{0..3} axis=-1 smoothing=0.0; f32[5,3] i64[5]{0..2} axis=1 smoothing=0.0 ignore=1; f32[0,3] i64[0]{0..2} "
    "axis=1 smoothing=0.0; f32[3,2] i64[2]{0..2} axis=0 smoothing=0.2";

const Op cross_entropy_table[] = {
    {.name = "class_mask",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       expect_integer(s, 0);
       const Shape& labels = s.in().shape;
       if (s.integer("classes") < 0) fail("[class_mask] {} classes: give a count", s.integer("classes"));
       int axis = normal_axis("class_mask", s.integer("axis"), labels.rank() + 1);
       Shape shape;
       for (int i = 0; i <= labels.rank(); ++i)
         shape.push_back(i == axis ? s.integer("classes") : labels[i > axis ? i - 1 : i]);
       return {{DType::boolean, shape}};
     },
     .forward = [](const Signature& s) -> Kernel {
       int axis = normal_axis("class_mask", s.integer("axis"), s.out().shape.rank());
       bool narrow = s.in().dtype == DType::i32;
       return {[=, v = kernels::axis_view(s.out().shape, axis)](const Buffers& b) {
         std::fill_n(b.out<bool>(), v.outer * v.size * v.inner, false);
         for (std::int64_t i = 0; i < v.outer * v.inner; ++i) {
           std::int64_t label = narrow ? b.in<std::int32_t>()[i] : b.in<std::int64_t>()[i];
           if (label >= 0 && label < v.size)
             b.out<bool>()[(i / v.inner * v.size + label) * v.inner + i % v.inner] = true;
         }
       }};
     },
     .cost = moved_bytes,
     .examples =
         "i64[3]{0..3} classes=4 axis=-1; i32[2,2]{0..2} classes=3 axis=1; i64[]{0..1} classes=2 axis=0; i64[0]{0..1} "
         "classes=2 axis=0; i64[4]{-1..5} classes=3 axis=0",
     .doc = "bool: true at each label's class, along a new axis; nowhere for labels that are no class"},
    {.name = "cross_entropy",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 2);
       Type type = label_like(s);
       return {type, type};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[plan = plan_of(s), wide = s.in(1).dtype == DType::i64](const Buffers& b) {
           kernels::Labels labels{b.inputs[1], wide};
           check_labels(plan, labels);
           kernels::cross_entropy(plan, b.in<T>(0), labels, b.out<T>(0), b.out<T>(1));
         }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       Value dx = record("cross_entropy_grad", {c.in(0), c.in(1), c.out(1), dy[0]}, c.attributes());
       if (!is_zero(dy[1])) {
         Shape kept = c.in(0).shape();
         kept[normal_axis("cross_entropy", c.integer("axis"), kept.rank())] = 1;
         dx = dx + exp(c.in(0) - reshape(c.out(1), kept)) * reshape(dy[1], kept);
       }
       return {dx, Value{}};
     },
     .cost = [](const Signature& s) -> Cost {
       Cost cost = moved_bytes(s);
       cost.flops = 20 * static_cast<double>(s.in().elements());
       return cost;
     },
     .examples = examples,
     .doc = "cross entropy of logits against labels, a loss a position; also log(sum(exp(logits)))"},
    {.name = "cross_entropy_grad",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 4);
       Type type = label_like(s);
       for (int i : {2, 3})
         if (s.in(i) != type)
           fail("[cross_entropy_grad] input {} does not fit: it must be {}, it is {}", i, to_string(type),
                to_string(s.in(i)));
       return {s.in(0)};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[plan = plan_of(s), wide = s.in(1).dtype == DType::i64](const Buffers& b) {
           kernels::Labels labels{b.inputs[1], wide};
           check_labels(plan, labels);
           kernels::cross_entropy_grad(plan, b.in<T>(0), labels, b.in<T>(2), b.in<T>(3), b.out<T>(0));
         }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return gradient_of_expression(c, dy, gradient_expression);
     },
     .cost = per_element<20>,
     .may_overwrite = 1,
     .examples = "f32[3,4] i64[3]{0..3} f32[3]{1..3} f32[3] axis=1 smoothing=0.0; f32[2,3,2] i32[2,2]{0..2} "
                 "f32[2,2]{1..3} f32[2,2] axis=1 smoothing=0.1; f32[5,3] i64[5]{0..2} f32[5]{1..3} f32[5] axis=1 "
                 "smoothing=0.0 ignore=1",
     .doc = "gradient of cross_entropy, from logits, labels, log_sum and dloss"},
};

}  // namespace

std::span<const Op> cross_entropy_ops() { return cross_entropy_table; }

Value cross_entropy(const Value& logits, const Value& labels, const CrossEntropyOptions& o) {
  Attributes attributes{{"axis", o.axis}, {"smoothing", o.label_smoothing}};
  if (o.ignore_label) attributes.set("ignore", *o.ignore_label);
  Value loss = record("cross_entropy", {logits, labels}, std::move(attributes));
  if (o.reduction != Reduction::mean || !o.ignore_label) return reduced(loss, o.reduction);
  return sum(loss) / sum(counted(labels, *o.ignore_label, loss.dtype()));
}

Value nll(const Value& log_probabilities, const Value& labels, std::int64_t axis, Reduction reduction) {
  int at = normal_axis("nll", axis, log_probabilities.rank());
  return as_told_by("nll", [&] {
    Value chosen = class_mask(labels, log_probabilities.shape()[at], at);
    Value picked = where(chosen, log_probabilities, scalar_like(log_probabilities, 0));
    return reduced(-sum(picked, {at}), reduction);
  });
}

}  // namespace reprise
