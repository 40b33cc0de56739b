// SPDX-License-Identifier: Apache-2.0
// test: 300
// Three arms of a spiral, told apart by a small network: 2 -> 64 -> 64 -> 3, trained with Adam on all points at once.
//   spiral [STEPS]     prints the loss curve and ends with status 1 below 98 % accuracy
#include <reprise/reprise.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using reprise::Tensor, reprise::Value, reprise::Values;

namespace {

constexpr int arms = 3, points_per_arm = 200;

struct Spiral {
  Tensor points;  // [n, 2]
  Tensor labels;  // i64[n]
};

// A small generator, so that everybody sees the same spiral and the same curve.
double noise() {
  static std::uint64_t state = 42;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<double>(state >> 33) / 0x1p31 * 2 - 1;
}

Spiral make_spiral() {
  std::vector<float> points;
  std::vector<std::int64_t> labels;
  for (int arm = 0; arm < arms; ++arm)
    for (int i = 0; i < points_per_arm; ++i) {
      double radius = 0.05 + 0.95 * i / points_per_arm;
      double angle = 4.5 * radius + 2 * M_PI * arm / arms + 0.12 * noise();
      points.push_back(static_cast<float>(radius * std::cos(angle)));
      points.push_back(static_cast<float>(radius * std::sin(angle)));
      labels.push_back(arm);
    }
  return {Tensor::from(points, {arms * points_per_arm, 2}), Tensor::from(labels, {arms * points_per_arm})};
}

Tensor random_weights(std::int64_t in, std::int64_t out) {
  Tensor w = Tensor::empty({reprise::DType::f32, {in, out}});
  double limit = std::sqrt(6.0 / static_cast<double>(in + out));
  for (float& x : w.span<float>()) x = static_cast<float>(noise() * limit);
  return w;
}

Tensor zeros(std::int64_t n) { return Tensor::zeros({reprise::DType::f32, {n}}); }

// Weights and biases of three layers, in the order the loss takes them.
std::vector<Tensor> make_parameters() {
  return {random_weights(2, 64), zeros(64), random_weights(64, 64), zeros(64), random_weights(64, arms), zeros(arms)};
}

Value logits(const Value& x, const Value& w1, const Value& b1, const Value& w2, const Value& b2, const Value& w3,
             const Value& b3) {
  Value h1 = tanh(matmul(x, w1) + b1);
  Value h2 = tanh(matmul(h1, w2) + b2);
  return matmul(h2, w3) + b3;
}

// Adam (Kingma & Ba 2015) on plain arrays.
class Adam {
 public:
  explicit Adam(const std::vector<Tensor>& parameters) {
    for (const Tensor& p : parameters) moments_.push_back({Tensor::zeros(p.type()), Tensor::zeros(p.type())});
  }

  void update(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
    ++steps_;
    double scale = rate * std::sqrt(1 - std::pow(beta2, steps_)) / (1 - std::pow(beta1, steps_));
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      auto p = parameters[k].span<float>(), g = gradients[k].span<float>();
      auto m = moments_[k].first.span<float>(), v = moments_[k].second.span<float>();
      for (std::size_t i = 0; i < p.size(); ++i) {
        m[i] = static_cast<float>(beta1 * m[i] + (1 - beta1) * g[i]);
        v[i] = static_cast<float>(beta2 * v[i] + (1 - beta2) * g[i] * g[i]);
        p[i] -= static_cast<float>(scale * m[i] / (std::sqrt(v[i]) + 1e-8));
      }
    }
  }

 private:
  static constexpr double rate = 0.02, beta1 = 0.9, beta2 = 0.999;
  std::vector<std::pair<Tensor, Tensor>> moments_;
  int steps_ = 0;
};

double accuracy(const Spiral& data, const std::vector<Tensor>& p) {
  std::vector<Tensor> inputs = {data.points};
  inputs.insert(inputs.end(), p.begin(), p.end());
  std::vector<reprise::Type> types;
  for (const Tensor& t : inputs) types.push_back(t.type());
  auto graph = reprise::trace(
      [](const Values& v) -> Values { return {argmax(logits(v[0], v[1], v[2], v[3], v[4], v[5], v[6]), -1)}; }, types);
  auto chosen = reprise::evaluate(graph, inputs)[0].to_vector<std::int64_t>();
  auto labels = data.labels.to_vector<std::int64_t>();
  int right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) right += chosen[i] == labels[i];
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

// The curve on a logarithmic scale, a column per stretch of steps.
void draw_curve(const std::vector<double>& losses) {
  constexpr int width = 64, height = 12;
  auto [low, high] = std::ranges::minmax(losses);
  double bottom = std::log10(low), top = std::log10(high);
  std::vector<std::string> rows(height, std::string(width, ' '));
  for (int column = 0; column < width; ++column) {
    double loss = losses[static_cast<std::size_t>(column) * (losses.size() - 1) / (width - 1)];
    auto row = static_cast<std::size_t>(std::lround((top - std::log10(loss)) / (top - bottom) * (height - 1)));
    rows[row][static_cast<std::size_t>(column)] = '*';
  }
  for (int row = 0; row < height; ++row)
    std::printf("%9.4f |%s\n", std::pow(10, top - (top - bottom) * row / (height - 1)),
                rows[static_cast<std::size_t>(row)].c_str());
  std::printf("     loss +%s\n           step 1%*zu\n", std::string(width, '-').c_str(), width - 6, losses.size());
}

}  // namespace

int main(int argc, char** argv) {
  int steps = argc > 1 ? std::atoi(argv[1]) : 400;
  if (steps < 2) {
    std::fprintf(stderr, "usage: spiral [STEPS]   (at least 2 steps)\n");
    return 2;
  }
  Spiral data = make_spiral();
  std::vector<Tensor> p = make_parameters();
  Adam adam(p);
  auto loss = [](const Value& x, const Value& label, const Value& w1, const Value& b1, const Value& w2, const Value& b2,
                 const Value& w3, const Value& b3) { return cross_entropy(logits(x, w1, b1, w2, b2, w3, b3), label); };
  auto step = reprise::value_and_grad(loss, {2, 3, 4, 5, 6, 7});

  std::printf("Telling the three arms of a spiral apart: %d points, %d steps.\n\n", arms * points_per_arm, steps);
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    auto [value, gradients] = step(data.points, data.labels, p[0], p[1], p[2], p[3], p[4], p[5]);
    adam.update(p, gradients);
    losses.push_back(value.item());
  }
  draw_curve(losses);
  double right = accuracy(data, p);
  std::printf("\nloss %.4f -> %.4f, accuracy %.2f %%, most memory held at once %s\n", losses.front(), losses.back(),
              100 * right, reprise::format_bytes(reprise::memory_use().peak_bytes).c_str());
  return right > 0.98 ? 0 : 1;
}
