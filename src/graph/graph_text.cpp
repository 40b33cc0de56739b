// SPDX-License-Identifier: Apache-2.0
// The text form of a graph, a line per node:
//
//     %0 = input() {dtype="f32", shape=[2,3]} : f32[2,3] "x"
//     %1 = tanh(%0) : f32[2,3] keep
//     update %0 = %1
//     return %1
//
// Types are printed for the reader and checked by the parser: ops infer them.
#include <algorithm>

#include "base/error.h"
#include "graph/builtin.h"
#include "graph/text.h"
#include "reprise/graph.h"

namespace reprise {
namespace {

std::string text_of(Ref r) { return "%" + std::to_string(r.node) + (r.output ? ":" + std::to_string(r.output) : ""); }

std::string list(std::span<const Ref> refs) {
  std::string text;
  for (Ref r : refs) text += (text.empty() ? "" : ", ") + text_of(r);
  return text;
}

std::string text_of(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes) text += (text.empty() ? "" : ", ") + name + "=" + to_string(value);
  return text.empty() ? "" : " {" + text + "}";
}

class Parser {
 public:
  Parser(std::string_view text, std::span<const Op* const> user_ops) : scan_(text), user_ops_(user_ops) {}

  Graph parse() {
    while (!scan_.take("return")) {
      if (scan_.take("update"))
        update();
      else
        node();
    }
    while (!scan_.at_end()) {
      graph_.outputs.push_back(ref());
      if (!scan_.take(",")) break;
    }
    if (!scan_.at_end()) scan_.reject("the end");
    return std::move(graph_);
  }

 private:
  void node() {
    scan_.expect("%");
    if (scan_.integer() != graph_.size())
      fail("[parse] nodes must be numbered in order: %{} comes next", graph_.size());
    scan_.expect("=");
    const Op& op = find(scan_.identifier());
    std::vector<Ref> inputs = arguments();
    Attributes attributes = this->attributes();
    std::int32_t i = graph_.add(op, std::move(inputs), std::move(attributes));
    if (&op == &input_op) graph_.inputs.push_back(i);
    scan_.expect(":");
    for (const Type& type : graph_.node(i).outputs)
      if (Type written = scan_.type(); written != type)
        fail("[parse] %{} = {} makes {}, not {}", i, op.name, to_string(type), to_string(written));
    if (scan_.take("keep")) graph_.node(i).hint = Hint::keep;
    if (scan_.take("recompute")) graph_.node(i).hint = Hint::recompute;
    graph_.node(i).is_backward = scan_.take("backward");
    if (scan_.peek() == '"') graph_.node(i).name = scan_.quoted();
  }

  void update() {
    Ref input = ref();
    scan_.expect("=");
    Ref value = ref();
    if (graph_.node(input.node).op != &input_op || graph_.type(input) != graph_.type(value))
      fail("[parse] %{} is not an input that can take over {}", input.node, to_string(graph_.type(value)));
    graph_.updates.push_back({input.node, value});
  }

  const Op& find(const std::string& name) {
    for (const Op* op : user_ops_)
      if (op->name == name) return *op;
    if (const Op* op = find_op(name)) return *op;
    fail("[parse] there is no op '{}'", name);
  }

  std::vector<Ref> arguments() {
    std::vector<Ref> refs;
    scan_.expect("(");
    while (!scan_.take(")")) {
      refs.push_back(ref());
      if (scan_.peek() != ')') scan_.expect(",");
    }
    return refs;
  }

  Attributes attributes() {
    Attributes attributes;
    if (!scan_.take("{")) return attributes;
    while (!scan_.take("}")) {
      std::string name = scan_.identifier();
      scan_.expect("=");
      attributes.set(std::move(name), scan_.attribute());
      if (scan_.peek() != '}') scan_.expect(",");
    }
    return attributes;
  }

  Ref ref() {
    scan_.expect("%");
    std::int64_t node = scan_.integer(), output = scan_.take(":") ? scan_.integer() : 0;
    bool known = node >= 0 && node < graph_.size() && output >= 0 &&
                 output < static_cast<std::int64_t>(graph_.node(static_cast<std::int32_t>(node)).outputs.size());
    if (!known) fail("[parse] %{}:{} is not a value of a node above", node, output);
    return {static_cast<std::int32_t>(node), static_cast<std::int32_t>(output)};
  }

  Scanner scan_;
  std::span<const Op* const> user_ops_;
  Graph graph_;
};

}  // namespace

// What is part of a gradient is told where it matters: where values are recomputed for it.
std::string to_string(const Graph& graph) {
  std::string text;
  const bool tells_backward =
      std::ranges::any_of(graph.nodes(), [](const Node& n) { return n.hint == Hint::recompute; });
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    text += text_of({i, 0}) + " = " + std::string(node.op->name) + "(" + list(node.inputs) + ")" +
            text_of(node.attributes) + " :";
    for (const Type& type : node.outputs) text += " " + to_string(type);
    if (node.hint != Hint::none) text += node.hint == Hint::keep ? " keep" : " recompute";
    if (tells_backward && node.is_backward) text += " backward";
    if (!node.name.empty()) text += " " + quote(node.name);
    text += "\n";
  }
  for (const Update& u : graph.updates) text += "update " + text_of({u.input, 0}) + " = " + text_of(u.value) + "\n";
  return text + "return " + list(graph.outputs) + "\n";
}

Graph parse_graph(std::string_view text, std::span<const Op* const> user_ops) { return Parser(text, user_ops).parse(); }

}  // namespace reprise
