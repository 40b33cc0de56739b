// SPDX-License-Identifier: Apache-2.0
#include "trainer/metrics.h"

#include <cmath>
#include <sstream>

#include "base/error.h"

namespace reprise {
namespace {

constexpr std::string_view columns = "step,epoch,loss,lr,seconds,val_loss,val_metric";

// The step of a line, which stands first; -1 where there is none.
std::int64_t step_of(const std::string& line, bool is_csv) {
  constexpr std::string_view start = "{\"step\": ";
  std::size_t at = is_csv ? 0 : start.size();
  if (!is_csv && !line.starts_with(start)) return -1;
  std::istringstream rest(line.substr(at));
  std::int64_t step = -1;
  return rest >> step ? step : -1;
}

std::string lines_up_to(const std::string& path, bool is_csv, std::int64_t last_step) {
  std::ifstream file(path);
  std::string kept;
  for (std::string line; std::getline(file, line) && !file.eof();) {  // a line without its end was cut off
    std::int64_t step = step_of(line, is_csv);
    if (step >= 0 && step <= last_step) kept += line + "\n";
  }
  return kept;
}

// JSON has no word for what is not finite.
std::string number(double x) { return std::isfinite(x) ? fmt::format("{}", x) : "null"; }
std::string cell(double x) { return std::isfinite(x) ? fmt::format("{}", x) : ""; }

}  // namespace

void expect_metrics_path(const std::string& path) {
  if (!path.ends_with(".csv") && !path.ends_with(".jsonl"))
    fail("[metrics] '{}' ends neither in .csv nor in .jsonl, which say how to write it", path);
}

MetricsFile::MetricsFile(const std::string& path, std::int64_t last_step)
    : path_(path), is_csv_(path.ends_with(".csv")) {
  expect_metrics_path(path);
  std::string kept = last_step > 0 ? lines_up_to(path, is_csv_, last_step) : "";
  file_.open(path, std::ios::trunc);
  if (is_csv_) kept = std::string(columns) + "\n" + kept;
  file_ << kept;
  if (!file_.flush()) fail("[metrics] cannot write '{}': check the folder and its permissions", path);
}

void MetricsFile::write(const std::string& line) {
  if (!(file_ << line << "\n").flush()) fail("[metrics] cannot write '{}': is the disk full?", path_);
}

void MetricsFile::add_step(const TrainingStatus& s) {
  if (is_csv_) return write(fmt::format("{},{:.6g},{},{},{:.3f},,", s.step, s.epoch, cell(s.loss), s.lr, s.seconds));
  write(fmt::format("{{\"step\": {}, \"epoch\": {:.6g}, \"loss\": {}, \"lr\": {}, \"seconds\": {:.3f}}}", s.step,
                    s.epoch, number(s.loss), s.lr, s.seconds));
}

void MetricsFile::add_evaluation(const TrainingStatus& s, const Evaluation& e) {
  if (is_csv_)
    return write(fmt::format("{},{:.6g},,,{:.3f},{},{}", s.step, s.epoch, s.seconds, cell(e.loss), cell(e.accuracy)));
  write(fmt::format("{{\"step\": {}, \"epoch\": {:.6g}, \"val_loss\": {}, \"val_metric\": {}, \"seconds\": {:.3f}}}",
                    s.step, s.epoch, number(e.loss), number(e.accuracy), s.seconds));
}

}  // namespace reprise
