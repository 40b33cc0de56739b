// SPDX-License-Identifier: Apache-2.0
// Runs whose length is not known until they end. `online` is Q. Wang, P. Moin and G. Iaccarino, "Minimal repetition
// dynamic checkpointing algorithm for unsteady adjoint calculation", SIAM J. Sci. Comput. 31(4), 2009: kept states have
// levels, and one that a later state of higher level makes superfluous is given up first. When the run ends, what is
// kept is the stack that revolve goes on from. `online_two_level` keeps every period-th state in an unlimited store.
#include <algorithm>
#include <limits>
#include <queue>
#include <variant>

#include "checkpoint/revolve.h"
#include "checkpoint/two_level.h"

namespace reprise::chain {
namespace {

/// A forward run that asks `Placement` before each step what to drop and save, then, once finished, a Walker.
template <class Placement, class Policy>
class Online : public Cursor {
 public:
  Online(Placement placement, Policy policy) : placement_(std::move(placement)), policy_(policy) {}
  Online(const Online& other)
      : placement_(other.placement_),
        policy_(other.policy_),
        at_(other.at_),
        pending_(other.pending_),
        reversal_(other.reversal_ ? other.reversal_->clone() : nullptr) {}

  std::unique_ptr<Cursor> clone() const override { return std::make_unique<Online>(*this); }
  bool is_open() const override { return !reversal_; }
  bool done() const override { return reversal_ && reversal_->done(); }

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
    reversal_ = std::make_unique<Walker<Policy>>(std::make_shared<const Policy>(policy_), at_, placement_.stores(),
                                                 placement_.stack());
    return at_;
  }

 private:
  Placement placement_;
  Policy policy_;
  std::int64_t at_ = 0;
  std::vector<Action> pending_;  // the next one last
  std::unique_ptr<Cursor> reversal_;
};

/// Wang, Moin & Iaccarino's levels. The state in hand has a level too: it is kept only when the run moves on from it.
class Levels {
 public:
  explicit Levels(std::int64_t slots) : capacity_(slots) {}

  void leave(std::int64_t at, std::vector<Action>& actions) {
    if (slots_.used() < capacity_) return keep(at, actions);
    if (!superfluous_.empty()) {
      Kept gone = superfluous_.top();
      superfluous_.pop();
      slots_.give(gone.slot);
      actions.push_back(Drop{gone.step, gone.slot, 0});
      return keep(at, actions);
    }
    ++level_;
    while (needed_.back().level < level_) {
      superfluous_.push(needed_.back());
      needed_.pop_back();
    }
  }

  std::vector<Slots> stores() const { return {slots_}; }
  std::vector<Saved> stack() const {
    std::vector<Saved> stack;
    for (const Kept& kept : needed_) stack.push_back({kept.step, kept.slot, 0, Content::state});
    for (auto rest = superfluous_; !rest.empty(); rest.pop())
      stack.push_back({rest.top().step, rest.top().slot, 0, Content::state});
    std::ranges::sort(stack, {}, &Saved::step);
    return stack;
  }

 private:
  struct Kept {
    std::int64_t step, slot, level;
    bool operator<(const Kept& other) const { return step < other.step; }
  };

  void keep(std::int64_t at, std::vector<Action>& actions) {
    needed_.push_back({at, slots_.take(), level_});
    actions.push_back(Save{at, needed_.back().slot, 0, Content::state});
    level_ = 0;
  }

  std::int64_t capacity_;
  std::int64_t level_ = std::numeric_limits<std::int64_t>::max();  // of the state in hand; x_0 is never given up
  Slots slots_;
  std::vector<Kept> needed_;               // levels never rise from one to the next
  std::priority_queue<Kept> superfluous_;  // a later state has a higher level; the latest is given up first
};

class EveryPeriod {
 public:
  explicit EveryPeriod(std::int64_t period) : period_(period) {}

  void leave(std::int64_t at, std::vector<Action>& actions) {
    if (at % period_ != 0) return;
    stack_.push_back({at, stores_[1].take(), 1, Content::state});
    actions.push_back(Save{at, stack_.back().slot, 1, Content::state});
  }
  std::vector<Slots> stores() const { return stores_; }
  std::vector<Saved> stack() const { return stack_; }

 private:
  std::int64_t period_;
  std::vector<Slots> stores_ = std::vector<Slots>(2);
  std::vector<Saved> stack_;
};

}  // namespace

Schedule online(std::int64_t slots) {
  check_slots("online", slots);
  return Schedule({.steps = -1, .stores = {{.name = "memory", .capacity = slots}}},
                  std::make_unique<Online<Levels, RevolvePolicy>>(Levels(slots), RevolvePolicy{slots}));
}

Schedule online_two_level(std::int64_t period, std::int64_t slots, double write_cost, double read_cost) {
  check_slots("online_two_level", slots);
  if (period <= 0) refuse<BadRequest>("[chain] online_two_level: a period of {}: give at least 1", period);
  check_cost("online_two_level", "the write cost", write_cost);
  check_cost("online_two_level", "the read cost", read_cost);
  check_traffic("online_two_level", most_steps, write_cost, read_cost);
  TwoLevel policy{period, slots};
  return Schedule(two_level_chain(-1, policy, write_cost, read_cost),
                  std::make_unique<Online<EveryPeriod, TwoLevel>>(EveryPeriod(period), policy));
}

}  // namespace reprise::chain
