// SPDX-License-Identifier: Apache-2.0
#include "reprise/trainer.h"

#include <gtest/gtest.h>

#include <fstream>

#include "message.h"
#include "temporary.h"
#include "trainer/machine.h"
#include "trainer/snapshots.h"

namespace reprise {
namespace {

TrainerOptions small_run(const std::string& folder = "") {
  return {.recipe = {.model = "digits", .batch = 8, .steps = 12, .evaluate_every = 4},
          .iterations = 20,
          .measure = false,
          .save = folder,
          .save_every = 3};
}

io::NamedTensors copies(const io::NamedTensors& weights) {
  io::NamedTensors all;
  for (const auto& [name, tensor] : weights) all.emplace_back(name, tensor.clone());
  return all;
}

void expect_same_weights(const io::NamedTensors& a, const io::NamedTensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i].second, b[i].second)) << a[i].first;
}

TEST(Recipe, ReadsBackWhatItWrote) {
  Recipe r{.model = "gpt4s", .data = "a \"book\".txt", .batch = 3, .lr = 0.1, .freeze = {"tok", "pos"}};
  EXPECT_EQ(recipe_from_json(to_json(r)), r);
  EXPECT_NE(message_of([] { recipe_from_json("{}"); }).find("[recipe] it lacks"), std::string::npos);
}

TEST(Schedule, IsKnownByName) {
  EXPECT_EQ(schedule_named("constant", 10)(7), 1);
  EXPECT_NEAR(schedule_named("cosine", 10)(5), 0.5, 1e-12);
  EXPECT_NEAR(schedule_named("linear", 10)(9), 0.1, 1e-12);
  EXPECT_NEAR(schedule_named("step", 9)(8), 0.01, 1e-12);
  EXPECT_NEAR(schedule_named("exponential", 10)(10), 0.01, 1e-12);
  EXPECT_NEAR(schedule_named("one-cycle", 10)(3), 1, 1e-12);
  EXPECT_NEAR(schedule_named("linear", 10, 4)(0), 0.2, 1e-12);
  EXPECT_NEAR(schedule_named("linear", 10, 4)(4), 1, 1e-12);
  EXPECT_NE(message_of([] { schedule_named("zigzag", 10); }).find("choose from constant, cosine"), std::string::npos);
  EXPECT_NE(message_of([] { schedule_named("linear", 10, 10); }).find("it must leave some"), std::string::npos);
}

// A made-up machine.
class Machine {
 public:
  Machine() { file("/proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 2000000 kB\n"); }
  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.path() + path).parent_path());
    std::ofstream(folder_.path() + path) << text;
  }
  std::int64_t available() const { return available_memory_under(folder_.path()); }

 private:
  TemporaryFolder folder_;
};

TEST(AvailableMemory, IsTheMachinesWithoutALimit) {
  Machine machine;
  EXPECT_EQ(machine.available(), 2'000'000 * 1024);
  machine.file("/proc/self/cgroup", "0::/user.slice\n");
  machine.file("/sys/fs/cgroup/user.slice/memory.max", "max\n");
  EXPECT_EQ(machine.available(), 2'000'000 * 1024);
}

TEST(AvailableMemory, IsWhatTheCgroupsLeave) {
  Machine machine;
  machine.file("/proc/self/cgroup", "0::/outer/inner\n");
  machine.file("/sys/fs/cgroup/outer/inner/memory.max", "900000\n");
  machine.file("/sys/fs/cgroup/outer/inner/memory.current", "300000\n");
  EXPECT_EQ(machine.available(), 600000);
  machine.file("/sys/fs/cgroup/outer/inner/memory.stat", "anon 100\ninactive_file 50000\n");
  EXPECT_EQ(machine.available(), 650000);
  machine.file("/sys/fs/cgroup/outer/memory.max", "500000\n");
  machine.file("/sys/fs/cgroup/outer/memory.current", "450000\n");
  EXPECT_EQ(machine.available(), 50000);
}

TEST(AvailableMemory, KnowsTheFirstVersionOfCgroups) {
  Machine machine;
  machine.file("/proc/self/cgroup", "3:cpu:/\n5:hugetlb,memory:/job\n");
  machine.file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "800000\n");
  machine.file("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "300000\n");
  EXPECT_EQ(machine.available(), 500000);
  EXPECT_GT(available_memory(), 0);
}

TEST(Snapshots, KeepsTheNewestAndTheBest) {
  TemporaryFolder folder;
  for (int step : {1, 2, 3, 4, 10}) std::ofstream(snapshot_path(folder.path(), step)) << "x";
  std::ofstream(folder.path() + "/step-00000011.snapshot.tmp.77") << "half";
  std::ofstream(folder.path() + "/notes.txt") << "mine";
  prepare_folder(folder.path());
  prune_snapshots(folder.path(), 2, 2);
  std::vector<std::int64_t> steps;
  for (const SnapshotFile& f : snapshots_in(folder.path())) steps.push_back(f.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{10, 4, 2}));
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/notes.txt"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/step-00000011.snapshot.tmp.77"));
}

TEST(Snapshots, AreWrittenToAFolderThatOneRunHolds) {
  TemporaryFolder folder;
  std::string inner = folder.path() + "/run";
  std::shared_ptr<void> held = hold_folder(inner);
  EXPECT_NE(message_of([&] { hold_folder(inner); }).find("another process is training into"), std::string::npos);
  Trainer other(small_run(inner));
  EXPECT_NE(message_of([&] { other.run(); }).find("another process is training into"), std::string::npos);
  held.reset();
  EXPECT_EQ(other.run(), TrainingEnd::finished);
}

TEST(Trainer, SaysThatGradientsWereNotChecked) {
  TrainerOptions options = small_run();
  options.recipe.optimizer = "sgd";
  options.recipe.lr = 1e30;
  options.check_finite = FiniteCheck::loss;
  EXPECT_NE(message_of([&] { Trainer(options).run(); }).find("Gradients were not checked"), std::string::npos);
  options.check_finite = FiniteCheck::gradients;
  EXPECT_EQ(message_of([&] { Trainer(options).run(); }).find("Gradients were not checked"), std::string::npos);
}

TEST(Trainer, NamesTheBudgetThatWouldCheckGradients) {
  TrainerOptions options = small_run();
  options.recipe.batch = 64;
  options.check_finite = FiniteCheck::loss;
  options.budget = std::to_string(Trainer(options).memory().smallest);
  options.check_finite = {};
  Trainer tight(options);
  EXPECT_EQ(tight.memory().guarded > 0, tight.check_finite() == FiniteCheck::loss);
  EXPECT_GE(tight.memory().guarded, tight.check_finite() == FiniteCheck::loss ? tight.memory().budget : 0);
}

TEST(Trainer, GoesOnBitForBitUnderAnotherBudget) {
  TemporaryFolder folder;
  TrainerOptions options = small_run();
  options.recipe.batch = 64;
  Trainer whole(options);
  whole.run();
  options.save = folder.path();
  {
    Trainer first(options);
    int steps = 0;
    EXPECT_EQ(first.run({.should_stop = [&] { return ++steps == 7; }}), TrainingEnd::interrupted);
  }
  std::optional<Resumable> from = newest_snapshot(folder.path());
  ASSERT_TRUE(from);
  EXPECT_EQ(from->step, 7);
  options.recipe = from->recipe;
  options.budget = "90%";
  Trainer second(options);
  EXPECT_GT(second.plan().recomputed, 0);
  second.restore(*from);
  EXPECT_EQ(second.run(), TrainingEnd::finished);
  EXPECT_EQ(second.losses(), whole.losses());
  expect_same_weights(second.weights(), whole.weights());
  ASSERT_EQ(second.evaluations().size(), whole.evaluations().size());
  EXPECT_EQ(second.best()->loss, whole.best()->loss);
}

TEST(Trainer, EvaluatingChangesNothing) {
  Trainer trainer(small_run());
  trainer.run();
  io::NamedTensors before = copies(trainer.weights());
  Evaluation once = *trainer.evaluate(), twice = *trainer.evaluate();
  EXPECT_EQ(once.loss, twice.loss);
  EXPECT_EQ(once.accuracy, twice.accuracy);
  expect_same_weights(trainer.weights(), before);
}

TEST(Trainer, StopsEarlyWhenNothingGetsBetter) {
  TrainerOptions options = small_run();
  options.recipe.lr = 1e-30;
  options.recipe.evaluate_every = 1;
  options.recipe.patience = 3;
  Trainer trainer(options);
  EXPECT_EQ(trainer.run(), TrainingEnd::stopped_early);
  EXPECT_EQ(trainer.losses().size(), 4u);
}

TEST(Trainer, DoesNotTrainWhatIsFrozen) {
  TrainerOptions options = small_run();
  std::string first = Trainer(options).weights().front().first;
  options.recipe.freeze = {first};
  Trainer trainer(options);
  io::NamedTensors before = copies(trainer.weights());
  trainer.run();
  EXPECT_TRUE(same_bits(trainer.weights()[0].second, before[0].second));
  EXPECT_FALSE(same_bits(trainer.weights().back().second, before.back().second));
  options.recipe.freeze = {"nobody"};
  EXPECT_NE(message_of([&] { Trainer t(options); }).find("no parameter's name begins with 'nobody'"),
            std::string::npos);
}

TEST(Trainer, SaysWhatDoesNotSuit) {
  TrainerOptions options = small_run();
  options.recipe.model = "mlp16";
  EXPECT_NE(message_of([&] { Trainer t(options); }).find("name some with --data"), std::string::npos);
  options = small_run();
  options.recipe.validation = 1.5;
  EXPECT_NE(message_of([&] { Trainer t(options); }).find("cannot validate"), std::string::npos);
  options = small_run();
  Trainer trainer(options);
  EXPECT_NE(message_of([&] { trainer.load_weights({}); }).find("the weights hold no"), std::string::npos);
}

TEST(Trainer, NamesTheSmallestBudgetAndWhatWouldFit) {
  TrainerOptions options = small_run();
  options.recipe.batch = 64;
  options.budget = "1KiB";
  std::int64_t smallest = 0;
  try {
    Trainer trainer(options);
    ADD_FAILURE() << "1 KiB cannot be enough";
  } catch (const RunDoesNotFit& e) {
    smallest = e.smallest_budget;
  }
  options.budget = std::to_string(smallest);
  Trainer fits(options);
  bool some = false;
  for (const Remedy& r : remedies(options, smallest - 4096)) some |= r.fits;
  EXPECT_TRUE(some);
}

TEST(Trainer, TrainsTheLastLayerInWhatTheRemedySays) {
  TrainerOptions options = small_run();
  options.recipe.batch = 2;
  options.recipe.validation = 0;
  std::vector<Remedy> found = remedies(options, 4096);
  auto frozen = std::ranges::find_if(found, [](const Remedy& r) { return r.change.starts_with("--freeze"); });
  ASSERT_NE(frozen, found.end());
  EXPECT_EQ(frozen->change, "--freeze stem.,blocks.");
  EXPECT_FALSE(frozen->fits);
  options.recipe.freeze = {"stem.", "blocks."};
  options.budget = std::to_string(frozen->smallest * 11 / 10);
  Trainer trainer(options);
  EXPECT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_EQ(frozen->note, fmt::format("trains {:.1f} % of the parameters",
                                      100 * static_cast<double>(trainer.model().parameter_count()) /
                                          static_cast<double>(Trainer(small_run()).model().parameter_count())));
}

}  // namespace
}  // namespace reprise
