// SPDX-License-Identifier: Apache-2.0
// Trace events, the JSON that Perfetto and chrome://tracing read: a slice for each moment, a counter for memory.
#include <fmt/core.h>

#include "base/index.h"
#include "report/data.h"
#include "report/text.h"

namespace reprise::report {
namespace {

constexpr double micro = 1e6;

std::string named(const char* what, int thread, const std::string& name) {
  return fmt::format("{{\"ph\":\"M\",\"pid\":1,\"tid\":{},\"name\":\"{}\",\"args\":{{\"name\":{}}}}}", thread, what,
                     json_string(name));
}

class Tracer {
 public:
  explicit Tracer(const Shown& shown) : shown_(shown), runs_(shown.problem.nodes().size(), 0) {}

  std::string write() {
    add(named("process_name", 0, shown_.page.title));
    add(named("thread_name", 1, "first runs"));
    add(named("thread_name", 2, "recomputed"));
    for (int m = 0; m < shown_.picture.moment_count(); ++m) {
      slice(m);
      counters(m);
    }
    return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events_ + "\n]}\n";
  }

 private:
  void add(const std::string& event) { events_ += (events_.empty() ? "" : ",\n") + event; }

  void slice(int m) {
    int number = shown_.picture.steps[at(m)];
    Step step = shown_.plan.schedule.steps[at(number)];
    bool is_run = step.kind == Step::Kind::run, is_again = is_run && runs_[at(step.id)]++ > 0;
    const Problem::Node& node = shown_.problem.node(is_run ? step.id : shown_.problem.value(step.id).node);
    std::string_view group = shown_.problem.group(node);
    double begin = shown_.picture.times[at(m)], end = shown_.picture.times[at(m) + 1];
    add(
        fmt::format("{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},\"name\":{},\"cat\":{},\"args\":"
                    "{{\"step\":{},\"live_bytes\":{},\"scratch_bytes\":{}}}}}",
                    is_again ? 2 : 1, begin * micro, (end - begin) * micro,
                    json_string(is_run ? node.name : doing(shown_.problem, shown_.plan.schedule, number, false)),
                    json_string(group.empty() ? to_string(step.kind) : group), number, shown_.picture.total[at(m)],
                    is_run ? node.scratch : 0));
  }

  void counters(int m) {
    std::string groups;
    for (std::size_t g = 0; g < shown_.picture.groups.size(); ++g)
      groups += fmt::format("{}{}:{}", g == 0 ? "" : ",", json_string(shown_.picture.groups[g]),
                            shown_.picture.memory[g][at(m)]);
    double time = shown_.picture.times[at(m)] * micro;
    add(fmt::format("{{\"ph\":\"C\",\"pid\":1,\"ts\":{:.3f},\"name\":\"memory\",\"args\":{{{}}}}}", time, groups));
    if (m == 0 && limit_of(shown_.plan) >= 0)
      add(fmt::format("{{\"ph\":\"C\",\"pid\":1,\"ts\":0,\"name\":\"budget\",\"args\":{{\"bytes\":{}}}}}",
                      limit_of(shown_.plan)));
  }

  const Shown& shown_;
  std::vector<int> runs_;
  std::string events_;
};

}  // namespace

void trace(const Page& page, const std::string& path) {
  Shown all = shown(page);
  write_file(path, Tracer(all).write());
}

}  // namespace reprise::report
