// SPDX-License-Identifier: Apache-2.0
// The gradient of a 2-D wave simulation in 24 snapshots instead of 10,000: wave_adjoint [steps] [snapshots] [grid]
// test: 300 6 20
//
// u_tt = c(x,y)^2 (u_xx + u_yy) on a square with fixed edges, by leapfrog. The loss is half the squared distance of the
// last field to zero; its gradient is taken by the field at the start and by the medium k = (c dt / h)^2, which needs
// every state again on the way back. The adjoint is written by hand and checked by finite differences.
#include <reprise/checkpoint.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <map>
#include <vector>

using Field = std::vector<double>;  // [side, side], edges included

struct Wave {
  Field before, now;
};
struct Sensitivity {
  Wave wave;
  Field medium;
};

struct Square {
  std::size_t side;
  template <class Use>
  void inside(Use use) const {
    for (std::size_t y = 1; y + 1 < side; ++y)
      for (std::size_t x = 1; x + 1 < side; ++x) use(y * side + x);
  }
  double laplacian(const Field& u, std::size_t i) const {
    return u[i - 1] + u[i + 1] + u[i - side] + u[i + side] - 4 * u[i];
  }
};

// next = 2 now - before + k lap(now), written over `before`
void leapfrog(const Square& square, const Field& k, Wave& w) {
  square.inside([&](std::size_t i) { w.before[i] = 2 * w.now[i] - w.before[i] + k[i] * square.laplacian(w.now, i); });
  std::swap(w.before, w.now);
}

// From the adjoints of (now, next) to those of (before, now), and the medium's share.
void leapfrog_adjoint(const Square& square, const Field& k, const Wave& w, Sensitivity& s) {
  Field of_before(w.now.size()), of_now = s.wave.before;
  square.inside([&](std::size_t i) {
    double a = s.wave.now[i], ka = k[i] * a;
    of_before[i] -= a;
    of_now[i] += 2 * a - 4 * ka;
    for (std::size_t j : {i - 1, i + 1, i - square.side, i + square.side}) of_now[j] += ka;
    s.medium[i] += a * square.laplacian(w.now, i);
  });
  s.wave = {std::move(of_before), std::move(of_now)};
}

// Snapshots in memory that know their size: any type with put, get and drop can be a store.
struct MeasuredStore {
  std::map<std::int64_t, Wave> waves;
  std::size_t bytes = 0, peak_bytes = 0;
  static std::size_t size(const Wave& w) { return (w.before.size() + w.now.size()) * sizeof(double); }
  void put(std::int64_t slot, const Wave& w) {
    waves.insert_or_assign(slot, w);
    peak_bytes = std::max(peak_bytes, bytes += size(w));
  }
  Wave get(std::int64_t slot) { return waves.at(slot); }
  void drop(std::int64_t slot) {
    bytes -= size(waves.at(slot));
    waves.erase(slot);
  }
};

struct Problem {
  Square square;
  Field medium;
  Wave start;
  std::int64_t steps;
};

Problem make_problem(std::size_t side, std::int64_t steps) {
  Problem p{{side}, Field(side * side, 0.2), {Field(side * side), Field(side * side)}, steps};
  p.square.inside([&](std::size_t i) {
    double x = static_cast<double>(i % side) / static_cast<double>(side),
           y = static_cast<double>(i / side) / static_cast<double>(side);
    p.medium[i] += x > 0.5 ? 0.15 : 0.05 * std::sin(9 * y);
    p.start.before[i] = p.start.now[i] = std::exp(-60 * ((x - 0.3) * (x - 0.3) + (y - 0.4) * (y - 0.4)));
  });
  return p;
}

double loss(const Problem& p) {
  Wave w = p.start;
  for (std::int64_t i = 0; i < p.steps; ++i) leapfrog(p.square, p.medium, w);
  double sum = 0;
  for (double u : w.now) sum += u * u / 2;
  return sum;
}

struct Gradient {
  Sensitivity by;
  std::int64_t advances = 0;
  std::size_t peak_bytes = 0;
};

Gradient gradient(const Problem& p, const reprise::chain::Schedule& schedule) {
  Gradient g;
  MeasuredStore store;
  auto forward = [&](std::int64_t, Wave& w) { leapfrog(p.square, p.medium, w); };
  auto seed = [&](const Wave& last) { return Sensitivity{{Field(last.now.size()), last.now}, Field(last.now.size())}; };
  auto backward = [&](std::int64_t, const Wave& w, Sensitivity& s) { leapfrog_adjoint(p.square, p.medium, w, s); };
  auto progress = [&](const reprise::SweepProgress& at) { g.advances = at.advances; };
  g.by = reprise::reverse_sweep(p.start, {.schedule = schedule, .progress = progress}, forward, seed, backward, store);
  g.peak_bytes = store.peak_bytes;
  return g;
}

// The derivative along a smooth direction of start and medium, by the gradient and by central differences.
double directional_error(const Problem& p, const Sensitivity& g) {
  constexpr double h = 1e-6;
  Problem plus = p, minus = p;
  double exact = 0;
  p.square.inside([&](std::size_t i) {
    double d = std::sin(0.37 * static_cast<double>(i)), e = 0.02 * std::cos(0.11 * static_cast<double>(i));
    plus.start.now[i] += h * d, minus.start.now[i] -= h * d;
    plus.medium[i] += h * e, minus.medium[i] -= h * e;
    exact += g.wave.now[i] * d + g.medium[i] * e;
  });
  double measured = (loss(plus) - loss(minus)) / (2 * h);
  std::cout << "derivative along a test direction: adjoint " << exact << ", finite differences " << measured << "\n";
  return std::abs(exact - measured) / std::abs(exact);
}

int main(int argc, char** argv) {
  auto argument = [&](int i, std::int64_t otherwise) { return argc > i ? std::atoll(argv[i]) : otherwise; };
  std::int64_t steps = argument(1, 10'000), snapshots = argument(2, 24);
  Problem p = make_problem(static_cast<std::size_t>(argument(3, 64)), steps);
  reprise::chain::Schedule schedule = reprise::chain::revolve(steps, snapshots);
  reprise::chain::Forecast forecast = schedule.forecast(), all = reprise::chain::keep_all(steps).forecast();

  auto begin = std::chrono::steady_clock::now();
  Gradient g = gradient(p, schedule);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;

  auto state_bytes = static_cast<std::int64_t>(MeasuredStore::size(p.start));
  auto bytes = [&](std::int64_t slots) { return reprise::format_bytes(slots * state_bytes); };
  std::cout << std::setprecision(10) << steps << " steps, " << snapshots << " snapshots of " << bytes(1) << ", "
            << seconds.count() << " s\n"
            << "            memory      advances\n"
            << "forecast    " << std::setw(10) << std::left << bytes(forecast.stores[0].slots) << "  "
            << forecast.advances << "\n"
            << "measured    " << std::setw(10) << reprise::format_bytes(static_cast<std::int64_t>(g.peak_bytes)) << "  "
            << g.advances << "\n"
            << "keep all    " << std::setw(10) << bytes(all.stores[0].slots) << "  " << all.advances << "\n";

  bool as_forecast = g.advances == forecast.advances &&
                     static_cast<std::int64_t>(g.peak_bytes) == forecast.stores[0].slots * state_bytes;
  bool same = true;
  if (all.stores[0].slots * state_bytes <= std::int64_t{256} << 20) {
    Gradient kept = gradient(p, reprise::chain::keep_all(steps));
    same = kept.by.wave.now == g.by.wave.now && kept.by.medium == g.by.medium;
    std::cout << "gradient equals that of keeping all, bit for bit: " << (same ? "yes" : "NO") << "\n";
  }
  double error = directional_error(p, g.by);
  std::cout << "relative difference " << error << "\n";
  return as_forecast && same && error < 1e-5 ? 0 : 1;
}
