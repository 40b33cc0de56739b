// SPDX-License-Identifier: Apache-2.0
// test:
// The examples of docs/packing.md, training.md, dynamic.md and report.md as they stand there, with what they speak of.
#include <reprise/memory.h>
#include <reprise/reprise.h>

#include <filesystem>
#include <fstream>
#include <iostream>

namespace {

void pack_buffers() {
  std::vector<reprise::Buffer> lives{{"a", 0, 2, 64}, {"b", 1, 3, 32}, {"c", 2, 4, 64}};  // name, [lower, upper), bytes
  reprise::PackResult r = reprise::pack(lives, {.alignment = 64});
  for (std::int64_t offset : r.layout.offsets) std::cout << offset << ' ';  // one per buffer
  std::cout << r.height;                                                    // bytes of the arena
  std::cout << r.lower_bound;                                               // no layout is lower than this
  std::cout << r.proven_optimal;                                            // no layout is lower than r.height
  std::cout << "\n";
}

using namespace reprise;
using namespace reprise::literals;

struct GatedMlp {
  nn::Linear gate, up, down;
  Value operator()(const Value& x) const { return x + down(gelu(gate(x)) * up(x)); }
  auto fields() { return reprise::fields("gate", gate, "up", up, "down", down); }
};

void train_and_report() {
  std::vector<std::pair<Tensor, Tensor>> batches = {
      {Tensor::full({DType::f32, {4, 784}}, 0.5), Tensor::full({DType::i64, {4}}, 3)}};
  auto report = [](double loss) { std::cout << loss << "\n"; };
  nn::Sequential model{nn::Linear(784, 512), gelu, nn::Linear(512, 10)};
  auto step = train_step(model, optim::Adam{{.lr = 1e-3}}, {.budget = 256_MiB},
                         [&](const Value& x, const Value& label) { return cross_entropy(model(x), label); });
  for (const auto& [x, label] : batches) report(step(x, label));
  std::cout << step.plan().summary();
  std::cout << "\n";
}

void write_pages() {
  GatedMlp model{nn::Linear(8, 16), nn::Linear(8, 16), nn::Linear(16, 8)};
  auto step = train_step(model, optim::Sgd{{.lr = 1e-2}}, {.timeline = true},
                         [&](const Value& x) { return mean(square(model(x))); });
  step(Tensor::full({DType::f32, {4, 8}}, 0.5));
  std::ofstream("metrics.jsonl") << "{\"step\": 1, \"loss\": 4.17, \"lr\": 0.01}\n";
  reprise::report::html(step.plan(), "plan.html");
  reprise::report::html(
      {.title = "my run", .plan = &step.plan(), .timeline = step.timeline(), .metrics = "metrics.jsonl"}, "run.html");
}

void evaluate_on_demand() {
  Tensor batch = Tensor::full({DType::f32, {2, 3}}, 0.5), next = Tensor::full({DType::f32, {2, 3}}, 0.25);
  Tensor w = Tensor::full({DType::f32, {3, 3}}, 0.1);
  auto left = [](const Value& v) { return sum(v); };
  auto right = [](const Value& v) { return mean(v); };
  LazyExecutor lazy{{.cache = 64_MiB}};
  Value x = lazy.input(batch, "x");
  Value h = tanh(matmul(x, w));
  Tensor a = lazy.evaluate(left(h));   // runs what is missing
  Tensor b = lazy.evaluate(right(h));  // h is still there, or comes back by itself
  lazy.set_input(x, next);             // exactly the descendants of x are computed again
  std::cout << a << b << lazy.evaluate(left(h)) << "\n";
}

void differentiate_on_demand() {
  Tensor weights = Tensor::full({DType::f32, {3}}, 0.1), x = Tensor::full({DType::f32, {3}}, 2);
  Tensor y = Tensor::full({DType::f32, {3}}, 1);
  auto model = [](const Value& w, const Value& v) { return w * v; };
  auto updated = [](const Tensor& slope) { return slope; };
  Tape tape({.budget = 64_MiB});
  Var w = tape.variable(weights);
  std::int64_t beginning = tape.node_count();
  for (int step = 0; step < 3; ++step) {
    Value loss = mse(model(w, x), y);  // every function of reprise/ops.h works and runs at once
    tape.backward(loss);
    Tensor dw = tape.grad(w);
    tape.zero_grads();
    tape.truncate(beginning);  // forgets the step
    tape.assign(w, updated(dw));
  }
}

}  // namespace

int main() {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / "reprise_documents";
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  pack_buffers();
  train_and_report();
  write_pages();
  evaluate_on_demand();
  differentiate_on_demand();
}
