// SPDX-License-Identifier: Apache-2.0
// Evaluation level by level, so that independent branches can run at the same time. Memory is taken and counted by the
// calling thread; other threads only run kernels.
#include <algorithm>

#include "execute/lazy_level.h"
#include "execute/lazy_store.h"
#include "graph/builtin.h"
#include "ops/rules.h"

namespace reprise {

// What is missing for the targets, in the graph's order; empty where an input has no tensor.
std::vector<std::int32_t> LazyStore::missing_nodes(Table& table, std::span<const Ref> targets) {
  std::vector<std::int32_t> open, missing;
  std::vector<bool> is_seen(static_cast<std::size_t>(table.size), false);
  auto enter = [&](Ref r) {
    Cell& cell = table.root(r);
    if (cell.present || is_seen[static_cast<std::size_t>(cell.node)]) return;
    is_seen[static_cast<std::size_t>(cell.node)] = true;
    open.push_back(cell.node);
  };
  for (Ref r : targets) enter(r);
  while (!open.empty()) {
    std::int32_t i = open.back();
    open.pop_back();
    if (table.graph->node(i).op == &input_op) return {};
    missing.push_back(i);
    for (Ref r : table.graph->node(i).inputs) enter(r);
  }
  std::ranges::sort(missing);
  return missing;
}

bool LazyStore::ensure_in_levels(Table& table, std::span<const Ref> targets, LevelRunner& runner) {
  std::vector<std::int32_t> missing = missing_nodes(table, targets);
  if (missing.empty()) return false;
  std::int64_t bytes = ledger_.held();
  std::vector<std::vector<std::int32_t>> levels;
  std::unordered_map<std::int32_t, std::size_t> level_of;
  for (std::int32_t i : missing) {
    std::size_t level = 0;
    for (Ref r : table.graph->node(i).inputs)
      if (auto at = level_of.find(table.root(r).node); at != level_of.end()) level = std::max(level, at->second + 1);
    level_of[i] = level;
    if (level == levels.size()) levels.emplace_back();
    levels[level].push_back(i);
    bytes += bytes_of(table, i) + kernels_.of(*table.graph, i).scratch_bytes;
  }
  bool fits =
      bytes <= options_.limit && static_cast<std::int64_t>(droppable_.size() + missing.size()) <= options_.entries;
  if (!fits) return false;
  for (const auto& level : levels) run_level(table, level, runner);
  return true;
}

void LazyStore::run_level(Table& table, const std::vector<std::int32_t>& nodes, LevelRunner& runner) {
  std::vector<Job> jobs(nodes.size());
  std::vector<Kernel> kernels;
  std::vector<Tensor> scratch;
  std::int64_t scratch_bytes = 0;
  std::vector<Type> types;
  kernels.reserve(nodes.size());
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const Node& node = table.graph->node(nodes[k]);
    Cell& cell = table.cell(nodes[k]);
    Job& job = jobs[k];
    job.kernel = &kernels.emplace_back(kernels_.of(*table.graph, nodes[k]));
    job.cost = cost_of(table.graph->signature(nodes[k], types));
    for (Ref r : node.inputs) {
      Cell& input = table.root(r);
      if (!input.given) ++stats_.hits;
      touch(input);
      job.in.push_back(data(table, r));
    }
    take_outputs(cell, node);
    job.out.push_back(cell.value.data());
    for (const Tensor& t : cell.others) job.out.push_back(t.data());
    if (job.kernel->scratch_bytes == 0) continue;
    job.scratch = scratch.emplace_back(Tensor::empty({DType::boolean, {job.kernel->scratch_bytes}})).data();
    ledger_.add(job.kernel->scratch_bytes);
    scratch_bytes += job.kernel->scratch_bytes;
  }
  try {
    runner.run(jobs);
  } catch (...) {
    ledger_.subtract(scratch_bytes);
    for (std::int32_t i : nodes) release_outputs(table.cell(i));
    throw;
  }
  ledger_.subtract(scratch_bytes);
  for (std::size_t k = 0; k < nodes.size(); ++k) finish(table.cell(nodes[k]), jobs[k].seconds);
}

}  // namespace reprise
