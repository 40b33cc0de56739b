// SPDX-License-Identifier: Apache-2.0
// chain::Schedule, the forecast by reading ahead, and the records as text.
#include <algorithm>
#include <cmath>
#include <limits>

#include "checkpoint/binomial.h"
#include "checkpoint/cursor.h"

namespace reprise::chain {
namespace {

/// Adds up what a stream does, read to its end.
class Tally {
 public:
  explicit Tally(const Chain& chain) : chain_(chain), filled_(chain.stores.size()) {
    total_.stores.resize(chain.stores.size());
  }

  void add(const Action& action) {
    std::visit([this](const auto& a) { count(a); }, action);
  }

  Forecast total(std::int64_t steps) const {
    Forecast total = total_;
    total.steps = steps;
    std::int64_t needed = chain_.needs_data ? steps : std::max<std::int64_t>(steps - 1, 0);
    total.extra = total.cost - run_cost(0, needed);
    return total;
  }

 private:
  struct Filled {
    std::int64_t slots = 0, size = 0;
  };

  double run_cost(std::int64_t from, std::int64_t to) const {
    if (chain_.step_costs.empty()) return static_cast<double>(to - from);
    double cost = 0;
    for (std::int64_t i = from; i < to; ++i) cost += chain_.step_costs[static_cast<std::size_t>(i)];
    return cost;
  }
  std::int64_t size(std::int64_t step, Content content) const {
    if (content == Content::data) return chain_.data_size;
    return chain_.sizes.empty() ? chain_.state_size : chain_.sizes[static_cast<std::size_t>(step)];
  }
  void release(int store, std::int64_t size) {
    auto& filled = filled_[static_cast<std::size_t>(store)];
    filled.slots -= 1;
    filled.size -= size;
  }

  void count(const Advance& a) {
    if (__builtin_add_overflow(total_.advances, a.to - a.from, &total_.advances))
      refuse<BadRequest>("[chain] forecast: there are more advances than an integer holds: give more slots");
    total_.cost += run_cost(a.from, a.to);
  }
  void count(const Record& a) {
    total_.records += 1;
    total_.cost += run_cost(a.step, a.step + 1);
  }
  void count(const Save& a) {
    auto k = static_cast<std::size_t>(a.store);
    filled_[k].slots += 1;
    filled_[k].size += size(a.step, a.content);
    total_.stores[k].writes += 1;
    total_.stores[k].slots = std::max(total_.stores[k].slots, filled_[k].slots);
    total_.stores[k].peak = std::max(total_.stores[k].peak, filled_[k].size);
    total_.cost += chain_.stores[k].write_cost;
  }
  void count(const Restore& a) {
    auto k = static_cast<std::size_t>(a.store);
    total_.stores[k].reads += 1;
    total_.cost += chain_.stores[k].read_cost;
    if (a.last) release(a.store, size(a.step, a.content));
  }
  void count(const Drop& a) { release(a.store, size(a.step, Content::state)); }
  void count(const Reverse&) {}

  const Chain& chain_;
  std::vector<Filled> filled_;
  Forecast total_;
};

Forecast read_ahead(const Chain& chain, Cursor& cursor, std::int64_t finish_after) {
  Tally tally(chain);
  std::int64_t reached = 0;
  while (cursor.is_open() && reached < finish_after) {
    Action action = cursor.next();
    tally.add(action);
    if (auto* advance = std::get_if<Advance>(&action)) reached = advance->to;
  }
  if (cursor.is_open()) cursor.finish();
  while (!cursor.done()) tally.add(cursor.next());
  return tally.total(finish_after);
}

}  // namespace

Schedule::Schedule(Chain chain, std::unique_ptr<Cursor> cursor) : chain_(std::move(chain)), cursor_(std::move(cursor)) {
  if (!cursor_) refuse<BadRequest>("[chain] a schedule needs a stream of actions: make it with one of the families");
  start_ = cursor_->clone();
}
Schedule::Schedule(const Schedule& other)
    : chain_(other.chain_),
      cursor_(other.cursor_->clone()),
      start_(other.start_->clone()),
      has_begun_(other.has_begun_) {}
Schedule& Schedule::operator=(const Schedule& other) { return *this = Schedule(other); }
Schedule::Schedule(Schedule&&) noexcept = default;
Schedule& Schedule::operator=(Schedule&&) noexcept = default;
Schedule::~Schedule() = default;

bool Schedule::done() const { return cursor_->done(); }

Action Schedule::next() {
  if (done()) refuse<OutOfTurn>("[chain] next: all {} steps have been reversed: make a new schedule", steps());
  has_begun_ = true;
  return cursor_->next();
}

std::int64_t Schedule::state_bytes() const { return static_cast<std::int64_t>(cursor_->bytes()); }

bool Schedule::is_online() const { return start_->is_open(); }

void Schedule::finish() {
  if (!is_online())
    refuse<OutOfTurn>("[chain] finish: this schedule was made for {} steps and ends by itself: use chain::online",
                      steps());
  if (!cursor_->is_open())
    refuse<OutOfTurn>("[chain] finish: the run has already ended after {} steps: make a new schedule", steps());
  chain_.steps = cursor_->finish();
  has_begun_ = true;
}

Forecast Schedule::forecast() const {
  if (steps() < 0)
    refuse<OutOfTurn>(
        "[chain] forecast: the number of steps is not known yet: use forecast_at, or finish the run first");
  if (auto known = start_->closed_form()) return *known;
  return read_ahead(chain_, *start_->clone(), steps());
}

Forecast Schedule::forecast_at(std::int64_t steps) const {
  if (!is_online())
    refuse<OutOfTurn>("[chain] forecast_at: this schedule was made for {} steps: use forecast", this->steps());
  check_steps("forecast_at", steps);
  return read_ahead(chain_, *start_->clone(), steps);
}

void check_steps(const char* family, std::int64_t steps) {
  if (steps < 0) refuse<BadRequest>("[chain] {}: {} steps: give a number of steps that is not negative", family, steps);
  if (steps > most_steps)
    refuse<BadRequest>("[chain] {}: {} steps: schedules end at {}, so make one step of several", family, steps,
                       most_steps);
}
void check_slots(const char* family, std::int64_t slots) {
  if (slots <= 0)
    refuse<BadRequest>("[chain] {}: {} slots: the first state needs one, so give at least 1", family, slots);
}
void check_cost(const char* family, const char* what, double cost) {
  if (!(cost >= 0) || std::isinf(cost))
    refuse<BadRequest>("[chain] {}: {} is {}: costs are finite and not negative", family, what, cost);
}

void check_traffic(const char* family, std::int64_t steps, double write_cost, double read_cost) {
  long double each = static_cast<long double>(write_cost) + read_cost;
  if (steps <= 1 || each * static_cast<long double>(steps) <= std::numeric_limits<double>::max() / 4) return;
  refuse<BadRequest>(
      "[chain] {}: a write and a read cost {:g} together, and for {} steps that sums to more than a number holds: give "
      "costs in a larger unit",
      family, each, steps);
}

void check_stores(const char* family, std::int64_t steps, const std::vector<Store>& stores) {
  std::int64_t most = 0;
  const Store* before = nullptr;
  for (const Store& store : stores) {
    if (store.capacity < 0)
      refuse<BadRequest>("[chain] {}: store '{}' has a capacity of {}: give one that is not negative", family,
                         store.name, store.capacity);
    check_cost(family, "a store's write cost", store.write_cost);
    check_cost(family, "a store's read cost", store.read_cost);
    check_traffic(family, steps, store.write_cost, store.read_cost);
    if (before && store.write_cost <= before->write_cost && store.read_cost <= before->read_cost &&
        store.write_cost + store.read_cost < before->write_cost + before->read_cost)
      refuse<BadRequest>("[chain] {}: store '{}' costs less than '{}' before it: give the fastest first", family,
                         store.name, before->name);
    before = &store;
    most = std::max(most, store.capacity);
  }
  check_slots(family, most);
}

std::string to_string(const Action& action) {
  struct Text {
    static std::string thing(std::int64_t step, Content content) {
      return content == Content::state ? fmt::format("x_{}", step) : fmt::format("the data of step {}", step);
    }
    std::string operator()(const Advance& a) const { return fmt::format("advance {} to {}", a.from, a.to); }
    std::string operator()(const Record& a) const { return fmt::format("record {}", a.step); }
    std::string operator()(const Save& a) const {
      return fmt::format("save {} in slot {} of store {}", thing(a.step, a.content), a.slot, a.store);
    }
    std::string operator()(const Restore& a) const {
      return fmt::format("{} {} from slot {} of store {}", a.last ? "take" : "restore", thing(a.step, a.content),
                         a.slot, a.store);
    }
    std::string operator()(const Drop& a) const {
      return fmt::format("drop x_{} from slot {} of store {}", a.step, a.slot, a.store);
    }
    std::string operator()(const Reverse& a) const { return fmt::format("reverse {}", a.step); }
  };
  return std::visit(Text{}, action);
}

}  // namespace reprise::chain
