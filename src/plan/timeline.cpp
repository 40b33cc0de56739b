// SPDX-License-Identifier: Apache-2.0
#include "plan/timeline.h"

#include <algorithm>
#include <cassert>

#include "base/index.h"

namespace reprise::plan {
namespace {

bool comes_first(const Item& a, const Item& b) {
  if (a.at != b.at) return a.at < b.at;
  if (a.kind != b.kind) return a.kind < b.kind;
  return a.id < b.id;
}

}  // namespace

Timeline::Timeline(const Model& model)
    : model_(model),
      reruns_(model.nodes.size()),
      makes_(model.values.size()),
      stages_(model.nodes.size() + 1),
      tree_(model.node_count() + 1),
      counts_(model.node_count() + 1),
      never_(model.resident + 1) {
  for (const Model::Value& value : model.values) never_ += value.bytes;
  for (const Model::Node& node : model.nodes) never_ += node.scratch;
  for (int v = 0; v < model.value_count(); ++v) {
    makes_[at(v)].push_back({.stage = model.value(v).node, .kind = Event::Kind::run});
    refresh(v, model.value(v).node);
  }
  for (int t = 0; t < stage_count(); ++t) mark(t);
  tree_.add(0, stage_count() - 1, model.resident);
}

double Timeline::cost_of(const Item& item) const {
  if (item.kind == Event::Kind::run) return model_.node(item.id).rerun_cost();
  if (model_.value(item.id).has_lasting_view) return forbidden;
  const Model::Forms& forms = model_.forms_of(item.id);
  return item.kind == Event::Kind::page ? forms.page_cost : forms.compress_cost;
}

std::int64_t Timeline::peak() {
  flush();
  return tree_.max();
}

Slot Timeline::peak_slot() {
  flush();
  Slot slot;
  scan(tree_.argmax(), &slot);
  return slot;
}

std::int64_t Timeline::peak(int first_stage, int last_stage) {
  flush();
  return tree_.max(first_stage, last_stage);
}

Timeline::Return Timeline::item(int k) const {
  CountTree::Place place = counts_.find(k);
  return {stages_[at(place.position)].items[at(place.rest)], place.position};
}

bool Timeline::has(const Item& item, int stage) const {
  const std::vector<Item>& items = stages_[at(stage)].items;
  auto place = std::lower_bound(items.begin(), items.end(), item, comes_first);
  return place != items.end() && *place == item;
}

bool Timeline::can_insert(const Item& item, int stage) const {
  auto is_made_there = [&](int value) {
    return makes_[at(value)][make_at(value, {stage, item.at + 1})].stage == stage;
  };
  if (item.kind != Event::Kind::run) return stage > item.at && cost_of(item) < forbidden && !is_made_there(item.id);
  if (!may_run_again(item.id, stage)) return false;
  const Model::Node& node = model_.node(item.id);
  for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
    if (is_made_there(v)) return false;
  }
  return true;
}

void Timeline::insert(const Item& item, int stage) {
  journal_.push_back({item.kind, true, item.id, stage});
  insert_now(item, stage);
}

void Timeline::remove(const Item& item, int stage) {
  journal_.push_back({item.kind, false, item.id, stage});
  remove_now(item, stage);
}

void Timeline::undo() { undo_to(0); }

void Timeline::undo_to(std::size_t change_count) {
  while (journal_.size() > change_count) {
    Change change = journal_.back();
    journal_.pop_back();
    if (change.is_insert)
      remove_now(item_of(change), change.stage);
    else
      insert_now(item_of(change), change.stage);
  }
}

void Timeline::insert_now(const Item& item, int stage) {
  std::vector<Item>& items = stages_[at(stage)].items;
  auto place = std::lower_bound(items.begin(), items.end(), item, comes_first);
  assert(place == items.end() || *place != item);
  stages_[at(stage)].effects.insert(stages_[at(stage)].effects.begin() + (place - items.begin()), Effect{});
  items.insert(place, item);
  ++item_count_;
  counts_.add(stage, 1);
  extra_cost_ += cost_of(item);
  mark(stage);
  if (item.kind != Event::Kind::run) {
    add_make(item.id, stage, item.kind);
    return refresh(item.id, stage);
  }
  std::vector<int>& runs = reruns_[at(item.id)];
  runs.insert(std::upper_bound(runs.begin(), runs.end(), stage), stage);
  const Model::Node& node = model_.node(item.id);
  for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
    add_make(v, stage, Event::Kind::run);
    refresh(v, stage);
  }
  for (int v : model_.inputs[item.id]) refresh(v, stage);
}

void Timeline::remove_now(const Item& item, int stage) {
  std::vector<Item>& items = stages_[at(stage)].items;
  auto place = std::lower_bound(items.begin(), items.end(), item, comes_first);
  assert(place != items.end() && *place == item);
  stages_[at(stage)].effects.erase(stages_[at(stage)].effects.begin() + (place - items.begin()));
  items.erase(place);
  --item_count_;
  counts_.add(stage, -1);
  extra_cost_ -= cost_of(item);
  mark(stage);
  if (item.kind != Event::Kind::run) {
    erase_make(item.id, stage);
    return refresh(item.id, stage);
  }
  std::vector<int>& runs = reruns_[at(item.id)];
  runs.erase(std::lower_bound(runs.begin(), runs.end(), stage));
  const Model::Node& node = model_.node(item.id);
  for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
    erase_make(v, stage);
    refresh(v, stage);
  }
  for (int v : model_.inputs[item.id]) refresh(v, stage);
}

void Timeline::add_make(int value, int stage, Event::Kind kind) {
  std::vector<Make>& makes = makes_[at(value)];
  auto place = makes.end();
  while (place[-1].stage > stage) --place;
  assert(place[-1].stage != stage);
  mark(place[-1].end);
  makes.insert(place, {.stage = stage, .kind = kind});
}

void Timeline::erase_make(int value, int stage) {
  std::vector<Make>& makes = makes_[at(value)];
  auto place = makes.end() - 1;
  while (place->stage != stage) --place;
  mark(place[-1].end);
  apply(value, *place, -1);
  makes.erase(place);
}

// Brings the lives of a value up to date with where it is made and used now, after a change in one stage: that touches
// the life there and those before and after.
void Timeline::refresh(int value, int stage) {
  std::vector<Make>& makes = makes_[at(value)];
  auto after = std::partition_point(makes.begin(), makes.end(), [stage](const Make& m) { return m.stage <= stage; });
  auto next = static_cast<std::size_t>(after - makes.begin());
  for (std::size_t k = next < 2 ? 0 : next - 2; k < std::min(next + 1, makes.size()); ++k) {
    Slot end = end_of(value, k);
    Slot gap = k > 0 && makes[k].kind == Event::Kind::compressed ? makes[k - 1].end : Slot{};
    if (makes[k].is_applied && makes[k].end == end && makes[k].gap == gap) continue;
    if (makes[k].is_applied) apply(value, makes[k], -1);
    makes[k].end = end;
    makes[k].gap = gap;
    makes[k].is_applied = true;
    apply(value, makes[k], 1);
  }
}

Slot Timeline::end_of(int value, std::size_t make) const {
  const std::vector<Make>& makes = makes_[at(value)];
  bool is_last = make + 1 == makes.size();
  int n = model_.node_count();
  if (is_last && model_.value(value).is_output) return {n, n};
  int limit = is_last ? n + 1 : makes[make + 1].stage;
  Slot end{makes[make].stage, model_.value(value).node};
  for (int reader : model_.readers[value]) {
    const std::vector<int>& again = reruns_[at(reader)];
    auto after = std::lower_bound(again.begin(), again.end(), limit);
    int last = after != again.begin() ? after[-1] : reader;
    if (last < limit && last >= makes[make].stage) end = std::max(end, Slot{last, reader});
  }
  return end;
}

void Timeline::apply(int value, const Make& make, int sign) {
  const Model::Value& known = model_.value(value);
  Slot begin{make.stage, known.node};
  apply_interval(begin, make.end, sign * known.bytes);
  if (make.kind == Event::Kind::compressed)
    apply_interval(make.gap, begin, sign * model_.forms_of(value).compressed_bytes);
  int excluded = known.excluded_at;
  if (excluded >= make.stage && excluded < make.end.stage) tree_.add(excluded, excluded, sign * never_);
}

void Timeline::apply_interval(Slot begin, Slot end, std::int64_t bytes) {
  mark(begin);
  mark(end);
  if (end.stage == begin.stage) return;
  stages_[at(end.stage)].entering += bytes;
  tree_.add(begin.stage + 1, end.stage - 1, bytes);
}

void Timeline::mark(int stage) {
  if (stages_[at(stage)].is_dirty) return;
  stages_[at(stage)].is_dirty = true;
  dirty_.push_back(stage);
}

// What happens in a slot has changed: its effect is to be found again.
void Timeline::mark(Slot slot) {
  Stage& stage = stages_[at(slot.stage)];
  mark(slot.stage);
  if (slot.node == slot.stage) {
    stage.own.rise = unknown;
    return;
  }
  auto [first, last] = std::ranges::equal_range(stage.items, slot.node, {}, &Item::at);
  for (auto item = first; item != last; ++item) stage.effects[at(item - stage.items.begin())].rise = unknown;
}

void Timeline::flush() {
  for (int stage : dirty_) {
    Stage& changed = stages_[at(stage)];
    changed.is_dirty = false;
    std::int64_t local = scan(stage, nullptr);
    if (local != changed.local) tree_.add(stage, stage, local - changed.local);
    changed.local = local;
  }
  dirty_.clear();
}

// The most memory within a stage, spanning lives left out.
std::int64_t Timeline::scan(int stage, Slot* where) {
  Stage& scanned = stages_[at(stage)];
  std::int64_t now = scanned.entering, highest = now;
  int highest_at = scanned.items.empty() ? stage : scanned.items.front().at;
  auto pass = [&](const Effect& effect, int node) {
    if (now + effect.rise > highest) {
      highest = now + effect.rise;
      highest_at = node;
    }
    now += effect.net;
  };
  for (std::size_t i = 0; i < scanned.items.size(); ++i) {
    const Item& item = scanned.items[i];
    Effect& effect = scanned.effects[i];
    if (effect.rise == unknown)
      effect = item.kind == Event::Kind::run ? effect_of_run(item.id, stage) : effect_of_return(item, stage);
    pass(effect, item.at);
  }
  if (stage < model_.node_count()) {
    if (scanned.own.rise == unknown) scanned.own = effect_of_run(stage, stage);
    pass(scanned.own, stage);
  }
  if (where) *where = {stage, highest_at};
  return highest;
}

Timeline::Effect Timeline::effect_of_run(int node, int stage) const {
  Slot slot{stage, node};
  const Model::Node& run = model_.node(node);
  std::int64_t made = 0, dying = 0, departing = 0;
  auto end_life = [&](int v, std::size_t k) {
    const std::vector<Make>& makes = makes_[at(v)];
    if (makes[k].end != slot) return;
    dying += model_.value(v).bytes;
    if (k + 1 < makes.size() && makes[k + 1].kind == Event::Kind::compressed)
      departing += model_.forms_of(v).compressed_bytes;
  };
  for (int v : model_.inputs[node]) end_life(v, make_at(v, slot));
  std::int64_t taken_over = 0;
  for (int v = run.first_value; v < run.first_value + run.value_count; ++v) {
    made += model_.value(v).bytes;
    end_life(v, make_at(v, {stage, node + 1}));
    int over = model_.value(v).takes_over;
    if (over < 0) continue;
    bool taken_before = false;
    for (int w = run.first_value; w < v; ++w) taken_before |= model_.value(w).takes_over == over;
    std::size_t life = make_at(over, slot);
    bool departs = life + 1 < makes_[at(over)].size() && makes_[at(over)][life + 1].kind != Event::Kind::run;
    if (!taken_before && !departs && makes_[at(over)][life].end == slot) taken_over += model_.value(v).bytes;
  }
  return {departing + made + run.scratch - taken_over, departing + made - dying};
}

Timeline::Effect Timeline::effect_of_return(const Item& item, int stage) const {
  Slot slot{stage, item.at};
  const Model::Value& value = model_.value(item.id);
  const Model::Forms& forms = model_.forms_of(item.id);
  const std::vector<Make>& makes = makes_[at(item.id)];
  std::size_t k = make_at(item.id, {stage, item.at + 1});
  std::int64_t rise = value.bytes;
  bool departs = makes[k].end == slot && k + 1 < makes.size() && makes[k + 1].kind == Event::Kind::compressed;
  if (departs) rise += forms.compressed_bytes;
  std::int64_t net = rise;
  if (item.kind == Event::Kind::compressed) net -= forms.compressed_bytes;
  if (makes[k].end == slot) net -= value.bytes;
  return {rise, net};
}

// The last make of a value before a slot.
std::size_t Timeline::make_at(int value, Slot slot) const {
  const std::vector<Make>& makes = makes_[at(value)];
  const int end = model_.value(value).node < slot.node ? slot.stage + 1 : slot.stage;
  auto after =
      std::partition_point(makes.begin() + 1, makes.end(), [end](const Make& make) { return make.stage < end; });
  return static_cast<std::size_t>(after - makes.begin()) - 1;
}

Timeline::Life Timeline::life_at(int value, Slot slot) const {
  const std::vector<Make>& makes = makes_[at(value)];
  std::size_t k = make_at(value, slot);
  int next = k + 1 < makes.size() ? makes[k + 1].stage : stage_count();
  return {{makes[k].stage, model_.value(value).node}, makes[k].end, next};
}

Slot Timeline::next_use(int value, Slot slot) const {
  int n = model_.node_count();
  Slot best = model_.value(value).is_output ? Slot{n, n} : Slot{n + 1, 0};
  for (int reader : model_.readers[value]) {
    const int from = reader > slot.node ? slot.stage : slot.stage + 1;
    if (reader >= from) {
      best = std::min(best, Slot{reader, reader});
      continue;
    }
    const std::vector<int>& again = reruns_[at(reader)];
    auto next = std::lower_bound(again.begin(), again.end(), from);
    if (next != again.end()) best = std::min(best, Slot{*next, reader});
  }
  return best;
}

bool Timeline::is_useless(const Item& item, int stage) const {
  auto ends_at_once = [&](int value) {
    std::size_t k = make_at(value, {stage, item.at + 1});
    return makes_[at(value)][k].end == Slot{stage, item.at};
  };
  if (item.kind != Event::Kind::run) return ends_at_once(item.id);
  const Model::Node& node = model_.node(item.id);
  for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
    if (!ends_at_once(v)) return false;
  }
  return true;
}

// Whoever reads a useless thing comes after it in the model's order.
void Timeline::prune() {
  for (int node = model_.node_count(); node-- > 0;) prune_node(node);
}

// A change touches the lives of what is made and of what is read there. What is removed is a change, too.
void Timeline::prune_changes(std::size_t change_count) {
  for (std::size_t k = change_count; k < journal_.size(); ++k) {
    Item item = item_of(journal_[k]);
    bool is_run = item.kind == Event::Kind::run;
    prune_node(item.at);
    if (!is_run) continue;
    for (int v : model_.inputs[item.id]) prune_node(model_.value(v).node);
  }
}

void Timeline::prune_node(int node) {
  const Model::Node& maker = model_.node(node);
  for (int v = maker.first_value; v < maker.first_value + maker.value_count; ++v) {
    for (std::size_t k = makes_[at(v)].size(); k-- > 1;) {
      const Make& make = makes_[at(v)][k];
      Item item{make.kind, make.kind == Event::Kind::run ? node : v, node};
      if (is_useless(item, make.stage)) remove(item, make.stage);
    }
  }
}

std::vector<Event> Timeline::events() const {
  std::vector<Event> events;
  events.reserve(at(item_count_ + model_.node_count()));
  for (int t = 0; t < stage_count(); ++t) {
    for (const Item& item : items(t)) events.push_back({item.kind, item.id});
    if (t < model_.node_count()) events.push_back({Event::Kind::run, t});
  }
  return events;
}

Items items_of(const Timeline& timeline) {
  Items items;
  items.reserve(at(timeline.item_count()));
  for (int t = 0; t < timeline.stage_count(); ++t) {
    for (const Item& item : timeline.items(t)) items.push_back({item, t});
  }
  return items;
}

}  // namespace reprise::plan
