// SPDX-License-Identifier: Apache-2.0
// The judge of layouts: works out from the steps when each thing must be in memory, finds its row, and compares all
// pairs of rows. Simple on purpose; it shares no code with what makes layouts.
#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "reprise/plan.h"

namespace reprise {
namespace {

using Kind = Placement::Kind;
// Something is needed during steps [from, to).
struct Need {
  Kind kind = Kind::value;
  int id = 0;
  int from = 0;
  int to = 0;
  int taken_at = -1;  // the run after which it is dropped and one of whose outputs may take its memory over, or -1
};

class LayoutJudge {
 public:
  LayoutJudge(const Problem& problem, const Schedule& schedule, std::span<const Placement> rows)
      : problem_(problem),
        steps_(schedule.steps),
        rows_(rows),
        current_(problem.values().size(), -1),
        taken_at_(rows.size(), -1),
        is_used_(rows.size(), 0) {}

  Verdict judge(std::int64_t budget) {
    verdict_.peak = problem_.resident_bytes();
    for (const Placement& row : rows_) check_row(row);
    if (verdict_.why.empty()) check_lives();  // rows that name nothing cannot be talked about
    if (verdict_.peak > budget)
      reject("the layout needs {} bytes, which is above the budget of {}", verdict_.peak, budget);
    verdict_.ok = verdict_.why.empty();
    return verdict_;
  }

 private:
  template <class... Args>
  void reject(fmt::format_string<Args...> format, Args&&... args) {
    if (verdict_.why.empty()) verdict_.why = fmt::format(format, std::forward<Args>(args)...);
  }

  void check_lives() {
    find_needs();
    for (const Need& need : needs_) check_need(need);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (!is_used_[r] && rows_[r].bytes > 0)
        reject("the row of '{}' from step {} is of no life", name(rows_[r]), rows_[r].from);
    }
    check_pairs();
  }

  bool is_pinned(int v) const { return problem_.node(problem_.value(v).node).pinned; }
  std::string name(const Placement& row) const {
    return row.kind == Kind::scratch ? problem_.node(row.id).name + " (scratch)" : problem_.value_name(row.id);
  }
  std::int64_t size(Kind kind, int id) const {
    if (kind == Kind::scratch) return problem_.node(id).scratch;
    const std::optional<Compression>& form = problem_.compression(id);
    if (kind == Kind::compressed) return form ? form->bytes : -1;
    return problem_.value(id).bytes;
  }

  void check_row(const Placement& row) {
    int count = row.kind == Kind::scratch ? problem_.node_count() : problem_.value_count();
    if (row.id < 0 || row.id >= count) return reject("a row names number {} of {}", row.id, count);
    if (row.bytes != size(row.kind, row.id)) return reject("the row of '{}' has {} bytes", name(row), row.bytes);
    bool is_sane = row.offset >= 0 && row.offset < (std::int64_t{1} << 61) && row.from >= 0 && row.from <= row.to &&
                   row.to <= static_cast<int>(steps_.size());
    if (!is_sane) return reject("the row of '{}' lies at {}, steps {} to {}", name(row), row.offset, row.from, row.to);
    verdict_.peak = std::max(verdict_.peak, problem_.resident_bytes() + row.offset + row.bytes);
  }

  void need_from(int step, Kind kind, int id) {
    current_[at(id)] = static_cast<int>(needs_.size());
    needs_.push_back({kind, id, step, static_cast<int>(steps_.size())});
  }

  void need_until(int step, int value) {
    if (current_[at(value)] >= 0) needs_[at(current_[at(value)])].to = step;
    current_[at(value)] = -1;
  }

  void find_needs() {
    for (int v = 0; v < problem_.value_count(); ++v) {
      if (is_pinned(v)) need_from(0, Kind::value, v);
    }
    for (int i = 0; i < static_cast<int>(steps_.size()); ++i) {
      Step step = steps_[at(i)];
      if (step.kind == Step::Kind::run) {
        need_for_run(i, problem_.node(step.id), step.id);
        continue;
      }
      bool is_read = step.kind != Step::Kind::drop;
      need_until(is_read ? i + 1 : i, step.id);
      if (step.kind == Step::Kind::compress) need_from(i, Kind::compressed, step.id);
      if (step.kind == Step::Kind::expand || step.kind == Step::Kind::page_in) need_from(i, Kind::value, step.id);
    }
  }

  void need_for_run(int i, const Problem::Node& node, int n) {
    if (node.pinned) return;
    if (node.scratch > 0) needs_.push_back({Kind::scratch, n, i, i + 1});
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      need_until(i, v);
      if (problem_.value(v).view_of >= 0) continue;
      need_from(i, Kind::value, v);
      int input = problem_.value(v).in_place_of;
      if (input >= 0 && current_[at(input)] >= 0 && !is_pinned(input) && is_dropped_after(i, input))
        needs_[at(current_[at(input)])].taken_at = i;
    }
  }

  bool is_dropped_after(int i, int v) const {
    for (std::size_t k = at(i) + 1; k < steps_.size() && steps_[k].kind == Step::Kind::drop; ++k) {
      if (steps_[k].id == v) return true;
    }
    return false;
  }

  void check_need(const Need& need) {
    if (!verdict_.why.empty() || size(need.kind, need.id) == 0) return;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const Placement& row = rows_[r];
      bool begins = row.kind == need.kind && row.id == need.id && row.from <= need.from && need.from < row.to;
      bool is_taken = begins && need.taken_at >= 0 && row.to == need.taken_at;
      if (!begins || (row.to < need.to && !is_taken)) continue;
      if (is_used_[r]) reject("two lives of '{}' have one row", name(row));
      is_used_[r] = 1;
      if (is_taken) taken_at_[r] = need.taken_at;
      return;
    }
    reject("'{}' has no row for steps {} to {}", name({need.kind, need.id}), need.from, need.to);
  }

  // The output that takes the row's memory over at its end: the only one that may lie there during that run.
  bool takes_over(const Placement& taker, std::size_t r) const {
    const Placement& old = rows_[r];
    return taker.kind == Kind::value && taker.from == taken_at_[r] && problem_.value(taker.id).in_place_of == old.id &&
           taker.offset >= old.offset && taker.offset + taker.bytes <= old.offset + old.bytes;
  }

  bool overlap_in_time(std::size_t a, std::size_t b) const {
    int a_to = rows_[a].to + (taken_at_[a] >= 0 && !takes_over(rows_[b], a) ? 1 : 0);
    int b_to = rows_[b].to + (taken_at_[b] >= 0 && !takes_over(rows_[a], b) ? 1 : 0);
    return rows_[a].from < b_to && rows_[b].from < a_to;
  }

  void check_pairs() {
    for (std::size_t a = 0; a < rows_.size() && verdict_.why.empty(); ++a) {
      for (std::size_t b = a + 1; b < rows_.size(); ++b) {
        const Placement &x = rows_[a], &y = rows_[b];
        bool share_bytes = x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
        if (share_bytes && overlap_in_time(a, b))
          return reject("'{}' and '{}' share memory at step {}", name(x), name(y), std::max(x.from, y.from));
      }
    }
  }

  const Problem& problem_;
  const std::vector<Step>& steps_;
  std::span<const Placement> rows_;
  std::vector<int> current_;  // per value: its need that has not ended, or -1
  std::vector<Need> needs_;
  std::vector<int> taken_at_;  // per row
  std::vector<char> is_used_;  // per row
  Verdict verdict_;
};

}  // namespace

Verdict validate(const Problem& problem, const Schedule& schedule, std::span<const Placement> layout,
                 std::int64_t budget) {
  Verdict verdict = validate(problem, schedule);
  if (!verdict) return verdict;
  Verdict judged = LayoutJudge(problem, schedule, layout).judge(budget);
  judged.cost = verdict.cost;
  return judged;
}

}  // namespace reprise
