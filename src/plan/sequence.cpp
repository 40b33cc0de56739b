// SPDX-License-Identifier: Apache-2.0
#include "plan/sequence.h"

#include <algorithm>

namespace reprise::plan {
namespace {

constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

Sequence::Sequence(const Problem& problem, const Model& model)
    : model_(model),
      updaters_(model.nodes.size()),
      readers_before_(model.nodes.size()),
      is_needed_(model.values.size(), 0),
      excluded_(model.nodes.size()) {
  for (const Model::Node& node : model.nodes) {
    is_pinned_.push_back(problem.node(node.original).pinned);
    pinned_count_ += is_pinned_.back();
  }
  std::vector<int> node_of(model.nodes.size());
  for (int i = 0; i < model.node_count(); ++i) node_of[at(model.node(i).original)] = i;
  for (int i = 0; i < model.node_count(); ++i) {
    for (int input : problem.node(model.node(i).original).inputs) {
      for (int read : {input, problem.value(input).view_of}) {
        if (read < 0 || problem.value(read).updated_by < 0) continue;
        int update = node_of[at(problem.value(read).updated_by)];
        if (update == i || problem.value(input).node == problem.value(read).updated_by) continue;
        updaters_[at(i)].push_back(update);
        readers_before_[at(update)].push_back(i);
      }
    }
  }
  for (int v = 0; v < model.value_count(); ++v) {
    if (model.value(v).excluded_at >= 0) excluded_[at(model.value(v).excluded_at)].push_back(v);
  }
}

void Sequence::set(std::vector<int> runs) {
  runs_ = std::move(runs);
  std::stable_partition(runs_.begin(), runs_.end(), [&](int node) { return is_pinned_[at(node)] != 0; });
  first_.assign(model_.nodes.size(), -1);
  second_.assign(model_.nodes.size(), -1);
  last_.assign(model_.nodes.size(), -1);
  for (int i = 0; i < length(); ++i) {
    int node = runs_[at(i)];
    if (first_[at(node)] < 0)
      first_[at(node)] = i;
    else if (second_[at(node)] < 0)
      second_[at(node)] = i;
    last_[at(node)] = i;
  }
}

Load Sequence::load(const std::vector<int>& runs, std::int64_t budget) {
  Load load;
  std::int64_t now = model_.resident;
  for (int v = 0; v < model_.value_count(); ++v) {
    bool stays = model_.value(v).is_output;
    is_needed_[at(v)] = stays;
    if (stays) now += model_.value(v).bytes;
  }
  for (int i = static_cast<int>(runs.size()); i-- > 0;) {
    int node = runs[at(i)];
    const Model::Node& run = model_.node(node);
    load.extra_cost += run.cost;
    std::int64_t made = 0, shared = 0;
    for (int v = run.first_value; v < run.first_value + run.value_count; ++v) {
      made += model_.value(v).bytes;
      if (!is_needed_[at(v)]) now += model_.value(v).bytes;
      is_needed_[at(v)] = 0;
      int over = model_.value(v).takes_over;
      if (over >= 0 && !is_needed_[at(over)]) shared = std::max(shared, model_.value(v).bytes);
    }
    for (int v : model_.inputs[node]) {
      if (is_needed_[at(v)]) continue;
      is_needed_[at(v)] = 1;
      now += model_.value(v).bytes;
    }
    for (int v : excluded_[at(node)]) now += is_needed_[at(v)] ? 2 * budget : 0;
    std::int64_t during = now + run.scratch - shared;
    for (int v : excluded_[at(node)]) now -= is_needed_[at(v)] ? 2 * budget : 0;
    now -= made;
    if (during > load.peak) {
      load.peak = during;
      load.peak_at = i;
    }
    if (during > budget) load.over += static_cast<double>(during - budget);
  }
  load.extra_cost -= model_.base_cost;
  return load;
}

Sequence::Range Sequence::range(int position) const {
  int node = runs_[at(position)];
  if (is_pinned_[at(node)]) return {1, 0};
  Range range{pinned_count_, length()};
  for (int v : model_.inputs[node]) range.low = std::max(range.low, first(model_.value(v).node) + 1);
  range.low = std::max(range.low, readers_done(node));
  range.high = std::min(range.high, overwritten_at(node));
  if (!is_first(position)) {
    range.low = std::max(range.low, first(node) + 1);
    return range;
  }
  int reader = length();
  const Model::Node& run = model_.node(node);
  for (int v = run.first_value; v < run.first_value + run.value_count; ++v) {
    for (int r : model_.readers[v]) reader = std::min(reader, first(r));
  }
  bool second_serves = second_[at(node)] >= 0 && second_[at(node)] < reader;
  if (!second_serves) range.high = std::min(range.high, reader);
  return range;
}

int Sequence::readers_done(int node) const {
  int position = 0;
  for (int reader : readers_before_[at(node)]) position = std::max(position, last_[at(reader)] + 1);
  return position;
}

int Sequence::overwritten_at(int node) const {
  int position = length();
  for (int update : updaters_[at(node)]) position = std::min(position, first(update));
  return position;
}

int Sequence::next_read(int node, int position) const {
  const Model::Node& run = model_.node(node);
  for (int i = position + 1; i < length(); ++i) {
    int other = runs_[at(i)];
    if (other == node) return -1;
    for (int v : model_.inputs[other]) {
      if (v >= run.first_value && v < run.first_value + run.value_count) return i;
    }
  }
  return -1;
}

}  // namespace reprise::plan
