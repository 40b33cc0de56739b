// SPDX-License-Identifier: Apache-2.0
// The machine behind all schedules that keep a saved state until its step is reversed. What is saved then forms a
// stack, and a family has to answer only two questions: where to go next from the state in hand, and whether a state
// just read may leave its slot. The answers are functions of the saved state below, so the stack is one that can be
// made again from any of its frames: a ReplayStack, in O(log slots) memory.
#pragma once

#include <utility>

#include "checkpoint/cursor.h"
#include "checkpoint/replay_stack.h"

namespace reprise::chain {

/// Something saved, and what was done from there: with steps step..end-1 to reverse, the chain advanced to `to`. Those
/// from `to` on come first; then this is read again, with end = to.
struct Saved {
  std::int64_t step, to, end;
  std::int64_t filled;  // what this and all below it, as far as they are in the same store, take of the store
  int store;
  Content content;
};

/// What a family sees when it is asked: x_at in hand, steps at..end-1 to be reversed, and what was saved last. Families
/// with several stores save in slower ones first, so that nothing is in stores faster than that of `top`.
struct View {
  std::int64_t at, end;
  std::int64_t depth;  // how many are saved
  const Saved* top;    // null if none is

  std::int64_t length() const { return end - at; }
  /// Whether x_at is itself saved.
  bool is_saved() const { return top && top->step == at && top->content == Content::state; }
  /// What of `store`, that of `top` or a faster one, is filled.
  std::int64_t filled(int store) const { return top && top->store == store ? top->filled : 0; }
};

/// Save x_at in `store` (none if it is saved already) and advance to `to`; or, if `record`, run step `at` and save its
/// data.
struct Move {
  int store;
  std::int64_t to;
  bool record = false;
};

/// Policy: Move move(const View&) const, for length() >= 2; bool release(const View&) const, for length() >= 2 and x_at
/// just read from the top of the stack: whether it leaves its slot; static constexpr bool needs_data. If there is no
/// std::int64_t size(step, Content) const, sizes are 1; if there is no std::int64_t slot(std::int64_t depth, const
/// Saved&) const, the slot is the depth.
template <class Policy>
class Walker : public Cursor {
 public:
  Walker(std::shared_ptr<const Policy> policy, std::int64_t steps) : policy_(std::move(policy)), end_(steps) {}
  /// Nothing in hand, `stack` saved.
  Walker(std::shared_ptr<const Policy> policy, std::int64_t steps, ReplayStack<Saved> stack)
      : policy_(std::move(policy)), stack_(std::move(stack)), at_(nothing), end_(steps) {}

  std::unique_ptr<Cursor> clone() const override { return std::make_unique<Walker>(*this); }
  bool done() const override { return end_ == 0 && !has_pending_; }
  std::size_t bytes() const override { return sizeof(*this) + stack_.bytes(); }
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

  std::int64_t size(std::int64_t step, Content content) const {
    if constexpr (requires { policy_->size(step, content); }) return policy_->size(step, content);
    return 1;
  }
  std::int64_t slot(const Saved& saved) const {
    std::int64_t depth = stack_.depth() - 1;
    if constexpr (requires { policy_->slot(depth, saved); }) return policy_->slot(depth, saved);
    return depth;
  }
  void then(Action action) {
    pending_ = action;
    has_pending_ = true;
  }

  /// What the move saves, where x_at is not saved yet.
  Saved saved_by(const Move& move, const View& view) const {
    Content content = move.record ? Content::data : Content::state;
    return {view.at,    move.record ? view.at + 1 : move.to,
            view.end,   view.filled(move.store) + size(view.at, content),
            move.store, content};
  }
  /// The frame at `depth`, made again from the one below: all that began from there, up to now, when step end_ has been
  /// reversed.
  Saved above(const Saved& below, std::int64_t depth) const {
    View view{below.to, below.end, depth, &below};
    Saved saved = saved_by(policy_->move(view), view);
    while (saved.to > end_) {
      view.end = saved.to;
      View here{view.at, view.end, depth + 1, &saved};
      if (policy_->release(here)) {
        saved = saved_by(policy_->move(view), view);
      } else {
        saved.to = policy_->move(here).to;
        saved.end = view.end;
      }
    }
    return saved;
  }
  Saved* top() {
    return stack_.top([this](const Saved& below, std::int64_t depth) { return above(below, depth); });
  }

  Action forward() {
    Saved* last = top();
    View view{at_, end_, stack_.depth(), last};
    Move move = policy_->move(view);
    if (view.is_saved()) {
      last->to = move.to;
      last->end = end_;
      return Advance{std::exchange(at_, move.to), move.to};
    }
    Saved saved = saved_by(move, view);
    stack_.push(saved);
    Save save{at_, slot(saved), saved.store, saved.content};
    at_ = saved.to;
    if (!move.record) {
      then(Advance{save.step, saved.to});
      return save;
    }
    then(save);
    return Record{save.step};
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
    Saved saved = *top();
    at_ = saved.step;
    bool last = saved.step + 1 == end_ || policy_->release({at_, end_, stack_.depth(), &saved});
    Restore restore{saved.step, slot(saved), saved.store, saved.content, last};
    if (last) stack_.pop();
    if (saved.content == Content::data) then(reverse());
    return restore;
  }

  std::shared_ptr<const Policy> policy_;
  ReplayStack<Saved> stack_;
  std::int64_t at_ = 0, end_;
  bool has_pending_ = false;
  Action pending_;
};

template <class Policy>
Schedule walk(Chain chain, Policy policy) {
  auto cursor = std::make_unique<Walker<Policy>>(std::make_shared<const Policy>(std::move(policy)), chain.steps);
  return Schedule(std::move(chain), std::move(cursor));
}

}  // namespace reprise::chain
