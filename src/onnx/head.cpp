// SPDX-License-Identifier: Apache-2.0
#include "onnx/head.h"

#include <algorithm>

#include "base/error.h"

namespace reprise::onnx {
namespace {

const FileTensor* initializer_named(const Document& document, const std::string& name) {
  auto found = std::ranges::find(document.initializers, name, &FileTensor::name);
  return found == document.initializers.end() ? nullptr : &*found;
}

std::int64_t uses_of(const Document& document, const std::string& value) {
  std::int64_t uses = 0;
  for (const Node& node : document.nodes) uses += std::ranges::count(node.inputs, value);
  return uses;
}

const FileTensor* constant_value(const Node& node) {
  if (node.op != "Constant" || !node.domain.empty() || node.outputs.size() != 1) return nullptr;
  for (const NodeAttribute& a : node.attributes)
    if (a.name == "value") return std::get_if<FileTensor>(&a.value);
  return nullptr;
}

std::int64_t element_count(const FileTensor& tensor) {
  std::int64_t count = 1;
  for (std::int64_t size : tensor.dims) count *= size;
  return count;
}

// Finds the last layer, going back from an output.
class HeadFinder {
 public:
  HeadFinder(const Document& document, const std::string& output) : document_(document), output_(output) {}

  Head find() {
    for (std::string at = output_;;) {
      const Node* node = producer_of(document_, at);
      if (!node) refuse("no Gemm, MatMul or Conv leads to it");
      if (node->op == "Gemm") return gemm(*node);
      if (node->op == "MatMul") return {node->name, {matrix(*node, 1)}};
      if (node->op == "Conv") return convolution(*node);
      if (node->op == "Add") return sum(*node);
      if (!is_transparent(node->op)) refuse(fmt::format("the {} '{}' leads to it", node->op, node->name));
      at = node->inputs.at(0);
    }
  }

 private:
  static bool is_transparent(const std::string& op) {
    static const std::set<std::string> ops = {"Identity", "Relu",    "Dropout", "GlobalAveragePool", "GlobalMaxPool",
                                              "Flatten",  "Squeeze", "Softmax", "LogSoftmax",        "Sigmoid"};
    return ops.contains(op);
  }

  [[noreturn]] void refuse(const std::string& why) const {
    fail("[onnx] '{}': '{}' has no last layer that could be made anew: {}", document_.path, output_, why);
  }

  const FileTensor& weight(const std::string& name) const {
    const FileTensor* tensor = initializer_named(document_, name);
    if (!tensor || !tensor->is_float()) refuse(fmt::format("'{}' is no initializer", name));
    if (uses_of(document_, name) != 1) refuse(fmt::format("its weights '{}' are used elsewhere too", name));
    return *tensor;
  }

  // The matrix [inputs, outputs], or the other way round if it is transposed first.
  Head::Part matrix(const Node& node, std::size_t input) const {
    std::string name = node.inputs.at(input);
    const Node* turn = producer_of(document_, name);
    bool is_turned = turn && turn->op == "Transpose";
    if (is_turned) name = turn->inputs.at(0);
    if (integer_attribute(node, "transB", 0) != 0) is_turned = !is_turned;
    const FileTensor& w = weight(name);
    if (w.dims.size() != 2) refuse(fmt::format("'{}' is no matrix", name));
    return {name, is_turned ? std::size_t{0} : std::size_t{1}, w.dims[is_turned ? 1 : 0]};
  }

  Head::Part bias(const std::string& name, std::int64_t inputs) const {
    const FileTensor& b = weight(name);
    if (b.dims.empty()) refuse(fmt::format("its bias '{}' is one number for all", name));
    return {name, b.dims.size() - 1, inputs};
  }

  Head gemm(const Node& node) const {
    Head head{node.name, {matrix(node, 1)}};
    if (node.inputs.size() > 2 && !node.inputs[2].empty())
      head.parts.push_back(bias(node.inputs[2], head.parts[0].inputs));
    return head;
  }

  Head convolution(const Node& node) const {
    const FileTensor& w = weight(node.inputs.at(1));
    if (w.dims.empty() || integer_attribute(node, "group", 1) != 1) refuse("its convolution has groups");
    std::int64_t inputs = w.dims[0] > 0 ? element_count(w) / w.dims[0] : 0;
    Head head{node.name, {{w.name, 0, inputs}}};
    if (node.inputs.size() > 2 && !node.inputs[2].empty()) head.parts.push_back(bias(node.inputs[2], inputs));
    return head;
  }

  // MatMul and a bias, in either order.
  Head sum(const Node& node) const {
    for (std::size_t i = 0; i < 2; ++i) {
      const Node* product = producer_of(document_, node.inputs.at(i));
      if (!product || product->op != "MatMul") continue;
      Head head{product->name, {matrix(*product, 1)}};
      head.parts.push_back(bias(node.inputs.at(1 - i), head.parts[0].inputs));
      return head;
    }
    refuse(fmt::format("the Add '{}' is none of a MatMul and a bias", node.name));
  }

  const Document& document_;
  std::string output_;
};

}  // namespace

Document with_weights_as_initializers(Document document) {
  if (std::ranges::any_of(document.initializers, &FileTensor::is_float)) return document;
  std::vector<Node> rest;
  for (Node& node : document.nodes) {
    const FileTensor* value = constant_value(node);
    if (!value || !value->is_float() || element_count(*value) < 2) {
      rest.push_back(std::move(node));
      continue;
    }
    document.initializers.push_back(*value);
    document.initializers.back().name = node.outputs[0];
  }
  document.nodes = std::move(rest);
  return document;
}

Document with_output(Document document, const std::string& name) {
  auto declared = std::ranges::find(document.outputs, name, &Declared::name);
  Declared output = declared == document.outputs.end() ? Declared{.name = name} : *declared;
  document.outputs = {output};
  return document;
}

const Node* producer_of(const Document& document, const std::string& value) {
  for (const Node& node : document.nodes)
    if (!value.empty() && std::ranges::find(node.outputs, value) != node.outputs.end()) return &node;
  return nullptr;
}

std::int64_t integer_attribute(const Node& node, const std::string& name, std::int64_t otherwise) {
  for (const NodeAttribute& a : node.attributes)
    if (a.name == name)
      if (const auto* value = std::get_if<std::int64_t>(&a.value)) return *value;
  return otherwise;
}

std::string before(const Document& document, const std::string& output, const std::set<std::string>& ops) {
  const Node* node = producer_of(document, output);
  if (!node || !ops.contains(node->op) || node->inputs.empty() || node->inputs[0].empty()) return output;
  auto declared = std::ranges::find(document.outputs, output, &Declared::name);
  bool has_rank = declared != document.outputs.end() && declared->has_shape;
  std::int64_t rank = has_rank ? static_cast<std::int64_t>(declared->dims.size()) : 2;
  // Before opset 13 the axis and all after it are one row; since then it is the axis of the classes, second or last.
  auto opset = document.opsets.find("");
  bool is_old = opset != document.opsets.end() && opset->second < 13;
  std::int64_t axis = integer_attribute(*node, "axis", is_old ? 1 : -1);
  bool is_last = axis == -1 || axis == rank - 1, is_second = axis == 1 && !is_old;
  return node->op == "Sigmoid" || is_last || is_second ? node->inputs[0] : output;
}

Head head_of(const Document& document, const std::string& output) { return HeadFinder(document, output).find(); }

Document with_head(Document document, const Head& head, std::int64_t outputs) {
  for (const Head::Part& part : head.parts)
    for (FileTensor& t : document.initializers)
      if (t.name == part.initializer) t.dims[part.axis] = outputs;
  for (Declared& d : document.inputs)  // old files declare initializers among the inputs too
    for (const Head::Part& part : head.parts)
      if (d.name == part.initializer) d.has_shape = false, d.dims.clear();
  for (Declared& d : document.outputs) d.has_shape = false, d.dims.clear();
  return document;
}

}  // namespace reprise::onnx
