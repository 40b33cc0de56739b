// SPDX-License-Identifier: Apache-2.0
// Attention: softmax(scale · q kᵀ + masks) v.
#include "onnx/fusion.h"

namespace reprise::onnx {
namespace {

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

}  // namespace

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

}  // namespace reprise::onnx
