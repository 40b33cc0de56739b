// SPDX-License-Identifier: Apache-2.0
#include "onnx/pattern.h"

#include <algorithm>
#include <cmath>

#include "onnx/order.h"

namespace reprise::onnx {
namespace {

constexpr int deepest_product = 8;

bool is_same_number(double a, double b) { return std::fabs(a - b) <= 1e-5 * std::fabs(b); }

std::optional<Monomial> times(const std::optional<Monomial>& a, const std::optional<Monomial>& b) {
  if (!a || !b) return std::nullopt;
  return Monomial{a->coefficient * b->coefficient, a->power + b->power};
}

std::optional<Monomial> monomial_within(const Web& web, const std::string& name, const std::string& x,
                                        std::set<std::size_t>& visited, int depth) {
  if (name == x) return Monomial{1, 1};
  if (auto n = web.number(name)) return Monomial{*n, 0};
  if (depth == 0) return std::nullopt;
  auto part = [&](const std::string& operand) { return monomial_within(web, operand, x, visited, depth - 1); };
  if (auto i = web.maker(name, "Mul")) {
    visited.insert(*i);
    return times(part(web.node(*i).inputs[0]), part(web.node(*i).inputs[1]));
  }
  if (auto i = web.maker(name, "Div")) {
    visited.insert(*i);
    auto divisor = web.number(web.node(*i).inputs[1]);
    if (!divisor || *divisor == 0) return std::nullopt;
    return times(part(web.node(*i).inputs[0]), Monomial{1 / *divisor, 0});
  }
  if (auto i = web.maker(name, "Pow")) {
    visited.insert(*i);
    auto base = part(web.node(*i).inputs[0]);
    auto exponent = web.number(web.node(*i).inputs[1]);
    if (!base || !exponent || (*exponent != 2 && *exponent != 3)) return std::nullopt;
    return Monomial{std::pow(base->coefficient, *exponent), base->power * static_cast<int>(*exponent)};
  }
  return std::nullopt;
}

}  // namespace

Web::Web(const Document& document, const std::vector<Node>& nodes) : nodes_(nodes) {
  if (auto own = document.opsets.find(""); own != document.opsets.end()) opset_ = own->second;
  for (const Declared& output : document.outputs) outputs_.insert(output.name);
  for (const FileTensor& t : document.initializers) initializers_[t.name] = &t;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i].outputs) maker_[name] = i;
    for (const std::string& name : names_read(nodes[i])) readers_[name].push_back(i);
  }
}

std::optional<std::size_t> Web::maker(const std::string& name, std::string_view op) const {
  auto found = maker_.find(name);
  if (name.empty() || found == maker_.end()) return std::nullopt;
  const Node& node = nodes_[found->second];
  bool fits = node.op == op && node.domain.empty() && node.outputs[0] == name;
  bool two = op != "Mul" && op != "Div" && op != "Add" && op != "Sub" && op != "Pow" && op != "MatMul";
  if (!fits || node.inputs.empty() || (!two && node.inputs.size() != 2)) return std::nullopt;
  return found->second;
}

std::optional<std::size_t> Web::reader(std::size_t node, std::string_view op) const {
  const std::string& name = nodes_[node].outputs[0];
  auto found = readers_.find(name);
  if (outputs_.contains(name) || found == readers_.end() || found->second.size() != 1) return std::nullopt;
  const Node& by = nodes_[found->second[0]];
  return by.outputs.empty() ? std::nullopt : maker(by.outputs[0], op);
}

bool Web::is_closed(const std::set<std::size_t>& nodes, std::size_t last) const {
  for (std::size_t i : nodes) {
    if (i == last) continue;
    for (const std::string& name : nodes_[i].outputs) {
      if (outputs_.contains(name)) return false;
      auto found = readers_.find(name);
      if (found == readers_.end()) continue;
      if (!std::ranges::all_of(found->second, [&](std::size_t r) { return nodes.contains(r); })) return false;
    }
  }
  return true;
}

const FileTensor* Web::constant(const std::string& name) const {
  if (auto found = initializers_.find(name); found != initializers_.end()) return found->second;
  auto i = maker_.find(name);
  if (i == maker_.end() || nodes_[i->second].op != "Constant") return nullptr;
  for (const NodeAttribute& a : nodes_[i->second].attributes)
    if (const auto* t = std::get_if<FileTensor>(&a.value)) return t;
  return nullptr;
}

std::optional<double> Web::number(const std::string& name) const {
  if (const FileTensor* t = constant(name)) {
    bool single = std::ranges::all_of(t->dims, [](std::int64_t d) { return d == 1; });
    if (!single || t->data_type == element_string) return std::nullopt;
    return t->read().to(DType::f64).item();
  }
  if (auto cast = maker(name, "Cast"); cast && attribute_integer(nodes_[*cast], "to", 0) == element_float) {
    const std::string& before = nodes_[*cast].inputs[0];
    return maker(before, "Cast") ? std::nullopt : number(before);
  }
  auto i = maker_.find(name);
  if (i == maker_.end() || nodes_[i->second].op != "Constant") return std::nullopt;
  for (const NodeAttribute& a : nodes_[i->second].attributes) {
    if (const auto* real = std::get_if<float>(&a.value)) return static_cast<double>(*real);
    if (const auto* integer = std::get_if<std::int64_t>(&a.value)) return static_cast<double>(*integer);
  }
  return std::nullopt;
}

bool Web::is_number(const std::string& name, double wanted) const {
  auto n = number(name);
  return n && is_same_number(*n, wanted);
}

std::vector<std::int64_t> Web::integers(const std::string& name) const {
  const FileTensor* t = constant(name);
  if (!t || t->data_type != element_int64 || t->dims.size() > 1 ||
      (t->dims.size() == 1 && t->dims[0] > Shape::max_rank))
    return {};
  return t->read().to_vector<std::int64_t>();
}

bool Web::is_weight(const std::string& name, std::size_t dims) const {
  auto found = initializers_.find(name);
  return found != initializers_.end() && found->second->is_float() && found->second->dims.size() == dims;
}

std::int64_t attribute_integer(const Node& node, std::string_view name, std::int64_t otherwise) {
  for (const NodeAttribute& a : node.attributes)
    if (const auto* value = std::get_if<std::int64_t>(&a.value); value && a.name == name) return *value;
  return otherwise;
}

std::vector<std::int64_t> attribute_integers(const Node& node, std::string_view name) {
  for (const NodeAttribute& a : node.attributes)
    if (const auto* value = std::get_if<std::vector<std::int64_t>>(&a.value); value && a.name == name) return *value;
  return {};
}

std::string other_operand(const Node& node, const std::string& name) {
  if (node.inputs.size() != 2) return {};
  return node.inputs[0] == name ? node.inputs[1] : node.inputs[1] == name ? node.inputs[0] : std::string();
}

std::optional<Monomial> monomial(const Web& web, const std::string& name, const std::string& x,
                                 std::set<std::size_t>& visited) {
  std::set<std::size_t> nodes;
  auto result = monomial_within(web, name, x, nodes, deepest_product);
  if (result) visited.insert(nodes.begin(), nodes.end());
  return result;
}

bool is_close(const std::optional<Monomial>& m, double coefficient, int power) {
  return m && m->power == power && std::fabs(m->coefficient - coefficient) <= 1e-4 * std::fabs(coefficient);
}

}  // namespace reprise::onnx
