// SPDX-License-Identifier: Apache-2.0
// The judge of chain schedules. It knows the records and the rules, and nothing of how schedules are made.
#include <algorithm>
#include <cmath>
#include <optional>

#include "checkpoint/refuse.h"
#include "reprise/chain.h"

namespace reprise::chain {
namespace {

struct Held {
  std::int64_t step;
  Content content;
};

class Simulation {
 public:
  explicit Simulation(const Chain& chain)
      : chain_(chain),
        slots_(chain.stores.size()),
        size_(chain.stores.size()),
        count_(chain.stores.size()),
        to_reverse_(chain.steps) {
    measured_.steps = chain.steps;
    measured_.stores.resize(chain.stores.size());
  }

  /// The rule that the action breaks, or nothing.
  std::string apply(const Action& action) {
    return std::visit([this](const auto& a) { return rule(a); }, action);
  }
  /// For a run whose length is not known at first.
  void set_steps(std::int64_t steps) { measured_.steps = to_reverse_ = steps; }
  bool all_reversed() const { return to_reverse_ == 0; }
  bool all_empty() const {
    for (std::int64_t count : count_)
      if (count != 0) return false;
    return true;
  }
  Forecast measured() const {
    Forecast measured = measured_;
    std::int64_t needed = chain_.needs_data ? measured.steps : measured.steps > 0 ? measured.steps - 1 : 0;
    measured.extra = measured.cost;
    for (std::int64_t i = 0; i < needed; ++i) measured.extra -= step_cost(i);
    return measured;
  }

 private:
  double step_cost(std::int64_t step) const {
    return chain_.step_costs.empty() ? 1 : chain_.step_costs.at(static_cast<std::size_t>(step));
  }
  std::int64_t size_of(const Held& held) const {
    if (held.content == Content::data) return chain_.data_size;
    return chain_.sizes.empty() ? chain_.state_size : chain_.sizes.at(static_cast<std::size_t>(held.step));
  }
  std::string not_in_hand(std::int64_t step) const {
    if (state_ == step) return "";
    return state_ ? fmt::format("needs x_{}, but x_{} is in hand", step, *state_)
                  : fmt::format("needs x_{}, but no state is in hand", step);
  }
  std::string run(std::int64_t step) {
    if (to_reverse_ >= 0 && step >= to_reverse_)
      return fmt::format("runs step {}, which is already reversed or not there", step);
    measured_.cost += step_cost(step);
    state_ = step + 1;
    return "";
  }
  std::string no_such_place(int store, std::int64_t slot) const {
    if (store < 0 || static_cast<std::size_t>(store) >= slots_.size())
      return fmt::format("store {} does not exist", store);
    return slot < 0 ? fmt::format("slot {} does not exist", slot) : "";
  }
  /// What a slot holds, if anything.
  const Held* held(int store, std::int64_t slot) const {
    const auto& slots = slots_[static_cast<std::size_t>(store)];
    bool is_filled = slot < std::ssize(slots) && slots[static_cast<std::size_t>(slot)];
    return is_filled ? &*slots[static_cast<std::size_t>(slot)] : nullptr;
  }
  void fill(int store, std::int64_t slot, const Held& what) {
    auto& slots = slots_[static_cast<std::size_t>(store)];
    if (slot >= std::ssize(slots)) slots.resize(static_cast<std::size_t>(slot) + 1);
    slots[static_cast<std::size_t>(slot)] = what;
    size_[static_cast<std::size_t>(store)] += size_of(what);
    count_[static_cast<std::size_t>(store)] += 1;
  }
  void empty(int store, std::int64_t slot) {
    auto& held = slots_[static_cast<std::size_t>(store)][static_cast<std::size_t>(slot)];
    size_[static_cast<std::size_t>(store)] -= size_of(*held);
    count_[static_cast<std::size_t>(store)] -= 1;
    held.reset();
  }

  std::string rule(const Advance& a) {
    if (a.from >= a.to) return "an advance has to go forward";
    if (auto broken = not_in_hand(a.from); !broken.empty()) return broken;
    for (std::int64_t step = a.from; step < a.to; ++step)
      if (auto broken = run(step); !broken.empty()) return broken;
    measured_.advances += a.to - a.from;
    data_.reset();
    return "";
  }
  std::string rule(const Record& a) {
    if (!chain_.needs_data) return "this chain is reversed from states: there is nothing to record";
    if (auto broken = not_in_hand(a.step); !broken.empty()) return broken;
    measured_.records += 1;
    data_ = a.step;
    return run(a.step);
  }
  std::string rule(const Save& a) {
    if (auto broken = no_such_place(a.store, a.slot); !broken.empty()) return broken;
    if (a.content == Content::state && state_ != a.step) return not_in_hand(a.step);
    if (a.content == Content::data && data_ != a.step)
      return fmt::format("the data of step {} are not in hand", a.step);
    if (to_reverse_ >= 0 && a.step >= measured_.steps)
      return fmt::format("no step needs x_{}: it is the last state", a.step);
    if (const Held* there = held(a.store, a.slot))
      return fmt::format("slot {} is full: it holds that of step {}", a.slot, there->step);
    auto k = static_cast<std::size_t>(a.store);
    StoreUse& use = measured_.stores[k];
    use.writes += 1;
    use.slots = std::max(use.slots, count_[k] + 1);
    std::int64_t filled = 0;
    if (__builtin_add_overflow(size_[k], size_of({a.step, a.content}), &filled))
      return fmt::format("store {} holds {} already, and the sum is more than an integer holds", a.store, size_[k]);
    if (a.slot >= use.slots) return fmt::format("slot {} is used while {} slots are enough", a.slot, use.slots);
    fill(a.store, a.slot, {a.step, a.content});
    use.peak = std::max(use.peak, size_[k]);
    measured_.cost += chain_.stores[k].write_cost;
    if (size_[k] > chain_.stores[k].capacity)
      return fmt::format("store {} holds {}, more than its capacity of {}", a.store, size_[k],
                         chain_.stores[k].capacity);
    return "";
  }
  std::string missing(int store, std::int64_t slot, std::int64_t step, std::optional<Content> content) {
    if (auto broken = no_such_place(store, slot); !broken.empty()) return broken;
    const Held* there = held(store, slot);
    if (!there) return fmt::format("slot {} is empty", slot);
    if (there->step != step || (content && there->content != *content))
      return fmt::format("slot {} holds that of step {}, not what is asked for", slot, there->step);
    return "";
  }
  std::string rule(const Restore& a) {
    if (auto broken = missing(a.store, a.slot, a.step, a.content); !broken.empty()) return broken;
    measured_.stores[static_cast<std::size_t>(a.store)].reads += 1;
    measured_.cost += chain_.stores[static_cast<std::size_t>(a.store)].read_cost;
    state_.reset();
    data_.reset();
    (a.content == Content::state ? state_ : data_) = a.step;
    if (a.last) empty(a.store, a.slot);
    return "";
  }
  std::string rule(const Drop& a) {
    if (auto broken = missing(a.store, a.slot, a.step, std::nullopt); !broken.empty()) return broken;
    empty(a.store, a.slot);
    return "";
  }
  std::string rule(const Reverse& a) {
    if (a.step != to_reverse_ - 1) return fmt::format("step {} is next to be reversed", to_reverse_ - 1);
    if (chain_.needs_data && data_ != a.step) return fmt::format("the data of step {} are not in hand", a.step);
    if (!chain_.needs_data && state_ != a.step) return not_in_hand(a.step);
    to_reverse_ = a.step;
    state_.reset();
    data_.reset();
    return "";
  }

  const Chain& chain_;
  std::vector<std::vector<std::optional<Held>>> slots_;
  std::vector<std::int64_t> size_, count_;  // filled, by store
  std::optional<std::int64_t> state_ = 0;   // x_0 is in hand at first
  std::optional<std::int64_t> data_;
  std::int64_t to_reverse_;
  Forecast measured_;
};

std::string difference(const Forecast& forecast, const Forecast& measured) {
  auto near = [](double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(a) + std::abs(b)); };
  if (forecast.steps != measured.steps)
    return fmt::format("{} steps were forecast, {} ran", forecast.steps, measured.steps);
  if (forecast.advances != measured.advances)
    return fmt::format("{} advances were forecast, {} were made", forecast.advances, measured.advances);
  if (forecast.records != measured.records)
    return fmt::format("{} records were forecast, {} were made", forecast.records, measured.records);
  if (!near(forecast.cost, measured.cost))
    return fmt::format("a cost of {} was forecast, it was {}", forecast.cost, measured.cost);
  if (!near(forecast.extra, measured.extra))
    return fmt::format("an extra cost of {} was forecast, it was {}", forecast.extra, measured.extra);
  if (forecast.stores != measured.stores) return "the stores were not used as forecast";
  return "";
}

/// Applies actions until one breaks a rule or all steps are reversed; `count` says how many were read.
std::string replay(Simulation& simulation, const std::function<Action()>& next, std::int64_t& count) {
  while (!simulation.all_reversed()) {
    Action action = next();
    ++count;
    if (auto broken = simulation.apply(action); !broken.empty())
      return fmt::format("action {} ({}): {}", count, to_string(action), broken);
  }
  return simulation.all_empty() ? "" : "all steps are reversed, but something is still stored";
}

Verdict verdict(std::string why, const Simulation& simulation) {
  return {why.empty(), std::move(why), simulation.measured()};
}

void check(const Chain& chain) {
  auto check_count = [&](std::size_t count, const char* what) {
    if (count != 0 && static_cast<std::int64_t>(count) != chain.steps)
      refuse<BadRequest>("[chain] judge: {} steps and {} {}: give one for each step, or none", chain.steps, count,
                         what);
  };
  if (chain.steps < 0) refuse<OutOfTurn>("[chain] judge: the number of steps is not known: judge the schedule itself");
  check_count(chain.step_costs.size(), "step costs");
  check_count(chain.sizes.size(), "sizes");
  auto check_size = [](std::int64_t size) {
    if (size < 0) refuse<BadRequest>("[chain] judge: a size of {}: sizes are not negative", size);
  };
  std::ranges::for_each(chain.sizes, check_size);
  check_size(chain.state_size);
  check_size(chain.data_size);
}

void check_fresh(const Schedule& schedule) {
  if (schedule.has_begun())
    refuse<OutOfTurn>(
        "[chain] judge: the schedule has been read from: give a new one, or a copy made before its first action");
}

}  // namespace

Verdict judge(const Chain& chain, const std::function<Action()>& next) {
  check(chain);
  if (!next) refuse<BadRequest>("[chain] judge: there is no function to read actions from: give one");
  Simulation simulation(chain);
  std::int64_t count = 0;
  std::string why = replay(simulation, next, count);
  return verdict(std::move(why), simulation);
}

Verdict judge(Schedule schedule) {
  if (schedule.steps() < 0)
    refuse<OutOfTurn>(
        "[chain] judge: the number of steps is not known: say after how many it ends, judge(schedule, steps)");
  check_fresh(schedule);
  Verdict result = judge(schedule.chain(), [&] { return schedule.next(); });
  if (!result.ok) return result;
  result.why = schedule.done() ? difference(schedule.forecast(), result.measured)
                               : "all steps are reversed, but actions are left";
  result.ok = result.why.empty();
  return result;
}

Verdict judge(Schedule schedule, std::int64_t finish_after) {
  if (!schedule.is_online())
    refuse<OutOfTurn>("[chain] judge: this schedule was made for {} steps and ends by itself: use judge(schedule)",
                      schedule.steps());
  check_fresh(schedule);
  if (finish_after < 0)
    refuse<BadRequest>("[chain] judge: {} steps: give a number of steps that is not negative", finish_after);
  Chain chain = schedule.chain();
  Simulation simulation(chain);
  std::int64_t count = 0, reached = 0;
  while (reached < finish_after) {
    Action action = schedule.next();
    ++count;
    std::string broken = simulation.apply(action);
    if (!broken.empty())
      return verdict(fmt::format("action {} ({}): {}", count, to_string(action), broken), simulation);
    if (auto* advance = std::get_if<Advance>(&action)) reached = advance->to;
  }
  schedule.finish();
  simulation.set_steps(finish_after);
  Verdict result = verdict(replay(
                               simulation, [&] { return schedule.next(); }, count),
                           simulation);
  if (result.ok) result.why = difference(schedule.forecast(), result.measured);
  result.ok = result.why.empty();
  return result;
}

}  // namespace reprise::chain
