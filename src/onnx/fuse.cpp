// SPDX-License-Identifier: Apache-2.0
#include "onnx/fuse.h"

#include <numbers>

#include "onnx/operators.h"
#include "onnx/pattern.h"

namespace reprise::onnx {
namespace {

using Nodes = std::set<std::size_t>;
using At = std::optional<std::size_t>;

struct Fusion {
  Nodes nodes;
  std::size_t last = 0;  // makes the pattern's result
  Node node;
};

Node fused_node(const Web& web, std::size_t last, std::string op, std::vector<std::string> inputs,
                std::vector<NodeAttribute> attributes) {
  const Node& old = web.node(last);
  return {old.name,          std::move(op),    std::string(fused_domain),
          std::move(inputs), {old.outputs[0]}, std::move(attributes)};
}

// --- Norms: the mean of squares over trailing axes, kept.

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

// Joins `Mul by a weight` to the pattern; gives the weight.
std::string with_weight(const Web& web, Fusion& f, std::string_view op, std::size_t dims) {
  At next = web.reader(f.last, op);
  if (!next) return {};
  std::string weight = other_operand(web.node(*next), web.node(f.last).outputs[0]);
  if (!web.is_weight(weight, dims)) return {};
  f.nodes.insert(*next);
  f.last = *next;
  return weight;
}

std::vector<NodeAttribute> norm_attributes(const RootMeanSquare& r) {
  return {{"axes", r.axes}, {"epsilon", static_cast<float>(r.epsilon)}};
}

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

// --- GELU: x / 2 · (1 + f(x)), its factors in any order.

// From `1 + f` forward until the product is complete.
std::optional<Fusion> gelu_from(const Web& web, std::size_t plus_one, const std::string& x, Nodes nodes,
                                std::string op) {
  Monomial product;
  std::size_t at = plus_one;
  for (int factors = 0; factors < 2; ++factors) {
    At next = web.reader(at, "Mul");
    if (!next) return std::nullopt;
    auto factor = monomial(web, other_operand(web.node(*next), web.node(at).outputs[0]), x, nodes);
    if (!factor) return std::nullopt;
    product = {product.coefficient * factor->coefficient, product.power + factor->power};
    nodes.insert({at, *next});
    at = *next;
    if (is_close(product, 0.5, 1)) return Fusion{nodes, at, fused_node(web, at, std::move(op), {x}, {})};
  }
  return std::nullopt;
}

// The x of factor · x.
std::string scaled_name(const Web& web, const std::string& name) {
  for (const char* op : {"Mul", "Div"})
    if (At i = web.maker(name, op)) {
      const Node& node = web.node(*i);
      return web.number(node.inputs[1])                   ? node.inputs[0]
             : op[0] == 'M' && web.number(node.inputs[0]) ? node.inputs[1]
                                                          : "";
    }
  return {};
}

At plus_one_after(const Web& web, std::size_t i) {
  At plus = web.reader(i, "Add");
  if (plus && !web.is_number(other_operand(web.node(*plus), web.node(i).outputs[0]), 1)) plus.reset();
  return plus;
}

std::optional<Fusion> gelu_at(const Web& web, std::size_t i) {
  if (web.node(i).op != "Erf") return std::nullopt;
  std::string x = scaled_name(web, web.node(i).inputs[0]);
  Nodes nodes{i};
  At plus = plus_one_after(web, i);
  if (x.empty() || !plus || !is_close(monomial(web, web.node(i).inputs[0], x, nodes), std::numbers::sqrt2 / 2, 1))
    return std::nullopt;
  return gelu_from(web, *plus, x, nodes, "Gelu");
}

constexpr double tanh_scale = 0.7978845608, tanh_cubic = 0.044715;  // sqrt(2 / pi)

// scale · (x + cubic · x³), or (scale · x) · (1 + cubic · x²)
std::string tanh_argument(const Web& web, const std::string& name, Nodes& nodes) {
  At product = web.maker(name, "Mul");
  for (std::size_t side = 0; product && side < 2; ++side) {
    const std::string &sum = web.node(*product).inputs[side], &factor = web.node(*product).inputs[1 - side];
    At plus = web.maker(sum, "Add");
    for (std::size_t which = 0; plus && which < 2; ++which) {
      const std::string &one = web.node(*plus).inputs[which], &term = web.node(*plus).inputs[1 - which];
      bool has_one = web.is_number(one, 1);
      std::string x = has_one ? scaled_name(web, factor) : one;
      Nodes visited{*product, *plus};
      int power = has_one ? 1 : 0;
      if (x.empty() || !is_close(monomial(web, factor, x, visited), tanh_scale, power) ||
          !is_close(monomial(web, term, x, visited), tanh_cubic, has_one ? 2 : 3))
        continue;
      nodes.insert(visited.begin(), visited.end());
      return x;
    }
  }
  return {};
}

std::optional<Fusion> gelu_tanh_at(const Web& web, std::size_t i) {
  if (web.node(i).op != "Tanh") return std::nullopt;
  Nodes nodes{i};
  std::string x = tanh_argument(web, web.node(i).inputs[0], nodes);
  At plus = plus_one_after(web, i);
  if (x.empty() || !plus) return std::nullopt;
  return gelu_from(web, *plus, x, nodes, "GeluTanh");
}

// --- Products with a transposed weight.

std::optional<Fusion> linear_at(const Web& web, std::size_t i) {
  const Node& product = web.node(i);
  if (product.op != "MatMul" || product.inputs.size() != 2) return std::nullopt;
  At turned = web.maker(product.inputs[1], "Transpose");
  if (!turned) return std::nullopt;
  const Node& transpose = web.node(*turned);
  if (attribute_integers(transpose, "perm") != std::vector<std::int64_t>{1, 0} ||
      !web.is_weight(transpose.inputs[0], 2))
    return std::nullopt;
  Fusion f{{*turned, i}, i, {}};
  std::vector<std::string> inputs{product.inputs[0], transpose.inputs[0]};
  if (std::string bias = with_weight(web, f, "Add", 1); !bias.empty()) inputs.push_back(bias);
  f.node = fused_node(web, f.last, "Linear", inputs, {});
  return f;
}

// --- Attention: softmax(scale · q kᵀ + masks) v.

struct Scores {
  Nodes nodes;
  std::string q, k, mask, hidden;  // hidden: the condition of a Where
  bool hides_where_true = false;
  float hidden_score = 0, divisor = 1, factor = 1;
  std::vector<std::int64_t> k_order;  // of k's dimensions, where it was transposed
};

bool find_product(const Web& web, const std::string& name, Scores& s) {
  At i = web.maker(name, "MatMul");
  if (!i) return false;
  s.nodes.insert(*i);
  s.q = web.node(*i).inputs[0];
  s.k = web.node(*i).inputs[1];
  return true;
}

bool find_scaled(const Web& web, const std::string& name, Scores& s) {
  for (const char* op : {"Div", "Mul"})
    if (At i = web.maker(name, op)) {
      const Node& node = web.node(*i);
      std::size_t side = web.number(node.inputs[1]) ? 1 : 0;
      auto n = web.number(node.inputs[side]);
      if (!n || (op[0] == 'D' && side == 0)) return false;
      (op[0] == 'D' ? s.divisor : s.factor) = static_cast<float>(*n);
      s.nodes.insert(*i);
      return find_product(web, node.inputs[1 - side], s);
    }
  return find_product(web, name, s);
}

bool find_hidden(const Web& web, const std::string& name, Scores& s) {
  At i = web.maker(name, "Where");
  if (!i || web.node(*i).inputs.size() != 3) return find_scaled(web, name, s);
  const Node& node = web.node(*i);
  s.hides_where_true = web.number(node.inputs[1]).has_value();
  auto n = web.number(node.inputs[s.hides_where_true ? 1 : 2]);
  if (!n || *n > -1e4) return false;
  s.hidden = node.inputs[0];
  s.hidden_score = static_cast<float>(*n);
  s.nodes.insert(*i);
  return find_scaled(web, node.inputs[s.hides_where_true ? 2 : 1], s);
}

// The product under what was put around it, from outside: an additive mask, a Where with a large negative number, a
// scale; each may be absent.
std::optional<Scores> find_scores(const Web& web, const std::string& name) {
  At plus = web.maker(name, "Add");
  for (std::size_t side = 0; plus && side < 2; ++side) {
    Scores s;
    s.nodes.insert(*plus);
    s.mask = web.node(*plus).inputs[1 - side];
    if (find_hidden(web, web.node(*plus).inputs[side], s)) return s;
  }
  Scores s;
  if (plus || !find_hidden(web, name, s)) return std::nullopt;
  return s;
}

// kᵀ = Transpose(k'): k is k' with the order's last two exchanged.
void take_order(const Web& web, Scores& s) {
  At i = web.maker(s.k, "Transpose");
  if (!i) return;
  std::vector<std::int64_t> order = attribute_integers(web.node(*i), "perm");
  if (order.size() < 3) return;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  s.k = web.node(*i).inputs[0];
  s.k_order = order;
  s.nodes.insert(*i);
}

bool is_idle(const Web& web, const Node& dropout, bool training) {
  if (!training) return true;
  if (web.opset() < 12) return false;
  if (dropout.inputs.size() < 3 || dropout.inputs[2].empty()) return true;
  auto live = web.number(dropout.inputs[2]), ratio = web.number(dropout.inputs[1]);
  return (live && *live == 0) || (ratio && *ratio == 0);
}

std::optional<Fusion> attention_at(const Web& web, std::size_t i, bool training) {
  const Node& softmax = web.node(i);
  std::int64_t axis = attribute_integer(softmax, "axis", web.opset() < 13 ? 1 : -1);
  if (softmax.op != "Softmax" || softmax.inputs.size() != 1 || (axis != -1 && axis != 3)) return std::nullopt;
  auto found = find_scores(web, softmax.inputs[0]);
  if (!found) return std::nullopt;
  Scores s = *found;
  s.nodes.insert(i);
  std::size_t at = i;
  if (At dropout = web.reader(at, "Dropout")) {
    if (!is_idle(web, web.node(*dropout), training)) return std::nullopt;
    at = *dropout;
    s.nodes.insert(at);
  }
  At product = web.reader(at, "MatMul");
  if (!product || web.node(*product).inputs[0] != web.node(at).outputs[0]) return std::nullopt;
  s.nodes.insert(*product);
  Scores plain = s;
  take_order(web, s);
  if (!web.is_closed(s.nodes, *product)) s = plain;
  Fusion f{s.nodes, *product, {}};
  f.node = fused_node(web, *product, "Attention", {s.q, s.k, web.node(*product).inputs[1], s.mask, s.hidden},
                      {{"axis", axis},
                       {"divisor", s.divisor},
                       {"factor", s.factor},
                       {"hidden_score", s.hidden_score},
                       {"hides_where_true", std::int64_t{s.hides_where_true}},
                       {"k_order", s.k_order}});
  return f;
}

std::optional<Fusion> fusion_at(const Web& web, std::size_t i, bool training) {
  if (!web.node(i).domain.empty() || web.node(i).outputs.empty() || web.node(i).inputs.empty()) return std::nullopt;
  if (auto f = layer_norm_at(web, i)) return f;
  if (auto f = rms_norm_at(web, i)) return f;
  if (auto f = gelu_at(web, i)) return f;
  if (auto f = gelu_tanh_at(web, i)) return f;
  if (auto f = linear_at(web, i)) return f;
  return attention_at(web, i, training);
}

}  // namespace

Fused fuse(const Document& document, std::vector<Node> nodes, bool training) {
  nodes = without_idle_casts(document, std::move(nodes));
  Web web(document, nodes);
  std::map<std::size_t, Node> put;  // at the place of each pattern's last node
  Nodes gone;
  Fused result;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto f = fusion_at(web, i, training);
    if (!f || !web.is_closed(f->nodes, f->last)) continue;
    bool overlaps = false;
    for (std::size_t node : f->nodes) overlaps = overlaps || gone.contains(node);
    if (overlaps) continue;
    gone.insert(f->nodes.begin(), f->nodes.end());
    ++result.counts[f->node.op];
    put.emplace(f->last, std::move(f->node));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (auto found = put.find(i); found != put.end()) result.nodes.push_back(found->second);
    if (!gone.contains(i)) result.nodes.push_back(nodes[i]);
  }
  return result;
}

}  // namespace reprise::onnx
