// SPDX-License-Identifier: Apache-2.0
// The page. Tables and curves are written here; the two pictures that move are drawn by page.js from page_data.
// Whatever comes from outside passes through `escaped` or `json_string`, and the policy in the head lets no other
// script run.
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "report/chart.h"
#include "report/data.h"
#include "report/machine.h"
#include "report/metrics.h"
#include "report/page_parts.h"
#include "report/sections.h"
#include "report/text.h"

namespace reprise::report {
namespace {

constexpr std::size_t most_bars = 24'000;

// A word that nothing written before the page was could have foretold (FNV-1a over all that it shows).
std::string nonce_of(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", h);
}

std::string head(const Page& page, const std::string& nonce) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-{}'; "
      "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n",
      nonce, escaped(page.title), page_style);
}

std::string merged_note(const DrawnBars& drawn) {
  if (drawn.merged == 0) return {};
  return fmt::format(
      "<p class=\"quiet\" id=\"merged\">The {} smallest lives are not drawn one by one here; together they take at "
      "most "
      "{} at any moment. The picture above counts them.</p>\n",
      drawn.merged, format_bytes(drawn.merged_bytes));
}

// What page.js draws on.
std::string pictures(const Shown& shown, const DrawnBars& drawn) {
  std::string times = shown.page.timeline.empty() ? "Times are planned ones." : "Times were measured in a run.";
  return fmt::format(
      "<section aria-labelledby=\"memory-title\">\n<h2 id=\"memory-title\">Memory over time</h2>\n"
      "<div class=\"bar\"><button id=\"by-time\" aria-pressed=\"true\">by time</button>"
      "<button id=\"by-step\" aria-pressed=\"false\">by step</button>"
      "<button id=\"zoom-in\" aria-label=\"zoom in\">+</button><button id=\"zoom-out\" aria-label=\"zoom "
      "out\">−</button>"
      "<button id=\"zoom-all\">all</button><span class=\"quiet\">{} Zoom with + and −, or Ctrl and the wheel; drag to "
      "move.</span></div>\n"
      "<canvas id=\"memory\" tabindex=\"0\" role=\"img\" aria-label=\"{}\"></canvas>\n"
      "<ul id=\"legend\"><li><span class=\"dashed\"></span>budget</li>"
      "<li><span class=\"dotted\"></span>without a limit</li>"
      "<li><span class=\"square striped\"></span>recomputed</li></ul>\n</section>\n"
      "<section aria-labelledby=\"layout-title\">\n<h2 id=\"layout-title\">Every value: when it lives, and where</h2>\n"
      "<div class=\"bar\"><label for=\"find\">Find</label><input id=\"find\" type=\"search\" "
      "placeholder=\"part of a name\"><span id=\"found\" class=\"quiet\" role=\"status\"></span>"
      "<span class=\"quiet\">Point at a bar, or walk with the arrow keys.</span></div>\n"
      "<canvas id=\"layout\" tabindex=\"0\" role=\"application\" aria-label=\"Every value as a bar: time from left to "
      "right, its place in the arena from bottom to top. The arrow keys go from value to value.\"></canvas>\n{}"
      "<div id=\"told\" aria-live=\"polite\"></div>\n</section>\n",
      times, escaped(shown.plan.summary()), merged_note(drawn));
}

std::string page_text(const Page& page) {
  Shown all = shown(page);
  DrawnBars drawn = drawn_bars(all.picture, most_bars);
  std::string data = page_data(all, drawn), nonce = nonce_of(data + page.title);
  std::string out = head(page, nonce) + "<body>\n" + overview(all) + "<main>\n" + pictures(all, drawn);
  out += peak_section(all) + values_section(all) + curve_section(all) + metrics_section(page) + facts_section(page);
  out +=
      "</main>\n<div id=\"tip\" hidden></div>\n<noscript><p>The pictures of memory need JavaScript; all else on this "
      "page does not.</p></noscript>\n";
  out += "<script type=\"application/json\" id=\"data\">" + data + "</script>\n";
  return out + fmt::format("<script nonce=\"{}\">\n{}</script>\n</body>\n</html>\n", nonce, page_script);
}

}  // namespace

void html(const Page& page, const std::string& path) { write_file(path, page_text(page)); }

void html(const PlanResult& plan, const std::string& path) { html({.plan = &plan}, path); }

}  // namespace reprise::report
