// SPDX-License-Identifier: Apache-2.0
// test:
// A notebook's way of working: ask for one thing after another. What was computed before is still there, what depends
// on a changed input is computed again and nothing else, and all of it stays under a limit. Then a model is fitted on a
// tape, where operations run at once.
#include <reprise/reprise.h>

#include <cmath>
#include <cstdio>
#include <vector>

using reprise::Tensor, reprise::Value, reprise::Var;
using namespace reprise::literals;

namespace {

constexpr int samples = 4096;

Tensor noisy_wave(double frequency) {
  std::vector<float> y;
  for (int i = 0; i < samples; ++i)
    y.push_back(static_cast<float>(std::sin(frequency * i) + 0.3 * std::sin(97.0 * i * i)));
  return Tensor::from(y, {1, 1, samples});
}

void tell(const char* what, reprise::LazyExecutor& lazy) {
  auto s = lazy.stats();
  std::printf("%-34s %2lld ops run, %lld again, %s held\n", what, static_cast<long long>(s.executed),
              static_cast<long long>(s.recomputed), reprise::format_bytes(s.bytes).c_str());
  lazy.reset_stats();
}

// Returns whether every step did what this file says.
bool explore() {
  reprise::LazyExecutor lazy{{.cache = 80_KiB}};
  Value signal = lazy.input(noisy_wave(0.02), "signal");
  Value window = lazy.input(Tensor::full({reprise::DType::f32, {1, 1, 33}}, 1.0 / 33), "window");

  // Nothing runs yet: these lines only say what depends on what.
  Value smooth = conv(signal, window, {.pads = {16}});
  Value residual = signal - smooth;
  Value energy = mean(square(residual));
  Value envelope = max_pool(abs(smooth), {64});

  std::printf("energy of the noise: %.4f\n", lazy.evaluate(energy).item());
  bool ok = lazy.stats().executed == 4;
  tell("energy:", lazy);

  lazy.evaluate(envelope);
  ok = ok && lazy.stats().executed == 2;  // smooth was there
  tell("envelope, from the same smooth:", lazy);

  lazy.evaluate(reprise::Values{energy, envelope});
  ok = ok && lazy.stats().executed == 0;
  tell("both once more:", lazy);

  lazy.set_input(signal, noisy_wave(0.05));
  std::printf("energy of the noise: %.4f\n", lazy.evaluate(energy).item());
  ok = ok && lazy.stats().executed == 4;
  tell("another signal:", lazy);
  return ok && lazy.stats().bytes <= 80_KiB;
}

// Fits y = a sin(w x) by gradient descent, within a budget.
bool fit() {
  reprise::Tape tape({.budget = 32_KiB});
  std::vector<float> positions, values;
  for (int i = 0; i < 256; ++i) {
    positions.push_back(static_cast<float>(0.02 * i));
    values.push_back(static_cast<float>(1.5 * std::sin(1.2 * 0.02 * i)));
  }
  Var x = tape.constant(Tensor::from(positions, {256})), y = tape.constant(Tensor::from(values, {256}));
  Var a = tape.variable(Tensor{1}), w = tape.variable(Tensor{1});
  std::int64_t beginning = tape.node_count();
  double loss = 0;
  for (int step = 0; step < 200; ++step) {
    Value error = mse(a * sin(w * x), y);  // runs here and now
    loss = tape.value(error).item();
    tape.backward(error);
    Tensor next_a{tape.value(a).item() - 0.05 * tape.grad(a).item()};
    Tensor next_w{tape.value(w).item() - 0.05 * tape.grad(w).item()};
    tape.zero_grads();
    tape.truncate(beginning);  // forget the step, keep the variables
    tape.assign(a, next_a);
    tape.assign(w, next_w);
  }
  std::printf("fitted: %.3f sin(%.3f x), loss %.2g, at most %s held\n", tape.value(a).item(), tape.value(w).item(),
              loss, reprise::format_bytes(tape.stats().peak_bytes).c_str());
  return loss < 1e-4;
}

}  // namespace

int main() {
  bool explored = explore();
  return explored && fit() ? 0 : 1;
}
