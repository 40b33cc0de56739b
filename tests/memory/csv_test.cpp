// SPDX-License-Identifier: Apache-2.0
#include "memory/csv.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "reprise/base.h"

namespace reprise::memory {
namespace {

TEST(Csv, ReadsColumnsByNameInAnyOrder) {
  auto buffers = read_csv("size, id ,note,upper,lower\r\n64,a,first,2,0\r\n\r\n32,b,,3,1");
  EXPECT_EQ(buffers, (std::vector<Buffer>{{"a", 0, 2, 64}, {"b", 1, 3, 32}}));
  EXPECT_EQ(read_csv("id,lower,upper,size,alignment\nx,0,1,5,64\n").at(0).alignment, 64);
}

TEST(Csv, ReadsPastAByteOrderMark) {
  std::vector<Buffer> buffers = read_csv("\xEF\xBB\xBFid,lower,upper,size\na,0,2,64\n");
  ASSERT_EQ(buffers.size(), 1u);
  EXPECT_EQ(buffers[0].name, "a");
}

TEST(Csv, WritesWhatItReadsWithTheOffset) {
  auto buffers = read_csv("id,lower,upper,size\na,0,2,64\nb,1,3,32\n");
  std::string text = write_csv(buffers, {{32, 0}, 96});
  EXPECT_EQ(text, "id,lower,upper,size,offset\na,0,2,64,32\nb,1,3,32,0\n");
  EXPECT_EQ(read_csv(text), buffers);
}

std::string error_of(std::string_view text) {
  try {
    read_csv(text);
    return "no error";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(Csv, NamesTheLineAndTheMistake) {
  EXPECT_EQ(error_of(" \n\n"), "[csv] there is no header: the first line must name id, lower, upper and size");
  EXPECT_EQ(error_of("id,lower,size\n"),
            "[csv] line 1: no column 'upper': the first line must name id, lower, upper and size");
  EXPECT_EQ(error_of("id,id,lower,upper,size\n"), "[csv] line 1: two columns are called 'id'");
  EXPECT_EQ(error_of("id,lower,upper,size\na,0,1\n"), "[csv] line 2: 3 fields where the header names 4");
  EXPECT_EQ(error_of("id,lower,upper,size\n\na,0,1,4x\n"), "[csv] line 3: size '4x' is not a whole number");
  EXPECT_EQ(error_of("id,lower,upper,size\na,0,1,99999999999999999999\n"),
            "[csv] line 2: size 99999999999999999999 is past 2^63");
  EXPECT_EQ(error_of("id,lower,upper,size\n,0,1,4\n"), "[csv] line 2: the id is empty");
}

std::string mutated(Random& random, std::string text) {
  constexpr std::string_view bytes = "0123456789,,\n\n-+.eE \t\r\"ab\0\xff";
  for (std::int64_t changes = random.between(1, 3); changes > 0 && !text.empty(); --changes) {
    std::size_t at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(text.size())));
    char byte = bytes[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bytes.size())))];
    switch (random.below(4)) {
      case 0: text[at] = byte; break;
      case 1: text.insert(at, 1, byte); break;
      case 2: text.erase(at, static_cast<std::size_t>(random.between(1, 4))); break;
      default: text.insert(at, text.substr(at, static_cast<std::size_t>(random.below(20)))); break;
    }
  }
  return text;
}

TEST(Csv, TenThousandMutationsGiveAnErrorOrAValidLayout) {
  const std::string good =
      "id,lower,upper,size,alignment\na,0,4,64,8\nb,2,6,100,1\nc,4,9,32,4\nd,1,9,7,1\ne,6,8,90,64\n";
  int errors = 0, layouts = 0;
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    Random random(seed);
    std::string text = mutated(random, good);
    try {
      auto buffers = read_csv(text);
      PackResult r = pack(buffers, {.work_limit = 100'000});
      ASSERT_NO_THROW(validate(buffers, r.layout)) << text;
      ++layouts;
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 1000);
  EXPECT_GT(layouts, 500);
}

}  // namespace
}  // namespace reprise::memory
