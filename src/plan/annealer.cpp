// SPDX-License-Identifier: Apache-2.0
#include "plan/annealer.h"

#include <algorithm>
#include <cmath>

namespace reprise::plan {
namespace {

constexpr std::int64_t many_items = 1500;  // to look at each of so many takes as long as hundreds of moves

}  // namespace

Annealer::Annealer(Timeline& timeline, std::uint64_t seed)
    : timeline_(timeline), model_(timeline.model()), random_(seed), shaver_(timeline, random_) {}

void Annealer::run(const Limits& limits) {
  if (!limits.is_rough || timeline_.item_count() <= many_items) tidy(limits.budget);
  std::int64_t next_tidy = 0;
  remember();
  if (limits.improved) limits.improved(timeline_);
  double current = timeline_.extra_cost();
  const double total = std::max(model_.base_cost, 1e-300);
  const double hot = limits.heat * 2e-3 * std::min(total, 0.05 * total + current), cold = hot * 1e-3;
  for (std::int64_t i = 0; i < limits.iterations; ++i) {
    if (best_cost_ <= (limits.enough ? limits.enough() : 0) + 1e-9 * total) break;
    if (limits.should_stop && limits.should_stop()) break;
    double done = static_cast<double>(i) / static_cast<double>(limits.iterations);
    if (limits.elapsed) done = std::max(done, limits.elapsed());
    if (done >= 1) break;
    double temperature = hot * std::pow(cold / hot, done);
    double threshold = current - temperature * std::log(std::max(random_.unit(), 1e-12));

    timeline_.commit();
    ruin();
    double noise = random_.chance(0.3) ? 1.0 : 0.2;
    bool fits =
        shaver_.repair({limits.budget, limits.price * random_.uniform(0.5, 2), noise, 40, threshold + 0.003 * total});
    if (fits) {
      timeline_.prune_changes(0);
      std::size_t mark = timeline_.change_count();
      keep_instead(limits.budget, 6);
      timeline_.prune_changes(mark);
    }
    if (!fits || timeline_.extra_cost() > threshold) {
      timeline_.undo();
      continue;
    }
    current = timeline_.extra_cost();
    if (limits.visited) limits.visited(timeline_);
    if (current >= best_cost_ - 1e-9 * total) continue;
    if (i >= next_tidy) {
      tidy(limits.budget);
      if (timeline_.item_count() > many_items) next_tidy = i + timeline_.item_count();
    }
    current = timeline_.extra_cost();
    remember();
    if (limits.improved) limits.improved(timeline_);
  }
  timeline_.commit();
  restore();
}

void Annealer::tidy(std::int64_t budget) {
  timeline_.prune();
  keep_instead(budget, 1 << 30);
  timeline_.prune();
}

void Annealer::ruin() {
  double which = random_.unit();
  if (timeline_.item_count() == 0 || which < 0.1) return drop_something();
  if (which < 0.35) return ruin_window();
  if (which < 0.6) return ruin_scattered();
  if (which < 0.8) return ruin_value();
  return relocate();
}

bool Annealer::pick_item(Item& item, int& stage) {
  if (timeline_.item_count() == 0) return false;
  Timeline::Return picked = timeline_.item(static_cast<int>(random_.below(timeline_.item_count())));
  item = picked.item;
  stage = picked.stage;
  return true;
}

// Removes what is brought back in neighbouring stages.
void Annealer::ruin_window() {
  Item item;
  int stage = 0;
  if (!pick_item(item, stage)) return;
  auto most = static_cast<std::size_t>(random_.between(2, 8));
  scratch_.clear();
  for (int t = stage; t < timeline_.stage_count() && t < stage + 40 && scratch_.size() < most; ++t) {
    for (const Item& other : timeline_.items(t)) {
      if (scratch_.size() < most && random_.chance(0.8)) scratch_.push_back({other, t});
    }
  }
  for (auto& [other, t] : scratch_) timeline_.remove(other, t);
}

void Annealer::ruin_scattered() {
  for (std::int64_t left = random_.between(1, 4); left > 0; --left) {
    Item item;
    int stage = 0;
    if (!pick_item(item, stage)) return;
    timeline_.remove(item, stage);
  }
}

// Removes every run of a node after its first, and of its neighbours in the graph.
void Annealer::ruin_value() {
  Item item;
  int stage = 0;
  if (!pick_item(item, stage)) return;
  if (item.kind != Event::Kind::run) return timeline_.remove(item, stage);
  auto remove_all = [&](int node) {
    while (!timeline_.reruns_of(node).empty())
      timeline_.remove(timeline_.run_of(node), timeline_.reruns_of(node).back());
  };
  remove_all(item.id);
  if (random_.chance(0.5)) {
    for (int v : model_.inputs[item.id]) remove_all(model_.value(v).node);
  }
  if (random_.chance(0.3)) {
    for (int v = model_.node(item.id).first_value, k = 0; k < model_.node(item.id).value_count; ++k, ++v) {
      for (int reader : model_.readers[v]) remove_all(reader);
    }
  }
}

// Moves a run to another stage: where an input of it is made again anyway, or a little earlier or later.
void Annealer::relocate() {
  Item item;
  int stage = 0;
  if (!pick_item(item, stage)) return;
  int target = stage + static_cast<int>(random_.between(-6, 6));
  if (item.kind == Event::Kind::run && random_.chance(0.7)) {
    auto inputs = model_.inputs[item.id];
    if (inputs.empty()) return;
    int input = inputs[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(inputs.size())))];
    const int maker = model_.value(input).node;
    auto again = timeline_.reruns_of(maker);
    auto chosen = static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(again.size()) + 1));
    target = chosen == 0 ? maker : again[chosen - 1];
  }
  timeline_.remove(item, stage);
  if (target >= 0 && target < timeline_.stage_count() && timeline_.can_insert(item, target))
    timeline_.insert(item, target);
}

// Drops some value somewhere although nothing forces it: what that frees may let something dearer stay.
void Annealer::drop_something() {
  for (int tries = 0; tries < 20; ++tries) {
    int value = static_cast<int>(random_.below(model_.value_count()));
    if (model_.value(value).bytes == 0) continue;
    int from = static_cast<int>(random_.between(model_.value(value).node, model_.node_count()));
    Slot use = timeline_.next_use(value, {from, model_.node_count()});
    if (use.stage >= timeline_.stage_count()) continue;
    Item item = timeline_.run_of(model_.value(value).node);
    if (!timeline_.can_insert(item, use.stage)) continue;
    return timeline_.insert(item, use.stage);
  }
}

void Annealer::keep_instead(std::int64_t budget, int tries) {
  if (tries >= timeline_.item_count()) {
    Items all = items_of(timeline_);
    auto dearer = [&](const auto& a, const auto& b) { return timeline_.cost_of(a.first) > timeline_.cost_of(b.first); };
    std::stable_sort(all.begin(), all.end(), dearer);
    for (auto& [item, stage] : all) try_to_keep(item, stage, budget);
    return;
  }
  for (; tries > 0; --tries) {
    Item item;
    int stage = 0;
    if (!pick_item(item, stage)) return;
    try_to_keep(item, stage, budget);
  }
}

bool Annealer::try_to_keep(const Item& item, int stage, std::int64_t budget) {
  if (!timeline_.has(item, stage) || cannot_stay(item, stage, budget)) return false;
  std::size_t mark = timeline_.change_count();
  timeline_.remove(item, stage);
  if (timeline_.peak() <= budget) return true;
  timeline_.undo_to(mark);
  return false;
}

// Tells quickly, for most, that there is no room for a value between its use before and the stage that runs it again.
// What that run reads may leave earlier without it.
bool Annealer::cannot_stay(const Item& item, int stage, std::int64_t budget) {
  if (item.kind != Event::Kind::run || model_.node(item.id).value_count != 1) return false;
  Slot slot{stage, item.id};
  int value = model_.node(item.id).first_value;
  std::int64_t bytes = model_.value(value).bytes;
  for (int input : model_.inputs[item.id]) {
    Timeline::Life life = timeline_.life_at(input, slot);
    if (life.end == slot && life.begin.stage < stage) bytes -= model_.value(input).bytes;
  }
  int before = timeline_.life_at(value, slot).end.stage;
  return before + 1 < stage && timeline_.peak(before + 1, stage - 1) + bytes > budget;
}

void Annealer::remember() {
  best_cost_ = timeline_.extra_cost();
  best_ = items_of(timeline_);
}

void Annealer::restore() {
  for (int t = 0; t < timeline_.stage_count(); ++t) {
    while (!timeline_.items(t).empty()) timeline_.remove(timeline_.items(t).back(), t);
  }
  for (auto& [item, stage] : best_) timeline_.insert(item, stage);
  timeline_.commit();
}

}  // namespace reprise::plan
