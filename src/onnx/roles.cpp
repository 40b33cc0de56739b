// SPDX-License-Identifier: Apache-2.0
#include "onnx/roles.h"

#include <algorithm>

#include "base/error.h"
#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

struct Reading {
  const Node* node;
  int input;
};

bool is_statistic(const Reading& r) {
  return r.node->op == "BatchNormalization" && r.node->domain.empty() && r.input >= 3;
}

bool decides(const Document& document, const Reading& r) {
  const Operator* op = find_operator(*r.node, opset_of(document, *r.node));
  return op && r.input < 32 && (op->decides >> r.input & 1) != 0;
}

// A single number that an exporter wrote down as an initializer, by the names that exporters give those.
bool is_written_number(const FileTensor& t) {
  bool single = t.type().elements() == 1;
  return single && (t.name.find("Constant") != std::string::npos || t.name.starts_with("onnx::"));
}

Role role_of(const Document& document, const FileTensor& t, const std::vector<Reading>& readings) {
  if (!t.is_float() || readings.empty() || is_written_number(t)) return Role::constant;
  if (std::ranges::all_of(readings, [&](const Reading& r) { return decides(document, r); })) return Role::constant;
  if (std::ranges::any_of(readings, is_statistic)) return readings.size() == 1 ? Role::statistic : Role::constant;
  return Role::trained;
}

std::int64_t attribute_or(const Node& node, std::string_view name, std::int64_t otherwise) {
  for (const NodeAttribute& a : node.attributes)
    if (const auto* value = std::get_if<std::int64_t>(&a.value); value && a.name == name) return *value;
  return otherwise;
}

bool normalizes_by_batch(const Document& document, const Node& node) {
  std::int64_t opset = opset_of(document, node);
  if (opset >= 14) return attribute_or(node, "training_mode", 0) != 0;
  auto named = std::ranges::count_if(node.outputs, [](const std::string& name) { return !name.empty(); });
  return opset < 7 ? attribute_or(node, "is_test", 0) == 0 : named > 1;
}

constexpr std::string_view advice =
    "to train them as they were trained, export in training mode "
    "(PyTorch: torch.onnx.export(..., training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False))";

}  // namespace

std::int64_t opset_of(const Document& document, const Node& node) {
  if (node.domain == fused_domain) return 1;
  auto found = document.opsets.find(node.domain);
  return found == document.opsets.end() ? (node.domain.empty() ? 0 : 1) : found->second;
}

Roles find_roles(const Document& document, const std::vector<Node>& nodes) {
  Roles roles;
  for (const FileTensor& t : document.initializers) roles.origin[t.name] = t.name;
  std::map<std::string, std::vector<Reading>> readings;  // by initializer
  for (const Node& node : nodes) {
    if (node.op == "Identity" && node.domain.empty() && node.inputs.size() == 1 && node.outputs.size() == 1) {
      auto from = roles.origin.find(node.inputs[0]);
      if (from != roles.origin.end()) roles.origin[node.outputs[0]] = from->second;
      continue;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (auto from = roles.origin.find(node.inputs[i]); from != roles.origin.end())
        readings[from->second].push_back({&node, static_cast<int>(i)});
  }
  for (const Declared& output : document.outputs)  // an initializer that is an output is not unused
    if (auto from = roles.origin.find(output.name); from != roles.origin.end()) readings[from->second];
  for (const FileTensor& t : document.initializers) {
    const std::vector<Reading>& by = readings[t.name];
    roles.of[t.name] = role_of(document, t, by);
    if (by.size() > 1 && std::ranges::any_of(by, is_statistic))
      roles.notes.push_back(
          fmt::format("the running statistic '{}' is shared by {} readers and stays as it is", t.name, by.size()));
  }
  return roles;
}

std::vector<std::string> notes_on(const Document& document, const std::vector<Node>& nodes) {
  std::int64_t fixed_norms = 0, batch_norms = 0, biased_convs = 0, dropouts = 0;
  for (const Node& node : nodes) {
    if (!node.domain.empty()) continue;
    if (node.op == "Dropout") ++dropouts;
    if (node.op == "Conv" && node.inputs.size() == 3) ++biased_convs;
    if (node.op == "BatchNormalization") ++(normalizes_by_batch(document, node) ? batch_norms : fixed_norms);
  }
  std::vector<std::string> notes;
  if (fixed_norms > 0)
    notes.push_back(fmt::format("exported for inference: {} batch norm{} by running statistics, which stay; {}",
                                fixed_norms, fixed_norms == 1 ? " normalizes" : "s normalize", advice));
  if (biased_convs > 0 && fixed_norms + batch_norms + dropouts == 0)
    notes.push_back(fmt::format(
        "{} convolution{} a bias and there is no batch norm: if the network had batch norms, the exporter folded them "
        "away for inference; {}",
        biased_convs, biased_convs == 1 ? " has" : "s have", advice));
  return notes;
}

}  // namespace reprise::onnx
