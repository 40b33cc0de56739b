// SPDX-License-Identifier: Apache-2.0
// Norms: the mean of squares over trailing axes, kept.
#include "onnx/fusion.h"

namespace reprise::onnx {
namespace {

struct MeanOf {
  std::size_t node;
  std::string x;
  std::vector<std::int64_t> axes;
};

std::optional<MeanOf> mean_of(const Web& web, const std::string& name) {
  At i = web.maker(name, "ReduceMean");
  if (!i || attribute_integer(web.node(*i), "keepdims", 1) == 0) return std::nullopt;
  const Node& node = web.node(*i);
  auto axes = web.opset() < 18          ? attribute_integers(node, "axes")
              : node.inputs.size() == 2 ? web.integers(node.inputs[1])
                                        : std::vector<std::int64_t>{};
  if (axes.empty()) return std::nullopt;
  return MeanOf{*i, node.inputs[0], axes};
}

// sqrt(mean(d²) + epsilon)
struct RootMeanSquare {
  Nodes nodes;
  std::string d;
  std::vector<std::int64_t> axes;
  double epsilon = 0;
};

std::optional<std::string> squared(const Web& web, const std::string& name, Nodes& nodes) {
  if (At i = web.maker(name, "Pow"); i && web.is_number(web.node(*i).inputs[1], 2)) {
    nodes.insert(*i);
    return web.node(*i).inputs[0];
  }
  if (At i = web.maker(name, "Mul"); i && web.node(*i).inputs[0] == web.node(*i).inputs[1]) {
    nodes.insert(*i);
    return web.node(*i).inputs[0];
  }
  return std::nullopt;
}

std::optional<RootMeanSquare> root_mean_square(const Web& web, const std::string& name) {
  At root = web.maker(name, "Sqrt");
  At plus = root ? web.maker(web.node(*root).inputs[0], "Add") : At{};
  if (!plus) return std::nullopt;
  const Node& add = web.node(*plus);
  bool second = web.number(add.inputs[1]).has_value();
  auto epsilon = web.number(add.inputs[second ? 1 : 0]);
  auto mean = mean_of(web, add.inputs[second ? 0 : 1]);
  if (!epsilon || !mean) return std::nullopt;
  RootMeanSquare r{{*root, *plus, mean->node}, {}, mean->axes, *epsilon};
  auto d = squared(web, mean->x, r.nodes);
  if (!d) return std::nullopt;
  r.d = *d;
  return r;
}

std::vector<NodeAttribute> norm_attributes(const RootMeanSquare& r) {
  return {{"axes", r.axes}, {"epsilon", static_cast<float>(r.epsilon)}};
}

}  // namespace

// (x - mean(x)) / sqrt(mean((x - mean(x))²) + epsilon) · weight + bias
std::optional<Fusion> layer_norm_at(const Web& web, std::size_t i) {
  const Node& div = web.node(i);
  if (div.op != "Div" || div.inputs.size() != 2) return std::nullopt;
  auto r = root_mean_square(web, div.inputs[1]);
  At centred = web.maker(div.inputs[0], "Sub"), squares = r ? web.maker(r->d, "Sub") : At{};
  if (!r || !centred || !squares) return std::nullopt;
  const std::string& x = web.node(*centred).inputs[0];
  auto mu = mean_of(web, web.node(*centred).inputs[1]), mu2 = mean_of(web, web.node(*squares).inputs[1]);
  if (!mu || !mu2 || mu->x != x || mu2->x != x || web.node(*squares).inputs[0] != x || mu->axes != r->axes ||
      mu2->axes != r->axes)
    return std::nullopt;
  Fusion f{r->nodes, i, {}};
  f.nodes.insert({i, *centred, *squares, mu->node, mu2->node});
  std::vector<std::string> inputs{x};
  if (std::string weight = with_weight(web, f, "Mul", r->axes.size()); !weight.empty()) {
    inputs.push_back(weight);
    if (std::string bias = with_weight(web, f, "Add", r->axes.size()); !bias.empty()) inputs.push_back(bias);
  }
  f.node = fused_node(web, f.last, "LayerNorm", inputs, norm_attributes(*r));
  return f;
}

// x / sqrt(mean(x²) + epsilon) · weight, the root as a divisor or as its reciprocal's factor.
std::optional<Fusion> rms_norm_at(const Web& web, std::size_t i) {
  const Node& node = web.node(i);
  if ((node.op != "Div" && node.op != "Mul") || node.inputs.size() != 2) return std::nullopt;
  for (int side = node.op == "Div" ? 1 : 0; side < 2; ++side) {
    std::string x = node.inputs[static_cast<std::size_t>(1 - side)], root = node.inputs[static_cast<std::size_t>(side)];
    Nodes nodes{i};
    if (node.op == "Mul") {
      At inverse = web.maker(root, "Reciprocal");
      At quotient = inverse ? At{} : web.maker(root, "Div");
      if (quotient && !web.is_number(web.node(*quotient).inputs[0], 1)) quotient.reset();
      if (!inverse && !quotient) continue;
      nodes.insert(inverse ? *inverse : *quotient);
      root = inverse ? web.node(*inverse).inputs[0] : web.node(*quotient).inputs[1];
    }
    auto r = root_mean_square(web, root);
    if (!r || r->d != x) continue;
    Fusion f{r->nodes, i, {}};
    f.nodes.insert(nodes.begin(), nodes.end());
    std::string weight = with_weight(web, f, "Mul", r->axes.size());
    if (weight.empty()) continue;
    f.node = fused_node(web, f.last, "RmsNorm", {x, weight}, norm_attributes(*r));
    return f;
  }
  return std::nullopt;
}

}  // namespace reprise::onnx
