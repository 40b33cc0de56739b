// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "checkpoint/messages.h"
#include "reprise/tensor.h"

namespace reprise {
namespace {

TEST(DType, NamesParseBack) {
  for (DType d : {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean, DType::f16, DType::bf16})
    EXPECT_EQ(parse_dtype(to_string(d)), d);
  EXPECT_EQ(to_string(DType::boolean), "bool");
}

TEST(DType, SizesAreThoseOfTheElements) {
  EXPECT_EQ(size_of(DType::f64), 8);
  EXPECT_EQ(size_of(DType::bf16), 2);
  EXPECT_EQ(size_of(DType::boolean), 1);
  EXPECT_EQ(dtype_of<std::int32_t>, DType::i32);
}

TEST(DType, AnUnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_EQ(message([] { parse_dtype("f8"); }), "'f8' is not a dtype: use f32, f64, i32, i64, bool, f16 or bf16");
}

TEST(Shape, CountsElementsAndStrides) {
  EXPECT_EQ(Shape({2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ(Shape({2, 0}).elements(), 0);
  EXPECT_EQ(Shape({2, 3, 4}).strides(), Shape({12, 4, 1}));
  EXPECT_EQ(to_string(Shape{2, 3}), "[2,3]");
}

TEST(Shape, RefusesNegativeTooManyAndTooLarge) {
  EXPECT_EQ(message([] { Shape({2, -1}); }), "[shape] size -1 of dimension 1 is negative: give 0 or more");
  EXPECT_EQ(message([] { Shape(std::vector<std::int64_t>(13, 1)); }),
            "[shape] more than 12 dimensions: reshape to 12 or fewer");
  EXPECT_EQ(message([] {
              Shape({1 << 30, 1 << 30, 16}).elements();
            }),
            "[shape] [1073741824,1073741824,16] has too many elements: their bytes must be countable in 63 bits");
  EXPECT_EQ(Shape({1 << 30, 1 << 30, 16, 0}).elements(), 0);
}

TEST(Type, TextParsesBack) {
  for (const char* text : {"f32[2,3]", "i64[]", "bool[0]", "bf16[1,1,1]"}) EXPECT_EQ(to_string(parse_type(text)), text);
  EXPECT_EQ(parse_type("f64[2,3]").bytes(), 48);
}

TEST(Type, RefusesWhatIsNoType) {
  for (const char* bad : {"f32", "f32[", "f32[2", "f32[2,]", "f32[,2]", "f32[a]", "f32[2 3]", "[2]", ""})
    EXPECT_THROW(parse_type(bad), Error) << bad;
  EXPECT_EQ(message([] { parse_type("f32[2,x]"); }), "'f32[2,x]' is not a type: write e.g. f32[2,3]");
  EXPECT_EQ(message([] { parse_type("f32[-2]"); }), "[shape] size -2 of dimension 0 is negative: give 0 or more");
}

}  // namespace
}  // namespace reprise
