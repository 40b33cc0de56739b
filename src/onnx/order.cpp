// SPDX-License-Identifier: Apache-2.0
#include "onnx/order.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "onnx/operators.h"
#include "onnx/source.h"

namespace reprise::onnx {
namespace {

using Makers = std::unordered_map<std::string, std::size_t>;

constexpr std::size_t given = static_cast<std::size_t>(-1);  // made by no node

Makers makers_of(const Document& document) {
  Makers makers;
  for (const Declared& input : document.inputs)
    if (!makers.emplace(input.name, given).second)
      fail("[onnx] '{}' has two inputs with one name: {}", document.path, shown(input.name));
  for (const FileTensor& t : document.initializers) makers.emplace(t.name, given);
  for (std::size_t i = 0; i < document.nodes.size(); ++i)
    for (const std::string& name : document.nodes[i].outputs)
      if (!name.empty() && !makers.emplace(name, i).second)
        fail("[onnx] '{}' makes a name twice: {}, again by {}", document.path, shown(name), title(document.nodes[i]));
  return makers;
}

// Nodes in the file's order as far as possible: a node goes as soon as the last of what it reads is there.
class Sorting {
 public:
  explicit Sorting(const Document& document)
      : document_(document), waits_(document.nodes.size(), 0), readers_(document.nodes.size()) {
    Makers makers = makers_of(document);
    for (std::size_t i = 0; i < document.nodes.size(); ++i) link(makers, i);
    for (const Declared& output : document.outputs)
      if (!makers.contains(output.name))
        fail("[onnx] '{}' lacks an output: nothing makes {}", document.path, shown(output.name));
  }

  std::vector<Node> run() {
    std::set<std::size_t> ready;
    for (std::size_t i = 0; i < waits_.size(); ++i)
      if (waits_[i] == 0) ready.insert(i);
    std::vector<Node> sorted;
    while (!ready.empty()) {
      std::size_t i = *ready.begin();
      ready.erase(ready.begin());
      sorted.push_back(document_.nodes[i]);
      for (std::size_t reader : readers_[i])
        if (--waits_[reader] == 0) ready.insert(reader);
    }
    if (sorted.size() < waits_.size()) refuse_cycle();
    return sorted;
  }

 private:
  void link(const Makers& makers, std::size_t i) {
    for (const std::string& name : names_read(document_.nodes[i])) {
      auto maker = makers.find(name);
      if (maker == makers.end())
        fail("[onnx] '{}' lacks a value: {} reads {}, which nothing makes", document_.path, title(document_.nodes[i]),
             shown(name));
      if (maker->second == given) continue;
      readers_[maker->second].push_back(i);
      ++waits_[i];
    }
  }

  [[noreturn]] void refuse_cycle() const {
    auto waiting = std::ranges::find_if(waits_, [](int n) { return n > 0; });
    fail("[onnx] '{}' goes in circles: nodes wait for each other, among them {}", document_.path,
         title(document_.nodes[static_cast<std::size_t>(waiting - waits_.begin())]));
  }

  const Document& document_;
  std::vector<int> waits_;
  std::vector<std::vector<std::size_t>> readers_;
};

}  // namespace

std::string shown_op(const Node& node) { return knows_operator(node) ? node.op : shown(node.op); }

std::string title(const Node& node) {
  if (!node.name.empty()) return fmt::format("{} {}", shown_op(node), shown(node.name));
  return fmt::format("{} that makes {}", shown_op(node), shown(node.outputs.empty() ? std::string() : node.outputs[0]));
}

std::vector<std::string> names_read(const Node& node) {
  std::vector<std::string> names;
  auto take = [&](const std::string& name) {
    if (!name.empty()) names.push_back(name);
  };
  std::ranges::for_each(node.inputs, take);
  if (node.op != "Gradient" || node.domain != training_domain) return names;
  for (const NodeAttribute& a : node.attributes) {
    if (const auto* one = std::get_if<std::string>(&a.value)) take(*one);
    if (const auto* many = std::get_if<std::vector<std::string>>(&a.value)) std::ranges::for_each(*many, take);
  }
  return names;
}

std::vector<Node> ordered_nodes(const Document& document) { return Sorting(document).run(); }

std::vector<Node> needed_nodes(std::vector<Node> nodes, const std::vector<std::string>& names) {
  std::unordered_set<std::string> wanted(names.begin(), names.end());
  std::vector<Node> needed;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (std::ranges::none_of(node->outputs, [&](const std::string& name) { return wanted.contains(name); })) continue;
    for (std::string& name : names_read(*node)) wanted.insert(std::move(name));
    needed.push_back(std::move(*node));
  }
  std::ranges::reverse(needed);
  return needed;
}

}  // namespace reprise::onnx
