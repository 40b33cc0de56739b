// SPDX-License-Identifier: Apache-2.0
#include "plan/sequence.h"

#include <algorithm>

#include "base/index.h"

namespace reprise::plan {
namespace {

constexpr std::uint64_t bit(int v) { return std::uint64_t{1} << (v % 64); }
bool has_bit(const std::uint64_t* row, int v) { return (row[v / 64] & bit(v)) != 0; }
void set_bit(std::uint64_t* row, int v) { row[v / 64] |= bit(v); }
void clear_bit(std::uint64_t* row, int v) { row[v / 64] &= ~bit(v); }

}  // namespace

Sequence::Sequence(const Problem& problem, const Model& model)
    : model_(model),
      updaters_(model.nodes.size()),
      readers_before_(model.nodes.size()),
      excluded_(model.nodes.size()),
      words_(model.values.size() / 64 + 1) {
  for (const Model::Node& node : model.nodes) {
    is_pinned_.push_back(problem.node(node.original).pinned);
    pinned_count_ += is_pinned_.back();
  }
  std::vector<int> node_of(model.nodes.size());
  for (int i = 0; i < model.node_count(); ++i) node_of[at(model.node(i).original)] = i;
  for (int i = 0; i < model.node_count(); ++i) {
    for (int input : problem.inputs(model.node(i).original)) {
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

void Sequence::set(std::vector<int> runs, std::int64_t budget) {
  budget_ = budget;
  runs_ = std::move(runs);
  std::stable_partition(runs_.begin(), runs_.end(), [&](int node) { return is_pinned_[at(node)] != 0; });
  std::size_t length = runs_.size();
  for (States* states : {&states_, &tried_}) {
    states->needed.assign((length + 1) * words_, 0);
    states->now.assign(length + 1, model_.resident);
    states->during.assign(length, 0);
  }
  for (int v = 0; v < model_.value_count(); ++v) {
    if (!model_.value(v).is_output) continue;
    set_bit(tried_.needed.data() + length * words_, v);
    tried_.now[length] += model_.value(v).bytes;
  }
  for (int i = static_cast<int>(length); i-- > 0;) scan_back(runs_, i);
  std::swap(states_, tried_);
  index_runs();
  before_.assign(length + 1, {});
  after_.assign(length + 1, {});
  sum_up(0, static_cast<int>(length));
}

void Sequence::index_runs() {
  first_.assign(model_.nodes.size(), -1);
  second_.assign(model_.nodes.size(), -1);
  last_.assign(model_.nodes.size(), -1);
  load_.extra_cost = 0;
  for (int i = 0; i < length(); ++i) {
    int node = runs_[at(i)];
    if (first_[at(node)] < 0)
      first_[at(node)] = i;
    else if (second_[at(node)] < 0)
      second_[at(node)] = i;
    last_[at(node)] = i;
    if (first_[at(node)] != i) load_.extra_cost += model_.node(node).cost;
  }
}

Sequence::Peak Sequence::joined(const Peak& first, const Peak& second) const {
  const Peak& higher = second.bytes > first.bytes ? second : first;
  return {higher.bytes, higher.at, first.over + second.over};
}

Sequence::Peak Sequence::peak_at(int position) const {
  std::int64_t during = states_.during[at(position)];
  return {during, position, during > budget_ ? static_cast<double>(during - budget_) : 0};
}

// Brings what is known of the runs before and after each position up to date when those in [from, to) have changed.
void Sequence::sum_up(int from, int to) {
  for (int i = from; i < length(); ++i) {
    Peak next = joined(before_[at(i)], peak_at(i));
    if (i >= to && next == before_[at(i) + 1]) break;
    before_[at(i) + 1] = next;
  }
  for (int i = to; i-- > 0;) {
    Peak next = joined(peak_at(i), after_[at(i) + 1]);
    if (i < from && next == after_[at(i)]) break;
    after_[at(i)] = next;
  }
  load_.peak = after_[0].bytes;
  load_.peak_at = after_[0].at;
  load_.over = after_[0].over;
}

// From what is needed after a run to what is needed before it; returns the bytes in memory during it.
std::int64_t Sequence::step_back(int node, std::uint64_t* needed, std::int64_t& now) const {
  const Model::Node& run = model_.node(node);
  std::int64_t made = 0, shared = 0, forbidden_bytes = 0;
  for (int v = run.first_value; v < run.first_value + run.value_count; ++v) {
    made += model_.value(v).bytes;
    if (!has_bit(needed, v)) now += model_.value(v).bytes;
    clear_bit(needed, v);
    int over = model_.value(v).takes_over;
    if (over >= 0 && !has_bit(needed, over)) shared = std::max(shared, model_.value(v).bytes);
  }
  for (int v : model_.inputs[node]) {
    if (has_bit(needed, v)) continue;
    set_bit(needed, v);
    now += model_.value(v).bytes;
  }
  for (int v : excluded_[at(node)]) forbidden_bytes += has_bit(needed, v) ? 2 * budget_ : 0;
  std::int64_t during = now + run.scratch - shared + forbidden_bytes;
  now -= made;
  return during;
}

void Sequence::scan_back(const std::vector<int>& runs, int position) {
  std::uint64_t* before = tried_.needed.data() + at(position) * words_;
  std::copy_n(before + words_, words_, before);
  tried_.now[at(position)] = tried_.now[at(position) + 1];
  tried_.during[at(position)] = step_back(runs[at(position)], before, tried_.now[at(position)]);
}

bool Sequence::is_as_before(int position) const {
  auto row = static_cast<std::ptrdiff_t>(at(position) * words_), end = row + static_cast<std::ptrdiff_t>(words_);
  return std::equal(tried_.needed.begin() + row, tried_.needed.begin() + end, states_.needed.begin() + row);
}

Load Sequence::load_of(const std::vector<int>& runs) {
  auto [old_at, new_at] = std::mismatch(runs_.begin(), runs_.end(), runs.begin(), runs.end());
  int same_first = static_cast<int>(new_at - runs.begin());
  int old_end = length(), end = static_cast<int>(runs.size());
  tried_load_.extra_cost = load_.extra_cost;
  for (; old_end > same_first && end > same_first && runs_[at(old_end) - 1] == runs[at(end) - 1]; --old_end) --end;
  if (runs_.size() != runs.size()) {
    for (int i = same_first; i < end; ++i) tried_load_.extra_cost += model_.node(runs[at(i)]).cost;
    for (int i = same_first; i < old_end; ++i) tried_load_.extra_cost -= model_.node(runs_[at(i)]).cost;
  }
  tried_.needed.resize((runs.size() + 1) * words_);
  tried_.now.resize(runs.size() + 1);
  tried_.during.resize(runs.size());
  std::copy_n(states_.needed.data() + at(old_end) * words_, words_, tried_.needed.data() + at(end) * words_);
  tried_.now[at(end)] = states_.now[at(old_end)];
  Peak peak = after_[at(old_end)];
  peak.at += end - old_end;
  tried_to_ = end;
  int i = end;
  while (i > 0 && (i > same_first || !is_as_before(i))) {
    scan_back(runs, --i);
    std::int64_t during = tried_.during[at(i)];
    peak = joined({during, i, during > budget_ ? static_cast<double>(during - budget_) : 0}, peak);
  }
  tried_from_ = i;
  peak = joined(before_[at(i)], peak);
  tried_load_.peak = peak.bytes;
  tried_load_.peak_at = peak.at;
  tried_load_.over = peak.over;
  return tried_load_;
}

void Sequence::accept(const std::vector<int>& runs) {
  auto longer = static_cast<std::ptrdiff_t>(runs.size()) - static_cast<std::ptrdiff_t>(runs_.size());
  std::ptrdiff_t from = tried_from_, to = tried_to_;
  auto fit = [&](auto& old, const auto& tried, std::ptrdiff_t width) {
    if (longer > 0) old.insert(old.begin() + (to - longer) * width, static_cast<std::size_t>(longer * width), 0);
    if (longer < 0) old.erase(old.begin() + to * width, old.begin() + (to - longer) * width);
    std::copy(tried.begin() + from * width, tried.begin() + to * width, old.begin() + from * width);
  };
  fit(states_.needed, tried_.needed, static_cast<std::ptrdiff_t>(words_));
  fit(states_.now, tried_.now, 1);
  fit(states_.during, tried_.during, 1);
  runs_ = runs;
  index_runs();
  if (longer == 0) return sum_up(tried_from_, tried_to_);
  before_.resize(runs.size() + 1);
  after_.assign(runs.size() + 1, {});
  sum_up(0, length());
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
