// SPDX-License-Identifier: Apache-2.0
#include "data/files.h"

namespace reprise::data {
namespace {

class IdxFiles : public DataTest {
 protected:
  const std::string images = idx(8, {3, 2, 2}, {0, 51, 102, static_cast<char>(255), 1, 2, 3, 4, 5, 6, 7, 8});
  const std::string labels = idx(8, {3}, {2, 0, 1});
  std::string pair(const std::string& x, const std::string& y) const { return put("x.idx", x) + "," + put("y.idx", y); }
};

TEST_F(IdxFiles, AreImagesFromZeroToOneWithTheLabelsBesideThem) {
  put("t-labels-idx1-ubyte", labels);
  Dataset data = load(put("t-images-idx3-ubyte", images));
  EXPECT_EQ(data.size, 3);
  EXPECT_EQ(data.x, (Type{DType::f32, {1, 2, 2}}));
  EXPECT_EQ(data.y, (Type{DType::i64, {}}));
  EXPECT_EQ(data.classes, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(sample(data, 0).x, (std::vector<float>{0, 0.2f, 0.4f, 1}));
  EXPECT_EQ(sample(data, 0).label, 2);
  EXPECT_EQ(sample(data, 2).label, 1);
}

TEST_F(IdxFiles, MayBePackedEachOnItsOwn) {
  put("t-labels-idx1-ubyte.gz", gzipped(labels));
  EXPECT_EQ(sample(load(put("t-images-idx3-ubyte", images)), 0).label, 2);
  EXPECT_EQ(sample(load(put("t-images-idx3-ubyte.gz", gzipped(images))), 0).x[3], 1);
  EXPECT_EQ(load(put("x.idx.gz", gzipped(images)) + "," + put("y", labels)).size, 3);
}

TEST_F(IdxFiles, HoldNumbersOfOtherTypesAsTheyAre) {
  std::string halves = {0x3f, 0, 0, 0, static_cast<char>(0xbf), static_cast<char>(0x80), 0, 0};  // 0.5, -1
  Dataset data = load(pair(idx(0x0d, {1, 2}, halves), idx(0x0d, {1}, halves.substr(4))));
  EXPECT_EQ(data.x, (Type{DType::f32, {2}}));
  EXPECT_EQ(sample(data, 0).x, (std::vector<float>{0.5, -1}));
  EXPECT_EQ(data.y, (Type{DType::f32, {}}));
  EXPECT_EQ(sample(data, 0).wanted, -1);
  EXPECT_TRUE(data.classes.empty());
  EXPECT_EQ(sample(load(pair(idx(0x0b, {1, 2}, {1, 0, -1, -2}), labels.substr(0, 4) + big_endian(1) + '\1')), 0).x,
            (std::vector<float>{256, -2}));
}

TEST_F(IdxFiles, ChangeShapeAndSizeOnRequest) {
  EXPECT_EQ(load(pair(images, labels), {.x_shape = {4}}).x, (Type{DType::f32, {4}}));
  Dataset large = load(pair(images, labels), {.x_shape = {3, 4, 4}});
  std::vector<float> x = sample(large, 0).x;
  EXPECT_EQ(x.size(), 48u);
  EXPECT_EQ(x[0], 0);  // corners stay
  EXPECT_EQ(x[15], 1);
  EXPECT_EQ(std::vector(x.begin(), x.begin() + 16), std::vector(x.begin() + 32, x.end()));  // grey in three channels
  EXPECT_NE(complaint(pair(images, labels), {.x_shape = {5}}).find("f32[1,2,2], which cannot become [5]"),
            std::string::npos);
  EXPECT_NE(complaint(pair(images, labels), {.x_shape = {1, -1, 2}}).find("all positive"), std::string::npos);
}

TEST_F(IdxFiles, AreRefusedByPlaceWhenTheyAreDamaged) {
  EXPECT_EQ(complaint(pair("\1\2\3\4", labels)),
            "[data] 'x.idx', byte 0: an IDX file begins with two zero bytes, a type and a number of dimensions");
  EXPECT_EQ(complaint(pair(idx(7, {1}, "x"), labels)), "[data] 'x.idx', byte 2: 0x07 is no element type of IDX");
  EXPECT_EQ(complaint(pair(idx(8, {}, "x"), labels)), "[data] 'x.idx', byte 3: 0 dimensions: there must be 1 to 8");
  EXPECT_EQ(complaint(pair(images.substr(0, 9), labels)), "[data] 'x.idx', byte 9: it ends within the sizes");
  EXPECT_EQ(complaint(pair(idx(8, {3, 0}, ""), labels)),
            "[data] 'x.idx', byte 8: a dimension of size 0 leaves no samples");
  for (const std::string& file : {images.substr(0, 20), images + "x"})
    EXPECT_NE(complaint(pair(file, labels)).find("'x.idx', byte 16: elements of [3,2,2] are promised, but "),
              std::string::npos);
  EXPECT_NE(complaint(pair(idx(8, {0xffffffff, 0xffffffff, 0xffffffff}, "x"), labels)).find("but 1 bytes follow"),
            std::string::npos);
}

TEST_F(IdxFiles, AreRefusedWhenSamplesAndLabelsDoNotBelongTogether) {
  EXPECT_EQ(complaint(pair(images, idx(8, {2}, "ab"))),
            "[data] 'x.idx' has 3 samples, but 'y.idx' 2 labels: they belong to different sets");
  EXPECT_EQ(complaint(pair(images, images)), "[data] 'y.idx' holds [3,2,2]: labels have one dimension");
  EXPECT_EQ(complaint(pair(images, idx(9, {3}, {1, -1, 0}))),
            "[data] 'y.idx', byte 9: label -1 of sample 1 is out of range: classes are numbered from 0 to 65535");
  EXPECT_NE(complaint(put("x.idx", images)).find("give both files as IMAGES,LABELS"), std::string::npos);
  EXPECT_NE(complaint(put("alone-images-idx3-ubyte", images)).find("'alone-labels-idx1-ubyte' or the same with .gz"),
            std::string::npos);
}

TEST_F(IdxFiles, RefuseNumbersThatAreNotFinite) {
  std::string nan = {0x7f, static_cast<char>(0xc0), 0, 0};
  Dataset data = load(pair(idx(0x0d, {1, 1}, nan), idx(8, {1}, {0})));
  EXPECT_NE(message_of([&] { sample(data, 0); }).find("x.idx', byte 12: nan is not a finite number"),
            std::string::npos);
  EXPECT_NE(complaint(pair(idx(8, {1, 1}, "x"), idx(0x0d, {1}, nan))).find("byte 8: nan is not a number to learn"),
            std::string::npos);
  EXPECT_NE(message_of([&] { sample(data, 1); }).find("has samples 0 to 0, not 1"), std::string::npos);
}

}  // namespace
}  // namespace reprise::data
