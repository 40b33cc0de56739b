// SPDX-License-Identifier: Apache-2.0
// Element-wise functions, comparisons, reductions, softmax, normalisation and losses.
#pragma once

#include <optional>

#include "reprise/graph.h"

namespace reprise {

/// Axes of a reduction; negative ones count from the back.
using Axes = std::vector<std::int64_t>;

// Arithmetic, with NumPy's broadcasting. A number takes the other side's dtype, which must hold it:
// beside integers a fraction is refused.
REPRISE_API Value add(const Value& a, const Value& b);
REPRISE_API Value add(const Value& a, double b);
REPRISE_API Value add(double a, const Value& b);
REPRISE_API Value subtract(const Value& a, const Value& b);
REPRISE_API Value subtract(const Value& a, double b);
REPRISE_API Value subtract(double a, const Value& b);
REPRISE_API Value multiply(const Value& a, const Value& b);
REPRISE_API Value multiply(const Value& a, double b);
REPRISE_API Value multiply(double a, const Value& b);
REPRISE_API Value divide(const Value& a, const Value& b);
REPRISE_API Value divide(const Value& a, double b);
REPRISE_API Value divide(double a, const Value& b);
// clang-format off
inline Value operator+(const Value& a, const Value& b) { return add(a, b); }
inline Value operator-(const Value& a, const Value& b) { return subtract(a, b); }
inline Value operator*(const Value& a, const Value& b) { return multiply(a, b); }
inline Value operator/(const Value& a, const Value& b) { return divide(a, b); }
inline Value operator+(const Value& a, double b) { return add(a, b); }
inline Value operator-(const Value& a, double b) { return subtract(a, b); }
inline Value operator*(const Value& a, double b) { return multiply(a, b); }
inline Value operator/(const Value& a, double b) { return divide(a, b); }
inline Value operator+(double a, const Value& b) { return add(a, b); }
inline Value operator-(double a, const Value& b) { return subtract(a, b); }
inline Value operator*(double a, const Value& b) { return multiply(a, b); }
inline Value operator/(double a, const Value& b) { return divide(a, b); }
// clang-format on

REPRISE_API Value negate(const Value& x);
inline Value operator-(const Value& x) { return negate(x); }
REPRISE_API Value abs(const Value& x);
REPRISE_API Value sign(const Value& x);
REPRISE_API Value square(const Value& x);
REPRISE_API Value one_minus(const Value& x);
REPRISE_API Value reciprocal(const Value& x);
REPRISE_API Value exp(const Value& x);
REPRISE_API Value expm1(const Value& x);
REPRISE_API Value log(const Value& x);
REPRISE_API Value log1p(const Value& x);
REPRISE_API Value sqrt(const Value& x);
REPRISE_API Value rsqrt(const Value& x);
REPRISE_API Value sin(const Value& x);
REPRISE_API Value cos(const Value& x);
REPRISE_API Value erf(const Value& x);
REPRISE_API Value floor(const Value& x);
REPRISE_API Value ceil(const Value& x);
/// To the nearest integer, a half to the even one.
REPRISE_API Value round(const Value& x);
/// x between min and max; the gradient passes where min <= x <= max.
REPRISE_API Value clamp(const Value& x, double min, double max);

/// a * b + c
REPRISE_API Value multiply_add(const Value& a, const Value& b, const Value& c);
/// a - b * floor(a / b)
REPRISE_API Value modulo(const Value& a, const Value& b);
REPRISE_API Value pow(const Value& a, const Value& b);
REPRISE_API Value pow(const Value& x, double exponent);
/// The smaller, the larger; where the operands are equal the first takes the gradient.
REPRISE_API Value minimum(const Value& a, const Value& b);
REPRISE_API Value maximum(const Value& a, const Value& b);

// Activations.
REPRISE_API Value relu(const Value& x);
REPRISE_API Value leaky_relu(const Value& x, double slope = 0.01);
/// x where positive, slope * x elsewhere; `slope` is learnt and broadcasts to x.
REPRISE_API Value prelu(const Value& x, const Value& slope);
REPRISE_API Value sigmoid(const Value& x);
REPRISE_API Value tanh(const Value& x);
REPRISE_API Value elu(const Value& x, double alpha = 1);
REPRISE_API Value selu(const Value& x);
/// x times the normal distribution function of x: the exact form, and the one by tanh.
REPRISE_API Value gelu(const Value& x);
REPRISE_API Value gelu_tanh(const Value& x);
REPRISE_API Value silu(const Value& x);
REPRISE_API Value mish(const Value& x);
REPRISE_API Value softplus(const Value& x);
/// alpha * x + beta between 0 and 1.
REPRISE_API Value hard_sigmoid(const Value& x, double alpha = 1.0 / 6, double beta = 0.5);
REPRISE_API Value hard_swish(const Value& x);

// Comparisons give bool. Equal means: not further apart than the tolerance.
REPRISE_API Value equal(const Value& a, const Value& b, double tolerance = 0);
REPRISE_API Value not_equal(const Value& a, const Value& b, double tolerance = 0);
REPRISE_API Value less(const Value& a, const Value& b);
REPRISE_API Value less_equal(const Value& a, const Value& b);
REPRISE_API Value greater(const Value& a, const Value& b);
REPRISE_API Value greater_equal(const Value& a, const Value& b);
REPRISE_API Value equal(const Value& a, double b);
REPRISE_API Value less(const Value& a, double b);
REPRISE_API Value greater(const Value& a, double b);
REPRISE_API Value logical_and(const Value& a, const Value& b);
REPRISE_API Value logical_or(const Value& a, const Value& b);
REPRISE_API Value logical_xor(const Value& a, const Value& b);
REPRISE_API Value logical_not(const Value& x);
/// a where the condition (bool) holds, b elsewhere.
REPRISE_API Value where(const Value& condition, const Value& a, const Value& b);
/// To integers toward zero and within their range, NaN to 0; to bool by "is not zero"; to f16 and bf16 to nearest even.
REPRISE_API Value cast(const Value& x, DType dtype);

/// Truth as a number from 0 to 1.
namespace fuzzy {
REPRISE_API Value or_max(const Value& a, const Value& b);
/// a + b - ab
REPRISE_API Value or_prob_sum(const Value& a, const Value& b);
/// 1 - ab
REPRISE_API Value nand(const Value& a, const Value& b);
/// 1 - max(a, b)
REPRISE_API Value nor(const Value& a, const Value& b);
/// a + b - 2ab
REPRISE_API Value exclusive_or(const Value& a, const Value& b);
// Comparisons that give 0 or 1; eq holds within 1e-10.
REPRISE_API Value eq(const Value& a, const Value& b);
REPRISE_API Value lt(const Value& a, const Value& b);
REPRISE_API Value gt(const Value& a, const Value& b);
REPRISE_API Value lte(const Value& a, const Value& b);
REPRISE_API Value gte(const Value& a, const Value& b);
}  // namespace fuzzy

// Reductions over all axes, or over `axes` in any order (none: the value itself). keepdims leaves reduced axes with
// size
// 1. Of equal extremes the first, in row-major order, takes the gradient.
REPRISE_API Value sum(const Value& x);
REPRISE_API Value sum(const Value& x, const Axes& axes, bool keepdims = false);
REPRISE_API Value mean(const Value& x);
REPRISE_API Value mean(const Value& x, const Axes& axes, bool keepdims = false);
REPRISE_API Value max(const Value& x);
REPRISE_API Value max(const Value& x, const Axes& axes, bool keepdims = false);
REPRISE_API Value min(const Value& x);
REPRISE_API Value min(const Value& x, const Axes& axes, bool keepdims = false);
REPRISE_API Value prod(const Value& x);
REPRISE_API Value prod(const Value& x, const Axes& axes, bool keepdims = false);
/// The mean squared deviation; the sum is divided by count - correction.
REPRISE_API Value var(const Value& x);
REPRISE_API Value var(const Value& x, const Axes& axes, bool keepdims = false, double correction = 0);
REPRISE_API Value std_deviation(const Value& x, const Axes& axes, bool keepdims = false, double correction = 0);
/// log(sum(exp(x))), without overflow.
REPRISE_API Value logsumexp(const Value& x);
REPRISE_API Value logsumexp(const Value& x, const Axes& axes, bool keepdims = false);
/// Of bool.
REPRISE_API Value any(const Value& x);
REPRISE_API Value any(const Value& x, const Axes& axes, bool keepdims = false);
REPRISE_API Value all(const Value& x);
REPRISE_API Value all(const Value& x, const Axes& axes, bool keepdims = false);
/// i64: where along the axis the extreme stands, the first of equals.
REPRISE_API Value argmax(const Value& x, std::int64_t axis, bool keepdims = false);
REPRISE_API Value argmin(const Value& x, std::int64_t axis, bool keepdims = false);
/// Sums along an axis up to each element; exclusive leaves the element itself out, reverse begins at the end.
REPRISE_API Value cumsum(const Value& x, std::int64_t axis, bool exclusive = false, bool reverse = false);

REPRISE_API Value softmax(const Value& x, std::int64_t axis = -1);
REPRISE_API Value log_softmax(const Value& x, std::int64_t axis = -1);

// Normalisation to mean 0 and variance 1, then weight * x + bias.
/// Over the last dimensions, as many as the weight has.
REPRISE_API Value layer_norm(const Value& x, const Value& weight, const Value& bias, double epsilon = 1e-5);
/// Over the last `dims` dimensions, without weights.
REPRISE_API Value layer_norm(const Value& x, int dims = 1, double epsilon = 1e-5);
/// Divides the last dimensions by the root of their mean square.
REPRISE_API Value rms_norm(const Value& x, const Value& weight, double epsilon = 1e-5);
/// x [batch, channels, ...]: over groups of channels; weight and bias [channels].
REPRISE_API Value group_norm(const Value& x, std::int64_t groups, const Value& weight, const Value& bias,
                             double epsilon = 1e-5);
/// x [batch, channels, ...]: each channel of each sample.
REPRISE_API Value instance_norm(const Value& x, const Value& weight, const Value& bias, double epsilon = 1e-5);

struct BatchNormOutput {
  Value out;
  Value mean;      // [channels], of this batch
  Value variance;  // [channels], of this batch, biased
};
/// x [batch, channels, ...], in training: each channel over the batch. Running statistics are the caller's to keep.
REPRISE_API BatchNormOutput batch_norm(const Value& x, const Value& weight, const Value& bias, double epsilon = 1e-5);
/// By given statistics.
REPRISE_API Value batch_norm_inference(const Value& x, const Value& weight, const Value& bias, const Value& mean,
                                       const Value& variance, double epsilon = 1e-5);

/// What becomes of the losses of many positions.
enum class Reduction : std::uint8_t { none, mean, sum };
REPRISE_API Value reduced(const Value& losses, Reduction reduction);

// Losses of a prediction and a target of one type.
REPRISE_API Value mse(const Value& prediction, const Value& target, Reduction reduction = Reduction::mean);
REPRISE_API Value mae(const Value& prediction, const Value& target, Reduction reduction = Reduction::mean);
/// Squared up to `delta`, linear beyond.
REPRISE_API Value huber(const Value& prediction, const Value& target, double delta = 1,
                        Reduction reduction = Reduction::mean);
/// huber / beta
REPRISE_API Value smooth_l1(const Value& prediction, const Value& target, double beta = 1,
                            Reduction reduction = Reduction::mean);
/// target is -1 or 1.
REPRISE_API Value hinge(const Value& score, const Value& target, Reduction reduction = Reduction::mean);
/// Binary cross entropy; probabilities below 1e-12 count as 1e-12.
REPRISE_API Value bce(const Value& probability, const Value& target, Reduction reduction = Reduction::mean);
/// The same from logits, without overflow.
REPRISE_API Value bce_with_logits(const Value& logits, const Value& target, Reduction reduction = Reduction::mean);
/// Binary focal loss from logits: alpha weighs what is true, gamma plays down what is easy.
REPRISE_API Value focal(const Value& logits, const Value& target, double alpha = 0.25, double gamma = 2,
                        Reduction reduction = Reduction::mean);
/// 1 - twice the overlap over the sizes, per sample of [batch, ...].
REPRISE_API Value dice(const Value& probability, const Value& target, double smooth = 1,
                       Reduction reduction = Reduction::mean);

struct CrossEntropyOptions {
  std::int64_t axis = -1;                    // of the classes
  double label_smoothing = 0;                // this share of the target is spread evenly over the classes
  std::optional<std::int64_t> ignore_label;  // positions with this label count as nothing
  Reduction reduction = Reduction::mean;     // the mean is over the positions that count
};
/// Logits against labels (i32, i64) of the same shape without the class axis.
REPRISE_API Value cross_entropy(const Value& logits, const Value& labels, const CrossEntropyOptions& options = {});
REPRISE_API Value label_smoothing(const Value& logits, const Value& labels, double smoothing = 0.1,
                                  Reduction reduction = Reduction::mean);
/// Log probabilities against labels.
REPRISE_API Value nll(const Value& log_probabilities, const Value& labels, std::int64_t axis = -1,
                      Reduction reduction = Reduction::mean);
/// Sum over the last axis of target * (log(target) - log_probability); the mean is over the rows.
REPRISE_API Value kl_div(const Value& log_probability, const Value& target, Reduction reduction = Reduction::mean);

// Losses of vectors along the last axis.
/// max(0, |anchor - positive| - |anchor - negative| + margin)
REPRISE_API Value triplet(const Value& anchor, const Value& positive, const Value& negative, double margin = 1,
                          Reduction reduction = Reduction::mean);
/// same: 1 for pairs that belong together, 0 for others, which are pushed `margin` apart.
REPRISE_API Value contrastive(const Value& a, const Value& b, const Value& same, double margin = 1,
                              Reduction reduction = Reduction::mean);
/// same: 1 for pairs that point the same way, -1 for others.
REPRISE_API Value cosine_embedding(const Value& a, const Value& b, const Value& same, double margin = 0,
                                   Reduction reduction = Reduction::mean);

/// Connectionist temporal classification. log_probabilities [steps, batch, classes]; labels i64[batch, most]; steps and
/// lengths i64[batch]: how many of each count. Infinite, with a gradient of 0, where a sequence cannot be spelt. It has
/// no second-order gradient.
REPRISE_API Value ctc(const Value& log_probabilities, const Value& labels, const Value& steps, const Value& lengths,
                      std::int64_t blank = 0, Reduction reduction = Reduction::mean);

}  // namespace reprise
