// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "memory/lifetimes.h"
#include "reprise/memory.h"

namespace reprise::memory {
namespace {

const std::vector<Buffer> buffers{{"a", 0, 2, 4}, {"b", 1, 3, 4}, {"c", 2, 4, 8, 4, 0}};

std::string verdict(Layout layout, PackOptions options = {}) {
  try {
    validate(buffers, layout, options);
    return "valid";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(LayoutJudge, AcceptsAValidLayout) {
  EXPECT_EQ(verdict({{4, 0, 4}, 12}, {.capacity = 12, .alignment = 4}), "valid");
}

TEST(LayoutJudge, NamesTheRuleThatIsBroken) {
  EXPECT_EQ(verdict({{4, 0}, 12}), "[layout] 2 offsets for 3 buffers");
  EXPECT_EQ(verdict({{-4, 0, -4}, 12}), "[layout] 'a' has the negative offset -4");
  EXPECT_EQ(verdict({{INT64_MAX, 0, 4}, 12}), "[layout] 'a' ends past 2^63 bytes");
  EXPECT_EQ(verdict({{6, 0, 6}, 14}), "[layout] 'c' (bytes [6, 14), live during [2, 4)) is not aligned to 4");
  EXPECT_EQ(
      verdict({{4, 0, 8}, 16}),
      "[layout] 'c' (bytes [8, 16), live during [2, 4)) must take over the place of 'a' (bytes [4, 8), live during "
      "[0, 2))");
  EXPECT_EQ(verdict({{4, 2, 4}, 12}),
            "[layout] 'a' (bytes [4, 8), live during [0, 2)) and 'b' (bytes [2, 6), live during [1, 3)) share bytes "
            "while both are live");
  EXPECT_EQ(verdict({{4, 0, 4}, 13}), "[layout] the height is 12, not 13");
  EXPECT_EQ(verdict({{4, 0, 4}, 12}, {.capacity = 11}), "[layout] the height is 12, above the capacity 11");
  EXPECT_EQ(verdict({{4, 0, 4}, 12}, {.alignment = 8}),
            "[layout] 'a' (bytes [4, 8), live during [0, 2)) is not aligned to 8");
}

}  // namespace
}  // namespace reprise::memory
