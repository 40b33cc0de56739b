// SPDX-License-Identifier: Apache-2.0
#include "base/spelling.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

const std::vector<std::string_view> words = {"plan", "pack", "sweep", "--budget"};

TEST(Spelling, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest("plna", words), "plan");
  EXPECT_EQ(nearest("swep", words), "sweep");
  EXPECT_EQ(nearest("--buget", words), "--budget");
  EXPECT_EQ(nearest("pak", words), "pack");
}

TEST(Spelling, DoesNotGuessWildly) {
  EXPECT_EQ(nearest("train", words), std::nullopt);
  EXPECT_EQ(nearest("", words), std::nullopt);
  EXPECT_EQ(nearest("--threads", words), std::nullopt);
}

}  // namespace
}  // namespace reprise
