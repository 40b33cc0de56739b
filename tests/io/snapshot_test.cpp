// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstring>

#include "io/samples.h"

namespace reprise::io {
namespace {

struct SnapshotFileTest : testing::Test {
  TemporaryFolder folder;
  std::string path = folder.path() + "/step-1.snapshot";
  std::string message() {
    return message_of([&] { Snapshot s(path); });
  }
  std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
  }
};

TEST_F(SnapshotFileTest, ReadsBackTextAndTensors) {
  std::string text = "{\"step\": 3}\n\"quoted\" and \xc3\xbc";
  save_snapshot(path, text, every_type());
  Snapshot s(path);
  EXPECT_EQ(s.text(), text);
  NamedTensors read;
  for (const auto& [name, type] : s.tensors()) read.emplace_back(name, s.read(name));
  expect_equal(read, every_type());
  Tensor place = Tensor::empty({DType::f32, {2, 3}});
  s.read("f32[2,3]", place);
  EXPECT_TRUE(same_bits(place, s.read("f32[2,3]")));
  EXPECT_EQ(file_count(), 1u) << "a temporary file was left";
}

TEST_F(SnapshotFileTest, RefusesTensorsOfAnotherNameOrType) {
  save_snapshot(path, "", {{"w", Tensor{1, 2}}});
  Snapshot s(path);
  EXPECT_NE(message_of([&] { s.read("v"); }).find("holds no 'v'"), std::string::npos);
  EXPECT_NE(message_of([&] {
              s.read("w", Tensor{1, 2, 3});
            }).find("holds 'w' as f32[2], f32[3] is wanted"),
            std::string::npos);
}

// Every byte is under some checksum, but for the gaps between tensors.
TEST_F(SnapshotFileTest, NoticesEveryFlippedBitAndEveryCut) {
  save_snapshot(path, "the text", {{"w", random_numbers({DType::f32, {50}}, 1)}, {"v", Tensor{1}}});
  Snapshot good(path);
  std::string whole = bytes_of(path);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    write_bytes(path, bytes);
    std::string found = message();
    if (whole[at] == 0 && found == "no error") continue;  // padding
    EXPECT_NE(found, "no error") << "byte " << at;
  }
  for (std::size_t size = 0; size < whole.size(); size += 13) {
    write_bytes(path, whole.substr(0, size));
    EXPECT_NE(message().find("is cut short"), std::string::npos) << size << " " << message();
  }
}

TEST_F(SnapshotFileTest, SaysWhyAFileIsRefused) {
  write_bytes(path, std::string(200, 'x'));
  EXPECT_NE(message().find("is not a snapshot: it begins otherwise"), std::string::npos);
  save_snapshot(path, "text", {{"w", Tensor{1, 2, 3}}});
  std::string whole = bytes_of(path);
  auto flipped = [&](std::size_t at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    write_bytes(path, bytes);
    return message();
  };
  EXPECT_NE(flipped(16).find("the checksum of its first bytes is wrong"), std::string::npos);
  EXPECT_NE(flipped(70).find("the checksum of its header is wrong"), std::string::npos);
  EXPECT_NE(flipped(whole.size() - 64).find("the checksum of 'w' is wrong"), std::string::npos);
}

TEST_F(SnapshotFileTest, RefusesAFileOfANewerVersion) {
  save_snapshot(path, "text", {});
  std::string bytes = bytes_of(path);
  bytes[16] = 2;
  std::uint64_t checksum = XXH3_64bits(bytes.data(), 56);
  std::memcpy(bytes.data() + 56, &checksum, 8);
  write_bytes(path, bytes);
  EXPECT_NE(message().find("is of version 2, this program reads versions up to 1: use a newer one"), std::string::npos)
      << message();
}

TEST_F(SnapshotFileTest, IsAllOrNothingWhenTheDiskHasNoRoom) {
  save_snapshot(path, "before", {{"w", Tensor{1, 2, 3}}});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  std::string found = message_of([&] { save_snapshot(path, "after", {{"w", Tensor::zeros({DType::f32, {4096}})}}); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_NE(found.find("what was there before is untouched"), std::string::npos) << found;
  EXPECT_EQ(Snapshot(path).text(), "before");
  EXPECT_EQ(file_count(), 1u) << "a temporary file was left";
}

TEST_F(SnapshotFileTest, SaysSoWhereItMayNotWrite) {
  std::string found = message_of([&] { save_snapshot(folder.path() + "/none/a.snapshot", "", {}); });
  EXPECT_NE(found.find("check the folder and its permissions"), std::string::npos) << found;
}

}  // namespace
}  // namespace reprise::io
