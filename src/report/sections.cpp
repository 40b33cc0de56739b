// SPDX-License-Identifier: Apache-2.0
#include "report/sections.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/index.h"
#include "report/machine.h"
#include "report/metrics.h"
#include "report/text.h"

namespace reprise::report {
namespace {

constexpr std::size_t most_rows = 12, most_points = 1000;

std::string section(const std::string& id, const std::string& title, const std::string& body) {
  return fmt::format("<section aria-labelledby=\"{}\">\n<h2 id=\"{}\">{}</h2>\n{}</section>\n", id, id, title, body);
}

std::string card(const std::string& figure, const std::string& what) {
  return fmt::format("<li><b>{}</b><span>{}</span></li>\n", escaped(figure), escaped(what));
}

std::string share_of(std::int64_t part, std::int64_t whole) {
  return percent(static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(1, whole)));
}

std::string decision_words(const Decision& d) {
  if (d.runs > 1) return fmt::format("recomputed, {} runs", d.runs);
  return d.reason == Reason::moved ? "moved to disk" : "kept";
}

std::string decision_rows(const Shown& shown, const std::vector<Decision>& decisions) {
  std::string rows;
  for (const Decision& d : decisions)
    rows += fmt::format(
        "<tr><td class=\"name\">{}</td><td class=\"n\">{}</td><td class=\"line\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td>"
        "<td>{}</td></tr>\n",
        escaped(shortened(shown.problem.value_name(d.value), 96)), format_bytes(d.bytes), decision_words(d),
        percent(d.again), percent(d.rate), escaped(sentence(shown.problem, shown.reasons, d.reason)));
  return rows;
}

std::string rows_of(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string rows;
  for (const auto& [name, value] : facts)
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name), escaped(value));
  return rows;
}

std::string table(const std::string& rows) { return "<div class=\"scroll\"><table>\n" + rows + "</table></div>\n"; }

std::string last_of(const Curve& curve) { return curve.empty() ? "-" : number(curve.back().second); }

}  // namespace

std::string overview(const Shown& shown) {
  const PlanResult& plan = shown.plan;
  std::string text = fmt::format(
      "<header><div><h1>{}</h1><p id=\"summary\">{}</p></div><button id=\"theme\" "
      "aria-label=\"light or dark\">◐</button></header>\n<ul class=\"cards\">\n",
      escaped(shown.page.title), escaped(plan.summary()));
  bool is_limited = limit_of(plan) >= 0;
  text += card(is_limited ? format_bytes(plan.budget) : "unlimited", "budget");
  text += card(format_bytes(plan.peak), share_of(plan.peak, plan.keep_all_peak) + " of an unlimited run's peak");
  text += card(format_bytes(plan.keep_all_peak), "peak without a limit");
  text += card(fmt::format("×{:.3f}", 1 + plan.overhead()), "time of an unlimited run");
  text += card(fmt::format("{} of {}", plan.recomputed, plan.value_count), "values recomputed");
  text += card(plan.gap() < 5e-5 ? "0 %" : "≤ " + percent(plan.gap()), "above the best possible");
  return text + "</ul>\n<p class=\"quiet\">" + escaped(plan.binding.node >= 0 ? plan.why() : "") + "</p>\n";
}

std::string peak_section(const Shown& shown) {
  const Picture& picture = shown.picture;
  int moment = picture.peak_moment();
  if (moment < 0) return {};
  std::int64_t peak = std::max<std::int64_t>(1, picture.total[at(moment)]);
  std::string rows =
      "<tr><th scope=\"col\">what</th><th scope=\"col\" class=\"n\">bytes</th><th scope=\"col\" class=\"n\">share</th>"
      "<th scope=\"col\"></th></tr>\n";
  for (std::size_t g = picture.groups.size(); g-- > 0;) {
    std::int64_t bytes = picture.memory[g][at(moment)];
    if (bytes == 0) continue;
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"share\"><span "
        "style=\"width:{:.2f}%;background:var(--g{})\"></span></td></tr>\n",
        escaped(shortened(picture.groups[g], 96)), format_bytes(bytes), share_of(bytes, peak),
        100 * static_cast<double>(bytes) / static_cast<double>(peak), g % 12);
  }
  std::string where = doing(shown.problem, shown.plan.schedule, picture.steps[at(moment)], false);
  return section("peak-title", "What the peak is made of",
                 fmt::format("<p>{} are in memory at moment {} of {}: <span class=\"name\">{}</span>.</p>\n",
                             format_bytes(picture.total[at(moment)]), moment + 1, picture.moment_count(),
                             escaped(shortened(where, 120))) +
                     table(rows));
}

std::string values_section(const Shown& shown) {
  std::vector<Decision> recomputed = largest_recomputed(shown.plan, shown.reasons, most_rows);
  std::vector<Decision> moved = largest_moved(shown.plan, shown.reasons, most_rows);
  std::erase_if(moved, [](const Decision& d) { return d.runs > 1; });  // they are among the others
  std::vector<Decision> kept = largest_kept(shown.plan, shown.reasons, most_rows);
  std::string worth;
  if (shown.reasons.binding >= 0 && shown.plan.base_cost > 0)
    worth = fmt::format(
        "<p>Memory is shortest while <span class=\"name\">{}</span> runs: 1 % of the memory is worth {} of a step's "
        "time there.</p>\n",
        escaped(shortened(shown.problem.node(shown.reasons.binding).name, 96)), percent(shown.reasons.worth));
  return section(
      "values-title", "The largest values, and why they are kept or recomputed",
      worth +
          table("<tr><th scope=\"col\">value</th><th scope=\"col\" class=\"n\">bytes</th>"
                "<th scope=\"col\">decision</th><th scope=\"col\" class=\"n\">computing it again</th>"
                "<th scope=\"col\" class=\"n\">for 1 % of memory</th><th scope=\"col\">why</th></tr>\n" +
                decision_rows(shown, recomputed) + decision_rows(shown, moved) + decision_rows(shown, kept)) +
          "<p class=\"quiet\">Shares are of the time of a step that recomputes nothing; memory is the peak "
          "of that step.</p>\n");
}

Chart curve_chart(std::span<const Point> curve, std::int64_t chosen, double chosen_time) {
  Series found{"found", "found", {}}, bound{"proved bound", "bound", {}};
  int bend = knee(curve);
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const Point& p = curve[i];
    auto x = static_cast<double>(p.budget);
    found.points.emplace_back(x, p.time);
    found.titles.push_back(fmt::format("{}: time ×{:.4f}, at best ×{:.4f}{}", format_bytes(p.budget), p.time, p.bound,
                                       static_cast<int>(i) == bend ? " (the knee)" : ""));
    bound.points.emplace_back(x, p.bound);
  }
  Chart chart{.title = "Time against budget", .x_name = "budget", .y_name = "time"};
  chart.series = {bound, found};
  if (bend >= 0) chart.series.push_back({"knee", "rate", {found.points[at(bend)]}, {found.titles[at(bend)]}});
  if (chosen >= 0)
    chart.series.push_back({"this plan",
                            "chosen",
                            {{static_cast<double>(chosen), chosen_time}},
                            {fmt::format("this plan: {}, time ×{:.4f}", format_bytes(chosen), chosen_time)}});
  chart.is_x_bytes = true;
  chart.y_text = [](double t) { return fmt::format("×{:.4g}", t); };
  return chart;
}

std::string knee_sentence(std::span<const Point> curve) {
  int bend = knee(curve);
  if (bend < 0) return {};
  const Point& p = curve[at(bend)];
  return fmt::format("The knee is at {}: time x{:.3f}. Below it memory becomes dear.", format_bytes(p.budget), p.time);
}

std::string curve_section(const Shown& shown) {
  if (shown.page.curve.size() < 2) return {};
  Chart chart = curve_chart(shown.page.curve, limit_of(shown.plan), 1 + shown.plan.overhead());
  return section("curve-title", "What other budgets would cost",
                 line_chart(chart) + "<p>" + escaped(knee_sentence(shown.page.curve)) + "</p>\n");
}

std::string metrics_section(const Page& page) {
  if (page.metrics.empty()) return {};
  Metrics m = load_metrics(page.metrics);
  if (m.loss.empty() && m.val_loss.empty()) return {};
  Chart loss{.title = "Loss by step", .x_name = "step", .y_name = "loss"};
  loss.series = {{"training", "loss", thinned(m.loss, most_points)}};
  if (!m.val_loss.empty()) loss.series.push_back({"validation", "val", thinned(m.val_loss, most_points)});
  std::string charts = "<div>" + line_chart(loss) + "</div>\n";
  auto add = [&](const char* title, const char* name, const char* style, const Curve& curve) {
    if (curve.empty()) return;
    Chart chart{.title = title, .x_name = "step", .y_name = name};
    chart.series = {{name, style, thinned(curve, most_points)}};
    charts += "<div>" + line_chart(chart) + "</div>\n";
  };
  add("Learning rate by step", "learning rate", "rate", m.rate);
  add("Validation metric by step", "metric", "val", m.val_metric);
  return section("loss-title", "Learning",
                 fmt::format("<p>{} steps; last loss {}, last validation loss {}, last validation metric {}.</p>\n",
                             m.steps, last_of(m.loss), last_of(m.val_loss), last_of(m.val_metric)) +
                     "<div class=\"pair\">\n" + charts + "</div>\n");
}

std::string facts_section(const Page& page) {
  std::string settings =
      page.settings.empty() ? "" : "<div><h3>Settings</h3>" + table(rows_of(page.settings)) + "</div>";
  return section("facts-title", "Machine and settings",
                 "<div class=\"pair\">\n<div><h3>Machine</h3>" + table(rows_of(machine_facts())) + "</div>\n" +
                     settings + "</div>\n");
}

}  // namespace reprise::report
