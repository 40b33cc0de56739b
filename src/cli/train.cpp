// SPDX-License-Identifier: Apache-2.0
// `reprise train`: trains a model on data within a budget.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/memory.h"
#include "cli/model.h"
#include "cli/planning.h"
#include "cli/train_command.h"
#include "cli/verbs.h"
#include "reprise/report.h"
#include "trainer/snapshots.h"

namespace reprise::cli {
namespace {

volatile std::sig_atomic_t signal_caught = 0;

// The step is finished first. A second signal ends the process at once.
void finish_step_at_signals() {
  struct sigaction action {};
  action.sa_handler = [](int number) { signal_caught = number; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

std::string time_words(double seconds) {
  auto s = static_cast<std::int64_t>(seconds);
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

std::string accuracy_words(const Evaluation& e) {
  return std::isnan(e.accuracy) ? std::string() : fmt::format(" ({:.2f} %)", 100 * e.accuracy);
}

// What the run says while it goes.
class Conversation {
 public:
  Conversation(const TrainCommand& command, const Trainer& trainer)
      : quiet_(command.quiet),
        batch_(trainer.recipe().batch),
        budget_(trainer.memory().budget),
        in_use_(trainer.memory().step + trainer.memory().data) {}

  void step(const TrainingStatus& s) {
    seconds_.push_back(s.step_seconds);
    if (quiet_) return;
    double per_step = recent_seconds();
    std::string line = fmt::format("step {}/{} | epoch {:.2f} | loss {:.4f}", s.step, s.steps, s.epoch, s.smooth_loss);
    if (s.evaluation) line += fmt::format(" | val {:.4f}{}", s.evaluation->loss, accuracy_words(*s.evaluation));
    line += fmt::format(" | {:.0f} samples/s | {} left", static_cast<double>(batch_) / per_step,
                        time_words(per_step * static_cast<double>(s.steps - s.step)));
    line += fmt::format(" | {} of {}", format_bytes(in_use_), format_bytes(budget_));
    progress_.show(line, static_cast<double>(s.step) / static_cast<double>(s.steps));
  }
  void evaluation(const TrainingStatus& s) {
    if (quiet_) return;
    progress_.clear();
    if (s.step == 0)
      return fmt::print(stderr, "before the first step: validation loss {:.4f}{}\n", s.evaluation->loss,
                        accuracy_words(*s.evaluation));
    fmt::print(stderr, "step {}: loss {:.4f}, validation loss {:.4f}{}\n", s.step, s.smooth_loss, s.evaluation->loss,
               accuracy_words(*s.evaluation));
  }
  void say(const std::string& text) {
    if (quiet_) return;
    progress_.clear();
    fmt::print(stderr, "{}\n", text);
  }
  const std::vector<double>& seconds() const { return seconds_; }
  void clear() { progress_.clear(); }

 private:
  double recent_seconds() const {
    std::size_t count = std::min<std::size_t>(seconds_.size(), 20);
    double sum = 0;
    for (std::size_t i = seconds_.size() - count; i < seconds_.size(); ++i) sum += seconds_[i];
    return std::max(1e-9, sum / static_cast<double>(count));
  }

  bool quiet_;
  std::int64_t batch_, budget_, in_use_;
  std::vector<double> seconds_;
  Progress progress_;
};

std::string intention(const Trainer& trainer, const std::string& folder) {
  const Recipe& r = trainer.recipe();
  const PlanResult& plan = trainer.plan();
  TrainingMemory m = trainer.memory();
  std::string text =
      fmt::format("{} on {}: {} parameters, {} samples, {} steps of {} ({:.1f} epochs)\n", r.model,
                  r.data.empty() ? "shipped data" : r.data, trainer.model().parameter_count(), trainer.sample_count(),
                  r.steps, r.batch, static_cast<double>(r.steps) / static_cast<double>(trainer.steps_per_epoch()));
  text += fmt::format("  budget {}; without a limit it takes {}; as little as {} would do\n", format_bytes(m.budget),
                      format_bytes(m.unlimited), format_bytes(m.smallest));
  if (m.all_trained > 0)
    text += fmt::format("  frozen parameters save {}: with all of them trained it would be {}\n",
                        format_bytes(m.all_trained - m.unlimited), format_bytes(m.all_trained));
  text += fmt::format("  step {}, data {}, evaluation {}\n", format_bytes(m.step), format_bytes(m.data),
                      m.evaluation > 0 ? format_bytes(m.evaluation) : "none");
  text += fmt::format(
      "  {} of {} values recomputed, a step takes x{:.3f} the time, at most {:.1f} % above the best possible",
      plan.recomputed, plan.value_count, 1 + plan.overhead(), 100 * plan.gap());
  if (m.paged > 0) text += "\n  " + paging_words(m.paged, folder);
  if (trainer.check_finite() == FiniteCheck::loss)
    text +=
        "\n  only the loss is checked to be finite before the weights change" +
        (m.guarded == 0 ? std::string()
                        : fmt::format(": gradients are not, which would take a budget of {}", format_bytes(m.guarded)));
  for (const std::string& note : trainer.model().notes) text += "\n  " + note;
  if (r.accumulate > 1) text += fmt::format("\n  batches are worked through in {} parts", r.accumulate);
  return text;
}

nlohmann::ordered_json plan_json(const Trainer& trainer) {
  TrainingMemory m = trainer.memory();
  const PlanResult& plan = trainer.plan();
  return {{"model", trainer.recipe().model},
          {"params", trainer.model().parameter_count()},
          {"budget_bytes", m.budget},
          {"unlimited_bytes", m.unlimited},
          {"min_budget_bytes", m.smallest},
          {"all_trained_bytes", m.all_trained > 0 ? m.all_trained : m.unlimited},
          {"planned_peak_bytes", plan.layout_bytes},
          {"arena_bytes", m.step},
          {"data_bytes", m.data},
          {"evaluation_bytes", m.evaluation},
          {"paged_bytes", m.paged},
          {"recomputed", plan.recomputed},
          {"overhead", plan.overhead()},
          {"gap", plan.gap()},
          {"plan_seconds", plan.seconds},
          {"recipe", nlohmann::ordered_json::parse(to_json(trainer.recipe()))}};
}

nlohmann::ordered_json evaluation_json(const std::optional<Evaluation>& e) {
  if (!e) return nullptr;
  nlohmann::ordered_json accuracy = nullptr;
  if (!std::isnan(e->accuracy)) accuracy = e->accuracy;
  return {{"step", e->step}, {"loss", e->loss}, {"metric", accuracy}};
}

const char* words(TrainingEnd end) {
  if (end == TrainingEnd::stopped_early) return "stopped early";
  return end == TrainingEnd::interrupted ? "interrupted" : "finished";
}

std::optional<Evaluation> last_evaluation(const Trainer& trainer) {
  const std::vector<Evaluation>& evaluations = trainer.evaluations();
  return evaluations.empty() ? std::nullopt : std::optional(evaluations.back());
}

nlohmann::ordered_json result_json(const Trainer& trainer, const Measured& measured, const char* end) {
  std::optional<Evaluation> last = last_evaluation(trainer);
  nlohmann::ordered_json json = plan_json(trainer);
  json["steps"] = trainer.losses().size();
  json["losses"] = trainer.losses();
  json["step_seconds"] = measured.step_seconds;
  json["measured_peak_bytes"] = measured.tensor_peak;
  json["rss_peak_bytes"] = measured.resident_peak;
  json["recompute_seconds_share"] = measured.recompute_share;
  json["end"] = end;
  json["validation"] = evaluation_json(last);
  if (last && trainer.evaluations().front().step == 0) json["before"] = evaluation_json(trainer.evaluations().front());
  json["best"] = evaluation_json(trainer.best());
  return json;
}

void print_result(const TrainCommand& command, const Trainer& trainer, const Measured& measured, TrainingEnd end) {
  if (command.json) return fmt::print("{}\n", result_json(trainer, measured, words(end)).dump());
  std::optional<Evaluation> last = last_evaluation(trainer);
  fmt::print("{} after {} steps: loss {:.6f}", words(end), trainer.losses().size(),
             trainer.losses().empty() ? 0 : trainer.losses().back());
  if (last) fmt::print(", validation loss {:.6f}{}", last->loss, accuracy_words(*last));
  if (trainer.best()) fmt::print(", best {:.6f} at step {}", trainer.best()->loss, trainer.best()->step);
  fmt::print("\n  {:.4f} s a step, {:.1f} % of it recomputing; budget {}, tensors {}, the process {} above its start\n",
             measured.step_seconds, 100 * measured.recompute_share, format_bytes(trainer.memory().budget),
             format_bytes(measured.tensor_peak), format_bytes(measured.resident_peak));
}

void print_diverged(const Trainer& trainer, const Measured& measured, const NotFinite& e) {
  nlohmann::ordered_json json = result_json(trainer, measured, "diverged");
  json["why"] = e.what();
  json["node"] = e.node;
  fmt::print("{}\n", json.dump());
}

report::Page page_of(const TrainCommand& command, const Trainer& trainer) {
  const Recipe& r = trainer.recipe();
  report::Page page{.title = r.model, .plan = &trainer.plan(), .metrics = command.metrics_for_report()};
  page.settings = {{"model", r.model},
                   {"data", r.data.empty() ? "shipped with the project" : r.data},
                   {"budget", format_bytes(trainer.memory().budget)},
                   {"batch", std::to_string(r.batch)},
                   {"steps", std::to_string(r.steps)},
                   {"optimizer", r.optimizer.empty() ? trainer.model().rule.op : r.optimizer},
                   {"learning rate", fmt::format("{} {}", r.lr, r.schedule)},
                   {"seed", std::to_string(r.seed)},
                   {"threads", std::to_string(r.threads)}};
  return page;
}

// What `reprise report` makes a page of later, and the page itself if it is asked for.
void write_report(const TrainCommand& command, Trainer& trainer) {
  report::Page page = page_of(command, trainer);
  if (!trainer.losses().empty() && trainer.ran()) page.timeline = trainer.step().timeline();
  if (!command.save.empty()) report::save(page, command.save);
  if (command.report.empty() || !trainer.ran()) return;
  PlanOptions options;
  if (command.iterations > 0)
    options.iterations = command.iterations;
  else
    options.time_limit = std::min(1.0, command.time_limit);
  page.curve = report::points(sweep(*page.plan->problem, 6, options));
  report::html(page, command.report);
}

Status train(TrainCommand& command) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error to report
  std::shared_ptr<void> held = held_folder(command);
  expect_writable({command.out, command.weights_out, command.report});
  warm_up();
  MemoryWatch memory;
  std::optional<Resumable> from = resumed(command);
  command.times = std::make_shared<Profile>();
  bool has_profile = !command.profile.empty();
  if (has_profile && std::filesystem::exists(command.profile)) *command.times = Profile::load(command.profile);
  TrainerOptions options = trainer_options(command, from);
  options.held = held;
  options.start = earlier_schedule(command);
  Trainer trainer(options);
  if (has_profile) command.times->save(command.profile);
  if (command.dry_run) {
    fmt::print("{}\n", command.json ? plan_json(trainer).dump() : intention(trainer, command.disk));
    return done;
  }
  Conversation conversation(command, trainer);
  conversation.say(intention(trainer, command.disk));
  if (!command.weights_in.empty()) trainer.load_weights(io::load_tensors(command.weights_in));
  if (from) {
    trainer.restore(*from);
    conversation.say(fmt::format("going on from '{}', step {}", from->path, from->step));
    from.reset();
  }
  if (!command.save.empty()) {
    prepare_folder(command.save);
    write_report(command, trainer);
  }
  trainer.step().batch(0);  // takes the arena: what moved into it is not counted twice
  memory.arena_is_next();
  finish_step_at_signals();
  auto measured = [&] {
    Measured m = memory.measure(trainer.step(), conversation.seconds());
    TrainingMemory planned = trainer.memory();
    if (!trainer.evaluations().empty())
      m.tensor_peak = std::max(m.tensor_peak, trainer.step().pinned_bytes() + planned.evaluation + planned.data);
    return m;
  };
  TrainingEnd end{};
  try {
    end = trainer.run({.on_step = [&](const TrainingStatus& s) { conversation.step(s); },
                       .on_evaluation = [&](const TrainingStatus& s) { conversation.evaluation(s); },
                       .should_stop = [] { return signal_caught != 0; }});
  } catch (const NotFinite& e) {
    conversation.clear();
    if (command.json) print_diverged(trainer, measured(), e);
    throw;
  }
  conversation.clear();
  if (!command.weights_out.empty()) io::save_tensors(command.weights_out, trainer.weights());
  if (!command.out.empty()) save_onnx(trainer.model(), command.out);
  Measured taken = measured();
  write_report(command, trainer);
  print_result(command, trainer, taken, end);
  return end == TrainingEnd::interrupted ? static_cast<Status>(128 + signal_caught) : done;
}

// Says what would fit.
void explain(const TrainCommand& command, const RunDoesNotFit& e) {
  std::optional<Resumable> from = command.resume.empty() ? std::nullopt : newest_snapshot(command.resume);
  Progress progress;
  progress.show("looking for changes that would fit");
  std::vector<Remedy> found = remedies(trainer_options(command, from), e.budget);
  progress.clear();
  bool some_fit = std::ranges::any_of(found, &Remedy::fits);
  for (const Remedy& r : found) {
    if (r.fits)
      fmt::print(stderr, "  {} fits (at least {}), at x{:.2f} the time a sample{}\n", r.change,
                 format_bytes(r.smallest), r.slow_down, r.note.empty() ? "" : "; " + r.note);
    else if (!some_fit && r.smallest < e.smallest_budget)
      fmt::print(stderr, "  {} does not fit either, by a short search: {} would do\n", r.change,
                 format_bytes(r.smallest));
  }
}

Status run_train(TrainCommand& command) try { return train(command); } catch (const RunDoesNotFit& e) {
  Status status = refused(e, command.json);
  explain(command, e);
  return status;
} catch (const NotFinite& e) {
  fmt::print(stderr, "reprise: {}\n", e.what());
  return diverged;
}

}  // namespace

std::function<Status()> add_train(CLI::App& verb) {
  auto command = std::make_shared<TrainCommand>();
  add_train_options(verb, *command);
  return [command] { return run_train(*command); };
}

}  // namespace reprise::cli
