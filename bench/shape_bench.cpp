// SPDX-License-Identifier: Apache-2.0
// Ops that move elements and draw numbers, against a STREAM-style copy of as many bytes; einsum against the matching
// matrix product. Both sides of a ratio run in turn, in one process, on memory that was touched before; the medians are
// compared.
//   shape_bench [MiB per array, 64 unless given] [rounds, 7 unless given]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>

#include "kernels/parallel.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

double seconds(const std::function<void()>& f) {
  auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// Seconds of both, run in turn.
std::pair<double, double> in_turn(int rounds, const std::function<void()>& a, const std::function<void()>& b) {
  std::vector<double> of_a, of_b;
  a(), b();
  for (int i = 0; i < rounds; ++i) of_a.push_back(seconds(a)), of_b.push_back(seconds(b));
  return {median(of_a), median(of_b)};
}

// A plain loop, as STREAM has it: the C library's memcpy would go around the cache.
[[gnu::optimize("no-tree-loop-distribute-patterns"), gnu::noinline]] void copy_range(const float* x, float* y,
                                                                                     std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i];
}

// The kernels of a graph's nodes, prepared, with all memory in place.
class Prepared {
 public:
  Prepared(const std::function<Value(const Values&)>& f, const std::vector<Tensor>& inputs) {
    std::vector<Type> types;
    for (const Tensor& t : inputs) types.push_back(t.type());
    Graph graph = trace([&](const Values& v) -> Values { return {f(v)}; }, types);
    std::vector<std::vector<Tensor>> values(static_cast<std::size_t>(graph.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) values[static_cast<std::size_t>(graph.inputs[i])] = {inputs[i]};
    for (std::int32_t i = 0; i < graph.size(); ++i) add(graph, i, values);
  }
  void run() const {
    for (const Step& s : steps_) s.kernel.run({s.in, s.out, s.scratch.data()});
  }

 private:
  struct Step {
    Kernel kernel;
    std::vector<const void*> in;
    std::vector<void*> out;
    std::vector<Tensor> kept;
    Tensor scratch;
  };

  void add(const Graph& graph, std::int32_t i, std::vector<std::vector<Tensor>>& values) {
    const Node& node = graph.node(i);
    std::vector<Tensor>& own = values[static_cast<std::size_t>(i)];
    if (!own.empty()) return;  // an input
    auto value = [&](Ref r) { return values[static_cast<std::size_t>(r.node)][static_cast<std::size_t>(r.output)]; };
    if (node.op->view_of >= 0) return own.push_back(value(node.inputs[0]).reshape(node.outputs[0].shape));
    Step step;
    for (const Type& type : node.outputs) step.out.push_back(own.emplace_back(Tensor::full(type, 0)).data());
    for (Ref r : node.inputs) step.in.push_back(step.kept.emplace_back(value(r)).data());
    std::vector<Type> types;
    step.kernel = node.op->forward(graph.signature(i, types));
    step.scratch = Tensor::full({DType::boolean, {step.kernel.scratch_bytes}}, 0);
    step.kept.insert(step.kept.end(), own.begin(), own.end());
    steps_.push_back(std::move(step));
  }

  std::vector<Step> steps_;
};

class Bench {
 public:
  Bench(std::int64_t elements, int rounds)
      : rounds_(rounds), from_(Tensor::full({DType::f32, {elements}}, 1)), to_(from_.clone()) {}

  void against_copy(const char* name, double bytes, const std::function<Value(const Values&)>& f,
                    const std::vector<Tensor>& inputs) const {
    Prepared op(f, inputs);
    auto n = std::min(static_cast<std::int64_t>(bytes / 8), from_.elements());
    auto copy = [&] {
      kernels::parallel_ranges(n, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
        copy_range(from_.span<float>().data() + begin, to_.span<float>().data() + begin, end - begin);
      });
    };
    auto [own, other] = in_turn(
        rounds_, [&] { op.run(); }, copy);
    double scale = bytes / (8 * static_cast<double>(n));
    fmt::print("{:<34} {:6.1f} GB/s, {:5.2f} of a copy\n", name, bytes / own / 1e9, other * scale / own);
  }

  void against_matmul(const char* spec, const std::vector<Tensor>& inputs,
                      const std::function<Value(const Values&)>& product) const {
    Prepared sum([&](const Values&v) { return einsum(spec, v); }, inputs), gemm(product, inputs);
    auto [own, other] = in_turn(
        rounds_, [&] { sum.run(); }, [&] { gemm.run(); });
    fmt::print("einsum {:<27} {:6.1f} ms, {:11.2f} of matmul's speed\n", spec, own * 1e3, other / own);
  }

 private:
  int rounds_;
  Tensor from_, to_;
};

Tensor random_indices(std::int64_t count, std::int64_t below) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) indices.push_back(i * 7919 % below);
  return Tensor::from(indices, {count});
}

void run_all(std::int64_t mib, int rounds) {
  std::int64_t n = mib << 18, side = 64;  // f32 elements
  while (4 * side * side <= n) side *= 2;
  Bench bench(n, rounds);
  Tensor square = Tensor::full({DType::f32, {side, side}}, 1), key = random_key(1);
  auto both = 8.0 * static_cast<double>(side * side);
  Tensor heads = square.reshape({side / 256, 256, side / 64, 64}), row = Tensor::full({DType::f32, {1, side}}, 1);
  bench.against_copy("transpose", both, [](auto& v) { return transpose(v[0]); }, {square});
  bench.against_copy("[B,T,H,D] to [B,H,T,D]", both, [](auto& v) { return transpose(v[0], {0, 2, 1, 3}); }, {heads});
  bench.against_copy("expand rows", both / 2, [&](auto& v) { return expand(v[0], {side, side}); }, {row});
  bench.against_copy("expand columns", both / 2,
                     [&](auto& v) {
                       return expand(v[0], {side, side});
                     },
                     {row.reshape({side, 1})});
  bench.against_copy("slice, step 2 of rows", both / 2, [](auto& v) { return slice(v[0], 0, 0, to_end, 2); }, {square});
  bench.against_copy("concat", 2 * both, [](auto& v) { return concat({v[0], v[0]}, 1); }, {square});
  bench.against_copy("pad 1, constant", both, [](auto& v) { return pad(v[0], {1, 1}, {1, 1}, 0.0); }, {square});
  bench.against_copy("gather rows", both, [](auto& v) { return gather(v[0], v[1], 0); },
                     {square, random_indices(side, side)});
  bench.against_copy(
      "gather_grad (add rows)", both * 2,
      [&](auto& v) {
        return record("gather_grad", {v[0], v[1]}, {{"axis", std::int64_t{0}}, {"shape", Shape{side, side}.sizes()}});
      },
      {square, random_indices(side, side)});
  bench.against_copy("dropout", both, [](auto& v) { return dropout(v[0], v[1], 0.1); }, {square, key});
  bench.against_copy("random_uniform", both / 2, [&](auto& v) { return random_uniform(v[0], {side, side}); }, {key});
  bench.against_copy("random_normal", both / 2, [&](auto& v) { return random_normal(v[0], {side, side}); }, {key});

  Tensor a = Tensor::full({DType::f32, {768, 768}}, 1), batch = Tensor::full({DType::f32, {16, 256, 256}}, 1);
  bench.against_matmul("ij,jk->ik", {a, a}, [](auto& v) { return matmul(v[0], v[1]); });
  bench.against_matmul("ij,kj->ik", {a, a}, [](auto& v) { return matmul(v[0], v[1], false, true); });
  bench.against_matmul("ji,jk->ik", {a, a}, [](auto& v) { return matmul(v[0], v[1], true); });
  bench.against_matmul("bij,bjk->bik", {batch, batch}, [](auto& v) { return matmul(v[0], v[1]); });
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  reprise::run_all(argc > 1 ? std::atol(argv[1]) : 64, argc > 2 ? std::atoi(argv[2]) : 7);
}
