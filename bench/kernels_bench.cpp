// SPDX-License-Identifier: Apache-2.0
// Our kernels against what the machine can do, as ratios taken in one run: element-wise loops, reductions, softmax and
// normalisation against a STREAM-style copy of as many bytes, on arrays past the cache. Both sides of a ratio run in
// turn; the ratio is the median of the rounds'. Each side's memory is touched before the clock starts.
//   kernels_bench [MiB per array, 128 unless given] [rounds, 9 unless given]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>

#include "kernels/math.h"
#include "kernels/parallel.h"
#include "reprise/ops.h"

#if __has_include("kernels_nn.h")
#include "kernels_nn.h"
#endif

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

// A plain loop, as STREAM has it: the C library's memcpy would go around the cache.
[[gnu::optimize("no-tree-loop-distribute-patterns"), gnu::noinline]] void copy_range(const float* x, float* y,
                                                                                     std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i];
}

class Stream {
 public:
  explicit Stream(std::int64_t elements)
      : from_(Tensor::full({DType::f32, {elements}}, 1)), to_(Tensor::full({DType::f32, {elements}}, 2)) {}
  // Reads and writes `bytes` in all.
  void copy(double bytes) const {
    auto n = std::min(static_cast<std::int64_t>(bytes / 8), from_.elements());
    kernels::parallel_ranges(n, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
      copy_range(from_.span<float>().data() + begin, to_.span<float>().data() + begin, end - begin);
    });
  }
  double most_bytes() const { return 8 * static_cast<double>(from_.elements()); }

 private:
  Tensor from_, to_;
};

// One op, prepared, with its memory.
class Prepared {
 public:
  Prepared(const std::string& op, std::vector<Tensor> inputs, const Attributes& attributes)
      : inputs_(std::move(inputs)) {
    std::vector<Type> types;
    for (const Tensor& t : inputs_) types.push_back(t.type()), in_.push_back(t.data());
    const Op& found = *find_op(op);
    std::vector<Type> outputs = found.infer({found, types, attributes});
    for (const Type& t : outputs) out_.push_back(outputs_.emplace_back(Tensor::full(t, 0)).data());
    kernel_ = found.forward({found, types, attributes, outputs});
    scratch_ = Tensor::full({DType::boolean, {kernel_.scratch_bytes}}, 0);
  }
  void run() const { kernel_.run({in_, out_, scratch_.data()}); }
  double bytes() const {
    double total = 0;
    for (const Tensor& t : inputs_) total += static_cast<double>(t.bytes());
    for (const Tensor& t : outputs_) total += static_cast<double>(t.bytes());
    return total;
  }

 private:
  std::vector<Tensor> inputs_, outputs_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  Kernel kernel_;
  Tensor scratch_;
};

void compare(const Stream& stream, int rounds, const std::string& name, const Prepared& op) {
  std::vector<double> ours, copies, ratios;
  double bytes = std::min(op.bytes(), stream.most_bytes());
  for (int i = 0; i < rounds; ++i) {
    ours.push_back(op.bytes() / seconds([&] { op.run(); }));
    copies.push_back(bytes / seconds([&] { stream.copy(bytes); }));
    ratios.push_back(ours.back() / copies.back());
  }
  fmt::print("{:34} {:8.1f} {:8.1f} {:8.2f}\n", name, median(ours) * 1e-9, median(copies) * 1e-9, median(ratios));
}

void elementwise(std::int64_t elements, int rounds) {
  Stream stream(2 * elements);
  constexpr std::int64_t width = 1024;
  std::int64_t rows = elements / width;
  Tensor x = Tensor::full({DType::f32, {rows, width}}, 0.5), y = Tensor::full({DType::f32, {rows, width}}, 0.25);
  Tensor row = Tensor::full({DType::f32, {width}}, 2), column = Tensor::full({DType::f32, {rows, 1}}, 2),
         one = Tensor::scalar(2);
  Tensor statistic = Tensor::full({DType::f32, {rows}}, 1);
  Tensor labels = Tensor::full({DType::i64, {rows}}, 3);
  Tensor image = x.reshape({rows / 64, 64, width}), channel = Tensor::full({DType::f32, {64}}, 1);
  std::int64_t no = 0;
  Attributes last{{"axes", std::vector<std::int64_t>{1}}, {"keepdims", no}},
      first{{"axes", std::vector<std::int64_t>{0}}, {"keepdims", no}},
      all{{"axes", std::vector<std::int64_t>{0, 1}}, {"keepdims", no}},
      middle{{"axes", std::vector<std::int64_t>{0, 2}}, {"keepdims", no}}, axis{{"axis", std::int64_t{1}}},
      layer{{"dims", std::int64_t{1}}, {"epsilon", 1e-5}}, groups{{"groups", std::int64_t{8}}, {"epsilon", 1e-5}},
      epsilon{{"epsilon", 1e-5}}, entropy{{"axis", std::int64_t{1}}, {"smoothing", 0.0}};

  fmt::print("f32[{},{}], {} threads, median of {} rounds\n", rows, width, kernels::thread_count(), rounds);
  fmt::print("{:34} {:>8} {:>8} {:>8}\n", "kernel", "GB/s", "copy", "ratio");
  auto line = [&](const std::string& name, const std::string& op, std::vector<Tensor> in, const Attributes& a = {}) {
    compare(stream, rounds, name, Prepared(op, std::move(in), a));
  };
  for (const char* op :
       {"negate", "relu", "exp", "log", "sqrt", "tanh", "sigmoid", "erf", "gelu", "gelu_tanh", "silu", "mish"})
    line(op, op, {x});
  line("add, same shape", "add", {x, y});
  line("add, scalar", "add", {x, one});
  line("add, row vector", "add", {x, row});
  line("add, column", "add", {x, column});
  line("gelu_grad", "gelu_grad", {x, y});
  line("less", "less", {x, y});
  line("sum, last axis", "sum", {x}, last);
  line("sum, first axis", "sum", {x}, first);
  line("sum, all", "sum", {x}, all);
  line("sum, first and last of 3", "sum", {image}, middle);
  line("max, last axis", "max", {x}, last);
  line("softmax", "softmax", {x}, axis);
  line("softmax_grad", "softmax_grad", {x, y}, axis);
  line("log_softmax", "log_softmax", {x}, axis);
  line("cross_entropy", "cross_entropy", {x, labels}, entropy);
  line("layer_norm", "layer_norm", {x, row, row}, layer);
  line("layer_norm_grad", "layer_norm_grad", {x, statistic, statistic, y, row}, layer);
  line("rms_norm", "rms_norm", {x, row}, layer);
  line("group_norm", "group_norm", {image, channel, channel}, groups);
  line("batch_norm", "batch_norm", {image, channel, channel}, epsilon);
  line("batch_norm_grad", "batch_norm_grad", {image, channel, channel, channel, y.reshape(image.shape())}, epsilon);
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  std::int64_t mebibytes = argc > 1 ? std::atoi(argv[1]) : 128;
  int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  reprise::elementwise(mebibytes * (1 << 18), rounds);
#if __has_include("kernels_nn.h")
  reprise::nn_kernels();
#endif
}
