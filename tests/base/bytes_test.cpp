// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reprise/base.h"

namespace reprise {
namespace {

using namespace literals;

TEST(Bytes, LiteralsArePowersOf1024Or1000) {
  EXPECT_EQ(256_MiB, 268435456);
  EXPECT_EQ(2_GB, 2000000000);
  EXPECT_EQ(1_KiB, 1024_B);
}

TEST(Bytes, ParsesSizesAsPeopleWriteThem) {
  EXPECT_EQ(parse_bytes("512MiB"), 512_MiB);
  EXPECT_EQ(parse_bytes("2GB"), 2_GB);
  EXPECT_EQ(parse_bytes(" 1.5 gib "), 1536_MiB);
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("7b"), 7);
  EXPECT_EQ(parse_bytes("3k"), 3072);
  EXPECT_EQ(parse_bytes("9223372036854775807"), INT64_MAX);
}

TEST(Bytes, ParsesPercentagesOfAWhole) {
  EXPECT_EQ(parse_bytes("50%", 1001), 500);
  EXPECT_EQ(parse_bytes("12.5 %", 1000), 125);
  EXPECT_EQ(parse_bytes("1KiB", 1000), 1024);
}

TEST(Bytes, RefusesWhatIsNotASizeAndSaysWhatToWrite) {
  for (const char* bad : {"", "MiB", "-1", "-1KiB", "1 2", "5%", "nan", "inf", "1e999", "0x10", "12 parsecs", "1..5"}) {
    try {
      parse_bytes(bad);
      ADD_FAILURE() << "accepted '" << bad << "'";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("is not a size: write a number and a unit"), std::string::npos) << e.what();
    }
  }
}

TEST(Bytes, RefusesSizesPastTheLargestInteger) {
  EXPECT_THROW(parse_bytes("9000000 TiB"), Error);
  EXPECT_THROW(parse_bytes("1e30%", 100), Error);
}

TEST(Bytes, PrintsForPeople) {
  EXPECT_EQ(format_bytes(17), "17 B");
  EXPECT_EQ(format_bytes(256_MiB), "256.0 MiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(1_MiB - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(INT64_MAX), "8.0 EiB");
}

}  // namespace
}  // namespace reprise
