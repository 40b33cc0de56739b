// SPDX-License-Identifier: Apache-2.0
// The lives of a schedule's values: what there is to place in an arena.
#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "reprise/plan.h"

namespace reprise {
namespace {

class Biographer {
 public:
  Biographer(const Problem& problem, const Schedule& schedule)
      : problem_(problem), steps_(schedule.steps), open_(problem.values().size(), -1) {
    for (int v = 0; v < problem.value_count(); ++v) {
      if (is_pinned(v)) begin(Placement::Kind::value, v, 0);
    }
    for (int i = 0; i < static_cast<int>(steps_.size()); ++i) visit(i, steps_[at(i)]);
    for (int v = 0; v < problem.value_count(); ++v) end(v, static_cast<int>(steps_.size()));
  }
  std::vector<Placement> take() {
    lives_.shrink_to_fit();  // layouts are kept
    return std::move(lives_);
  }

 private:
  bool is_pinned(int v) const { return problem_.node(problem_.value(v).node).pinned; }

  void begin(Placement::Kind kind, int v, int step) {
    const Problem::Value& value = problem_.value(v);
    std::int64_t bytes = kind == Placement::Kind::compressed ? problem_.compression(v)->bytes : value.bytes;
    open_[at(v)] = static_cast<int>(lives_.size());
    lives_.push_back({kind, v, step, step, 0, bytes});
  }

  void end(int v, int step) {
    if (open_[at(v)] < 0) return;
    lives_[at(open_[at(v)])].to = step;
    open_[at(v)] = -1;
  }

  void visit(int i, Step step) {
    switch (step.kind) {
      case Step::Kind::run: return run(i, step.id);
      case Step::Kind::drop:
      case Step::Kind::page_out: return end(step.id, i + 1);
      case Step::Kind::page_in: return begin(Placement::Kind::value, step.id, i);
      case Step::Kind::compress: end(step.id, i + 1); return begin(Placement::Kind::compressed, step.id, i);
      case Step::Kind::expand: end(step.id, i + 1); return begin(Placement::Kind::value, step.id, i);
    }
  }

  void run(int i, int n) {
    const Problem::Node& node = problem_.node(n);
    if (node.pinned) return;
    if (node.scratch > 0) lives_.push_back({Placement::Kind::scratch, n, i, i + 1, 0, node.scratch});
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      const Problem::Value& value = problem_.value(v);
      end(v, i);
      if (value.in_place_of >= 0 && dies_after(i, value.in_place_of)) end(value.in_place_of, i);
      if (value.view_of < 0) begin(Placement::Kind::value, v, i);
    }
  }

  bool dies_after(int i, int value) const {
    if (is_pinned(value)) return false;
    for (std::size_t next = at(i) + 1; next < steps_.size() && steps_[next].kind == Step::Kind::drop; ++next) {
      if (steps_[next].id == value) return true;
    }
    return false;
  }

  const Problem& problem_;
  const std::vector<Step>& steps_;
  std::vector<int> open_;  // per value, the life that has not ended, or -1
  std::vector<Placement> lives_;
};

}  // namespace

std::vector<Placement> lives(const Problem& problem, const Schedule& schedule) {
  Verdict verdict = validate(problem, schedule);
  if (!verdict) fail("[plan] not a schedule of this problem: {}", verdict.why);
  return Biographer(problem, schedule).take();
}

}  // namespace reprise
