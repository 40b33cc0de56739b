// SPDX-License-Identifier: Apache-2.0
// GELU: x / 2 · (1 + f(x)), its factors in any order.
#include <numbers>

#include "onnx/fusion.h"

namespace reprise::onnx {
namespace {

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

}  // namespace

std::optional<Fusion> gelu_at(const Web& web, std::size_t i) {
  if (web.node(i).op != "Erf") return std::nullopt;
  std::string x = scaled_name(web, web.node(i).inputs[0]);
  Nodes nodes{i};
  At plus = plus_one_after(web, i);
  if (x.empty() || !plus || !is_close(monomial(web, web.node(i).inputs[0], x, nodes), std::numbers::sqrt2 / 2, 1))
    return std::nullopt;
  return gelu_from(web, *plus, x, nodes, "Gelu");
}

std::optional<Fusion> gelu_tanh_at(const Web& web, std::size_t i) {
  if (web.node(i).op != "Tanh") return std::nullopt;
  Nodes nodes{i};
  std::string x = tanh_argument(web, web.node(i).inputs[0], nodes);
  At plus = plus_one_after(web, i);
  if (x.empty() || !plus) return std::nullopt;
  return gelu_from(web, *plus, x, nodes, "GeluTanh");
}

}  // namespace reprise::onnx
