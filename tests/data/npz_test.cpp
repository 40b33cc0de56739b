// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "data/files.h"
#include "reprise/io.h"

namespace reprise::data {
namespace {

class Npz : public DataTest {
 protected:
  std::string save(const Tensor& x, const Tensor& y) const {
    io::save_npz(path("a.npz"), {{"x", x}, {"y", y}});
    return path("a.npz");
  }
  const Tensor labels = Tensor::from(std::vector<std::int32_t>{1, 0}, {2});
};

TEST_F(Npz, HoldsSamplesAndClasses) {
  Dataset data = load(save(Tensor{{1, 2, 3}, {4, 5, 6}}.to(DType::f64), labels));
  EXPECT_EQ(data.size, 2);
  EXPECT_EQ(data.x, (Type{DType::f32, {3}}));
  EXPECT_EQ(data.y, (Type{DType::i64, {}}));
  EXPECT_EQ(data.classes, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(sample(data, 1).x, (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(sample(data, 0).label, 1);
}

TEST_F(Npz, HoldsQuantities) {
  Dataset data = load(save(Tensor{{1}, {2}}, Tensor{0.5, 1.5}.to(DType::f64)));
  EXPECT_EQ(data.y, (Type{DType::f32, {}}));
  EXPECT_EQ(sample(data, 1).wanted, 1.5);
}

TEST_F(Npz, TakesBytesForPicturesAndPutsChannelsFirst) {
  Tensor grey = Tensor::from(std::vector<std::int32_t>{0, 51, 102, 255, 0, 0, 0, 0}, {2, 2, 2});
  Dataset data = load(save(grey, labels));
  EXPECT_EQ(data.x, (Type{DType::f32, {1, 2, 2}}));
  EXPECT_EQ(sample(data, 0).x, (std::vector<float>{0, 0.2f, 0.4f, 1}));
  std::vector<std::int32_t> colours(2 * 2 * 2 * 3);
  for (std::size_t i = 0; i < colours.size(); ++i) colours[i] = i % 3 == 1 ? 255 : 0;  // all green
  data = load(save(Tensor::from(colours, {2, 2, 2, 3}), labels));
  EXPECT_EQ(data.x, (Type{DType::f32, {3, 2, 2}}));
  EXPECT_EQ(sample(data, 1).x, (std::vector<float>{0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0}));
}

TEST_F(Npz, LeavesTokensAsTheyAre) {
  Tensor tokens = Tensor::from(std::vector<std::int64_t>{1, 2, 3, 4}, {2, 2});
  Dataset data = load(save(tokens, tokens));
  EXPECT_EQ(data.x, (Type{DType::i64, {2}}));
  EXPECT_EQ(data.y, data.x);
  EXPECT_TRUE(data.classes.empty());
}

TEST_F(Npz, OrTwoNpyFilesWillDo) {
  io::save_npy(path("x.npy"), Tensor{{1, 2}, {3, 4}});
  io::save_npy(path("y.npy"), labels);
  EXPECT_EQ(sample(load(path("x.npy") + "," + path("y.npy")), 1).x, (std::vector<float>{3, 4}));
  EXPECT_EQ(complaint(path("x.npy")), "[data] 'x.npy' holds one array: give samples and answers as X.npy,Y.npy");
}

TEST_F(Npz, IsRefusedWhenSomethingIsMissing) {
  io::save_npz(path("a.npz"), {{"x", labels}, {"labels", labels}});
  EXPECT_EQ(
      complaint(path("a.npz")),
      "[data] 'a.npz' must hold arrays 'x' and 'y', but holds x, labels: numpy.savez(path, x=..., y=...) names them");
  EXPECT_NE(complaint(save(Tensor{{1}, {2}, {3}}, labels)).find("the first dimension of both"), std::string::npos);
  EXPECT_EQ(complaint(save(Tensor{{1}, {2}}, Tensor::from(std::vector<std::int64_t>{0, -1}, {2}))),
            "[data] 'a.npz': label -1 of sample 1 is out of range: classes are numbered from 0 to 65535");
  EXPECT_EQ(complaint(save(Tensor{{1, 2}, {3, NAN}}, labels)),
            "[data] 'a.npz': x of sample 1 has a nan: leave it out or put a number there");
  EXPECT_NE(complaint(put("b.npz", "PK no archive")).find("b.npz"), std::string::npos);
}

}  // namespace
}  // namespace reprise::data
