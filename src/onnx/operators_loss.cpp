// SPDX-License-Identifier: Apache-2.0
// Losses of class labels: x is [N, classes, ...], labels [N, ...].
#include <optional>

#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

std::string loss_reduction(const NodeCall& c) {
  std::string reduction = c.text("reduction", "mean");
  if (reduction != "none" && reduction != "mean" && reduction != "sum")
    unsupported("reduction \"{}\" is not supported", reduction);
  return reduction;
}

Reduction our_reduction(const std::string& reduction) {
  return reduction == "none" ? Reduction::none : reduction == "sum" ? Reduction::sum : Reduction::mean;
}

std::optional<std::int64_t> ignored_label(const NodeCall& c) {
  if (!c.has_attribute("ignore_index")) return std::nullopt;
  return c.integer("ignore_index", 0);
}

// Minus the log probability of the label, times the label's weight. The mean is over weights.
Value weighted_nll(const NodeCall& c, const Value& log_probabilities) {
  Value labels = cast(c.in(1), DType::i64), weight = c.maybe(2), ignored;
  if (auto label = ignored_label(c)) {
    ignored = equal(labels, Value(Tensor::from(std::vector{*label}, {})));
    labels = where(ignored, Value(Tensor::scalar(0, DType::i64)), labels);
  }
  Value loss = -squeeze(gather_elements(log_probabilities, unsqueeze(labels, {1}), 1), {1});
  Value weights = weight ? gather(weight, labels, 0) : expand(number(1, loss), loss.shape());
  if (ignored) weights = where(ignored, number(0, weights), weights);
  std::string reduction = loss_reduction(c);
  if (reduction == "none") return loss * weights;
  return reduction == "sum" ? sum(loss * weights) : sum(loss * weights) / sum(weights);
}

void expect_classes(const NodeCall& c) {
  if (c.in(0).rank() < 2 || c.in(1).rank() != c.in(0).rank() - 1)
    fail("[onnx] {} takes [N, classes, ...] and labels without the classes, not {} and {}", c.node().op,
         to_string(c.in(0).type()), to_string(c.in(1).type()));
}

Values negative_log_likelihood(const NodeCall& c) {
  expect_classes(c);
  return {weighted_nll(c, c.in(0))};
}

Values softmax_cross_entropy(const NodeCall& c) {
  expect_classes(c);
  if (c.has(2)) {
    Value log_probabilities = log_softmax(c.in(0), 1);
    return {weighted_nll(c, log_probabilities), log_probabilities};
  }
  CrossEntropyOptions options{
      .axis = 1, .ignore_label = ignored_label(c), .reduction = our_reduction(loss_reduction(c))};
  return {cross_entropy(c.in(0), c.in(1), options), c.wants(1) ? log_softmax(c.in(0), 1) : Value{}};
}

constexpr Operator loss_table[] = {
    {"NegativeLogLikelihoodLoss", 12, 21, computes, negative_log_likelihood},
    {"SoftmaxCrossEntropyLoss", 12, 21, computes, softmax_cross_entropy},
};

}  // namespace

std::span<const Operator> loss_operators() { return loss_table; }

}  // namespace reprise::onnx
