// SPDX-License-Identifier: Apache-2.0
// Runs whose length is not known until they end. `online` is Q. Wang, P. Moin and G. Iaccarino, "Minimal repetition
// dynamic checkpointing algorithm for unsteady adjoint calculation", SIAM J. Sci. Comput. 31(4), 2009: kept states have
// levels, and one that a later state of higher level makes superfluous is given up first. When the run ends, what is
// kept is the stack that revolve goes on from. Which states those are is the run's history and no function of the state
// below, so `online` holds some words for each. `online_two_level` keeps every period-th state in an unlimited store,
// and needs no memory to know them.
#include <algorithm>
#include <limits>
#include <queue>
#include <utility>
#include <variant>

#include "checkpoint/revolve.h"
#include "checkpoint/two_level.h"

namespace reprise::chain {
namespace {

/// A forward run that asks `Placement` before each step what to drop and save, then, once finished, a Walker.
template <class Placement>
class Online : public Cursor {
 public:
  explicit Online(Placement placement) : placement_(std::move(placement)) {}
  Online(const Online& other)
      : placement_(other.placement_),
        at_(other.at_),
        pending_(other.pending_),
        reversal_(other.reversal_ ? other.reversal_->clone() : nullptr) {}

  std::unique_ptr<Cursor> clone() const override { return std::make_unique<Online>(*this); }
  bool is_open() const override { return !reversal_; }
  bool done() const override { return reversal_ && reversal_->done(); }
  std::size_t bytes() const override {
    return sizeof(*this) + placement_.bytes() + pending_.capacity() * sizeof(Action) +
           (reversal_ ? reversal_->bytes() : 0);
  }

  Action next() override {
    if (reversal_) return reversal_->next();
    if (pending_.empty()) {
      placement_.leave(at_, pending_);  // what it drops and saves, in reverse order below
      std::reverse(pending_.begin(), pending_.end());
      pending_.insert(pending_.begin(), Advance{at_, at_ + 1});
    }
    Action action = pending_.back();
    pending_.pop_back();
    if (std::holds_alternative<Advance>(action)) ++at_;
    return action;
  }

  std::int64_t finish() override {
    if (!pending_.empty())
      refuse<OutOfTurn>("[chain] finish: step {} is about to run: finish between steps, after an Advance", at_);
    reversal_ = placement_.reversal(at_);
    return at_;
  }

 private:
  Placement placement_;
  std::int64_t at_ = 0;
  std::vector<Action> pending_;  // the next one last
  std::unique_ptr<Cursor> reversal_;
};

/// Revolve above states that are in slots of their own.
struct OnwardPolicy : RevolvePolicy {
  std::vector<std::int64_t> slot_of_depth;  // further ones have the slot of their depth

  std::int64_t slot(std::int64_t depth, const Saved&) const {
    return depth < std::ssize(slot_of_depth) ? slot_of_depth[static_cast<std::size_t>(depth)] : depth;
  }
};

/// Wang, Moin & Iaccarino's levels. The state in hand has a level too: it is kept only when the run moves on from it.
class Levels {
 public:
  explicit Levels(std::int64_t slots) : capacity_(slots) {}

  void leave(std::int64_t at, std::vector<Action>& actions) {
    if (used() < capacity_) return keep(at, used(), actions);
    if (!superfluous_.empty()) {
      Kept gone = superfluous_.top();
      superfluous_.pop();
      actions.push_back(Drop{gone.step, gone.slot, 0});
      return keep(at, gone.slot, actions);
    }
    ++level_;
    while (needed_.back().level < level_) {
      superfluous_.push(needed_.back());
      needed_.pop_back();
    }
  }

  /// From the states that are kept. A slot once used is never empty, so these are in the slots 0, 1, ... in some order.
  std::unique_ptr<Cursor> reversal(std::int64_t end) const {
    OnwardPolicy policy{{capacity_}, {}};
    ReplayStack<Saved> stack;
    for (const Kept& kept : by_step()) {
      policy.slot_of_depth.push_back(kept.slot);
      stack.push({kept.step, end, end, stack.depth() + 1, 0, Content::state});
      stack.fix();
    }
    return std::make_unique<Walker<OnwardPolicy>>(std::make_shared<const OnwardPolicy>(std::move(policy)), end,
                                                  std::move(stack));
  }
  std::size_t bytes() const { return (needed_.capacity() + superfluous_.size()) * sizeof(Kept); }

 private:
  struct Kept {
    std::int64_t step, slot, level;
    bool operator<(const Kept& other) const { return step < other.step; }
  };

  std::int64_t used() const { return std::ssize(needed_) + static_cast<std::int64_t>(superfluous_.size()); }
  void keep(std::int64_t at, std::int64_t slot, std::vector<Action>& actions) {
    needed_.push_back({at, slot, level_});
    actions.push_back(Save{at, slot, 0, Content::state});
    level_ = 0;
  }
  std::vector<Kept> by_step() const {
    std::vector<Kept> all = needed_;
    for (auto rest = superfluous_; !rest.empty(); rest.pop()) all.push_back(rest.top());
    std::ranges::sort(all, {}, &Kept::step);
    return all;
  }

  std::int64_t capacity_;
  std::int64_t level_ = std::numeric_limits<std::int64_t>::max();  // of the state in hand; x_0 is never given up
  std::vector<Kept> needed_;                                       // levels never rise from one to the next
  std::priority_queue<Kept> superfluous_;  // a later state has a higher level; the latest is given up first
};

/// The policy would save all first states of periods but the last one, which is the first to be read and to go.
class EveryPeriod {
 public:
  explicit EveryPeriod(const TwoLevel& policy) : policy_(policy) {}

  void leave(std::int64_t at, std::vector<Action>& actions) const {
    if (at % policy_.period == 0) actions.push_back(Save{at, at / policy_.period, 1, Content::state});
  }
  std::unique_ptr<Cursor> reversal(std::int64_t end) const {
    ReplayStack<Saved> stack;
    for (std::int64_t at = 0; at < end;) {
      std::int64_t to = end - at > policy_.period ? at + policy_.period : end;
      stack.push({std::exchange(at, to), to, end, stack.depth() + 1, 1, Content::state});
    }
    return std::make_unique<Walker<TwoLevel>>(std::make_shared<const TwoLevel>(policy_), end, std::move(stack));
  }
  std::size_t bytes() const { return 0; }

 private:
  TwoLevel policy_;
};

}  // namespace

Schedule online(std::int64_t slots) {
  check_slots("online", slots);
  return Schedule({.steps = -1, .stores = {{.name = "memory", .capacity = slots}}},
                  std::make_unique<Online<Levels>>(Levels(slots)));
}

Schedule online_two_level(std::int64_t period, std::int64_t slots, double write_cost, double read_cost) {
  check_slots("online_two_level", slots);
  if (period <= 0) refuse<BadRequest>("[chain] online_two_level: a period of {}: give at least 1", period);
  check_cost("online_two_level", "the write cost", write_cost);
  check_cost("online_two_level", "the read cost", read_cost);
  check_traffic("online_two_level", most_steps, write_cost, read_cost);
  TwoLevel policy{period, slots};
  return Schedule(two_level_chain(-1, policy, write_cost, read_cost),
                  std::make_unique<Online<EveryPeriod>>(EveryPeriod(policy)));
}

}  // namespace reprise::chain
