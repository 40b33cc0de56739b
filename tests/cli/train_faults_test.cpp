// SPDX-License-Identifier: Apache-2.0
// `reprise train` when things go wrong: killed at any moment, interrupted, no room on the disk, damaged snapshots.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/random.h"
#include "cli/tool.h"

namespace reprise::cli::train_faults_tests {
namespace {

using TrainFaults = CommandTest;

// A run of the tool that goes on beside the test.
class Running {
 public:
  explicit Running(const std::vector<std::string>& arguments) {
    std::vector<char*> words = {const_cast<char*>(REPRISE_TOOL)};
    for (const std::string& a : arguments) words.push_back(const_cast<char*>(a.c_str()));
    words.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execv(REPRISE_TOOL, words.data());
    _exit(127);
  }
  void signal(int number) const { kill(pid_, number); }
  /// The exit status, or minus the signal that ended it.
  int wait() const {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

const std::vector<std::string> begin = {
    "train",        "digits", "--batch",   "8", "--steps",          "80", "--estimate",         "--quiet",
    "--time-limit", "0.2",    "--threads", "1", "--evaluate-every", "20", "--validate-samples", "16"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

int snapshot_count(const std::string& folder) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    count += entry.path().extension() == ".snapshot";
  return count;
}

void wait_for_snapshots(const std::string& folder, int count) {
  while (snapshot_count(folder) < count) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

int kills_wanted() {
  const char* factor = std::getenv("REPRISE_TEST_FACTOR");
  return factor ? 3 * std::max(1, std::atoi(factor)) : 3;
}

// Snapshots follow on one another without a pause, so that many of the kills fall inside a save.
TEST_F(TrainFaults, KilledAtAnyMomentItEndsWithTheSameWeights) {
  ASSERT_EQ(Running(with(begin, {"--weights-out", in("whole.safetensors")})).wait(), 0);
  Random random(11);
  int kills = 0;
  for (int run = 0; kills < kills_wanted(); ++run) {
    ASSERT_LT(run, 10 * kills_wanted()) << "the runs end before they can be killed";
    std::string folder = in("run" + std::to_string(run));
    Running first(with(begin, {"--save", folder, "--save-every", "1", "--keep", "2"}));
    wait_for_snapshots(folder, 1);
    std::this_thread::sleep_for(std::chrono::microseconds(random.between(0, 200'000)));
    first.signal(SIGKILL);
    kills += first.wait() == -SIGKILL;
    ASSERT_EQ(Running({"train", "--resume", folder, "--estimate", "--quiet", "--budget", run % 2 ? "90%" : "100%",
                       "--time-limit", "0.2", "--weights-out", in("again.safetensors")})
                  .wait(),
              0);
    ASSERT_EQ(text_in(in("again.safetensors")), text_in(in("whole.safetensors"))) << "run " << run;
    std::filesystem::remove_all(folder);
  }
}

TEST_F(TrainFaults, SignalsFinishTheStepAndSave) {
  for (int number : {SIGINT, SIGTERM}) {
    std::string folder = in("run" + std::to_string(number));
    Running run(with({"train", "digits", "--batch", "8", "--steps", "100000", "--estimate", "--quiet"},
                     {"--time-limit", "0.2", "--validation", "0", "--save", folder}));
    wait_for_snapshots(folder, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    run.signal(number);
    EXPECT_EQ(run.wait(), 128 + number);
    EXPECT_EQ(snapshot_count(folder), 2) << "the first, and that of the interruption";
  }
}

TEST_F(TrainFaults, ADamagedSnapshotIsPassedOverForTheOneBefore) {
  std::string folder = in("run");
  ASSERT_EQ(
      Running(with({"train", "digits", "--batch", "4", "--steps", "6", "--estimate", "--quiet", "--time-limit", "0.2"},
                   {"--save", folder, "--save-every", "1", "--keep", "9", "--validation", "0", "--weights-out",
                    in("whole.npz")}))
          .wait(),
      0);
  auto path = [&](int step) { return folder + "/step-0000000" + std::to_string(step) + ".snapshot"; };
  std::string bytes = text_in(path(6));
  std::ofstream(path(6), std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  bytes = text_in(path(5));
  bytes[bytes.size() - 2000] = static_cast<char>(bytes[bytes.size() - 2000] ^ 4);
  std::ofstream(path(5), std::ios::binary) << bytes;
  std::ofstream(path(4), std::ios::binary) << "something else altogether, and long enough to be looked at properly";
  Outcome run = complaint("train --estimate --time-limit 0.2 --resume " + folder + " --weights-out " + in("again.npz"));
  EXPECT_EQ(run.status, 0) << run.output;
  for (const char* words : {"is cut short", "is damaged", "is not a snapshot", "going on from"})
    EXPECT_NE(run.output.find(words), std::string::npos) << run.output;
  EXPECT_EQ(text_in(in("again.npz")), text_in(in("whole.npz")));
  for (int step = 0; step <= 6; ++step) std::ofstream(path(step)) << "gone";
  run = complaint("train --resume " + folder);
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.output.find("no snapshot in"), std::string::npos) << run.output;
}

TEST_F(TrainFaults, NoRoomOnTheDiskIsAClearErrorAndTheSnapshotBeforeStays) {
  std::string folder = in("run");
  std::string command =
      "digits --batch 4 --estimate --time-limit 0.2 --quiet --validation 0 --save-every 1 --save " + folder;
  ASSERT_EQ(complaint("train " + command + " --steps 2").status, 0);
  // In blocks of 512 bytes: enough for the plan, too little for a snapshot.
  std::string limited = "ulimit -f 600; " + std::string(REPRISE_TOOL) +
                        " train --estimate --time-limit 0.2 --quiet --validation 0 --steps 4 " +
                        "--save-every 1 --resume " + folder + " 2>&1 >/dev/null";
  std::FILE* pipe = popen(limited.c_str(), "r");
  std::string output;
  for (int c; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  int status = pclose(pipe);
  EXPECT_EQ(WEXITSTATUS(status), 1) << output;
  EXPECT_NE(output.find("what was there before is untouched"), std::string::npos) << output;
  EXPECT_EQ(complaint("train --estimate --time-limit 0.2 --quiet --steps 4 --resume " + folder).status, 0);
}

TEST_F(TrainFaults, AFullDiskIsAClearErrorAndTheSnapshotBeforeStays) {
  std::string folder = in("disk");
  std::filesystem::create_directories(folder);
  if (mount("none", folder.c_str(), "tmpfs", 0, "size=3M") != 0)
    GTEST_SKIP() << "a small disk can only be made by root; a file-size limit is tested instead";
  std::string run = folder + "/run";
  EXPECT_EQ(
      complaint("train digits --batch 4 --steps 1 --estimate --time-limit 0.2 --quiet --validation 0 --keep 1 --save " +
                run)
          .status,
      0);
  auto room = static_cast<std::size_t>(std::filesystem::space(folder).available);
  std::ofstream(folder + "/filler") << std::string(room > 8192 ? room - 8192 : 0, 'x');
  Outcome full = complaint("train --estimate --time-limit 0.2 --quiet --steps 2 --resume " + run);
  EXPECT_EQ(full.status, 1);
  EXPECT_NE(full.output.find("No space left on device"), std::string::npos) << full.output;
  std::filesystem::remove(folder + "/filler");
  EXPECT_EQ(complaint("train --estimate --time-limit 0.2 --quiet --steps 2 --resume " + run).status, 0);
  umount(folder.c_str());
}

TEST_F(TrainFaults, AReadOnlyFolderIsAClearErrorAndTheSnapshotBeforeStays) {
  std::string folder = in("disk"), run = folder + "/run";
  std::filesystem::create_directories(run);
  bool is_mounted = mount("none", folder.c_str(), "tmpfs", 0, "size=4M") == 0;  // permissions do not hold for root
  EXPECT_EQ(
      complaint("train digits --batch 4 --steps 1 --estimate --time-limit 0.2 --quiet --validation 0 --save " + run)
          .status,
      0);
  if (is_mounted)
    ASSERT_EQ(mount("none", folder.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  else
    std::filesystem::permissions(run, std::filesystem::perms(0555));
  Outcome refused = complaint("train --estimate --time-limit 0.2 --quiet --steps 2 --resume " + run);
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.output.find("cannot write"), std::string::npos) << refused.output;
  if (is_mounted)
    ASSERT_EQ(mount("none", folder.c_str(), "tmpfs", MS_REMOUNT, nullptr), 0);
  else
    std::filesystem::permissions(run, std::filesystem::perms(0755));
  EXPECT_EQ(complaint("train --estimate --time-limit 0.2 --quiet --steps 2 --resume " + run).status, 0);
  if (is_mounted) umount(folder.c_str());
}

TEST_F(TrainFaults, TwoRunsIntoOneFolderAreRefusedUntilTheFirstIsGone) {
  std::string folder = in("run");
  Running first(with({"train", "digits", "--batch", "8", "--steps", "100000", "--estimate", "--quiet"},
                     {"--time-limit", "0.2", "--validation", "0", "--save", folder}));
  wait_for_snapshots(folder, 1);
  for (const std::string& second : {"train digits --save " + folder, "train --resume " + folder}) {
    Outcome refused = complaint(second);
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.output.find("another process is training into '" + folder + "'"), std::string::npos)
        << refused.output;
  }
  first.signal(SIGKILL);
  EXPECT_EQ(first.wait(), -SIGKILL);
  EXPECT_EQ(complaint("train --estimate --time-limit 0.2 --quiet --steps 2 --resume " + folder).status, 0);
}

TEST_F(TrainFaults, AFolderThatCannotBeWrittenIsAClearError) {
  write("file", "not a folder");
  Outcome run = complaint("train digits --batch 4 --steps 1 --estimate --time-limit 0.2 --quiet --save " + in("file"));
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.output.find("cannot make the folder"), std::string::npos) << run.output;
}

}  // namespace
}  // namespace reprise::cli::train_faults_tests
