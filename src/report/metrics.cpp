// SPDX-License-Identifier: Apache-2.0
#include "report/metrics.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace reprise::report {
namespace {

using nlohmann::json;

// A number of the object that can be drawn; a loss that is no number (null, NaN) cannot.
void take(const json& object, const char* key, double step, Curve& curve) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_number() || !std::isfinite(found->get<double>())) return;
  curve.emplace_back(step, found->get<double>());
}

double number_or(const json& object, const char* key, double otherwise) {
  auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

void take_line(const json& line, Metrics& metrics) {
  double step = number_or(line, "step", static_cast<double>(metrics.steps + 1));
  if (line.contains("loss")) ++metrics.steps;
  take(line, "loss", step, metrics.loss);
  take(line, "lr", step, metrics.rate);
  take(line, "val_loss", step, metrics.val_loss);
  take(line, "val_metric", step, metrics.val_metric);
  metrics.seconds = std::max(metrics.seconds, number_or(line, "seconds", 0));
}

}  // namespace

Metrics read_metrics(std::string_view text, const std::string& name) {
  Metrics metrics;
  for (int number = 1; !text.empty(); ++number) {
    std::size_t end = text.find('\n');
    bool is_whole = end != std::string_view::npos;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(is_whole ? end + 1 : text.size());
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    json object = json::parse(line, nullptr, false);
    if (object.is_object())
      take_line(object, metrics);
    else if (is_whole)
      fail("[report] {}: line {} is not a JSON object such as {{\"step\": 1, \"loss\": 0.5}}", name, number);
  }
  return metrics;
}

Metrics load_metrics(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("[report] cannot read the metrics '{}': check the path", path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  return read_metrics(text, path);
}

Curve thinned(const Curve& curve, std::size_t most) {
  if (curve.size() <= most) return curve;
  Curve few;
  for (std::size_t k = 0; k < most; ++k) {
    std::size_t begin = k * curve.size() / most, end = (k + 1) * curve.size() / most;
    double x = 0, y = 0;
    for (std::size_t i = begin; i < end; ++i) x += curve[i].first, y += curve[i].second;
    auto count = static_cast<double>(end - begin);
    few.emplace_back(x / count, y / count);
  }
  return few;
}

}  // namespace reprise::report
