// SPDX-License-Identifier: Apache-2.0
// Steps that move values to a disk.
#include <csignal>

#include "file_size_limit.h"
#include "message.h"
#include "reprise/models.h"
#include "temporary.h"
#include "train/outcome.h"

namespace reprise::paging_tests {
namespace {

Subject subject_of(std::string_view name) {
  BuiltInModel model = built_in_model(name, {.small = true});
  return {model.loss, model.parameters, model.rule, model.random_batch(3)};
}

StepOptions plain() { return {.planning = {.iterations = 100}, .measure = false}; }

StepOptions with_disk(const std::string& folder) {
  StepOptions options = plain();
  options.disk = {.folder = folder, .write_rate = 1e9, .read_rate = 2e9};
  return options;
}

TEST(PagedSteps, GiveTheSameBitsBelowWhatFitsWithoutADisk) {
  TemporaryFolder folder;
  for (const char* name : {"digits", "gpt4s"}) {
    auto make = [&] { return subject_of(name); };
    Outcome free = train(make(), plain());
    StepOptions options = with_disk(folder.path());
    options.budget = smallest_budget_of(make(), options);
    EXPECT_LT(options.budget, smallest_budget_of(make(), plain())) << name;
    options.poison = options.verify_recompute = true;
    Outcome tight = train(make(), options);
    EXPECT_GT(paged_bytes(tight.plan), 0) << name;
    EXPECT_LE(tight.arena_bytes, options.budget);
    expect_same_bits(free, tight, name);
  }
}

// The same for a program that does not let the signal end it: writing past the limit is refused as by a broken disk.
class FileLimit : FileSizeLimit {
 public:
  explicit FileLimit(rlim_t bytes) : FileSizeLimit(bytes), signal_(std::signal(SIGXFSZ, SIG_IGN)) {}
  ~FileLimit() { std::signal(SIGXFSZ, signal_); }

 private:
  void (*signal_)(int) = nullptr;
};

TEST(PagedSteps, AreUsableAfterTheDiskFailed) {
  TemporaryFolder folder;
  StepOptions options = with_disk(folder.path());
  options.budget = smallest_budget_of(subject_of("digits"), options);
  Outcome expected = train(subject_of("digits"), options);
  Subject subject = subject_of("digits");
  TrainStep step(subject.loss, subject.parameters, subject.rule, options);
  Outcome outcome;
  outcome.losses.push_back(step.run(subject.batch));
  {
    FileLimit none(0);
    std::string why = message_of([&] { step.run(subject.batch); });
    EXPECT_NE(why.find("[disk] cannot write "), std::string::npos) << why;
    EXPECT_NE(why.find("to the file in '" + folder.path() + "': File too large"), std::string::npos) << why;
  }
  EXPECT_EQ(step.steps(), 1) << "nothing was updated before the first move";
  for (int i = 0; i < 2; ++i) outcome.losses.push_back(step.run(subject.batch));
  outcome.state = step.state();
  expect_same_bits(expected, outcome, "after a failed step");
}

TEST(PagedSteps, SayBeforeTheFirstStepThatTheDiskIsFull) {
  TemporaryFolder folder;
  Subject subject = subject_of("digits");
  StepOptions options = with_disk(folder.path());
  options.budget = smallest_budget_of(subject, options);
  TrainStep step(subject.loss, subject.parameters, subject.rule, options);
  std::vector<Type> types;
  for (const Tensor& t : subject.batch) types.push_back(t.type());
  step.compile(types);
  FileLimit small(8192);
  std::string why = message_of([&] { step.batch(0); });
  EXPECT_NE(why.find("[disk] cannot take the "), std::string::npos) << why;
  EXPECT_NE(why.find("File too large: make room there, name another folder, or give more memory"), std::string::npos);
}

}  // namespace
}  // namespace reprise::paging_tests
