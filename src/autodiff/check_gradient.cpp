// SPDX-License-Identifier: Apache-2.0
// Gradients against central differences in f64. The weighted sum of all outputs, weights drawn at random, is one
// scalar function; its derivative is compared along single elements and along random directions.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/random.h"
#include "reprise/autodiff.h"

namespace reprise {
namespace {

class Checker {
 public:
  Checker(const Function& f, const std::vector<Tensor>& inputs, const GradientCheckOptions& options)
      : options_(options), random_(options.seed) {
    for (const Tensor& t : inputs) inputs_.push_back(is_float(t.dtype()) ? t.to(DType::f64).clone() : t);
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (is_float(inputs_[i].dtype())) floats_.push_back(static_cast<int>(i));
    record(f);
  }

  GradientCheck run() {
    if (floats_.empty()) fail("[check_gradient] none of the inputs is a float");
    std::vector<Tensor> results = evaluate(gradient_, inputs_);
    analytic_.assign(results.begin() + 1, results.end());
    std::int64_t total = 0;
    for (const Tensor& g : analytic_) total += g.elements();
    if (total <= options_.elements) check_elements();
    for (int d = 0; d < options_.directions && total > 0; ++d) check_direction(d);
    return result_;
  }

 private:
  void record(const Function& f) {
    std::vector<Type> types;
    for (const Tensor& t : inputs_) types.push_back(t.type());
    value_ = trace([&](const Values& v) -> Values { return {weighted_sum(f(v))}; }, types);
    gradient_ = gradient(value_, floats_);
  }

  Value weighted_sum(const Values& outputs) {
    Value total;
    for (const Value& y : outputs) {
      if (y.dtype() != DType::f64) continue;
      Tensor weights = Tensor::empty(y.type());
      for (double& w : weights.span<double>()) w = random_.uniform(0.5, 1.5) * (random_.chance(0.5) ? 1 : -1);
      Value part = sum(y * Value(weights));
      total = total ? total + part : part;
    }
    if (!total) fail("[check_gradient] no output is an f64: there is nothing to differentiate");
    return total;
  }

  double value() const { return evaluate(value_, inputs_)[0].item(); }

  // Elements of all float inputs, as one long vector.
  template <class F>
  void for_each_element(F&& f) {
    for (std::size_t k = 0; k < floats_.size(); ++k) {
      auto x = inputs_[static_cast<std::size_t>(floats_[k])].span<double>();
      auto g = analytic_[k].span<double>();
      for (std::size_t i = 0; i < x.size(); ++i) f(x[i], g[i], k, i);
    }
  }

  void check_elements() {
    for_each_element([&](double& x, double analytic, std::size_t k, std::size_t i) {
      double middle = x, h = options_.step * (1 + std::abs(x));
      x = middle + h;
      double above = value();
      x = middle - h;
      double below = value();
      x = middle;
      compare(analytic, (above - below) / (2 * h), (std::abs(above) + std::abs(below)) / h,
              "element " + std::to_string(i) + " of input " + std::to_string(floats_[k]));
    });
  }

  void check_direction(int number) {
    std::vector<double> middle, direction;
    double analytic = 0;
    for_each_element([&](double& x, double g, std::size_t, std::size_t) {
      double d = random_.uniform(-1, 1) * (1 + std::abs(x));
      middle.push_back(x);
      direction.push_back(d);
      analytic += g * d;
    });
    double h = options_.step;
    auto value_at = [&](double t) {
      std::size_t at = 0;
      for_each_element([&](double& x, double, std::size_t, std::size_t) { x = middle[at] + t * direction[at], ++at; });
      return value();
    };
    double above = value_at(h), below = value_at(-h);
    value_at(0);
    compare(analytic, (above - below) / (2 * h), (std::abs(above) + std::abs(below)) / h,
            "direction " + std::to_string(number));
  }

  // `magnitude` / 2^52 is the rounding of the difference itself.
  void compare(double analytic, double numeric, double magnitude, const std::string& where) {
    double tolerance =
        options_.absolute + options_.relative * std::max(std::abs(analytic), std::abs(numeric)) + magnitude * 0x1p-50;
    double error = std::abs(analytic - numeric) / tolerance;
    if (std::isnan(error)) error = INFINITY;
    result_.largest_error = std::max(result_.largest_error, error);
    if (error <= 1 || !result_.ok) return;
    result_.ok = false;
    result_.why = fmt::format("{}: gradient {:.9g}, central difference {:.9g}", where, analytic, numeric);
  }

  GradientCheckOptions options_;
  Random random_;
  std::vector<Tensor> inputs_;
  std::vector<int> floats_;
  Graph value_, gradient_;
  std::vector<Tensor> analytic_;
  GradientCheck result_;
};

}  // namespace

GradientCheck check_gradient(const Function& f, const std::vector<Tensor>& inputs,
                             const GradientCheckOptions& options) {
  return Checker(f, inputs, options).run();
}

}  // namespace reprise
