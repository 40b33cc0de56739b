// SPDX-License-Identifier: Apache-2.0
// Solver: at a moment that binds, keep what a least cut keeps, and make everything else again when it is needed.
// Several prices around the best give cuts with more or less room left; shaving repairs what is still over the budget
// elsewhere.
#include <algorithm>
#include <optional>

#include "base/index.h"
#include "plan/annealer.h"
#include "plan/solver.h"

namespace reprise::plan {
namespace {

// Walks on from a moment with only the chosen values in memory, and brings back the rest just in time.
class Walk {
 public:
  Walk(Timeline& timeline, int moment, const Moment::Choice& choice)
      : timeline_(timeline),
        model_(timeline.model()),
        is_there_(model_.values.size(), 0),
        form_(model_.values.size(), 0) {
    for (int v : choice.kept) is_there_[at(v)] = 1;
    for (int v : choice.paged) form_[at(v)] = 1;
    for (int v : choice.compressed) form_[at(v)] = 2;
    for (int v : model_.inputs[moment]) is_there_[at(v)] = 1;
    make(moment);
    for (int stage = moment + 1; stage < model_.node_count(); ++stage) {
      for (int v : model_.inputs[stage]) need(v, stage);
      make(stage);
    }
    for (int v = 0; v < model_.value_count(); ++v) {
      if (model_.value(v).is_output) need(v, model_.node_count());
    }
  }

 private:
  void make(int node) {
    const Model::Node& made = model_.node(node);
    for (int v = made.first_value; v < made.first_value + made.value_count; ++v) is_there_[at(v)] = 1;
  }

  void need(int value, int stage) {
    if (is_there_[at(value)]) return;
    is_there_[at(value)] = 1;
    if (form_[at(value)] != 0) {
      Item item = form_[at(value)] == 1 ? timeline_.page_of(value) : timeline_.compressed_of(value);
      if (timeline_.can_insert(item, stage)) return timeline_.insert(item, stage);
    }
    int node = model_.value(value).node;
    if (!timeline_.can_insert(timeline_.run_of(node), stage)) return;  // then it simply stays
    for (int input : model_.inputs[node]) need(input, stage);
    if (timeline_.can_insert(timeline_.run_of(node), stage)) timeline_.insert(timeline_.run_of(node), stage);
    make(node);
  }

  Timeline& timeline_;
  const Model& model_;
  std::vector<char> is_there_, form_;
};

// The choice as a schedule, repaired if that can be done.
struct Cut {
  std::vector<Event> events;  // none if it is not valid
  bool is_done = false;       // it fits, or costs too much by far
};

Cut walked(const Attempt& attempt, int node, const Moment::Choice& choice) {
  Timeline timeline(attempt.model);
  Walk(timeline, node, choice);
  timeline.commit();
  Random random(attempt.options.seed);
  Shaver shaver(timeline, random);
  int steps = 2 * attempt.model.node_count() + 100;
  bool fits = shaver.repair({attempt.options.budget, attempt.certificate.price, 0, steps, attempt.too_dear(),
                             [&attempt] { return attempt.deadline.is_over(); }});
  if (fits) Annealer(timeline, attempt.options.seed).tidy(attempt.options.budget);
  bool is_dear = timeline.extra_cost() >= attempt.too_dear();
  return {timeline.is_valid() ? timeline.events() : std::vector<Event>{}, fits || is_dear};
}

}  // namespace

// One at a time, and without what the one before took to make: those of long networks are large.
void each_min_cut(const Attempt& attempt, const std::function<bool(SharedSchedule)>& take) {
  std::size_t seeds = std::min<std::size_t>(attempt.certificate.seeds.size(), attempt.is_large() ? 1 : 3);
  for (std::size_t k = 0; k < seeds; ++k) {
    const Certificate::Seed& seed = attempt.certificate.seeds[k];
    for (double factor : {1.0, 1.1, 1.3, 1.7, 2.5}) {
      if (attempt.deadline.is_over()) return;
      auto choose = [&] {
        return Moment(attempt.model, seed.node, Scope::this_order).choose(seed.bound.price * factor);
      };
      Cut cut = walked(attempt, seed.node, factor == 1 ? seed.bound.fitting : choose());
      if (!cut.events.empty() && !take(attempt.written(cut.events))) return;
      if (cut.is_done && attempt.is_large()) return;
    }
  }
}

std::vector<Schedule> solve_min_cut(const Attempt& attempt) {
  each_min_cut(attempt, [&](SharedSchedule schedule) {
    attempt.report(std::move(schedule));
    return true;
  });
  return {};
}

void each_cheap_cut(const Attempt& attempt, const std::function<bool()>& should_stop,
                    const std::function<bool(const Schedule&)>& take) {
  constexpr int branches = 300;  // cuts
  if (attempt.certificate.seeds.empty()) return;
  const Certificate::Seed& seed = attempt.certificate.seeds.front();
  auto cheap = [&] {
    Moment moment(attempt.model, seed.node, Scope::this_order);
    return branch_and_bound(moment, attempt.options.budget, seed.bound, branches, should_stop).cheap;
  };
  auto schedule_of = [&](const Moment::Choice& choice) -> std::optional<Schedule> {
    Timeline timeline(attempt.model);
    Walk(timeline, seed.node, choice);
    if (!timeline.is_valid()) return {};
    return to_schedule(attempt.problem, attempt.model, timeline.events());
  };
  for (const Moment::Choice& choice : cheap())
    if (std::optional<Schedule> schedule = schedule_of(choice); schedule && !take(*schedule)) return;
}

}  // namespace reprise::plan
