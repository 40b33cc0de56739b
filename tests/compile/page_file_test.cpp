// SPDX-License-Identifier: Apache-2.0
#include "compile/page_file.h"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <filesystem>
#include <vector>

#include "compile/disk.h"
#include "file_size_limit.h"
#include "message.h"
#include "temporary.h"

namespace reprise {
namespace {

TEST(PageFile, GivesBackWhatItWasGiven) {
  TemporaryFolder folder;
  PageFile file(folder.path(), 3 * 4096);
  std::vector<int> a(1024, 7), b(1024, 8), back(1024, 0);
  file.write(0, a.data(), 4096);
  file.write(8192, b.data(), 4096);
  file.flush();
  file.read(8192, back.data(), 4096);
  EXPECT_EQ(back, b);
  file.read(0, back.data(), 4096);
  EXPECT_EQ(back, a);
  EXPECT_NE(message_of([&] { file.read(12288, back.data(), 4096); }).find("it ends before that"), std::string::npos);
}

TEST(PageFile, HasNoNameThatCouldStayBehind) {
  TemporaryFolder folder;
  PageFile file(folder.path(), 4096);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(PageFile, SaysWhereItCannotBe) {
  EXPECT_EQ(
      message_of([] { PageFile("/no/such/folder", 4096); }),
      "[disk] cannot make a file in '/no/such/folder': No such file or directory: name a folder that is there and "
      "may be written to");
}

// The file-size limit of the process, which stands for a disk that is full.
TEST(PageFile, TakesItsRoomBeforehandOrSaysThatThereIsNone) {
  TemporaryFolder folder;
  FileSizeLimit small(1 << 20);
  std::string why = message_of([&] { PageFile(folder.path(), 2 << 20); });
  EXPECT_EQ(message_of([&] { PageFile(folder.path(), 1 << 20); }), "no error");
  EXPECT_EQ(why, "[disk] cannot take the 2.0 MiB that a step moves to '" + folder.path() +
                     "': File too large: make room there, name another folder, or give more memory");
}

TEST(PageFile, SaysThatADiskIsFull) {
  TemporaryFolder folder;
  if (mount("none", folder.path().c_str(), "tmpfs", 0, "size=1M") != 0)
    GTEST_SKIP() << "a small disk can only be made by root; a file-size limit is tested instead";
  std::string why = message_of([&] { PageFile(folder.path(), 2 << 20); });
  EXPECT_TRUE(is_in_memory(folder.path()));
  umount(folder.path().c_str());
  EXPECT_NE(why.find("': No space left on device: make room there"), std::string::npos) << why;
}

TEST(DiskTimes, AreMeasuredOnceAndKeptInTheProfile) {
  TemporaryFolder folder;
  CompileOptions options{.profile = std::make_shared<Profile>(), .disk = {.folder = folder.path()}};
  DiskTimes first = disk_times(options), again = disk_times(options);
  EXPECT_GT(first.write, 0);
  EXPECT_GT(first.read, 0);
  EXPECT_EQ(options.profile->size(), 2u);
  EXPECT_EQ(first.write, again.write);
  EXPECT_EQ(first.read, again.read);
}

TEST(DiskTimes, AreThoseThatAreNamedOrEstimates) {
  CompileOptions options{.measure = false, .disk = {.folder = "/no/such/folder"}};
  EXPECT_GT(disk_times(options).of(1 << 20).out_cost, disk_times(options).of(1 << 20).in_cost);
  options.measure = true;
  EXPECT_NE(message_of([&] { disk_times(options); }).find("cannot make a file in"), std::string::npos);
  options.disk.write_rate = 1e6, options.disk.read_rate = 2e6;
  EXPECT_NEAR(disk_times(options).of(1'000'000).out_cost, 1, 1e-3);
  EXPECT_NEAR(disk_times(options).of(1'000'000).in_cost, 0.5, 1e-3);
  options.disk.read_rate = -1;
  EXPECT_NE(message_of([&] { disk_times(options); }).find("both must be positive"), std::string::npos);
}

}  // namespace
}  // namespace reprise
