// SPDX-License-Identifier: Apache-2.0
#include "plan/shave.h"

#include <algorithm>
#include <functional>

#include "base/index.h"

namespace reprise::plan {
namespace {

constexpr int most_visits =
    400;  // of nodes while looking for what one value needs; keeps shared ancestors from exploding

}  // namespace

Shaver::Shaver(Timeline& timeline, Random& random)
    : timeline_(timeline), model_(timeline.model()), random_(random), visited_(timeline.model().nodes.size(), 0) {
  rank_values();
}

void Shaver::rank_values() {
  for (int v = 0; v < model_.value_count(); ++v) {
    const Model::Value& value = model_.value(v);
    double cost = cost_at_best(v);
    if (value.bytes == 0 || cost >= forbidden) continue;
    bool may_free_more = value.excluded_at >= 0;
    ranked_.push_back({may_free_more ? 0 : cost / static_cast<double>(value.bytes), v});
  }
  std::ranges::stable_sort(ranked_, {}, &Ranked::score);
  std::int64_t largest = 0;
  for (const Model::Value& value : model_.values) largest = std::max(largest, value.bytes);
  for (const Ranked& ranked : ranked_) {
    const Model::Value& value = model_.value(ranked.value);
    bool is_crumb = value.bytes < largest / 1000 && value.excluded_at < 0;
    if (is_crumb)
      crumbs_ += value.bytes;
    else
      large_.push_back(ranked);
  }
}

double Shaver::cost_at_best(int value) const {
  const Model::Value& known = model_.value(value);
  double rerun_cost = model_.node(known.node).rerun_cost();
  const Model::Forms& forms = model_.forms_of(value);
  return known.has_lasting_view ? rerun_cost : std::min({rerun_cost, forms.page_cost, forms.compress_cost});
}

bool Shaver::repair(const Limits& limits) {
  for (int step = 0; timeline_.peak() > limits.budget; ++step) {
    if (step >= limits.steps || timeline_.extra_cost() >= limits.cost) return false;
    if (limits.should_stop && limits.should_stop()) return false;
    if (!shave_once(limits) && !shave_dearly(limits)) return false;
  }
  return timeline_.extra_cost() < limits.cost;
}

// The same when nothing could be dropped because what it takes to bring it back had better stay: does so less and less.
bool Shaver::shave_dearly(const Limits& limits) {
  Limits dearer = limits;
  for (double factor : {8.0, 64.0, 1e9}) {
    dearer.price = factor * limits.price;
    if (shave_once(dearer)) return true;
  }
  return false;
}

// Values are looked at by what they may score at best, until none can be better than the best drop. Crumbs, even
// dropped for nothing, matter only where they can do it alone.
bool Shaver::shave_once(const Limits& limits) {
  Slot slot = timeline_.peak_slot();
  std::int64_t excess = timeline_.peak() - limits.budget;
  const std::vector<Ranked>& values = excess <= crumbs_ ? ranked_ : large_;
  candidates_.clear();
  Drop best;
  auto next = values.begin();
  for (;;) {
    while (next != values.end() && next->score < best.score &&
           (candidates_.empty() || next->score <= candidates_.front().optimist))
      collect((next++)->value, slot, excess, limits);
    if (candidates_.empty() || candidates_.front().optimist >= best.score) break;
    std::ranges::pop_heap(candidates_, std::greater<>{}, &Candidate::optimist);
    Candidate candidate = candidates_.back();
    candidates_.pop_back();
    consider(candidate, slot, excess, limits, best);
  }
  for (const Item& item : best.items) timeline_.insert(item, best.stage);
  return !best.items.empty();
}

// Whether a value is in memory at the slot and neither made nor read there.
bool Shaver::is_idle(int value, Slot slot) const {
  int end = slot.stage < model_.node_count() ? model_.node(slot.stage).first_value : model_.value_count();
  if (value >= end || model_.value(value).node == slot.node || timeline_.life_at(value, slot).end <= slot) return false;
  std::span<const int> read = slot.node < model_.node_count() ? model_.inputs[slot.node] : std::span<const int>{};
  return !std::ranges::binary_search(read, value);
}

void Shaver::collect(int value, Slot slot, std::int64_t excess, const Limits& limits) {
  const Model::Value& known = model_.value(value);
  if (known.node == limits.stays || !is_idle(value, slot)) return;
  double factor = 1 + limits.noise * random_.unit();
  std::int64_t freed = known.excluded_at == slot.stage ? excess : known.bytes;  // must not be there at all
  double optimist = factor * cost_at_best(value) / static_cast<double>(std::min(freed, excess));
  candidates_.push_back({value, optimist, factor, freed});
  std::ranges::push_heap(candidates_, std::greater<>{}, &Candidate::optimist);
}

// Dropping a value from the slot to its next use, if that is in a later stage, and bringing it back there.
void Shaver::consider(const Candidate& candidate, Slot slot, std::int64_t excess, const Limits& limits, Drop& best) {
  const Model::Value& value = model_.value(candidate.value);
  int stage = timeline_.next_use(candidate.value, slot).stage;
  if (stage <= slot.stage) return;
  for (Item item : {timeline_.page_of(candidate.value), timeline_.compressed_of(candidate.value)}) {
    if (!timeline_.can_insert(item, stage)) continue;
    std::int64_t stays = item.kind == Event::Kind::page ? 0 : model_.forms_of(candidate.value).compressed_bytes;
    items_.assign(1, item);
    offer(candidate, stage, timeline_.cost_of(item), candidate.freed - stays, excess, limits, best);
  }
  if (!timeline_.can_insert(timeline_.run_of(value.node), stage)) return;
  ++closure_number_;
  closure_nodes_.clear();
  kept_across_ = 0;
  visits_ = 0;
  double dearest = std::min(limits.cost - timeline_.extra_cost(), forbidden);
  if (best.score < forbidden)
    dearest = std::min(dearest, best.score * static_cast<double>(std::min(candidate.freed, excess)) / candidate.factor);
  double cost = closure(value.node, stage, slot, limits, dearest);
  items_.clear();
  for (int node : closure_nodes_) items_.push_back(timeline_.run_of(node));
  offer(candidate, stage, cost, candidate.freed - kept_across_, excess, limits, best);
}

// Scores `items_`. What they push over the budget in their own stage will cost as well, so it counts at the price.
void Shaver::offer(const Candidate& candidate, int stage, double cost, std::int64_t freed, std::int64_t excess,
                   const Limits& limits, Drop& best) {
  if (freed <= 0 || cost >= forbidden) return;
  const double tie = 1e-9 * (1 + model_.base_cost);  // of two that cost nothing, the larger
  double scale = candidate.factor / static_cast<double>(std::min(freed, excess));
  if (scale * (cost + tie) >= best.score) return;
  std::int64_t before = std::max(timeline_.peak(stage, stage), limits.budget);
  std::size_t mark = timeline_.change_count();
  for (const Item& item : items_) timeline_.insert(item, stage);
  std::int64_t over = std::max<std::int64_t>(0, timeline_.peak(stage, stage) - before);
  timeline_.undo_to(mark);
  if (over >= freed && over >= excess) return;
  double score = scale * (cost + tie + limits.price * static_cast<double>(over));
  if (score >= best.score) return;
  best.score = score;
  best.stage = stage;
  best.items = items_;
}

// Cost of running a node again in a stage, with those of its inputs that are gone by then; `forbidden` if that is
// `dearest` or more.
double Shaver::closure(int node, int stage, Slot slot, const Limits& limits, double dearest) {
  double cost = model_.node(node).rerun_cost();
  if (++visits_ > most_visits || cost >= dearest) return forbidden;
  visited_[at(node)] = closure_number_;
  closure_nodes_.push_back(node);
  for (int input : model_.inputs[node]) {
    cost += bring_input(input, node, stage, slot, limits, dearest - cost);
    if (cost >= dearest) return forbidden;
  }
  return cost;
}

double Shaver::bring_input(int value, int reader, int stage, Slot slot, const Limits& limits, double dearest) {
  const Model::Value& input = model_.value(value);
  if (visited_[at(input.node)] == closure_number_) return 0;
  Timeline::Life life = timeline_.life_at(value, {stage, reader});
  if (life.end >= Slot{stage, reader}) return 0;
  if (input.bytes == 0 && input.excluded_at < 0) return 0;
  bool crosses_peak = life.end < slot;
  if (!crosses_peak && timeline_.peak(life.end.stage, stage) + input.bytes <= limits.budget) return 0;
  bool can_run = input.node != limits.stays && timeline_.can_insert(timeline_.run_of(input.node), stage);
  if (!can_run) {
    if (crosses_peak) kept_across_ += input.bytes;
    return 0;
  }
  std::size_t before = closure_nodes_.size();
  std::int64_t kept_before = kept_across_;
  double keep = crosses_peak ? limits.price * static_cast<double>(input.bytes) : forbidden;
  double again = closure(input.node, stage, slot, limits, std::min(dearest, keep));
  if (!crosses_peak || again < keep) return again;
  for (std::size_t i = before; i < closure_nodes_.size(); ++i) visited_[at(closure_nodes_[i])] = 0;
  closure_nodes_.resize(before);
  kept_across_ = kept_before + input.bytes;
  return 0;
}

}  // namespace reprise::plan
