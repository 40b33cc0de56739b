// SPDX-License-Identifier: Apache-2.0
#include "report/data.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/index.h"
#include "report/text.h"

namespace reprise::report {
namespace {

constexpr std::size_t most_columns = 4096;
constexpr std::size_t longest_name = 96;

// [1,2,3]
template <class List, class Text>
std::string list(const List& items, const Text& text) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    out += text(item);
  }
  return out + "]";
}

std::string whole(std::int64_t n) { return fmt::format("{}", n); }
std::string real(double x) { return fmt::format("{:.7g}", x); }

// What the bars show: each value, compressed form or scratch once, however often it lives.
class Subjects {
 public:
  explicit Subjects(const Shown& shown) : shown_(shown) {}

  int of(const Bar& bar) {
    auto [found, is_new] = known_.try_emplace({static_cast<int>(bar.kind), bar.id}, static_cast<int>(known_.size()));
    if (is_new) add(bar);
    return found->second;
  }

  std::string json() const {
    return fmt::format("{{\"name\":{},\"group\":{},\"runs\":{},\"scratch\":{},\"why\":{},\"again\":{}}}",
                       list(names_, json_string), list(groups_, whole), list(runs_, whole), list(is_scratch_, whole),
                       list(whys_, whole), list(agains_, json_string));
  }

 private:
  void add(const Bar& bar) {
    bool is_scratch = bar.kind == Placement::Kind::scratch;
    int node = is_scratch ? bar.id : shown_.problem.value(bar.id).node;
    double base = shown_.plan.base_cost, cost = shown_.problem.node(node).cost;
    bool has_cost = !is_scratch && base > 0 && !shown_.problem.node(node).pinned;
    names_.push_back(shortened(name_of(shown_.problem, bar), longest_name));
    groups_.push_back(bar.group);
    runs_.push_back(is_scratch ? 1 : shown_.reasons.runs[at(node)]);
    is_scratch_.push_back(is_scratch);
    whys_.push_back(is_scratch ? -1 : static_cast<int>(shown_.reasons.of[at(bar.id)]));
    agains_.push_back(has_cost ? percent(cost / base) : "");
  }

  const Shown& shown_;
  std::map<std::pair<int, int>, int> known_;
  std::vector<std::string> names_, agains_;
  std::vector<int> groups_, runs_, is_scratch_, whys_;
};

std::string bars_json(const std::vector<Bar>& bars, Subjects& subjects) {
  auto all = [&](auto field) { return list(bars, [&](const Bar& bar) { return whole(field(bar)); }); };
  return fmt::format("{{\"value\":{},\"from\":{},\"to\":{},\"offset\":{},\"bytes\":{}}}",
                     all([&](const Bar& bar) { return subjects.of(bar); }), all([](const Bar& b) { return b.from; }),
                     all([](const Bar& b) { return b.to; }), all([](const Bar& b) { return b.offset; }),
                     all([](const Bar& b) { return b.bytes; }));
}

std::string memory_json(const Picture& picture, const Columns& columns) {
  return list(picture.memory, [&](const std::vector<std::int64_t>& group) {
    return list(columns.moments, [&](int m) { return whole(group[at(m)]); });
  });
}

std::string unlimited_json(const Picture& picture) {
  Columns columns = columns_of(picture, most_columns);
  return fmt::format("{{\"moments\":{},\"times\":{},\"total\":{}}}", picture.moment_count(), list(columns.times, real),
                     list(columns.moments, [&](int m) { return whole(picture.total[at(m)]); }));
}

std::string doing_json(const Shown& shown, const Columns& columns) {
  std::vector<int> runs(shown.problem.nodes().size(), 0);
  std::vector<std::string> words(at(shown.picture.moment_count()));
  for (std::size_t m = 0; m < words.size(); ++m) {
    int number = shown.picture.steps[m];
    Step step = shown.plan.schedule.steps[at(number)];
    bool is_again = step.kind == Step::Kind::run && runs[at(step.id)]++ > 0;
    words[m] = shortened(doing(shown.problem, shown.plan.schedule, number, is_again), longest_name);
  }
  return list(columns.moments, [&](int m) { return json_string(words[at(m)]); });
}

std::string whys_json(const Shown& shown) {
  std::vector<int> all;
  for (int r = 0; r < reason_count; ++r) all.push_back(r);
  return list(all, [&](int r) {
    return json_string(shortened(sentence(shown.problem, shown.reasons, static_cast<Reason>(r)), 300));
  });
}

}  // namespace

Shown shown(const Page& page) {
  if (!page.plan || !page.plan->problem) fail("[report] the page has no plan, or one without its problem");
  if (!*page.plan) fail("[report] there is nothing to show: {}", page.plan->why());
  return {page,
          *page.plan->problem,
          *page.plan,
          picture_of(*page.plan, page.timeline),
          unlimited_picture(*page.plan->problem, page.timeline),
          reasons_for(*page.plan)};
}

DrawnBars drawn_bars(const Picture& picture, std::size_t most) {
  DrawnBars drawn{.bars = picture.bars};
  if (drawn.bars.size() <= most) return drawn;
  auto area = [](const Bar& b) { return static_cast<double>(b.bytes) * (b.to - b.from); };
  std::ranges::stable_sort(drawn.bars, [&](const Bar& a, const Bar& b) { return area(a) > area(b); });
  std::vector<std::int64_t> change(at(picture.moment_count()) + 1, 0);
  for (std::size_t i = most; i < drawn.bars.size(); ++i) {
    change[at(drawn.bars[i].from)] += drawn.bars[i].bytes;
    change[at(drawn.bars[i].to)] -= drawn.bars[i].bytes;
  }
  std::int64_t now = 0;
  for (std::int64_t bytes : change) drawn.merged_bytes = std::max(drawn.merged_bytes, now += bytes);
  drawn.merged = drawn.bars.size() - most;
  drawn.bars.resize(most);
  return drawn;
}

Columns columns_of(const Picture& picture, std::size_t most) {
  Columns columns;
  std::size_t moments = at(picture.moment_count()), count = std::min(moments, most);
  for (std::size_t c = 0; c < count; ++c) {
    std::size_t begin = c * moments / count, end = (c + 1) * moments / count;
    auto highest = std::max_element(picture.total.begin() + static_cast<std::ptrdiff_t>(begin),
                                    picture.total.begin() + static_cast<std::ptrdiff_t>(end));
    columns.moments.push_back(static_cast<int>(highest - picture.total.begin()));
    columns.times.push_back(picture.times[begin]);
  }
  columns.times.push_back(picture.times.back());
  return columns;
}

std::int64_t limit_of(const PlanResult& plan) {
  return plan.budget == std::numeric_limits<std::int64_t>::max() ? -1 : plan.budget;
}

std::string doing(const Problem& problem, const Schedule& schedule, int number, bool is_again) {
  Step step = schedule.steps[at(number)];
  bool is_run = step.kind == Step::Kind::run;
  return fmt::format("{} {}{}", to_string(step.kind), is_run ? problem.node(step.id).name : problem.value_name(step.id),
                     is_again ? " again" : "");
}

std::string page_data(const Shown& shown, const DrawnBars& drawn) {
  Columns columns = columns_of(shown.picture, most_columns);
  Subjects subjects(shown);
  std::string bars = bars_json(drawn.bars, subjects);
  std::int64_t limit = limit_of(shown.plan);
  return fmt::format(
      "{{\"moments\":{},\"times\":{},\"seconds\":{},\"groups\":{},\"memory\":{},\"doing\":{},\n\"unlimited\":{},\n"
      "\"budget\":{},\"peak\":{},\"layoutBytes\":{},\"resident\":{},\n\"whys\":{},\n\"values\":{},\n\"bars\":{}}}",
      shown.picture.moment_count(), list(columns.times, real), !shown.page.timeline.empty(),
      list(shown.picture.groups, [](const std::string& group) { return json_string(shortened(group, longest_name)); }),
      memory_json(shown.picture, columns), doing_json(shown, columns), unlimited_json(shown.unlimited),
      limit < 0 ? "null" : whole(limit), shown.plan.peak, shown.plan.layout_bytes, shown.problem.resident_bytes(),
      whys_json(shown), subjects.json(), bars);
}

}  // namespace reprise::report
