// SPDX-License-Identifier: Apache-2.0
#include "report/picture.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "base/index.h"
#include "reprise/memory.h"

namespace reprise::report {
namespace {

bool is_view_only(const Problem& problem, const Problem::Node& node) {
  for (int v = node.first_value; v < node.first_value + node.value_count; ++v)
    if (problem.value(v).view_of < 0) return false;
  return node.updates < 0 && node.cost == 0;
}

bool does_something(const Problem& problem, Step step) {
  if (step.kind == Step::Kind::drop) return false;
  if (step.kind != Step::Kind::run) return true;
  const Problem::Node& node = problem.node(step.id);
  return !node.pinned && !is_view_only(problem, node);
}

double planned_cost(const Problem& problem, Step step) {
  switch (step.kind) {
    case Step::Kind::run: return problem.node(step.id).cost;
    case Step::Kind::drop: return 0;
    case Step::Kind::page_out: return problem.paging(step.id)->out_cost;
    case Step::Kind::page_in: return problem.paging(step.id)->in_cost;
    case Step::Kind::compress: return problem.compression(step.id)->encode_cost;
    case Step::Kind::expand: return problem.compression(step.id)->decode_cost;
  }
  return 0;
}

std::string group_of(const Problem& problem, const Placement& p) {
  if (p.kind == Placement::Kind::scratch) return "scratch";
  const Problem::Node& node = problem.node(problem.value(p.id).node);
  if (std::string_view group = problem.group(node); !group.empty()) return std::string(group);
  return node.pinned ? "inputs" : "values";
}

constexpr std::size_t most_groups = 10;  // that can be told apart; further ones are "other"

// The groups there are: those we know first, in the order in which they outlive each other.
std::vector<std::string> groups_of(const Problem& problem, std::span<const Placement> lives) {
  constexpr std::array known = {"resident", "parameters", "optimizer state", "constants",
                                "inputs",   "batch",      "activations",     "gradients"};
  std::vector<std::string> found, groups;
  if (problem.resident_bytes() > 0) found.push_back("resident");
  for (const Placement& p : lives)
    if (std::string group = group_of(problem, p); p.bytes > 0 && std::ranges::find(found, group) == found.end())
      found.push_back(group);
  auto take = [&](const std::string& group) {
    if (std::erase(found, group) > 0) groups.push_back(group);
  };
  for (const char* group : known) take(group);
  for (const std::string& group : std::vector(found))
    if (group != "scratch" && groups.size() < most_groups) take(group);
  take("scratch");
  if (!found.empty()) groups.push_back("other");
  return groups;
}

class Painter {
 public:
  Painter(const Problem& problem, const Schedule& schedule) : problem_(problem), schedule_(schedule) {
    moment_of_.push_back(0);
    for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
      bool is_moment = does_something(problem, schedule.steps[i]);
      if (is_moment) picture_.steps.push_back(static_cast<int>(i));
      moment_of_.push_back(picture_.moment_count());
    }
  }

  Picture paint(std::span<const Placement> lives) {
    picture_.groups = groups_of(problem_, lives);
    picture_.memory.assign(picture_.groups.size(), std::vector<std::int64_t>(at(picture_.moment_count()) + 1, 0));
    for (const Placement& life : lives) add(life);
    add_up();
    return std::move(picture_);
  }

  void plan_times(const std::vector<double>& node_seconds) {
    double now = 0;
    for (int step : picture_.steps) {
      Step s = schedule_.steps[at(step)];
      picture_.times.push_back(now);
      now += s.kind == Step::Kind::run ? node_seconds[at(s.id)] : planned_cost(problem_, s);
    }
    picture_.times.push_back(now);
  }

  void take_times(std::span<const Moment> timeline) {
    double end = 0;
    for (const Moment& m : timeline) {
      if (m.is_drop) continue;
      std::size_t next = picture_.times.size();
      bool is_the_step = next < picture_.steps.size() && node_of(schedule_.steps[at(picture_.steps[next])]) == m.node;
      if (!is_the_step) fail("[report] the timeline is not one of this plan: they part at moment {}", next);
      picture_.times.push_back(m.begin);
      end = m.end;
    }
    if (picture_.times.size() != picture_.steps.size())
      fail("[report] the timeline has {} moments, the plan {}", picture_.times.size(), picture_.steps.size());
    picture_.times.push_back(end);
  }

 private:
  int node_of(Step step) const { return step.kind == Step::Kind::run ? step.id : problem_.value(step.id).node; }

  void add(const Placement& life) {
    Bar bar{.kind = life.kind, .id = life.id, .offset = life.offset, .bytes = life.bytes};
    bar.from = moment_of_[at(life.from)];
    bar.to = moment_of_[at(life.to)];
    if (bar.from == bar.to || bar.bytes == 0) return;
    auto group = std::ranges::find(picture_.groups, group_of(problem_, life));
    bar.group = static_cast<int>(std::min(group, picture_.groups.end() - 1) - picture_.groups.begin());
    picture_.memory[at(bar.group)][at(bar.from)] += bar.bytes;
    picture_.memory[at(bar.group)][at(bar.to)] -= bar.bytes;
    picture_.bars.push_back(bar);
  }

  // From what begins and ends at each moment to what is there.
  void add_up() {
    picture_.total.assign(at(picture_.moment_count()), problem_.resident_bytes());
    for (std::size_t g = 0; g < picture_.groups.size(); ++g) {
      std::vector<std::int64_t>& bytes = picture_.memory[g];
      for (std::size_t m = 1; m < bytes.size(); ++m) bytes[m] += bytes[m - 1];
      bytes.pop_back();
      for (std::size_t m = 0; m < bytes.size(); ++m) picture_.total[m] += bytes[m];
      if (picture_.groups[g] == "resident")
        for (std::int64_t& b : bytes) b += problem_.resident_bytes();
    }
  }

  const Problem& problem_;
  const Schedule& schedule_;
  Picture picture_;
  std::vector<int> moment_of_;  // of each step, and of the end: how many moments come before it
};

// A plan without a layout is given one, in which its values can be seen beside each other.
std::vector<Placement> placed(const PlanResult& plan) {
  if (!plan.layout.empty()) return plan.layout;
  std::vector<Placement> rows = lives(*plan.problem, plan.schedule);
  std::erase_if(rows, [](const Placement& p) { return p.bytes == 0 || p.from == p.to; });
  std::vector<Buffer> buffers;
  for (const Placement& p : rows) buffers.push_back({.lower = p.from, .upper = p.to, .size = p.bytes});
  PackResult packed = pack(buffers, {.work_limit = 20'000'000});
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].offset = packed.layout.offsets[i];
  return rows;
}

// What a first run of each node took, or what it was planned to take.
std::vector<double> node_seconds(const Problem& problem, std::span<const Moment> timeline) {
  std::vector<double> seconds;
  for (const Problem::Node& node : problem.nodes()) seconds.push_back(node.cost);
  for (const Moment& m : timeline)
    if (!m.is_drop && !m.recompute && !m.is_move && m.node >= 0 && m.node < problem.node_count())
      seconds[at(m.node)] = m.end - m.begin;
  return seconds;
}

}  // namespace

int Picture::peak_moment() const {
  return total.empty() ? -1 : static_cast<int>(std::ranges::max_element(total) - total.begin());
}

Picture picture_of(const PlanResult& plan, std::span<const Moment> timeline) {
  Painter painter(*plan.problem, plan.schedule);
  if (timeline.empty())
    painter.plan_times(node_seconds(*plan.problem, {}));
  else
    painter.take_times(timeline);
  return painter.paint(placed(plan));
}

Picture unlimited_picture(const Problem& problem, std::span<const Moment> timeline) {
  Schedule schedule = keep_all(problem);
  Painter painter(problem, schedule);
  painter.plan_times(node_seconds(problem, timeline));
  return painter.paint(lives(problem, schedule));
}

std::string name_of(const Problem& problem, const Bar& bar) {
  if (bar.kind == Placement::Kind::scratch) return problem.node(bar.id).name + " (scratch)";
  return problem.value_name(bar.id) + (bar.kind == Placement::Kind::compressed ? " (compressed)" : "");
}

}  // namespace reprise::report
