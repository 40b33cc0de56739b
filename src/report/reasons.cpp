// SPDX-License-Identifier: Apache-2.0
#include "report/reasons.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/index.h"
#include "plan/moment.h"

namespace reprise::report {
namespace {

// A cost for so many bytes as a share of a step for each hundredth of the unlimited peak.
double rate_of(const PlanResult& plan, double cost, double bytes) {
  if (plan.base_cost <= 0 || bytes <= 0) return 0;
  return cost / plan.base_cost / bytes * static_cast<double>(plan.keep_all_peak) / 100;
}

// The node at which keeping everything peaks: what a saved plan, which does not name the moment that binds, is told by.
int tightest_node(const Problem& problem) {
  Schedule all = keep_all(problem);
  Step step = all.steps[at(validate(problem, all).peak_step)];
  return step.kind == Step::Kind::run ? step.id : problem.value(step.id).node;
}

double price_at(const PlanResult& plan, int node) {
  plan::Model model = plan::make_model(*plan.problem);
  for (int i = 0; i < model.node_count(); ++i) {
    if (model.node(i).original != node) continue;
    plan::Moment moment(model, i, plan.binding.any_order ? plan::Scope::any_order : plan::Scope::this_order);
    return plan::best_price(moment, plan.budget).price;
  }
  return 0;
}

class Explainer {
 public:
  explicit Explainer(const PlanResult& plan) : plan_(plan), problem_(*plan.problem) {
    reasons_.runs.assign(problem_.nodes().size(), 0);
    first_run_.assign(problem_.nodes().size(), -1);
    is_moved_.assign(problem_.values().size(), false);
    for (std::size_t i = 0; i < plan.schedule.steps.size(); ++i) {
      Step step = plan.schedule.steps[i];
      if (step.kind == Step::Kind::page_out) is_moved_[at(step.id)] = true;
      if (step.kind != Step::Kind::run) continue;
      if (reasons_.runs[at(step.id)]++ == 0) first_run_[at(step.id)] = static_cast<int>(i);
    }
    bool is_tight = plan.recomputed > 0 || std::ranges::count(is_moved_, true) > 0;
    if (!is_tight || problem_.node_count() == 0) return;
    reasons_.binding = plan.binding.node >= 0 ? plan.binding.node : tightest_node(problem_);
    reasons_.price = price_at(plan, reasons_.binding);
    reasons_.worth = rate_of(plan, reasons_.price, 1);
  }

  Reasons explain() {
    find_present();
    for (int v = 0; v < problem_.value_count(); ++v) {
      int owner = problem_.value(v).view_of >= 0 ? problem_.value(v).view_of : v;
      reasons_.of.push_back(reason(owner));
    }
    return std::move(reasons_);
  }

 private:
  // Which values are in memory at the moment that binds.
  void find_present() {
    present_.assign(problem_.values().size(), false);
    if (reasons_.binding < 0) return;
    step_ = first_run_[at(reasons_.binding)];
    for (const Placement& life : lives(problem_, plan_.schedule))
      if (life.kind == Placement::Kind::value && life.from <= step_ && step_ < life.to) present_[at(life.id)] = true;
  }

  bool is_present(int value) const {
    int root = problem_.value(value).view_of;
    return present_[at(root >= 0 ? root : value)];
  }

  Reason reason(int v) const {
    const Problem::Value& value = problem_.value(v);
    const Problem::Node& node = problem_.node(value.node);
    if (node.pinned) return Reason::input;
    if (is_moved_[at(v)]) return Reason::moved;
    if (reasons_.runs[at(value.node)] > 1)
      return !present_[at(v)] && first_run_[at(value.node)] < step_ ? Reason::freed : Reason::on_the_way;
    if (value.output) return Reason::result;
    if (value.keep) return Reason::asked;
    if (reasons_.binding < 0) return Reason::room;
    if (!present_[at(v)]) return Reason::elsewhere;
    if (node.never_recompute) return Reason::once;
    if (node.cost > reasons_.price * static_cast<double>(value.bytes)) return Reason::dear;
    bool has_inputs = std::ranges::all_of(problem_.inputs(node), [&](int input) { return is_present(input); });
    return has_inputs ? Reason::room : Reason::inputs_gone;
  }

  const PlanResult& plan_;
  const Problem& problem_;
  Reasons reasons_;
  std::vector<int> first_run_;  // of each node, its step
  std::vector<bool> present_, is_moved_;
  int step_ = 0;  // of the moment that binds
};

Decision decision(const PlanResult& plan, const Reasons& reasons, int v) {
  const Problem& problem = *plan.problem;
  const Problem::Node& node = problem.node(problem.value(v).node);
  Decision d{.value = v, .bytes = problem.value(v).bytes, .runs = reasons.runs[at(problem.value(v).node)]};
  double share = plan.base_cost > 0 ? node.cost / plan.base_cost : 0, bytes = 0;
  for (int k = node.first_value; k < node.first_value + node.value_count; ++k)
    bytes += static_cast<double>(problem.value(k).bytes);
  d.again = share * std::max(1, d.runs - 1);
  d.rate = rate_of(plan, node.cost, bytes);
  d.reason = reasons.of[at(v)];
  return d;
}

template <class Which>
std::vector<Decision> largest(const PlanResult& plan, const Reasons& reasons, std::size_t most, const Which& which) {
  std::vector<Decision> found;
  for (int v = 0; v < plan.problem->value_count(); ++v)
    if (Decision d = decision(plan, reasons, v); d.bytes > 0 && which(d)) found.push_back(d);
  std::ranges::stable_sort(found, std::ranges::greater(), &Decision::bytes);
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace

Reasons reasons_for(const PlanResult& plan) { return Explainer(plan).explain(); }

std::string sentence(const Problem& problem, const Reasons& reasons, Reason reason) {
  std::string moment = reasons.binding < 0 ? "" : fmt::format("'{}' runs", problem.node(reasons.binding).name);
  switch (reason) {
    case Reason::input: return "given to the step: always in memory";
    case Reason::result: return "a result: in memory to the end";
    case Reason::asked: return "asked to be kept";
    case Reason::once: return "its node may run only once";
    case Reason::elsewhere: return fmt::format("not in memory while {}, where it is short: nothing to gain", moment);
    case Reason::dear: return fmt::format("computing it again costs more than its bytes are worth while {}", moment);
    case Reason::inputs_gone: return fmt::format("what it is made of is gone while {}: it stands for that", moment);
    case Reason::room: return "there is room for it";
    case Reason::freed: return fmt::format("gone while {}: that makes room where it is short", moment);
    case Reason::on_the_way: return "made again on the way to others that are recomputed";
    case Reason::moved:
      return "on disk between its uses: that costs less than computing it again, or nothing else fits";
  }
  return {};
}

std::vector<Decision> largest_kept(const PlanResult& plan, const Reasons& reasons, std::size_t most) {
  return largest(plan, reasons, most, [](const Decision& d) {
    return d.runs == 1 && d.reason != Reason::input && d.reason != Reason::elsewhere && d.reason != Reason::moved;
  });
}

std::vector<Decision> largest_recomputed(const PlanResult& plan, const Reasons& reasons, std::size_t most) {
  return largest(plan, reasons, most, [](const Decision& d) { return d.runs > 1; });
}

std::vector<Decision> largest_moved(const PlanResult& plan, const Reasons& reasons, std::size_t most) {
  return largest(plan, reasons, most, [](const Decision& d) { return d.reason == Reason::moved; });
}

}  // namespace reprise::report
