// SPDX-License-Identifier: Apache-2.0
// The disk store when all goes well, and when the disk does not.
#include <gtest/gtest.h>

#include "base/random.h"
#include "checkpoint/disk_faults.h"
#include "checkpoint/messages.h"
#include "reprise/stores.h"

namespace reprise {
namespace {

using Floats = std::vector<float>;
namespace fs = std::filesystem;

Floats state_of(std::int64_t step) { return Floats(1000, static_cast<float>(step)); }
constexpr std::int64_t state_bytes = 4000;

TEST(DiskStore, TakesAllItsRoomBeforeTheFirstPut) {
  Parent parent;
  DiskStore<Floats> store({.slots = 10, .slot_bytes = state_bytes, .directory = parent.path});
  EXPECT_EQ(fs::path(store.directory()).parent_path(), parent.path);
  EXPECT_GE(fs::file_size(store.directory() + "/slots"), 10 * state_bytes);
}

TEST(DiskStore, ADiskThatIsTooFullIsAnErrorBeforeTheSweep) {
  Parent parent;
  std::string text = message(
      [&] { DiskStore<Floats>({.slots = 1024, .slot_bytes = std::int64_t{1} << 50, .directory = parent.path}); });
  EXPECT_NE(text.find("[disk store] the disk is too full: "), std::string::npos) << text;
  EXPECT_NE(text.find("needs 1.0 EiB and "), std::string::npos) << text;
  EXPECT_NE(text.find("are free: make room, ask for fewer or smaller slots, or let"), std::string::npos) << text;
  EXPECT_TRUE(parent.is_empty());
}

TEST(DiskStore, AFileThatMayNotGrowIsAnErrorBeforeTheSweep) {
  Parent parent;
  FileSizeLimit limit(20000);
  std::string text =
      message([&] { DiskStore<Floats>({.slots = 10, .slot_bytes = state_bytes, .directory = parent.path}); });
  EXPECT_NE(
      text.find("needs 40.0 KiB and the process may make files of 19.5 KiB at most: raise that limit (ulimit -f), or"),
      std::string::npos)
      << text;
  EXPECT_TRUE(parent.is_empty());
  EXPECT_THROW(DiskStore<Floats>({.slots = 10, .slot_bytes = state_bytes, .directory = parent.path}), StoreFailed);
  EXPECT_NO_THROW(DiskStore<Floats>({.slots = 4, .slot_bytes = state_bytes, .directory = parent.path}));
}

TEST(DiskStore, ADirectoryThatIsNotThereIsAnError) {
  EXPECT_EQ(message([] { DiskStore<Floats>({.slots = 1, .slot_bytes = 4, .directory = "/no/such/place"}); }),
            "[disk store] cannot make a directory in /no/such/place (No such file or directory): let "
            "DiskOptions::directory name one that exists and may be written to");
}

TEST(DiskStore, RemovesItsFilesWhenItDiesAlsoByAnException) {
  Parent parent;
  try {
    DiskStore<Floats> store({.slots = 3, .slot_bytes = state_bytes, .directory = parent.path});
    store.put(0, state_of(0));
    EXPECT_FALSE(parent.is_empty());
    throw 1;
  } catch (int) {
  }
  EXPECT_TRUE(parent.is_empty());
}

TEST(DiskStore, MovesWithItsStates) {
  DiskStore<Floats> first({.slots = 3, .slot_bytes = state_bytes});
  first.put(1, state_of(1));
  DiskStore<Floats> second = std::move(first);
  EXPECT_EQ(second.get(1), state_of(1));
}

TEST(DiskStore, RefusesMoreStatesThanSlotsAndStatesThatAreTooLarge) {
  DiskStore<Floats> store({.slots = 2, .slot_bytes = state_bytes});
  store.put(0, state_of(0));
  store.put(1, state_of(1));
  EXPECT_THROW(store.put(2, state_of(2)), MaximumReached);
  store.put(1, state_of(5));  // replacing needs no further slot
  EXPECT_EQ(message([&] { store.put(1, Floats(1001)); }),
            "[disk store] the state for slot 1 takes 4004 bytes and a slot has 4000: make the store with "
            "DiskOptions::slot_bytes = stored_bytes() of the largest state");
  EXPECT_THROW(store.put(1, Floats(1001)), StoreFailed);
  EXPECT_EQ(store.get(1), state_of(5));
  EXPECT_EQ(store.get(0), state_of(0));
}

TEST(DiskStore, RefusesOptionsThatMakeNoSense) {
  EXPECT_EQ(message([] { DiskStore<Floats>({.slots = 0, .slot_bytes = 4}); }),
            "[disk store] 0 slots: a store needs at least 1");
  EXPECT_EQ(message([] { DiskStore<Floats>({.slots = 1, .slot_bytes = -4}); }),
            "[store] a state of -4 bytes: sizes are not negative");
  EXPECT_THROW(DiskStore<Floats>({.slots = 1, .slot_bytes = 4, .write_behind = 0}), Error);
  EXPECT_THROW(DiskStore<Floats>({.slots = 1, .slot_bytes = 4, .read_ahead = -1}), Error);
  EXPECT_THROW(DiskStore<Floats>({.slots = INT64_MAX, .slot_bytes = 4}), Error);
}

TEST(DiskStore, ReadsAheadOfAReverseSweep) {
  DiskStore<Floats> store({.slots = 50, .slot_bytes = state_bytes, .write_behind = 3, .read_ahead = 2});
  for (std::int64_t i = 0; i < 50; ++i) store.put(i, state_of(i));
  store.flush();
  EXPECT_EQ(store.traffic().writes, 50);
  EXPECT_LE(store.memory_bytes(), 4 * state_bytes);
  for (std::int64_t i = 49; i >= 0; --i) {
    ASSERT_EQ(store.get(i), state_of(i));
    store.drop(i);
    EXPECT_LE(store.memory_bytes(), 4 * state_bytes);
  }
  // Whatever was read, was read once, by the thread or by the caller who came first.
  EXPECT_EQ(store.traffic().from_memory + store.traffic().from_file, 50);
  EXPECT_LE(store.traffic().reads, 46);
}

TEST(DiskStore, WritesBehindAndBoundsWhatWaitsInMemory) {
  DiskStore<Floats> store({.slots = 200, .slot_bytes = state_bytes, .write_behind = 2, .read_ahead = 0});
  for (std::int64_t i = 0; i < 200; ++i) {
    store.put(i, state_of(i));
    EXPECT_LE(store.memory_bytes(), 2 * state_bytes);
  }
  store.flush();
  EXPECT_EQ(store.memory_bytes(), 0);
  EXPECT_EQ(store.bytes_held(), 200 * state_bytes);
  for (std::int64_t i = 0; i < 200; ++i) ASSERT_EQ(store.get(i), state_of(i));
}

TEST(DiskStore, EncodesWhatItWrites) {
  for (Encoding encoding : {Encoding::f16, Encoding::bf16, Encoding::int8, Encoding::zstd}) {
    DiskStore<Floats> store(
        {.slots = 2, .slot_bytes = state_bytes, .read_ahead = 0, .encoding = {.encoding = encoding}});
    store.put(0, state_of(3));
    store.put(1, state_of(64));
    store.flush();
    EXPECT_LE(store.bytes_held(), state_bytes);
    EXPECT_NEAR(store.get(0)[5], 3, store.largest_error());
    EXPECT_EQ(store.get(1)[5], 64);
  }
}

TEST(DiskStore, AFullDiskInTheMiddleIsReportedOnceAndLosesThatSlotOnly) {
  Parent parent;
  DiskStore<Floats> store({.slots = 4, .slot_bytes = state_bytes, .directory = parent.path, .read_ahead = 0});
  store.put(0, state_of(0));
  store.put(1, state_of(1));
  store.flush();
  {
    FileSizeLimit limit(8192);  // the third slot begins here
    store.put(2, state_of(2));
    EXPECT_EQ(message([&] { store.flush(); }),
              "[disk store] cannot write slot 2 (File too large): it is empty now: make room and put its state again");
  }
  EXPECT_FALSE(store.holds(2));
  EXPECT_THROW(store.get(2), NothingStored);
  EXPECT_EQ(store.get(0), state_of(0));
  EXPECT_EQ(store.bytes_held(), 2 * state_bytes);
  store.put(2, state_of(7));  // the disk has room again
  store.flush();
  EXPECT_EQ(store.get(2), state_of(7));
}

TEST(DiskStore, AShortWriteIsAnErrorOfTheNextCallWhichDoesNothingElse) {
  DiskStore<Floats> store({.slots = 4, .slot_bytes = state_bytes, .write_behind = 1, .read_ahead = 0});
  store.put(0, state_of(0));
  store.flush();
  FileSizeLimit limit(4096 + 1000);  // a quarter of the second state can be written
  store.put(1, state_of(1));
  try {
    store.put(0, state_of(9));
    FAIL() << "the failed write was not reported";
  } catch (const StoreFailed& e) {
    EXPECT_EQ(e.slot, 1);
  }
  EXPECT_FALSE(store.holds(1));
  EXPECT_EQ(store.get(0), state_of(0));
}

TEST(DiskStore, EveryFailedWriteIsReported) {
  DiskStore<Floats> store({.slots = 8, .slot_bytes = state_bytes, .write_behind = 8, .read_ahead = 0});
  FileSizeLimit limit(1);
  int reported = 0;
  for (std::int64_t i = 0; i < 3; ++i) {
    try {
      store.put(i, state_of(i));
    } catch (const StoreFailed&) {
      ++reported, --i;  // the put that threw has done nothing
    }
  }
  for (int i = 0; i < 8; ++i) reported += message([&] { store.flush(); }) != "(no error)";
  EXPECT_EQ(reported, 3);
  EXPECT_EQ(store.bytes_held(), 0);
}

TEST(DiskStore, ACorruptedFileIsAnErrorEachTimeAndHarmsNoOtherSlot) {
  DiskStore<Floats> store({.slots = 2, .slot_bytes = state_bytes, .read_ahead = 0});
  store.put(0, state_of(0));
  store.put(1, state_of(1));
  store.flush();
  corrupt(store.directory(), 100);
  EXPECT_EQ(message([&] { store.get(0); }),
            "[disk store] slot 0 is corrupted: its checksum is not that of what was written: put the state again, and "
            "have the disk checked");
  EXPECT_THROW(store.get(0), StoreCorrupted);
  EXPECT_EQ(store.get(1), state_of(1));
  store.put(0, state_of(2));
  store.flush();
  EXPECT_EQ(store.get(0), state_of(2));
}

TEST(DiskStore, CorruptionFoundWhileReadingAheadReachesTheGet) {
  DiskStore<Floats> store({.slots = 10, .slot_bytes = state_bytes, .read_ahead = 1});
  for (std::int64_t i = 0; i < 10; ++i) store.put(i, state_of(i));
  store.flush();
  corrupt(store.directory(), 4 * 4096 + 100);
  for (std::int64_t i = 9; i > 4; --i) {
    EXPECT_EQ(store.get(i), state_of(i));
    store.drop(i);
  }
  EXPECT_THROW(store.get(4), StoreCorrupted);
  EXPECT_EQ(store.get(3), state_of(3));
}

TEST(DiskStore, ATruncatedFileIsAnError) {
  DiskStore<Floats> store({.slots = 2, .slot_bytes = state_bytes, .read_ahead = 0});
  store.put(0, state_of(0));
  store.put(1, state_of(1));
  store.flush();
  fs::resize_file(store.directory() + "/slots", 4096 + 17);
  EXPECT_EQ(message([&] { store.get(1); }),
            "[disk store] cannot read slot 1: the file ends before it: leave the store's files alone, and put the "
            "state again");
  EXPECT_EQ(store.get(0), state_of(0));
}

TEST(DiskStore, DiesQuietlyWithWritesStillWaiting) {
  for (int i = 0; i < 20; ++i) {
    DiskStore<Floats> store({.slots = 8, .slot_bytes = state_bytes, .write_behind = 8});
    for (std::int64_t slot = 0; slot < 8; ++slot) store.put(slot, state_of(slot));
  }
}

TEST(DiskStore, SurvivesEveryOrderOfPutsGetsAndDrops) {
  Random random(30);
  for (std::int64_t read_ahead : {0, 1, 3}) {
    DiskStore<Floats> store({.slots = 6, .slot_bytes = state_bytes, .write_behind = 3, .read_ahead = read_ahead});
    std::vector<std::int64_t> held(6, -1);
    for (std::int64_t i = 0; i < 2000; ++i) {
      auto slot = static_cast<std::size_t>(random.below(6));
      auto id = static_cast<std::int64_t>(slot);
      if (held[slot] < 0 || random.chance(0.2))
        store.put(id, state_of(held[slot] = i));
      else if (random.chance(0.3))
        store.drop(id), held[slot] = -1;
      else
        ASSERT_EQ(store.get(id), state_of(held[slot]));
    }
  }
}

}  // namespace
}  // namespace reprise
