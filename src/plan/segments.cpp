// SPDX-License-Identifier: Apache-2.0
// Segments (Chen, Xu, Zhang & Guestrin 2016): the stretch before the peak is cut into k segments. What crosses a cut is
// kept; everything else that is needed after the peak is dropped there and computed again when it is first needed.
// Tries every number of segments, cut evenly by count, by cost and by bytes, and lets what fits keep what it has room
// for.
#include <algorithm>

#include "base/index.h"
#include "plan/annealer.h"
#include "plan/replay.h"
#include "plan/solver.h"
#include "plan/stage_form.h"

namespace reprise::plan {
namespace {

// The node that runs at the peak of the base order.
int node_at_peak(const Problem& problem, const Schedule& base) {
  Step step = base.steps[at(validate(problem, base).peak_step)];
  return step.kind == Step::Kind::run ? step.id : problem.value(step.id).node;
}

// Last node up to `end` that reads each value; its own node if none does.
std::vector<int> last_readers(const Problem& problem, int end) {
  std::vector<int> last(problem.values().size());
  for (int v = 0; v < problem.value_count(); ++v) last[at(v)] = problem.value(v).node;
  for (int n = 0; n <= end; ++n) {
    for (int input : problem.inputs(n)) last[at(input)] = n;
  }
  return last;
}

// How far each node is along the stretch, by one of three measures.
std::vector<double> progress(const Problem& problem, int end, int measure) {
  std::vector<double> sums;
  double sum = 0;
  for (int n = 0; n <= end; ++n) {
    const Problem::Node& node = problem.node(n);
    double bytes = 0;
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      bytes += static_cast<double>(problem.value(v).bytes);
    }
    sum += measure == 0 ? 1 : measure == 1 ? node.cost : bytes;
    sums.push_back(sum);
  }
  return sums;
}

// The nodes after which the stretch is cut into `count` equal parts.
std::vector<int> cuts(const std::vector<double>& progress, int count) {
  std::vector<int> after;
  for (int k = 1; k < count; ++k) {
    double target = progress.back() * k / count;
    auto found = std::lower_bound(progress.begin(), progress.end(), target);
    int node = static_cast<int>(found - progress.begin());
    if (after.empty() || node > after.back()) after.push_back(node);
  }
  return after;
}

// Values made before the peak that cross no cut.
std::vector<char> between(const Problem& problem, const std::vector<int>& cuts, const std::vector<int>& last_reader,
                          int end) {
  std::vector<char> inside(problem.values().size(), 0);
  for (int v = 0; v < problem.value_count(); ++v) {
    int made = problem.value(v).node;
    if (made > end) continue;
    auto next_cut = std::lower_bound(cuts.begin(), cuts.end(), made);
    inside[at(v)] = next_cut == cuts.end() || *next_cut >= last_reader[at(v)];
  }
  return inside;
}

// Segments drop all that is inside of them, needed or not.
void offer_tidied(const Attempt& attempt, const Schedule& schedule, Best& best) {
  std::optional<Items> items = items_of(attempt.model, schedule);
  if (!items) return;
  Timeline timeline(attempt.model);
  fill(timeline, *items);
  if (timeline.peak() > attempt.options.budget) return;
  Annealer(timeline, attempt.options.seed).tidy(attempt.options.budget);
  best.offer(to_schedule(attempt.problem, attempt.model, timeline.events()));
}

}  // namespace

std::vector<Schedule> solve_segments(const Attempt& attempt) {
  const Problem& problem = attempt.problem;
  int end = node_at_peak(problem, keep_all(problem));
  std::vector<int> last_reader = last_readers(problem, end);
  constexpr std::int64_t work = 600'000;  // node runs over all attempts, so that large problems stay quick
  int most = static_cast<int>(std::clamp<std::int64_t>(work / (3 * problem.node_count()), 4, 256));
  constexpr int most_tidied = 16;  // segments: more of them leave little room inside
  Best best(attempt);
  for (int measure = 0; measure < 3; ++measure) {
    std::vector<double> along = progress(problem, end, measure);
    for (int count = 1; count <= std::min(end + 1, most); ++count) {
      if (attempt.deadline.is_over()) return best.take();
      std::vector<char> dropped = between(problem, cuts(along, count), last_reader, end);
      Schedule schedule = drop_and_recompute(problem, end, dropped);
      if (count <= most_tidied) offer_tidied(attempt, schedule, best);
      best.offer(std::move(schedule));
    }
  }
  return best.take();
}

}  // namespace reprise::plan
