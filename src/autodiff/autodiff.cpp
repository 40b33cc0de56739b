// SPDX-License-Identifier: Apache-2.0
// The public face of reverse mode. The walk itself is graph/backpropagate.
#include "reprise/autodiff.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "graph/backpropagate.h"
#include "ops/rules.h"

namespace reprise {
namespace {

void expect_scalar(const Value& y) {
  if (y.type().elements() != 1 || !is_float(y.dtype()))
    fail(
        "[grad] the function's value is {}, a gradient needs one float: reduce it with sum or mean, or give seeds to "
        "vjp",
        to_string(y.type()));
}

void expect_float_inputs(const Values& wrt) {
  for (std::size_t i = 0; i < wrt.size(); ++i)
    if (!is_float(wrt[i].dtype()))
      fail("[grad] {} has no gradient (number {} of those asked for): leave it out, or cast it to a float first",
           to_string(wrt[i].type()), i);
}

Values floats_of(const Values& values) {
  Values floats;
  std::ranges::copy_if(values, std::back_inserter(floats), [](const Value& v) { return is_float(v.dtype()); });
  return floats;
}

Values select(const Values& values, std::span<const int> which) {
  Values selected;
  for (int i : which) {
    if (i < 0 || static_cast<std::size_t>(i) >= values.size())
      fail("[grad] there is no input {}: the function has {}", i, values.size());
    selected.push_back(values[static_cast<std::size_t>(i)]);
  }
  return selected;
}

std::vector<Type> types_of(std::span<const Tensor> tensors) {
  std::vector<Type> types;
  for (const Tensor& t : tensors) types.push_back(t.type());
  return types;
}

Values append(Values a, const Values& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

Values gradients(const Values& outputs, const Values& seeds, const Values& wrt) {
  for (std::size_t i = 0; i < outputs.size() && i < seeds.size(); ++i)
    if (seeds[i].type() != outputs[i].type())
      fail("[grad] seed {} is {}, its output is {}: they must be of one type", i, to_string(seeds[i].type()),
           to_string(outputs[i].type()));
  expect_float_inputs(wrt);
  Values result = backpropagate(outputs, seeds, wrt);
  for (std::size_t i = 0; i < wrt.size(); ++i)
    if (!result[i]) result[i] = zeros_like(wrt[i]);
  return result;
}

Values gradients(const Value& y, const Values& wrt) {
  expect_scalar(y);
  return gradients(Values{y}, {full_like(y, 1)}, wrt);
}

Graph gradient(const Graph& graph, std::span<const int> wrt) {
  if (graph.outputs.empty()) fail("[grad] the graph has no output");
  auto recording = std::make_shared<Graph>(graph);
  Values inputs;
  for (std::int32_t i : graph.inputs) inputs.emplace_back(recording, Ref{i, 0});
  Value y(recording, graph.outputs[0]);
  recording->outputs = {y.ref()};
  for (const Value& g : gradients(y, select(inputs, wrt))) recording->outputs.push_back(g.ref());
  return *recording;
}

Vjp vjp(const Function& f, const std::vector<Tensor>& inputs, const std::vector<Tensor>& seeds) {
  std::size_t output_count = 0;
  auto whole = [&](const Values& v) -> Values {
    Values outputs = f(v);
    output_count = outputs.size();
    return append(outputs, gradients(outputs, Values(seeds.begin(), seeds.end()), floats_of(v)));
  };
  std::vector<Tensor> results = evaluate(trace(whole, types_of(inputs)), inputs);
  auto next = results.begin() + static_cast<std::ptrdiff_t>(output_count);
  Vjp result{{results.begin(), next}, {}};
  for (const Tensor& t : inputs) result.gradients.push_back(is_float(t.dtype()) ? *next++ : Tensor{});
  return result;
}

namespace detail {

std::pair<Value, Values> record_gradient(const Function& f, std::span<const int> wrt, const Values& inputs) {
  Values outputs = f(inputs);
  if (outputs.size() != 1)
    fail("[grad] the function gives {} values, a gradient needs one: use vjp for several", outputs.size());
  return {outputs[0], gradients(outputs[0], select(inputs, wrt))};
}

ValueAndGradients run_gradient(const Function& f, std::span<const int> wrt, std::span<const Tensor> inputs) {
  auto whole = [&](const Values& v) -> Values {
    auto [y, gradients] = record_gradient(f, wrt, v);
    return append({y}, gradients);
  };
  std::vector<Tensor> results = evaluate(trace(whole, types_of(inputs)), inputs);
  return {results[0], {results.begin() + 1, results.end()}};
}

}  // namespace detail
}  // namespace reprise
