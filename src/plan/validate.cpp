// SPDX-License-Identifier: Apache-2.0
// The judge: replays a schedule step by step with nothing but the definition in plan.h. Simple on purpose; it shares no
// code with the solvers.
#include <algorithm>

#include "base/error.h"
#include "reprise/plan.h"

namespace reprise {
namespace {

enum class State { absent, plain, compressed, paged };

class Judge {
 public:
  Judge(const Problem& problem, const Schedule& schedule)
      : problem_(problem),
        steps_(schedule.steps),
        state_(problem.values().size(), State::absent),
        runs_(problem.nodes().size(), 0),
        views_(problem.values().size()),
        excluded_(problem.nodes().size()) {
    live_ = problem.resident_bytes();
    for (std::size_t v = 0; v < problem.values().size(); ++v) {
      const Problem::Value& value = problem.values()[v];
      if (is_pinned(value)) live_ += value.bytes;  // in memory from the beginning, whenever its node "runs"
      int across = value.never_keep_across;
      if (across >= 0) excluded_[static_cast<std::size_t>(across)].push_back(static_cast<int>(v));
      if (value.view_of >= 0) views_[static_cast<std::size_t>(value.view_of)].push_back(static_cast<int>(v));
    }
    verdict_.peak = live_;
  }

  Verdict judge(std::int64_t budget) {
    for (at_ = 0; at_ < steps_.size() && verdict_.why.empty(); ++at_) replay(steps_[at_]);
    if (verdict_.why.empty()) check_end();
    if (verdict_.why.empty() && verdict_.peak > budget) {
      reject("peak of {} bytes at step {} is above the budget of {}", verdict_.peak, verdict_.peak_step, budget);
    }
    verdict_.ok = verdict_.why.empty();
    return verdict_;
  }

 private:
  template <class... Args>
  void reject(fmt::format_string<Args...> format, Args&&... args) {
    if (verdict_.why.empty()) verdict_.why = fmt::format(format, std::forward<Args>(args)...);
  }

  bool is_pinned(const Problem::Value& value) const { return problem_.node(value.node).pinned; }
  State& state(int value) { return state_[static_cast<std::size_t>(value)]; }
  std::string name(int value) const { return problem_.value_name(value); }

  void reach(std::int64_t bytes) {
    if (bytes <= verdict_.peak) return;
    verdict_.peak = bytes;
    verdict_.peak_step = static_cast<int>(at_);
  }

  void replay(Step step) {
    int count = step.kind == Step::Kind::run ? problem_.node_count() : problem_.value_count();
    if (step.id < 0 || step.id >= count) return reject("step {} names number {} of {}", at_, step.id, count);
    switch (step.kind) {
      case Step::Kind::run: return run(step.id);
      case Step::Kind::drop: return drop(step.id);
      case Step::Kind::page_out: return page_out(step.id);
      case Step::Kind::page_in: return page_in(step.id);
      case Step::Kind::compress: return compress(step.id);
      case Step::Kind::expand: return expand(step.id);
    }
    reject("step {} is of no known kind", at_);
  }

  // Takes a value, in whatever form, out of memory, and with it its views.
  void forget(int value) {
    const Problem::Value& known = problem_.value(value);
    if (state(value) == State::plain && !is_pinned(known)) live_ -= known.bytes;
    if (state(value) == State::compressed) live_ -= problem_.compression(value)->bytes;
    state(value) = State::absent;
    for (int view : views_[static_cast<std::size_t>(value)]) state(view) = State::absent;
  }

  void run(int index) {
    const Problem::Node& node = problem_.node(index);
    check_may_run(index, node);
    if (!verdict_.why.empty()) return;
    ++runs_[static_cast<std::size_t>(index)];
    verdict_.cost += node.cost;
    for (int k = 0; k < node.value_count; ++k) forget(node.first_value + k);
    std::int64_t during = live_ + node.scratch;
    std::vector<int> taken;
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      const Problem::Value& value = problem_.value(v);
      state(v) = State::plain;
      if (is_pinned(value)) continue;
      live_ += value.bytes;
      int input = value.in_place_of;
      bool takes_over = input >= 0 && dies_now(input) && std::find(taken.begin(), taken.end(), input) == taken.end();
      if (takes_over)
        taken.push_back(input);
      else
        during += value.bytes;
    }
    reach(during);
  }

  void check_may_run(int index, const Problem::Node& node) {
    for (int input : problem_.inputs(node)) {
      if (state(input) != State::plain) reject("step {} runs '{}' without its input '{}'", at_, node.name, name(input));
      int by = problem_.value(input).updated_by;
      if (by >= 0 && by != index && runs_[static_cast<std::size_t>(by)] > 0) {
        reject("step {} runs '{}' after '{}' has overwritten '{}'", at_, node.name, problem_.node(by).name,
               name(input));
      }
      check_viewed_is_current(node, input);
    }
    bool again = runs_[static_cast<std::size_t>(index)] > 0;
    if (again && node.never_recompute) reject("step {} runs '{}' again, which must run only once", at_, node.name);
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      if (again && problem_.value(v).keep) reject("step {} makes '{}' again, which is to be kept", at_, name(v));
    }
    for (int v : excluded_[static_cast<std::size_t>(index)]) {
      if (state(v) != State::plain) continue;
      reject("step {} runs '{}' with '{}' in memory, which is not to be kept", at_, node.name, name(v));
    }
  }

  // A view of an overwritten value shows the new one, so it must not be read after the update either.
  void check_viewed_is_current(const Problem::Node& node, int input) {
    int root = problem_.value(input).view_of;
    if (root < 0) return;
    int by = problem_.value(root).updated_by;
    bool is_the_new_value = by >= 0 && problem_.value(input).node == by;
    if (by >= 0 && !is_the_new_value && &problem_.node(by) != &node && runs_[static_cast<std::size_t>(by)] > 0) {
      reject("step {} runs '{}' after '{}' has overwritten what '{}' views", at_, node.name, problem_.node(by).name,
             name(input));
    }
  }

  // Whether the value is dropped by the drops that directly follow this step.
  bool dies_now(int value) const {
    if (is_pinned(problem_.value(value))) return false;
    for (std::size_t next = at_ + 1; next < steps_.size() && steps_[next].kind == Step::Kind::drop; ++next) {
      if (steps_[next].id == value) return true;
    }
    return false;
  }

  void drop(int value) {
    if (state(value) == State::absent) return reject("step {} drops '{}', which is not there", at_, name(value));
    if (is_pinned(problem_.value(value))) return reject("step {} drops '{}', which is pinned", at_, name(value));
    forget(value);
  }

  bool check_other_form(int value, bool has_form, State needed, const char* verb) {
    if (!has_form) reject("step {}: nothing says how to {} '{}'", at_, verb, name(value));
    if (problem_.value(value).keep) reject("step {}: '{}' is to be kept as it is", at_, name(value));
    if (state(value) != needed)
      reject("step {} cannot {} '{}': it is not in the form for that", at_, verb, name(value));
    return verdict_.why.empty();
  }

  void page_out(int value) {
    const std::optional<Paging>& paging = problem_.paging(value);
    if (!check_other_form(value, paging.has_value(), State::plain, "page out")) return;
    verdict_.cost += paging->out_cost;
    forget(value);
    state(value) = State::paged;
  }

  void page_in(int value) {
    const std::optional<Paging>& paging = problem_.paging(value);
    if (!check_other_form(value, paging.has_value(), State::paged, "page in")) return;
    verdict_.cost += paging->in_cost;
    live_ += problem_.value(value).bytes;
    state(value) = State::plain;
    reach(live_);
  }

  void compress(int value) {
    const std::optional<Compression>& form = problem_.compression(value);
    if (!check_other_form(value, form.has_value(), State::plain, "compress")) return;
    verdict_.cost += form->encode_cost;
    reach(live_ + form->bytes);
    forget(value);
    live_ += form->bytes;
    state(value) = State::compressed;
  }

  void expand(int value) {
    const std::optional<Compression>& form = problem_.compression(value);
    if (!check_other_form(value, form.has_value(), State::compressed, "expand")) return;
    verdict_.cost += form->decode_cost;
    reach(live_ + problem_.value(value).bytes);
    forget(value);
    live_ += problem_.value(value).bytes;
    state(value) = State::plain;
  }

  void check_end() {
    for (int n = 0; n < problem_.node_count(); ++n) {
      if (runs_[static_cast<std::size_t>(n)] == 0) reject("'{}' never runs", problem_.node(n).name);
    }
    for (int v = 0; v < problem_.value_count(); ++v) {
      if (problem_.value(v).output && state(v) != State::plain)
        reject("output '{}' is not in memory at the end", name(v));
    }
  }

  const Problem& problem_;
  const std::vector<Step>& steps_;
  std::vector<State> state_;
  std::vector<int> runs_;
  std::vector<std::vector<int>> views_;     // of each value
  std::vector<std::vector<int>> excluded_;  // values that must not be in memory while a node runs
  std::int64_t live_ = 0;
  std::size_t at_ = 0;
  Verdict verdict_;
};

Verdict validated(const Problem& problem, const Schedule& schedule) {
  Verdict verdict = validate(problem, schedule);
  if (!verdict) fail("[plan] not a schedule of this problem: {}", verdict.why);
  return verdict;
}

}  // namespace

Verdict validate(const Problem& problem, const Schedule& schedule, std::int64_t budget) {
  return Judge(problem, schedule).judge(budget);
}

std::int64_t peak(const Problem& problem, const Schedule& schedule) { return validated(problem, schedule).peak; }
double cost(const Problem& problem, const Schedule& schedule) { return validated(problem, schedule).cost; }

}  // namespace reprise
