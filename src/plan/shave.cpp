// SPDX-License-Identifier: Apache-2.0
#include "plan/shave.h"

#include <algorithm>

#include "base/index.h"

namespace reprise::plan {
namespace {

constexpr int most_visits =
    400;  // of nodes while looking for what one value needs; keeps shared ancestors from exploding

}  // namespace

Shaver::Shaver(Timeline& timeline, Random& random)
    : timeline_(timeline), model_(timeline.model()), random_(random), visited_(timeline.model().nodes.size(), 0) {}

bool Shaver::repair(const Limits& limits) {
  for (int step = 0; timeline_.peak() > limits.budget; ++step) {
    if (step >= limits.steps || timeline_.extra_cost() >= limits.cost) return false;
    if (limits.should_stop && limits.should_stop()) return false;
    if (!shave_once(limits)) return false;
  }
  return timeline_.extra_cost() < limits.cost;
}

bool Shaver::shave_once(const Limits& limits) {
  Slot slot = timeline_.peak_slot();
  std::int64_t excess = timeline_.peak() - limits.budget;
  collect(slot, excess, limits);
  auto worse = [](const Candidate& a, const Candidate& b) { return a.optimist > b.optimist; };
  std::make_heap(candidates_.begin(), candidates_.end(), worse);
  Drop best;
  while (!candidates_.empty() && candidates_.front().optimist < best.score) {
    std::pop_heap(candidates_.begin(), candidates_.end(), worse);
    Candidate candidate = candidates_.back();
    candidates_.pop_back();
    consider(candidate, slot, excess, limits, best);
  }
  for (const Item& item : best.items) timeline_.insert(item, best.stage);
  return !best.items.empty();
}

// Values in memory at the slot that are neither made nor read there and whose next use is in a later stage.
void Shaver::collect(Slot slot, std::int64_t excess, const Limits& limits) {
  candidates_.clear();
  std::span<const int> read = slot.node < model_.node_count() ? model_.inputs[slot.node] : std::span<const int>{};
  int end = slot.stage < model_.node_count() ? model_.node(slot.stage).first_value : model_.value_count();
  for (int v = 0; v < end; ++v) {
    const Model::Value& value = model_.value(v);
    if (value.bytes == 0) continue;
    Timeline::Life life = timeline_.life_at(v, slot);
    if (life.end <= slot || value.node == slot.node || std::binary_search(read.begin(), read.end(), v)) continue;
    Slot use = timeline_.next_use(v, slot);
    if (use.stage <= slot.stage) continue;
    double cost = std::min({model_.node(value.node).rerun_cost, value.page_cost, value.compress_cost});
    if (cost >= forbidden) continue;
    double factor = 1 + limits.noise * random_.unit();
    std::int64_t freed = value.excluded_at == slot.stage ? excess : value.bytes;  // must not be there at all
    double optimist = factor * cost / static_cast<double>(std::min(freed, excess));
    candidates_.push_back({v, use.stage, optimist, factor, freed});
  }
}

void Shaver::consider(const Candidate& candidate, Slot slot, std::int64_t excess, const Limits& limits, Drop& best) {
  const Model::Value& value = model_.value(candidate.value);
  for (Item item : {timeline_.page_of(candidate.value), timeline_.compressed_of(candidate.value)}) {
    if (!timeline_.can_insert(item, candidate.stage)) continue;
    std::int64_t stays = item.kind == Event::Kind::page ? 0 : value.compressed_bytes;
    items_.assign(1, item);
    offer(candidate, timeline_.cost_of(item), candidate.freed - stays, excess, limits, best);
  }
  if (!timeline_.can_insert(timeline_.run_of(value.node), candidate.stage)) return;
  ++closure_number_;
  closure_nodes_.clear();
  kept_across_ = 0;
  visits_ = 0;
  dearest_ = best.score >= forbidden
                 ? forbidden
                 : best.score * static_cast<double>(std::min(candidate.freed, excess)) / candidate.factor;
  double cost = closure(value.node, candidate.stage, slot, limits);
  items_.clear();
  for (int node : closure_nodes_) items_.push_back(timeline_.run_of(node));
  offer(candidate, cost, candidate.freed - kept_across_, excess, limits, best);
}

// Scores `items_`. What they push over the budget in their own stage will cost as well, so it counts at the price.
void Shaver::offer(const Candidate& candidate, double cost, std::int64_t freed, std::int64_t excess,
                   const Limits& limits, Drop& best) {
  if (freed <= 0 || cost >= forbidden) return;
  const double tie = 1e-9 * (1 + model_.base_cost);  // of two that cost nothing, the larger
  double scale = candidate.factor / static_cast<double>(std::min(freed, excess));
  if (scale * (cost + tie) >= best.score) return;
  std::int64_t before = std::max(timeline_.peak(candidate.stage, candidate.stage), limits.budget);
  std::size_t mark = timeline_.change_count();
  for (const Item& item : items_) timeline_.insert(item, candidate.stage);
  std::int64_t over = std::max<std::int64_t>(0, timeline_.peak(candidate.stage, candidate.stage) - before);
  timeline_.undo_to(mark);
  if (over >= freed && over >= excess) return;
  double score = scale * (cost + tie + limits.price * static_cast<double>(over));
  if (score >= best.score) return;
  best.score = score;
  best.stage = candidate.stage;
  best.items = items_;
}

// Cost of running a node again in a stage, with those of its inputs that are gone by then.
double Shaver::closure(int node, int stage, Slot slot, const Limits& limits) {
  if (++visits_ > most_visits) return forbidden;
  visited_[at(node)] = closure_number_;
  closure_nodes_.push_back(node);
  double cost = model_.node(node).rerun_cost;
  for (int input : model_.inputs[node]) {
    cost += bring_input(input, node, stage, slot, limits);
    if (cost >= dearest_) return forbidden;
  }
  return cost;
}

double Shaver::bring_input(int value, int reader, int stage, Slot slot, const Limits& limits) {
  const Model::Value& input = model_.value(value);
  if (visited_[at(input.node)] == closure_number_) return 0;
  Timeline::Life life = timeline_.life_at(value, {stage, reader});
  if (life.end >= Slot{stage, reader}) return 0;
  if (input.bytes == 0 && input.excluded_at < 0) return 0;
  bool crosses_peak = life.end < slot;
  if (!crosses_peak && timeline_.peak(life.end.stage, stage) + input.bytes <= limits.budget) return 0;
  bool can_run = timeline_.can_insert(timeline_.run_of(input.node), stage);
  if (!can_run) {
    if (crosses_peak) kept_across_ += input.bytes;
    return 0;
  }
  std::size_t before = closure_nodes_.size();
  std::int64_t kept_before = kept_across_;
  double again = closure(input.node, stage, slot, limits);
  double keep = limits.price * static_cast<double>(input.bytes);
  if (!crosses_peak || again <= keep) return again;
  for (std::size_t i = before; i < closure_nodes_.size(); ++i) visited_[at(closure_nodes_[i])] = 0;
  closure_nodes_.resize(before);
  kept_across_ = kept_before + input.bytes;
  return 0;
}

}  // namespace reprise::plan
