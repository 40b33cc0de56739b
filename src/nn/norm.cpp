// SPDX-License-Identifier: Apache-2.0
// Normalising layers.
#include "base/error.h"
#include "nn/initial.h"
#include "reprise/nn.h"

namespace reprise::nn {
namespace {

Parameter filled(std::int64_t count, double value, bool trainable = true) {
  return Parameter(Type{DType::f32, {count}}, value, trainable);
}

}  // namespace

BatchNorm::BatchNorm(std::int64_t channels, double eps, double share)
    : weight(filled(channels, 1)),
      bias(filled(channels, 0)),
      running_mean(filled(channels, 0, false)),
      running_var(filled(channels, 1, false)),
      epsilon(eps),
      momentum(share) {
  expect_positive("BatchNorm", {channels});
}

// The running variance is that of a sample: over n - 1 where the batch's is over n.
Value BatchNorm::operator()(const Value& x) const {
  Value w = weight.in(x), b = bias.in(x), mean = running_mean.in(x), var = running_var.in(x);
  if (!training) return batch_norm_inference(x, w, b, mean, var, epsilon);
  BatchNormOutput y = batch_norm(x, w, b, epsilon);
  auto n = static_cast<double>(x.shape().elements() / x.shape()[1]);
  double unbiased = n > 1 ? n / (n - 1) : 1;
  running_mean.update(mean * (1 - momentum) + y.mean * momentum);
  running_var.update(var * (1 - momentum) + y.variance * (momentum * unbiased));
  return y.out;
}

Fields BatchNorm::fields() {
  return reprise::fields("weight", weight, "bias", bias, "running_mean", running_mean, "running_var", running_var);
}

LayerNorm::LayerNorm(std::int64_t width, double eps) : weight(filled(width, 1)), bias(filled(width, 0)), epsilon(eps) {
  expect_positive("LayerNorm", {width});
}
Value LayerNorm::operator()(const Value& x) const { return layer_norm(x, weight.in(x), bias.in(x), epsilon); }
Fields LayerNorm::fields() { return reprise::fields("weight", weight, "bias", bias); }

RmsNorm::RmsNorm(std::int64_t width, double eps) : weight(filled(width, 1)), epsilon(eps) {
  expect_positive("RmsNorm", {width});
}
Value RmsNorm::operator()(const Value& x) const { return rms_norm(x, weight.in(x), epsilon); }
Fields RmsNorm::fields() { return reprise::fields("weight", weight); }

GroupNorm::GroupNorm(std::int64_t group_count, std::int64_t channels, double eps)
    : groups(group_count), weight(filled(channels, 1)), bias(filled(channels, 0)), epsilon(eps) {
  expect_positive("GroupNorm", {groups, channels});
  if (channels % groups != 0) fail("[GroupNorm] {} channels cannot be parted into {} groups", channels, groups);
}
Value GroupNorm::operator()(const Value& x) const { return group_norm(x, groups, weight.in(x), bias.in(x), epsilon); }
Fields GroupNorm::fields() { return reprise::fields("weight", weight, "bias", bias); }

}  // namespace reprise::nn
