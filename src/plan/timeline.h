// SPDX-License-Identifier: Apache-2.0
// A schedule in stage form, changed step by step with its cost and memory always known.
//
// Stage t runs node t for the first time; before that it may bring values back: by running earlier nodes again, each at
// most once per stage and in base order, by paging in or by expanding. Stage n, after the last node, may bring back
// outputs. A moment is a slot (stage, node). Adding or removing an event never breaks validity: values live from where
// they are made to their last use before they are made again, so only memory and cost change.
//
// Memory is a PeakTree over stages: lives that span a whole stage are added to its range, and within the stages where
// lives begin or end a short scan finds the local maximum. What each item does to the memory of its stage is kept until
// a life begins or ends there.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "plan/count_tree.h"
#include "plan/model.h"
#include "plan/peak_tree.h"

namespace reprise::plan {

struct Slot {
  int stage = 0;
  int node = 0;
  friend auto operator<=>(const Slot&, const Slot&) = default;
};

/// Something that brings values back in a stage: see Event. `at` is its place within the stage.
struct Item {
  Event::Kind kind = Event::Kind::run;
  int id = 0;
  int at = 0;
  friend bool operator==(const Item&, const Item&) = default;
};

/// Items, each with its stage.
using Items = std::vector<std::pair<Item, int>>;

class Timeline {
 public:
  explicit Timeline(const Model& model);

  const Model& model() const { return model_; }
  int stage_count() const { return model_.node_count() + 1; }
  double extra_cost() const { return extra_cost_; }
  int item_count() const { return item_count_; }
  /// What is brought back in a stage, in order.
  std::span<const Item> items(int stage) const { return stages_[static_cast<std::size_t>(stage)].items; }
  struct Return {
    Item item;
    int stage;
  };
  /// The k-th thing that is brought back, counted from 0 through all stages.
  Return item(int k) const;

  std::int64_t peak();
  /// Whether no value is in memory where it must not be.
  bool is_valid() { return peak() < never_; }
  /// The slot of the peak.
  Slot peak_slot();
  std::int64_t peak(int first_stage, int last_stage);

  bool has(const Item& item, int stage) const;
  /// Whether no value the item makes is already made in that stage, and nothing forbids it.
  bool can_insert(const Item& item, int stage) const;
  void insert(const Item& item, int stage);
  void remove(const Item& item, int stage);
  /// Whether nothing reads what the event in this stage makes.
  bool is_useless(const Item& item, int stage) const;
  /// Removes everything whose values nothing reads.
  void prune();
  /// The same where the changes after the first `change_count` may have left something: if nothing was useless before
  /// them, nothing is afterwards.
  void prune_changes(std::size_t change_count);

  Item run_of(int node) const { return {Event::Kind::run, node, node}; }
  Item page_of(int value) const { return {Event::Kind::page, value, model_.value(value).node}; }
  Item compressed_of(int value) const { return {Event::Kind::compressed, value, model_.value(value).node}; }
  double cost_of(const Item& item) const;
  bool may_run_again(int node, int stage) const {
    return model_.node(node).rerun_cost() < forbidden && !model_.node(node).excludes && stage > node &&
           stage <= model_.node(node).last_stage;
  }

  /// The life of a value that covers a slot or ended last before it.
  struct Life {
    Slot begin, end;
    int next_stage = 0;  // where it is made again, or stage_count()
  };
  Life life_at(int value, Slot slot) const;
  /// Where a value is first used after a slot; stage_count() if nowhere. Outputs are used in (n, n).
  Slot next_use(int value, Slot slot) const;
  /// The stages a node runs in after its own, ascending.
  std::span<const int> reruns_of(int node) const { return reruns_[static_cast<std::size_t>(node)]; }

  /// Changes since the last commit can be undone.
  void commit() { journal_.clear(); }
  void undo();
  std::size_t change_count() const { return journal_.size(); }
  void undo_to(std::size_t change_count);

  std::vector<Event> events() const;

 private:
  struct Make {
    int stage;
    Event::Kind kind;
    bool is_applied = false;
    Slot end{};
    Slot gap{};  // of a compressed one: from where its compressed form is in memory
  };
  // Of what runs or returns, on the memory of its stage: how far it rises meanwhile, and by how much it has changed
  // afterwards.
  struct Effect {
    std::int64_t rise = unknown;
    std::int64_t net = 0;
  };
  static constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::min();
  struct Stage {
    std::vector<Item> items;
    std::vector<Effect> effects;  // of the items
    Effect own;                   // of the node that runs for the first time
    std::int64_t entering = 0;    // bytes of lives that began earlier and end here
    std::int64_t local = 0;       // what the tree holds for this stage
    bool is_dirty = false;
  };
  struct Change {  // of an item, whose place in the stage follows from what it is
    Event::Kind kind;
    bool is_insert;
    int id;
    int stage;
  };

  Item item_of(const Change& change) const {
    bool is_run = change.kind == Event::Kind::run;
    return {change.kind, change.id, is_run ? change.id : model_.value(change.id).node};
  }
  void insert_now(const Item& item, int stage);
  void remove_now(const Item& item, int stage);
  void prune_node(int node);
  void add_make(int value, int stage, Event::Kind kind);
  void erase_make(int value, int stage);
  void refresh(int value, int stage);
  Slot end_of(int value, std::size_t make) const;
  void apply(int value, const Make& make, int sign);
  void apply_interval(Slot begin, Slot end, std::int64_t bytes);
  void mark(int stage);
  void mark(Slot slot);
  void flush();
  std::int64_t scan(int stage, Slot* where);
  std::size_t make_at(int value, Slot slot) const;
  Effect effect_of_run(int node, int stage) const;
  Effect effect_of_return(const Item& item, int stage) const;

  const Model& model_;
  std::vector<std::vector<int>> reruns_;  // of each node: see reruns_of
  std::vector<std::vector<Make>> makes_;  // of each value
  std::vector<Stage> stages_;
  std::vector<int> dirty_;
  PeakTree tree_;
  CountTree counts_;    // of items in each stage
  std::int64_t never_;  // bytes that do not fit anywhere
  double extra_cost_ = 0;
  int item_count_ = 0;
  std::vector<Change> journal_;
};

/// All that is brought back, in order.
Items items_of(const Timeline& timeline);

}  // namespace reprise::plan
