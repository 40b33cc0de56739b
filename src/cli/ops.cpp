// SPDX-License-Identifier: Apache-2.0
// `reprise ops`: the vocabulary as a table, from the registry itself.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/verbs.h"
#include "reprise/graph.h"

namespace reprise::cli {
namespace {

std::vector<const Op*> sorted_ops() {
  std::vector<const Op*> ops(all_ops().begin(), all_ops().end());
  std::ranges::sort(ops, {}, &Op::name);
  return ops;
}

void print_json() {
  nlohmann::ordered_json list = nlohmann::json::array();
  for (const Op* op : sorted_ops())
    list.push_back({{"name", op->name},
                    {"doc", op->doc},
                    {"onnx", op->onnx},
                    {"differentiable", op->gradient != nullptr},
                    {"view", op->view_of >= 0}});
  fmt::print("{}\n", nlohmann::ordered_json{{"ops", list}}.dump());
}

void print_table() {
  std::size_t widest = 0, widest_onnx = 0;
  for (const Op* op : sorted_ops()) {
    widest = std::max(widest, op->name.size());
    widest_onnx = std::max(widest_onnx, op->onnx.size());
  }
  for (const Op* op : sorted_ops())
    fmt::print("{:<{}}  {}{}  {:<{}}  {}\n", op->name, widest, op->gradient ? "d" : "-", op->view_of >= 0 ? "v" : "-",
               op->onnx, widest_onnx, op->doc);
  fmt::print("d: has a gradient, v: a view that costs nothing; then the ONNX operator of the same meaning\n");
}

}  // namespace

std::function<Status()> add_ops(CLI::App& verb) {
  auto json = std::make_shared<bool>(false);
  add_flag(verb, "--json", *json, "Print one JSON object");
  return [json] {
    *json ? print_json() : print_table();
    return done;
  };
}

}  // namespace reprise::cli
