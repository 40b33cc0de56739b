// SPDX-License-Identifier: Apache-2.0
// Every op is tested by being registered: these claims hold for each op on each of its examples.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "graph/builtin.h"
#include "ops/examples.h"
#include "ops/rules.h"
#include "reprise/autodiff.h"

namespace reprise::conformance_tests {
namespace {

struct Case {
  const Op* op;
  Example example;
  int number;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Op* op : all_ops()) {
    int number = 0;
    for (const Example& example : examples_of(*op)) cases.push_back({op, example, number++});
  }
  return cases;
}

std::vector<Type> types_of(const Example& example) {
  std::vector<Type> types;
  for (const auto& input : example.inputs) types.push_back(input.type);
  return types;
}

Example in_f64(Example example) {
  for (auto& input : example.inputs)
    if (input.type.dtype == DType::f32) input.type.dtype = DType::f64;
  return example;
}

// Memory with guard bytes on both sides, filled with a pattern, so that writes outside it and elements never written
// show.
class Guarded {
 public:
  Guarded(std::int64_t bytes, int fill)
      : bytes_(bytes), fill_(fill), memory_(Tensor::empty({DType::boolean, {bytes + 2 * guard}})) {
    std::memset(base(), fill, static_cast<std::size_t>(bytes + 2 * guard));
  }
  void* data() const { return base() + guard; }
  bool intact() const {
    for (std::int64_t i = 0; i < guard; ++i)
      if (base()[i] != static_cast<unsigned char>(fill_) ||
          base()[guard + bytes_ + i] != static_cast<unsigned char>(fill_))
        return false;
    return true;
  }

 private:
  static constexpr std::int64_t guard = 64;
  unsigned char* base() const { return static_cast<unsigned char*>(memory_.data()); }

  std::int64_t bytes_;
  int fill_;
  Tensor memory_;
};

std::vector<Tensor> run(const Op& op, const std::vector<Tensor>& inputs, const Attributes& attributes, int fill = 0) {
  std::vector<Type> types;
  std::vector<const void*> in;
  for (const Tensor& t : inputs) types.push_back(t.type()), in.push_back(t.data());
  std::vector<Type> output_types = op.infer({op, types, attributes});
  if (op.view_of >= 0) return {inputs[static_cast<std::size_t>(op.view_of)].reshape(output_types[0].shape)};
  Kernel kernel = op.forward({op, types, attributes, output_types});
  std::vector<Guarded> memory;
  std::vector<void*> out;
  for (const Type& type : output_types) memory.emplace_back(type.bytes(), fill);
  for (const Guarded& g : memory) out.push_back(g.data());
  Guarded scratch(kernel.scratch_bytes, fill);
  kernel.run({in, out, scratch.data()});
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    EXPECT_TRUE(memory[i].intact()) << "wrote outside output " << i;
    outputs.push_back(Tensor::over(out[i], output_types[i], nullptr).clone());
  }
  EXPECT_TRUE(scratch.intact()) << "wrote outside its scratch memory";
  return outputs;
}

Function function_of(const Case& c) {
  return [&c](const Values& v) { return record(*c.op, v, c.example.attributes); };
}

Graph graph_of(const Case& c, const Example& example) {
  auto graph = std::make_shared<Graph>();
  std::vector<Ref> inputs;
  for (const Type& type : types_of(example)) inputs.push_back(graph->add_input(type));
  std::int32_t node = graph->add(*c.op, inputs, c.example.attributes);
  for (std::size_t i = 0; i < graph->node(node).outputs.size(); ++i)
    graph->outputs.push_back({node, static_cast<std::int32_t>(i)});
  return *graph;
}

bool has_float_input(const Case& c) {
  for (const auto& input : c.example.inputs)
    if (input.type.dtype == DType::f32 || input.type.dtype == DType::f64) return true;
  return false;
}

bool has_float_output(const Case& c) {
  Example wide = in_f64(c.example);
  std::vector<Type> types = types_of(wide);
  for (const Type& type : c.op->infer({*c.op, types, c.example.attributes}))
    if (type.dtype == DType::f64) return true;
  return false;
}

// stop_gradient's zero is its purpose, not the derivative.
bool is_differentiable(const Case& c) {
  return c.op->gradient && c.op->name != "stop_gradient" && has_float_input(c) && has_float_output(c);
}

class Conformance : public testing::TestWithParam<Case> {};

TEST_P(Conformance, GraphVerifiesAndItsTextParsesBack) {
  Graph graph = graph_of(GetParam(), GetParam().example);
  verify(graph);
  const Op* own[] = {GetParam().op};
  Graph again = parse_graph(to_string(graph), own);
  EXPECT_EQ(to_string(again), to_string(graph));
  EXPECT_EQ(hash(again), hash(graph));
}

TEST_P(Conformance, RunningTwiceGivesTheSameBits) {
  const Case& c = GetParam();
  if (!c.op->forward && c.op->view_of < 0) return;
  std::vector<Tensor> inputs = draw(c.example, 1);
  std::vector<Tensor> kept;
  for (const Tensor& t : inputs) kept.push_back(t.clone());
  std::vector<Tensor> once = run(*c.op, inputs, c.example.attributes, 0x00),
                      twice = run(*c.op, inputs, c.example.attributes, 0xff);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_TRUE(same_bits(once[i], twice[i])) << once[i] << twice[i];
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(same_bits(inputs[i], kept[i])) << "input " << i << " was changed";
}

TEST_P(Conformance, F32AgreesWithF64) {
  const Case& c = GetParam();
  if (!c.op->forward) return;
  Example wide = in_f64(c.example);
  std::vector<Tensor> narrow_out = run(*c.op, draw(c.example, 2), c.example.attributes),
                      wide_out = run(*c.op, draw(wide, 2), c.example.attributes);
  for (std::size_t k = 0; k < wide_out.size(); ++k) {
    std::vector<double> x = narrow_out[k].to_vector<double>(), y = wide_out[k].to_vector<double>();
    double largest = 0;
    for (double v : y) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
      EXPECT_LE(std::abs(x[i] - y[i]), c.op->tolerance * (1 + largest))
          << "output " << k << ", element " << i << ": " << x[i] << " vs " << y[i];
    }
  }
}

TEST_P(Conformance, GradientAgreesWithFiniteDifferences) {
  const Case& c = GetParam();
  if (!is_differentiable(c)) return;
  GradientCheck check = check_gradient(function_of(c), draw(c.example, 3));
  EXPECT_TRUE(check.ok) << check.why;
}

// The gradient as a function of the inputs and of the seed, differentiated once more.
TEST_P(Conformance, SecondOrderGradientAgreesWithFiniteDifferences) {
  const Case& c = GetParam();
  if (!is_differentiable(c)) return;
  auto first_order = [&](const Values& v) -> Values {
    Values outputs, weights, wrt;
    for (const Value& y : function_of(c)(v))
      if (y.dtype() == DType::f64) outputs.push_back(y), weights.push_back(sin(y));
    for (const Value& x : v)
      if (x.dtype() == DType::f64) wrt.push_back(x);
    return gradients(outputs, weights, wrt);
  };
  try {
    GradientCheck check = check_gradient(first_order, draw(c.example, 4), {.relative = 1e-4, .absolute = 1e-6});
    EXPECT_TRUE(check.ok) << check.why;
  } catch (const Error& e) {  // an op may refuse second order, and says so
    EXPECT_NE(std::string(e.what()).find("has no gradient"), std::string::npos) << e.what();
  }
}

TEST_P(Conformance, OverwritingAnInputGivesTheSameBits) {
  const Case& c = GetParam();
  std::vector<Tensor> inputs = draw(c.example, 5);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!(c.op->may_overwrite >> k & 1)) continue;
    std::vector<Tensor> expected = run(*c.op, inputs, c.example.attributes);
    if (expected[0].bytes() != inputs[k].bytes()) continue;
    std::vector<Type> types, output_types;
    std::vector<Tensor> own = inputs, outputs = expected;
    own[k] = inputs[k].clone();
    for (Tensor& t : outputs) t = t.clone();
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const Tensor& t : own) types.push_back(t.type()), in.push_back(t.data());
    for (const Tensor& t : outputs) output_types.push_back(t.type()), out.push_back(t.data());
    out[0] = own[k].data();
    Kernel kernel = c.op->forward({*c.op, types, c.example.attributes, output_types});
    Tensor scratch = Tensor::empty({DType::boolean, {kernel.scratch_bytes}});
    kernel.run({in, out, scratch.data()});
    EXPECT_EQ(std::memcmp(own[k].data(), expected[0].data(), static_cast<std::size_t>(expected[0].bytes())), 0)
        << "over input " << k;
  }
}

TEST_P(Conformance, UpdatingInPlaceGivesTheSameBits) {
  const Case& c = GetParam();
  if (c.op->updates == 0) return;
  std::vector<Tensor> inputs = draw(c.example, 6), expected = run(*c.op, inputs, c.example.attributes);
  std::vector<Type> types, output_types;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (Tensor& t : inputs) t = t.clone(), types.push_back(t.type()), in.push_back(t.data());
  for (std::size_t k = 0; k < expected.size(); ++k)
    output_types.push_back(expected[k].type()), out.push_back(inputs[k].data());
  ASSERT_EQ(static_cast<int>(out.size()), c.op->updates);
  c.op->forward({*c.op, types, c.example.attributes, output_types}).run({in, out, nullptr});
  for (std::size_t k = 0; k < expected.size(); ++k) EXPECT_TRUE(same_bits(inputs[k], expected[k])) << "output " << k;
}

TEST_P(Conformance, CostIsFiniteAndNotNegative) {
  const Case& c = GetParam();
  std::vector<Type> types = types_of(c.example);
  std::vector<Type> outputs = c.op->infer({*c.op, types, c.example.attributes});
  Cost cost = cost_of({*c.op, types, c.example.attributes, outputs});
  EXPECT_TRUE(cost.flops >= 0 && cost.bytes >= 0 && std::isfinite(cost.flops) && std::isfinite(cost.bytes));
}

// Either the op takes it, or it says why not, beginning with its name.
void expect_named_refusal_or_success(const Op& op, const std::vector<Type>& types, const Attributes& attributes) {
  try {
    op.infer({op, types, attributes});
  } catch (const Error& e) {
    std::string what = e.what();
    EXPECT_TRUE(what.starts_with("[" + std::string(op.name) + "] ")) << what;
    EXPECT_NE(what.find(": "), std::string::npos) << "says no remedy: " << what;
  }
}

TEST_P(Conformance, WrongInputsAreRefusedByName) {
  const Case& c = GetParam();
  std::vector<Type> types = types_of(c.example);
  for (std::size_t k = 0; k < types.size(); ++k) {
    for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean, DType::f16}) {
      std::vector<Type> wrong = types;
      wrong[k].dtype = dtype;
      expect_named_refusal_or_success(*c.op, wrong, c.example.attributes);
    }
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{0}, Shape{2, 3, 1, 2, 5}, Shape{1, 1}}) {
      std::vector<Type> wrong = types;
      wrong[k].shape = shape;
      expect_named_refusal_or_success(*c.op, wrong, c.example.attributes);
    }
  }
  if (!types.empty()) expect_named_refusal_or_success(*c.op, {types.begin() + 1, types.end()}, c.example.attributes);
  types.insert(types.end(), 5, Type{DType::f32, {2}});
  expect_named_refusal_or_success(*c.op, types, c.example.attributes);
}

TEST_P(Conformance, WrongAttributesAreRefusedByName) {
  const Case& c = GetParam();
  std::vector<Type> types = types_of(c.example);
  const Attribute odd[] = {std::int64_t{-1},
                           std::int64_t{99},
                           0.5,
                           std::string("nonsense"),
                           std::vector<std::int64_t>{},
                           std::vector<std::int64_t>{9, -9, 0, 0, 7},
                           std::vector<double>{NAN}};
  for (const auto& [name, value] : c.example.attributes) {
    for (const Attribute& a : odd) {
      Attributes wrong = c.example.attributes;
      wrong.set(name, a);
      expect_named_refusal_or_success(*c.op, types, wrong);
    }
    Attributes fewer;
    for (const auto& [other, kept] : c.example.attributes)
      if (other != name) fewer.set(other, kept);
    expect_named_refusal_or_success(*c.op, types, fewer);
  }
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.op->name) + "_" + std::to_string(info.param.number);
}
void PrintTo(const Case& c, std::ostream* out) { *out << c.op->name << " example " << c.number; }

INSTANTIATE_TEST_SUITE_P(Ops, Conformance, testing::ValuesIn(all_cases()), case_name);

TEST(Registry, EveryOpHasExamplesAndALineOfDocumentation) {
  for (const Op* op : all_ops()) {
    bool needs_examples = op != &input_op && op != &constant_op;
    EXPECT_FALSE(op->doc.empty()) << op->name;
    EXPECT_TRUE(!needs_examples || !op->examples.empty()) << op->name;
  }
}

}  // namespace
}  // namespace reprise::conformance_tests
