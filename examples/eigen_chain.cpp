// SPDX-License-Identifier: Apache-2.0
// A recurrent chain with Eigen matrices as its state: H' = tanh(W H + B), its snapshots in memory and on disk.
// eigen_chain [steps] [snapshots]
// test: 40 3
#include <reprise/checkpoint.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstdlib>
#include <iostream>

using Eigen::MatrixXd;

struct Gradients {
  MatrixXd state, weight;
};

int main(int argc, char** argv) {
  std::int64_t steps = argc > 1 ? std::atoll(argv[1]) : 500, snapshots = argc > 2 ? std::atoll(argv[2]) : 8;
  std::srand(1);
  MatrixXd weight = MatrixXd::Random(12, 12) * 0.4, bias = MatrixXd::Random(12, 5) * 0.1,
           start = MatrixXd::Random(12, 5);

  auto forward = [&](const MatrixXd& h) -> MatrixXd { return (weight * h + bias).array().tanh(); };
  auto seed = [](const MatrixXd& last) { return Gradients{last, MatrixXd::Zero(12, 12)}; };  // of |last|^2 / 2
  auto backward = [&](const MatrixXd& h, Gradients& g) {
    MatrixXd inner = g.state.array() * (1 - forward(h).array().square());
    g.weight += inner * h.transpose();
    g.state = weight.transpose() * inner;
  };
  auto gradient = [&](const reprise::chain::Schedule& schedule, auto&... stores) {
    return reprise::reverse_sweep(start, {.schedule = schedule}, forward, seed, backward, stores...);
  };
  auto loss = [&] {
    MatrixXd h = start;
    for (std::int64_t i = 0; i < steps; ++i) h = forward(h);
    return h.squaredNorm() / 2;
  };

  Gradients g = gradient(reprise::chain::revolve(steps, snapshots));
  Gradients kept = gradient(reprise::chain::keep_all(steps));
  reprise::DiskStore<MatrixXd> disk({.slots = snapshots, .slot_bytes = reprise::stored_bytes(start)});
  Gradients from_disk = gradient(reprise::chain::revolve(steps, snapshots), disk);
  bool same = g.state == kept.state && g.weight == kept.weight && from_disk.state == kept.state &&
              from_disk.weight == kept.weight;

  MatrixXd direction = MatrixXd::Random(12, 12), middle = weight;
  constexpr double h = 1e-6;
  weight = middle + h * direction;
  double up = loss();
  weight = middle - h * direction;
  double measured = (up - loss()) / (2 * h), exact = g.weight.cwiseProduct(direction).sum();

  std::cout << steps << " steps of a 12x12 recurrent chain in " << snapshots
            << " snapshots: " << reprise::chain::revolve_advances(steps, snapshots) << " advances\n"
            << "equal to keeping all, bit for bit: " << (same ? "yes" : "NO") << "\n"
            << "derivative: adjoint " << exact << ", finite differences " << measured << "\n";
  return same && std::abs(exact - measured) <= 1e-5 * (1e-3 + std::abs(exact)) ? 0 : 1;
}
