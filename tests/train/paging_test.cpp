// SPDX-License-Identifier: Apache-2.0
// Steps that move values to a disk.
#include <sys/resource.h>

#include <csignal>

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

std::int64_t smallest_budget_of(const Subject& subject, StepOptions options) {
  options.budget = 1;
  try {
    train(subject, options);
  } catch (const NoScheduleFits& e) {
    return e.smallest_budget;
  }
  ADD_FAILURE() << "one byte cannot be enough";
  return 0;
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

// Limits the size of files, so that writing past it is refused as by a broken disk.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
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
