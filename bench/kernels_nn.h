// SPDX-License-Identifier: Apache-2.0
// Sections of kernels_bench: matrix products and convolutions against oneDNN called directly, and attention. Runs
// alternate between the two sides, so that both meet the same machine; times are medians, ratios the medians of the
// rounds' ratios.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "base/random.h"
#include "reprise/reprise.h"

namespace reprise::bench {

using Run = std::function<void()>;

/// Seconds of one call, from so many.
inline double seconds_of(const Run& run, int calls = 1) {
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
}

inline double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What sides took that ran in turns: the median seconds of each, and the median of the rounds' ratios to the first.
struct Compared {
  std::vector<double> seconds, ratios;
};

/// Short runs are timed many at once: a turn takes 100 microseconds or more.
inline Compared compare_sides(const std::vector<Run>& sides, double seconds = 0.6) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::vector<double>> times(sides.size());
  for (const Run& side : sides) side();
  int calls = std::clamp(static_cast<int>(1e-4 / seconds_of(sides[0])), 1, 100);
  auto start = Clock::now();
  for (int round = 0; round < 2000; ++round) {
    if (round >= 15 && std::chrono::duration<double>(Clock::now() - start).count() > seconds) break;
    for (std::size_t i = 0; i < sides.size(); ++i) times[i].push_back(seconds_of(sides[i], calls));
  }
  Compared result;
  const std::vector<double> first = times[0];
  for (auto& side : times) {
    result.seconds.push_back(median(side));
    for (std::size_t round = 0; round < side.size(); ++round) side[round] /= first[round];
    result.ratios.push_back(median(side));
  }
  return result;
}

inline Tensor random_tensor(const Shape& shape) {
  Tensor t = Tensor::empty({DType::f32, shape});
  Random random(7);
  for (float& x : t.span<float>()) x = static_cast<float>(random.uniform(-1, 1));
  return t;
}

/// An op prepared once for these inputs; its outputs and scratch are its own.
class PreparedOp {
 public:
  PreparedOp(std::string_view name, std::vector<Tensor> inputs, Attributes attributes) : inputs_(std::move(inputs)) {
    const Op& op = *find_op(name);
    std::vector<Type> types;
    for (const Tensor& t : inputs_) types.push_back(t.type()), in_.push_back(t.data());
    std::vector<Type> out = op.infer({op, types, attributes});
    for (const Type& type : out) outputs.push_back(Tensor::zeros(type));
    for (const Tensor& t : outputs) out_.push_back(t.data());
    kernel_ = op.forward({op, types, attributes, out});
    scratch_ = Tensor::zeros({DType::boolean, {kernel_.scratch_bytes}});
  }
  void operator()() const { kernel_.run({in_, out_, scratch_.data()}); }
  std::int64_t scratch_bytes() const { return kernel_.scratch_bytes; }
  std::int64_t output_bytes() const {
    std::int64_t bytes = 0;
    for (const Tensor& t : outputs) bytes += t.bytes();
    return bytes;
  }

  std::vector<Tensor> outputs;

 private:
  std::vector<Tensor> inputs_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  Kernel kernel_;
  Tensor scratch_;
};

// oneDNN called directly.

inline const dnnl::engine& direct_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// Memory with numbers in it: pages that nobody wrote are all one page of zeros, which would stay in the cache.
inline dnnl::memory filled_memory(const dnnl::memory::desc& desc) {
  dnnl::memory memory(desc, direct_engine());
  auto* numbers = static_cast<float*>(memory.get_data_handle());
  Random random(7);
  for (std::size_t i = 0; i < desc.get_size() / sizeof(float); ++i)
    numbers[i] = static_cast<float>(random.uniform(-1, 1));
  return memory;
}

inline dnnl::memory::desc plain(const dnnl::memory::dims& dims, bool transposed = false) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  if (transposed) {
    std::size_t r = dims.size();
    strides[r - 2] = 1, strides[r - 1] = dims[r - 2];
  }
  return {dims, dnnl::memory::data_type::f32, strides};
}

struct MatmulCase {
  std::string what;
  std::int64_t batch, m, n, k;
  bool ta = false, tb = false;
};

inline Run direct_matmul(const MatmulCase& c) {
  dnnl::memory::desc a = plain({c.batch, c.m, c.k}, c.ta), b = plain({c.batch, c.k, c.n}, c.tb),
                     y = plain({c.batch, c.m, c.n});
  if (c.batch == 1) a = plain({c.m, c.k}, c.ta), b = plain({c.k, c.n}, c.tb), y = plain({c.m, c.n});
  dnnl::matmul primitive({{a, b, y}, direct_engine()});
  std::unordered_map<int, dnnl::memory> arguments{
      {DNNL_ARG_SRC, filled_memory(a)}, {DNNL_ARG_WEIGHTS, filled_memory(b)}, {DNNL_ARG_DST, filled_memory(y)}};
  return [=, stream = dnnl::stream(direct_engine())] { primitive.execute(stream, arguments); };
}

inline PreparedOp our_matmul(const MatmulCase& c) {
  Shape a = c.ta ? Shape{c.batch, c.k, c.m} : Shape{c.batch, c.m, c.k};
  Shape b = c.tb ? Shape{c.batch, c.n, c.k} : Shape{c.batch, c.k, c.n};
  return {"matmul",
          {random_tensor(a), random_tensor(b)},
          {{"transpose_a", std::int64_t{c.ta}}, {"transpose_b", std::int64_t{c.tb}}}};
}

/// Ours, prepared once, against oneDNN's matmul primitive on the same row-major matrices.
inline void bench_matmul() {
  fmt::print("matmul, f32: ours against oneDNN's matmul primitive (both row-major)\n");
  const MatmulCase cases[] = {{"64^3", 1, 64, 64, 64},
                              {"128^3", 1, 128, 128, 128},
                              {"256^3", 1, 256, 256, 256},
                              {"512^3", 1, 512, 512, 512},
                              {"1024^3", 1, 1024, 1024, 1024},
                              {"mlp x W^T", 1, 512, 1024, 1024, false, true},
                              {"mlp dy W", 1, 512, 1024, 1024},
                              {"mlp dy^T x", 1, 1024, 1024, 512, true, false},
                              {"gpt qkv", 1, 2048, 1152, 384, false, true},
                              {"gpt mlp", 1, 2048, 1536, 384, false, true},
                              {"gpt scores", 48, 256, 256, 64, false, true},
                              {"batch of 64^3", 64, 64, 64, 64}};
  for (const MatmulCase& c : cases) {
    PreparedOp ours = our_matmul(c);
    auto [t, ratios] = compare_sides({std::ref(ours), direct_matmul(c)});
    double gflop = 2e-9 * static_cast<double>(c.batch * c.m * c.n * c.k);
    fmt::print("  {:14} {:7.1f} GFLOP/s, oneDNN {:7.1f}: {:.2f} of its speed\n", c.what, gflop / t[0], gflop / t[1],
               ratios[1]);
  }
}

struct ConvCase {
  std::string what;
  std::int64_t n, in, size, out, kernel, stride, groups = 1;
  std::int64_t pad() const { return kernel / 2; }
  std::int64_t out_size() const { return (size + 2 * pad() - kernel) / stride + 1; }
};

enum class Layout { plain, any, converted };

/// Reorders of a primitive's arguments from and to row-major memory.
struct Conversions {
  struct One {
    dnnl::reorder primitive;
    std::unordered_map<int, dnnl::memory> arguments;
  };
  std::vector<One> before, after;

  void add(const dnnl::memory& inside, const dnnl::memory::dims& dims, bool is_result) {
    dnnl::memory outside = filled_memory(plain(dims));
    if (inside.get_desc() == outside.get_desc()) return;
    const dnnl::memory &from = is_result ? inside : outside, &to = is_result ? outside : inside;
    (is_result ? after : before).push_back({dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}});
  }
};

/// One pass of a convolution by oneDNN itself: on row-major tensors; on those it prefers (already so); or on row-major
/// ones that are converted to those and back.
inline Run direct_conv(const ConvCase& c, int pass, Layout layout) {
  using dnnl::memory;
  memory::dims xd{c.n, c.in, c.size, c.size}, yd{c.n, c.out, c.out_size(), c.out_size()};
  memory::dims wd{c.out, c.in, c.kernel, c.kernel};
  if (c.groups > 1) wd = {c.groups, c.out / c.groups, c.in / c.groups, c.kernel, c.kernel};
  auto desc = [&](const memory::dims& d) {
    return layout == Layout::plain ? plain(d) : memory::desc(d, memory::data_type::f32, memory::format_tag::any);
  };
  auto x = desc(xd), w = desc(wd), y = desc(yd);
  memory::dims strides{c.stride, c.stride}, pads{c.pad(), c.pad()};
  auto direct = dnnl::algorithm::convolution_direct;
  dnnl::convolution_forward::primitive_desc f({dnnl::prop_kind::forward_training, direct, x, w, y, strides, pads, pads},
                                              direct_engine());
  std::unordered_map<int, memory> arguments;
  dnnl::primitive primitive;
  if (pass == 0) {
    primitive = dnnl::convolution_forward(f);
    arguments = {{DNNL_ARG_SRC, filled_memory(f.src_desc())},
                 {DNNL_ARG_WEIGHTS, filled_memory(f.weights_desc())},
                 {DNNL_ARG_DST, filled_memory(f.dst_desc())}};
  } else if (pass == 1) {
    dnnl::convolution_backward_data::primitive_desc d({direct, x, w, y, strides, pads, pads}, direct_engine(), f);
    primitive = dnnl::convolution_backward_data(d);
    arguments = {{DNNL_ARG_DIFF_SRC, filled_memory(d.diff_src_desc())},
                 {DNNL_ARG_WEIGHTS, filled_memory(d.weights_desc())},
                 {DNNL_ARG_DIFF_DST, filled_memory(d.diff_dst_desc())}};
  } else {
    dnnl::convolution_backward_weights::primitive_desc d({direct, x, w, y, strides, pads, pads}, direct_engine(), f);
    primitive = dnnl::convolution_backward_weights(d);
    arguments = {{DNNL_ARG_SRC, filled_memory(d.src_desc())},
                 {DNNL_ARG_DIFF_WEIGHTS, filled_memory(d.diff_weights_desc())},
                 {DNNL_ARG_DIFF_DST, filled_memory(d.diff_dst_desc())}};
  }
  Conversions conversions;
  if (layout == Layout::converted)
    for (const auto& [number, inside] : arguments) {
      bool is_result = number == (pass == 0 ? DNNL_ARG_DST : pass == 1 ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DIFF_WEIGHTS);
      bool is_weight = number == DNNL_ARG_WEIGHTS || number == DNNL_ARG_DIFF_WEIGHTS;
      bool is_x = number == DNNL_ARG_SRC || number == DNNL_ARG_DIFF_SRC;
      conversions.add(inside, is_weight ? wd : is_x ? xd : yd, is_result);
    }
  return [=, stream = dnnl::stream(direct_engine())] {
    for (const auto& one : conversions.before) one.primitive.execute(stream, one.arguments);
    primitive.execute(stream, arguments);
    for (const auto& one : conversions.after) one.primitive.execute(stream, one.arguments);
  };
}

inline PreparedOp our_conv(const ConvCase& c, int pass) {
  auto two = [](std::int64_t v) { return std::vector<std::int64_t>{v, v}; };
  Attributes attributes{{"strides", two(c.stride)},
                        {"dilations", two(1)},
                        {"pads", std::vector<std::int64_t>(4, c.pad())},
                        {"groups", c.groups}};
  Tensor x = random_tensor({c.n, c.in, c.size, c.size}), y = random_tensor({c.n, c.out, c.out_size(), c.out_size()});
  Tensor w = random_tensor({c.out, c.in / c.groups, c.kernel, c.kernel});
  if (pass == 0) return {"conv", {x, w}, attributes};
  attributes.set(pass == 1 ? "size" : "kernel", two(pass == 1 ? c.size : c.kernel));
  if (pass == 1) return {"conv_data_grad", {y, w}, attributes};
  return {"conv_weight_grad", {x, y}, attributes};
}

/// Ours takes and gives row-major tensors, and so do oneDNN on plain layouts and on its own with the reorders; without
/// them ("own") it is what a network of convolutions alone could reach.
inline void bench_convolution() {
  fmt::print(
      "convolution, f32, row-major in and out: ours against the better of oneDNN's plain and converted layouts\n");
  const ConvCase cases[] = {{"stem 7x7/2", 4, 3, 224, 64, 7, 2},
                            {"64ch 56 3x3", 4, 64, 56, 64, 3, 1},
                            {"128ch 28 3x3", 4, 128, 28, 128, 3, 1},
                            {"256ch 14 3x3", 4, 256, 14, 256, 3, 1},
                            {"512ch 7 3x3", 4, 512, 7, 512, 3, 1},
                            {"64to256 56 1x1", 4, 64, 56, 256, 1, 1},
                            {"128ch 28 1x1/2", 4, 128, 28, 256, 1, 2},
                            {"32ch 128 3x3", 2, 32, 128, 32, 3, 1},
                            {"depthwise 64ch", 4, 64, 56, 64, 3, 1, 64},
                            // Large batches, which go through in chunks.
                            {"x32 stem 7x7/2", 32, 3, 224, 64, 7, 2},
                            {"x32 64ch 56 3x3", 32, 64, 56, 64, 3, 1},
                            {"x32 128ch 28 3x3", 32, 128, 28, 128, 3, 1},
                            {"x32 256ch 14 3x3", 32, 256, 14, 256, 3, 1},
                            {"x32 128ch 28 1x1/2", 32, 128, 28, 256, 1, 2},
                            {"x4 64ch 224 3x3", 4, 64, 224, 64, 3, 1},
                            {"x16 depthwise 96ch", 16, 96, 112, 96, 3, 1, 96}};
  for (const ConvCase& c : cases)
    for (int pass = 0; pass < 3; ++pass) {
      PreparedOp ours = our_conv(c, pass);
      auto [t, ratios] = compare_sides({std::ref(ours), direct_conv(c, pass, Layout::plain),
                                        direct_conv(c, pass, Layout::converted), direct_conv(c, pass, Layout::any)},
                                       1.5);
      const char* names[] = {"forward", "data gradient", "weight gradient"};
      fmt::print(
          "  {:15} {:15} {:8.2f} ms: {:.2f} of the better's speed (plain {:.2f}, converted {:.2f}, own {:.2f})\n",
          c.what, names[pass], 1e3 * t[0], std::min(ratios[1], ratios[2]), ratios[1], ratios[2], ratios[3]);
    }
}

/// A graph's nodes, each prepared once, run one after the other.
class PreparedGraph {
 public:
  PreparedGraph(const Graph& graph, const std::vector<Tensor>& inputs) {
    std::vector<std::vector<Tensor>> values(static_cast<std::size_t>(graph.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) values[static_cast<std::size_t>(graph.inputs[i])] = {inputs[i]};
    for (std::int32_t i = 0; i < graph.size(); ++i) {
      const Node& node = graph.node(i);
      std::vector<Tensor> in;
      for (Ref r : node.inputs)
        in.push_back(values[static_cast<std::size_t>(r.node)][static_cast<std::size_t>(r.output)]);
      auto& out = values[static_cast<std::size_t>(i)];
      if (!out.empty()) continue;
      if (node.op->view_of >= 0) {
        out = {in[0].reshape(node.outputs[0].shape)};
      } else {
        nodes_.emplace_back(node.op->name, in, node.attributes);
        out = nodes_.back().outputs;
      }
    }
  }
  void operator()() const {
    for (const PreparedOp& node : nodes_) node();
  }

 private:
  std::vector<PreparedOp> nodes_;
};

/// einsum's nodes, prepared once, against the one matrix product of the same size.
inline void bench_einsum() {
  struct Case {
    std::string spec;
    Shape a, b;
    MatmulCase product;
  };
  const Case cases[] = {{"ij,jk->ik", {512, 512}, {512, 512}, {"", 1, 512, 512, 512}},
                        {"ij,kj->ik", {512, 1024}, {1024, 1024}, {"", 1, 512, 1024, 1024, false, true}},
                        {"ji,jk->ik", {512, 1024}, {512, 1024}, {"", 1, 1024, 1024, 512, true, false}},
                        {"bij,jk->bik", {8, 256, 384}, {384, 1536}, {"", 1, 2048, 1536, 384}},
                        {"bhqd,bhkd->bhqk", {8, 6, 256, 64}, {8, 6, 256, 64}, {"", 48, 256, 256, 64, false, true}},
                        {"bhqk,bhkd->bhqd", {8, 6, 256, 256}, {8, 6, 256, 64}, {"", 48, 256, 64, 256}}};
  fmt::print("einsum, f32: against the matching matmul\n");
  for (const Case& c : cases) {
    std::vector<Type> types{{DType::f32, c.a}, {DType::f32, c.b}};
    Graph graph = eliminate_dead_code(trace([&](const Values& v) -> Values { return {einsum(c.spec, v)}; }, types));
    PreparedGraph ours(graph, {random_tensor(c.a), random_tensor(c.b)});
    PreparedOp product = our_matmul(c.product);
    auto [t, ratios] = compare_sides({std::ref(ours), std::ref(product)});
    fmt::print("  {:16} {:8.3f} ms, matmul {:8.3f} ms: {:.2f} of its speed\n", c.spec, 1e3 * t[0], 1e3 * t[1],
               ratios[1]);
  }
}

/// Six heads of width 64, causal: time, speed and every byte beside the inputs.
inline void bench_attention() {
  fmt::print("attention, f32, 6 heads of width 64, causal\n");
  for (std::int64_t tokens : {256, 1024, 4096}) {
    Shape shape{1, 6, tokens, 64}, rows{1, 6, tokens};
    Attributes attributes{{"causal", std::int64_t{1}}, {"scale", 0.125}, {"tokens_first", std::int64_t{0}}};
    Tensor q = random_tensor(shape), k = random_tensor(shape), v = random_tensor(shape);
    PreparedOp forward("attention", {q, k, v}, attributes);
    forward();
    PreparedOp backward("attention_grad", {q, k, v, forward.outputs[1], random_tensor(shape), random_tensor(rows)},
                        attributes);
    auto t = compare_sides({std::ref(forward), std::ref(backward)}).seconds;
    double gflop = 2e-9 * 6 * static_cast<double>(tokens * tokens) * 64;  // one product, half of it hidden: two halves
    fmt::print(
        "  T = {:4}: forward {:8.2f} ms ({:5.1f} GFLOP/s), backward {:8.2f} ms ({:5.1f} GFLOP/s); bytes {} forward, "
        "{} backward ({} a token)\n",
        tokens, 1e3 * t[0], gflop / t[0], 1e3 * t[1], 2.5 * gflop / t[1],
        format_bytes(forward.output_bytes() + forward.scratch_bytes()),
        format_bytes(backward.output_bytes() + backward.scratch_bytes()),
        format_bytes((backward.output_bytes() + backward.scratch_bytes()) / tokens));
  }
}

}  // namespace reprise::bench

namespace reprise {

inline void nn_kernels() {
  bench::bench_matmul();
  bench::bench_convolution();
  bench::bench_einsum();
  bench::bench_attention();
}

}  // namespace reprise
