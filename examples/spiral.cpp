// SPDX-License-Identifier: Apache-2.0
// test: 300
// Three arms of a spiral, told apart by a small network: 2 -> 64 -> 64 -> 3, trained with Adam on all points at once,
// within 640 KiB for everything: weights, gradients, optimizer state, activations, the points themselves.
//   spiral [STEPS]     prints the loss curve and ends with status 1 below 98 % accuracy
#include <reprise/reprise.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using reprise::Tensor, reprise::Value;
using namespace reprise::literals;
namespace nn = reprise::nn;

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

double accuracy(const Spiral& data, const nn::Sequential& model) {
  auto classify = reprise::compile([&](const Value& x) { return argmax(model(x), -1); });
  auto chosen = classify(data.points)[0].to_vector<std::int64_t>();
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
  nn::Sequential model{nn::Linear(2, 64), reprise::tanh, nn::Linear(64, 64), reprise::tanh, nn::Linear(64, arms)};
  auto step = reprise::train_step(model, reprise::optim::Adam{{.lr = 0.02}}, {.budget = 640_KiB},
                                  [&](const Value& x, const Value& label) { return cross_entropy(model(x), label); });

  std::printf("Telling the three arms of a spiral apart: %d points, %d steps.\n\n", arms * points_per_arm, steps);
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) losses.push_back(step(data.points, data.labels));
  draw_curve(losses);
  double right = accuracy(data, model);
  std::printf("\nloss %.4f -> %.4f, accuracy %.2f %%\n%s\n", losses.front(), losses.back(), 100 * right,
              step.plan().summary().c_str());
  return right > 0.98 ? 0 : 1;
}
