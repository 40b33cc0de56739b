// SPDX-License-Identifier: Apache-2.0
#include "onnx/fuse.h"

#include "onnx/fusion.h"
#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

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

Node fused_node(const Web& web, std::size_t last, std::string op, std::vector<std::string> inputs,
                std::vector<NodeAttribute> attributes) {
  const Node& old = web.node(last);
  return {old.name,          std::move(op),    std::string(fused_domain),
          std::move(inputs), {old.outputs[0]}, std::move(attributes)};
}

std::string with_weight(const Web& web, Fusion& f, std::string_view op, std::size_t dims) {
  At next = web.reader(f.last, op);
  if (!next) return {};
  std::string weight = other_operand(web.node(*next), web.node(f.last).outputs[0]);
  if (!web.is_weight(weight, dims)) return {};
  f.nodes.insert(*next);
  f.last = *next;
  return weight;
}

// x Wᵀ + bias, with the weight transposed by a node of its own.
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
