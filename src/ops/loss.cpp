// SPDX-License-Identifier: Apache-2.0
// Losses that are expressions of other ops. Those against class labels are in cross_entropy.cpp, ctc in ctc.cpp.
#include "base/error.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

// The Euclidean length along the last axis; the small number keeps its gradient finite at 0.
Value length(const Value& x) { return sqrt(sum(square(x), {-1}) + 1e-12); }

Value choose(const Value& condition, const Value& a, const Value& b) { return where(condition, a, b); }

void expect_same_type(std::string_view who, const Value& a, const Value& b) {
  if (a.type() != b.type())
    fail("[{}] {} and {} must be of one type: cast or reshape one of them", who, to_string(a.type()),
         to_string(b.type()));
}

}  // namespace

Value reduced(const Value& losses, Reduction reduction) {
  if (reduction == Reduction::none) return losses;
  return reduction == Reduction::sum ? sum(losses) : mean(losses);
}

Value mse(const Value& prediction, const Value& target, Reduction reduction) {
  return as_told_by("mse", [&] {
    expect_same_type("mse", prediction, target);
    return reduced(square(prediction - target), reduction);
  });
}

Value mae(const Value& prediction, const Value& target, Reduction reduction) {
  return as_told_by("mae", [&] {
    expect_same_type("mae", prediction, target);
    return reduced(abs(prediction - target), reduction);
  });
}

Value huber(const Value& prediction, const Value& target, double delta, Reduction reduction) {
  return as_told_by("huber", [&] {
    expect_same_type("huber", prediction, target);
    if (!(delta > 0)) fail("[huber] delta is {}: it must be positive", delta);
    Value error = abs(prediction - target);
    Value loss = choose(less(error, delta), 0.5 * square(error), delta * (error - 0.5 * delta));
    return reduced(loss, reduction);
  });
}

Value smooth_l1(const Value& prediction, const Value& target, double beta, Reduction reduction) {
  return as_told_by("smooth_l1", [&] { return huber(prediction, target, beta, reduction) / beta; });
}

Value hinge(const Value& score, const Value& target, Reduction reduction) {
  return as_told_by("hinge", [&] {
    expect_same_type("hinge", score, target);
    return reduced(relu(1 - target * score), reduction);
  });
}

Value bce(const Value& probability, const Value& target, Reduction reduction) {
  return as_told_by("bce", [&] {
    expect_same_type("bce", probability, target);
    auto safe_log = [](const Value& p) { return log(clamp(p, 1e-12, 1)); };
    Value loss = -(target * safe_log(probability) + one_minus(target) * safe_log(one_minus(probability)));
    return reduced(loss, reduction);
  });
}

Value bce_with_logits(const Value& logits, const Value& target, Reduction reduction) {
  return as_told_by("bce_with_logits", [&] {
    expect_same_type("bce_with_logits", logits, target);
    return reduced(softplus(logits) - logits * target, reduction);
  });
}

Value label_smoothing(const Value& logits, const Value& labels, double smoothing, Reduction reduction) {
  return as_told_by("label_smoothing", [&] {
    return cross_entropy(logits, labels, {.label_smoothing = smoothing, .reduction = reduction});
  });
}

Value focal(const Value& logits, const Value& target, double alpha, double gamma, Reduction reduction) {
  return as_told_by("focal", [&] {
    Value cross = bce_with_logits(logits, target, Reduction::none), p = sigmoid(logits);
    Value miss = p + target - 2 * p * target;  // 1 - the probability of what is true
    Value weight = alpha * target + (1 - alpha) * one_minus(target);
    return reduced(gamma == 0 ? weight * cross : weight * pow(miss, gamma) * cross, reduction);
  });
}

Value dice(const Value& probability, const Value& target, double smooth, Reduction reduction) {
  return as_told_by("dice", [&] {
    expect_same_type("dice", probability, target);
    if (probability.rank() < 2)
      fail("[dice] {} has no batch: it takes [batch, ...], reshape it", to_string(probability.type()));
    Axes sample;
    for (int axis = 1; axis < probability.rank(); ++axis) sample.push_back(axis);
    Value overlap = sum(probability * target, sample), size = sum(probability, sample) + sum(target, sample);
    return reduced(1 - (2 * overlap + smooth) / (size + smooth), reduction);
  });
}

Value triplet(const Value& anchor, const Value& positive, const Value& negative, double margin, Reduction reduction) {
  return as_told_by("triplet", [&] {
    return reduced(relu(length(anchor - positive) - length(anchor - negative) + margin), reduction);
  });
}

Value contrastive(const Value& a, const Value& b, const Value& same, double margin, Reduction reduction) {
  return as_told_by("contrastive", [&] {
    expect_same_type("contrastive", a, b);
    Value apart = sum(square(a - b), {-1}), gap = relu(margin - sqrt(apart + 1e-12));
    return reduced(same * apart + one_minus(same) * square(gap), reduction);
  });
}

Value cosine_embedding(const Value& a, const Value& b, const Value& same, double margin, Reduction reduction) {
  return as_told_by("cosine_embedding", [&] {
    expect_same_type("cosine_embedding", a, b);
    Value cosine = sum(a * b, {-1}) / (length(a) * length(b));
    return reduced(choose(greater(same, 0), 1 - cosine, relu(cosine - margin)), reduction);
  });
}

Value kl_div(const Value& log_probability, const Value& target, Reduction reduction) {
  return as_told_by("kl_div", [&] {
    expect_same_type("kl_div", log_probability, target);
    Value present = greater(target, 0), one = scalar_like(target, 1), zero = scalar_like(target, 0);
    Value terms = choose(present, target * (log(choose(present, target, one)) - log_probability), zero);
    return reduced(sum(terms, {-1}), reduction);
  });
}

}  // namespace reprise
