// SPDX-License-Identifier: Apache-2.0
// The machine behind all schedules that keep a saved state until its step is reversed. What is saved then forms a
// stack, and a family has to answer only two questions: where to go next from the state in hand, and whether a state
// just read may leave its slot. State: the stack, so O(slots).
#pragma once

#include <cassert>
#include <utility>

#include "checkpoint/cursor.h"

namespace reprise::chain {

struct Saved {
  std::int64_t step, slot;
  int store;
  Content content;
};

/// Hands out the smallest slot numbers that keep live ones apart.
class Slots {
 public:
  std::int64_t take() {
    ++used_;
    if (free_.empty()) return fresh_++;
    std::int64_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give(std::int64_t slot) {
    --used_;
    free_.push_back(slot);
  }
  std::int64_t used() const { return used_; }

 private:
  std::vector<std::int64_t> free_;
  std::int64_t fresh_ = 0, used_ = 0;
};

/// What a family sees when it is asked: x_at in hand, steps at..end-1 to be reversed, what is saved.
struct View {
  std::int64_t at, end;
  const std::vector<Saved>& stack;
  const std::vector<Slots>& stores;

  std::int64_t length() const { return end - at; }
  /// Whether x_at is itself saved.
  bool is_saved() const { return !stack.empty() && stack.back().step == at && stack.back().content == Content::state; }
  std::int64_t used(int store) const { return stores[static_cast<std::size_t>(store)].used(); }
};

/// Save x_at in `store` (none if it is saved already) and advance to `to`; or, if `record`, run step `at` and save its
/// data.
struct Move {
  int store;
  std::int64_t to;
  bool record = false;
};

/// Policy: Move move(const View&) const, for length() >= 2; bool release(const View&) const, for length() >= 2 and x_at
/// just read from the top of the stack: whether it leaves its slot; static constexpr bool needs_data.
template <class Policy>
class Walker : public Cursor {
 public:
  Walker(std::shared_ptr<const Policy> policy, std::int64_t steps, std::size_t stores)
      : policy_(std::move(policy)), stores_(stores), end_(steps) {}
  /// Nothing in hand, `stack` saved.
  Walker(std::shared_ptr<const Policy> policy, std::int64_t steps, std::vector<Slots> stores, std::vector<Saved> stack)
      : policy_(std::move(policy)), stores_(std::move(stores)), stack_(std::move(stack)), at_(nothing), end_(steps) {}

  std::unique_ptr<Cursor> clone() const override { return std::make_unique<Walker>(*this); }
  bool done() const override { return end_ == 0 && !has_pending_; }
  std::optional<Forecast> closed_form() const override {
    if constexpr (requires { policy_->closed_form(end_); }) return policy_->closed_form(end_);
    return std::nullopt;
  }

  Action next() override {
    if (has_pending_) {
      has_pending_ = false;
      return pending_;
    }
    if (at_ == nothing) return restore();
    if (at_ + 1 == end_) return turn();
    return forward();
  }

 private:
  static constexpr std::int64_t nothing = -1;

  Slots& slots(int store) { return stores_[static_cast<std::size_t>(store)]; }
  View view() const { return {at_, end_, stack_, stores_}; }
  void then(Action action) {
    pending_ = action;
    has_pending_ = true;
  }
  Save push(std::int64_t step, int store, Content content) {
    stack_.push_back({step, slots(store).take(), store, content});
    return {step, stack_.back().slot, store, content};
  }

  Action forward() {
    Move move = policy_->move(view());
    if (move.record) {
      then(push(at_, move.store, Content::data));
      return Record{at_++};
    }
    Advance advance{at_, move.to};
    if (view().is_saved()) {
      at_ = move.to;
      return advance;
    }
    Save save = push(at_, move.store, Content::state);
    at_ = move.to;
    then(advance);
    return save;
  }

  Reverse reverse() {
    at_ = nothing;
    return {--end_};
  }

  Action turn() {
    if constexpr (!Policy::needs_data) return reverse();
    Record record{at_};
    then(reverse());
    return record;
  }

  Action restore() {
    Saved top = stack_.back();
    at_ = top.step;
    bool last = top.step + 1 == end_ || policy_->release(view());
    if (last) {
      slots(top.store).give(top.slot);
      stack_.pop_back();
    }
    if (top.content == Content::data) then(reverse());
    return Restore{top.step, top.slot, top.store, top.content, last};
  }

  std::shared_ptr<const Policy> policy_;
  std::vector<Slots> stores_;
  std::vector<Saved> stack_;
  std::int64_t at_ = 0, end_;
  bool has_pending_ = false;
  Action pending_;
};

template <class Policy>
Schedule walk(Chain chain, Policy policy) {
  auto cursor = std::make_unique<Walker<Policy>>(std::make_shared<const Policy>(std::move(policy)), chain.steps,
                                                 chain.stores.size());
  return Schedule(std::move(chain), std::move(cursor));
}

}  // namespace reprise::chain
