// SPDX-License-Identifier: Apache-2.0
// Whole training runs: data, schedule, evaluation, early stopping and snapshots around a training step, all within one
// budget. `reprise train` is a thin front of this.
//
//     Trainer trainer({.recipe = {.model = "gpt4s", .steps = 500}, .budget = "40%", .save = "run"});
//     trainer.run();
//
//     std::optional<Resumable> last = newest_snapshot("run");     // after a crash
//     Trainer trainer({.recipe = last->recipe, .budget = "40%", .save = "run"});
//     trainer.restore(*last);
//     trainer.run();                                              // as if nothing had happened, bit for bit
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reprise/data.h"
#include "reprise/io.h"
#include "reprise/models.h"
#include "reprise/train.h"

namespace reprise {

/// What a run computes. Equal recipes give equal bits, within whatever budget, interrupted or not.
struct Recipe {
  std::string model;           // a built-in model, or the path of an ONNX file
  std::string data = {};       // a file or folder; empty: what ships with the project for the model
  std::string data_kind = {};  // as in data::LoadOptions
  std::int64_t batch = 0;      // samples; 0: the model's own number
  std::string optimizer = {};  // empty: the model's own
  double lr = 0;               // 0: the optimizer's own
  std::string schedule = "constant";
  std::int64_t warm_up = 0;         // steps in which the rate grows
  std::int64_t steps = 0;           // 0: by epochs
  double epochs = 0;                // 0 of both: 1000 steps
  std::int64_t schedule_steps = 0;  // after which the schedule is at its end; 0: all
  double clip_norm = 0, clip_value = 0;
  int accumulate = 1;  // parts of a batch; 0: as many as run fastest, by the budget and by times taken on this machine
  std::uint64_t seed = 1;
  double validation = 0.1;            // share of the samples that validate; 0: none
  std::int64_t validate_samples = 0;  // of those at each evaluation, evenly spread; 0: 1024, or all if they are fewer
  std::int64_t evaluate_every = 0;    // steps; 0: ten times in all, or less often where evaluating would take long
  std::int64_t patience = 0;          // evaluations without improvement that end the run; 0: none do
  std::vector<std::string> freeze = {};  // parameters that are not trained, as in TrainedChoice
  int threads = 0;                       // 0: all cores
  std::vector<std::string> train = {};   // the only ones that are, as in TrainedChoice; none: all
  // Of an ONNX file, as in OnnxOptions.
  std::string loss = {}, output = {};
  std::int64_t classes = 0;
  std::vector<std::string> shapes = {};  // as onnx_shapes reads them
  std::string fingerprint = {};          // of the file; filled in, so that a run goes on with the file it began with
  bool parts_chosen = false;             // filled in: `accumulate` was 0, and is what was chosen

  friend bool operator==(const Recipe&, const Recipe&) = default;
};
REPRISE_API std::string to_json(const Recipe& recipe);
REPRISE_API Recipe recipe_from_json(const std::string& text);

/// The schedule of that name over so many steps, after warming up; an Error lists the names.
REPRISE_API optim::Schedule schedule_named(const std::string& name, std::int64_t steps, std::int64_t warm_up = 0);
/// Those names, separated by commas.
REPRISE_API std::string schedule_names();

/// Bytes that this process may still take: what the machine has available and what its cgroups allow, the least.
REPRISE_API std::int64_t available_memory();

/// Keeps the folder of a run to whoever holds the result, made if it is not there; an Error where another process holds
/// it. The kernel sets it free when the process ends, however it ends.
REPRISE_API std::shared_ptr<void> hold_folder(const std::string& folder);

struct TrainerOptions {
  Recipe recipe;
  /// Bytes for everything: the step with parameters and optimizer, samples held in memory, the next batch, evaluation.
  /// A size, a share such as "50%" of what the run takes without limit, or "auto": nine tenths of available_memory().
  std::string budget = "100%";
  /// Nothing: gradients if that fits the budget, else the loss alone.
  std::optional<FiniteCheck> check_finite = {};
  double time_limit = 5;               // seconds to search for a plan
  std::int64_t iterations = 0;         // moves each search may try, whatever time that takes; 0: by time
  std::optional<Schedule> start = {};  // of an earlier run of the recipe, to start the search from: what fitted fits
  bool measure = true;
  std::shared_ptr<Profile> profile = {};
  std::string save = {};                  // a folder for snapshots
  std::shared_ptr<void> held = {};        // that folder; nothing: run() holds it
  std::int64_t save_every = 0;            // steps; 0: at the end only
  int keep = 3;                           // newest snapshots that stay, besides the best
  std::vector<std::string> metrics = {};  // files that get a line a step: .csv or .jsonl
  PagingOptions disk = {};                // that values of the step may move to
};

/// Nothing fits the run's budget. The message and smallest_budget are of the whole run.
class REPRISE_API RunDoesNotFit : public NoScheduleFits {
 public:
  RunDoesNotFit(const std::string& why, std::int64_t smallest, std::int64_t asked)
      : NoScheduleFits(why, smallest), budget(asked) {}
  std::int64_t budget;
};

/// What evaluating on the samples that validate gave.
struct Evaluation {
  std::int64_t step = 0;
  double loss = 0;
  double accuracy = 0;  // share of right answers; NaN where there are no classes
};

/// How far a run is.
struct TrainingStatus {
  std::int64_t step = 0, steps = 0;  // done, in all
  double epoch = 0;
  double loss = 0, smooth_loss = 0, lr = 0;
  double seconds = 0;                         // of training so far, over all resumptions
  double step_seconds = 0;                    // of the last step
  std::optional<Evaluation> evaluation = {};  // the newest
};

/// A snapshot to go on from.
struct Resumable {
  std::string path;
  std::int64_t step = 0;
  Recipe recipe;
  io::Snapshot snapshot;
  std::vector<std::string> passed_over;  // why newer ones cannot be used
};
/// The newest snapshot of the folder that is whole; nothing if there is none. Throws Error where there are some and
/// none is whole.
REPRISE_API std::optional<Resumable> newest_snapshot(const std::string& folder);

enum class TrainingEnd { finished, stopped_early, interrupted };

/// What the run of a trainer tells as it goes; each may be empty.
struct TrainingWatch {
  std::function<void(const TrainingStatus&)> on_step = {}, on_evaluation = {};
  std::function<void(const std::string& path)> on_save = {};
  std::function<bool()> should_stop = {};  // asked after every step: true saves and ends the run
};

/// How the bytes of the budget are used.
struct TrainingMemory {
  std::int64_t budget = 0;
  std::int64_t data = 0;         // samples in memory and the next batch
  std::int64_t step = 0;         // the step's arena
  std::int64_t evaluation = 0;   // what evaluating takes beside parameters and optimizer state, which stay
  std::int64_t unlimited = 0;    // what a run takes that recomputes nothing, with whole batches if parts were chosen
  std::int64_t all_trained = 0;  // the same if no parameter were frozen; 0 where none is
  std::int64_t smallest = 0;     // the smallest budget, in the parts of a batch that are used
  std::int64_t paged = 0;        // what a step moves to a disk
  std::int64_t guarded = 0;  // the smallest that checks gradients too, where this budget is too small for that; else 0
};

/// One training run.
class REPRISE_API Trainer {
 public:
  /// Makes the model, opens the data and plans. Throws RunDoesNotFit.
  explicit Trainer(TrainerOptions options);
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  /// With every choice made that was left open.
  const Recipe& recipe() const;
  const BuiltInModel& model() const;
  TrainStep& step();
  const PlanResult& plan() const;
  /// The first call looks for the smallest budget.
  TrainingMemory memory() const;
  FiniteCheck check_finite() const;
  std::int64_t sample_count() const;
  std::int64_t steps_per_epoch() const;

  /// Takes over weights by name; a missing one or one of another type is an Error.
  void load_weights(const io::NamedTensors& weights);
  io::NamedTensors weights() const;
  /// Goes back to a snapshot of a run with this recipe, whose steps may be more.
  void restore(const Resumable& from);

  /// Trains to the end. Throws NotFinite, before which the state is saved.
  TrainingEnd run(const TrainingWatch& watch = {});
  /// Evaluates now.
  std::optional<Evaluation> evaluate();

  /// Whether run() has done a step.
  bool ran() const;
  const std::vector<double>& losses() const;  // of every step since the beginning
  const std::vector<Evaluation>& evaluations() const;
  std::optional<Evaluation> best() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A change to the run that would fit the budget.
struct Remedy {
  std::string change;         // "--batch 8"
  std::string note = {};      // what it means besides time, "trains 12.5 % of the parameters"
  std::int64_t smallest = 0;  // the smallest budget then
  bool fits = false;
  double slow_down = 1;  // of a sample, beside an unlimited run of the same recipe; by estimates
};
/// What could be done where nothing fits, cheapest first: those that fit, then those that come nearest.
REPRISE_API std::vector<Remedy> remedies(const TrainerOptions& options, std::int64_t budget);

}  // namespace reprise
