// SPDX-License-Identifier: Apache-2.0
// Parameters that come from a file are in memory once: where they are used.
#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

#include "message.h"
#include "onnx/document.h"
#include "onnx/wire_writer.h"
#include "reprise/train.h"
#include "temporary.h"

namespace reprise::onnx {
namespace {

constexpr std::int64_t side = 512;  // a weight of 1 MiB

class OnnxLoading : public testing::Test {
 protected:
  OnnxLoading() {
    std::vector<float> values(side * side);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) / 8;
    write_bytes(path(), wire_model(WireMessage().message(5, wire_floats("w", {side, side}, values))).bytes());
    file_ = read_document(path()).initializers.at(0);
  }
  nn::Parameter parameter() const {
    return {file_.type(), [file = file_](const Tensor& to) { file.read_into(to); }};
  }
  std::string path() const { return folder_.path() + "/m.onnx"; }

  TemporaryFolder folder_;
  FileTensor file_;
};

TEST_F(OnnxLoading, AParameterTakesMemoryWhenItIsRead) {
  MemoryScope scope;
  nn::Parameter w = parameter();
  EXPECT_EQ(scope.use().peak_bytes, 0);
  EXPECT_TRUE(same_bits(w.value(), file_.read()));
  EXPECT_EQ(scope.use().live_bytes, file_.type().bytes());
}

TEST_F(OnnxLoading, PlanningReadsNothing) {
  nn::Parameter w = parameter();
  std::filesystem::resize_file(path(), 16);  // whoever reads now is refused
  MemoryScope scope;
  TrainStep step([&](const Values& v) -> Values { return {mean(matmul(v[0], w.in(v[0])))}; }, {{"w", w}},
                 optim::Sgd{}.rule(), {.measure = false});
  step.compile(std::vector<Type>{{DType::f32, {4, side}}});
  EXPECT_LT(scope.use().peak_bytes, 4096);
}

TEST_F(OnnxLoading, ACompiledStepLoadsStraightIntoItsArena) {
  nn::Parameter w = parameter();
  Tensor x = Tensor::full({DType::f32, {4, side}}, 1), before = file_.read();
  TrainStep step([&](const Values& v) -> Values { return {mean(matmul(v[0], w.in(v[0])))}; }, {{"w", w}},
                 optim::Sgd{{.lr = 0}}.rule(), {.measure = false});
  step.compile(std::vector<Type>{x.type()});
  MemoryScope scope;
  step(x);
  EXPECT_LT(scope.use().peak_bytes, step.arena_bytes() + file_.type().bytes() / 2);
  EXPECT_TRUE(same_bits(w.value(), before));
}

TEST_F(OnnxLoading, AParameterThatCannotBeReadSaysSoAndCanBeReadLater) {
  nn::Parameter w = parameter();
  std::string bytes = bytes_of(path());
  std::filesystem::resize_file(path(), 16);
  EXPECT_THROW(w.value(), Error);
  std::ofstream(path(), std::ios::binary | std::ios::in) << bytes;
  EXPECT_TRUE(same_bits(w.value(), file_.read()));
}

// What is mapped and no longer there would end the process.
TEST_F(OnnxLoading, AFileThatWasMadeShorterSaysSo) {
  std::vector<float> values(side * side, 1.0f);
  write_bytes(path(),
              wire_model(WireMessage().message(5, wire_tensor("w", 1, {side, side}).packed_fixed(4, values))).bytes());
  Document document = read_document(path());
  std::filesystem::resize_file(path(), 16);
  for (auto use : {+[](const Document& d) { d.initializers.at(0).read(); },
                   +[](const Document& d) { write_document(d, {}, d.path + ".copy"); }})
    EXPECT_NE(message_of([&] { use(document); }).find("was made shorter while it was in use: copy it again"),
              std::string::npos);
}

std::int64_t resident_bytes() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// What was read through the map would stay there as well.
TEST_F(OnnxLoading, NumbersThatWereReadAreInMemoryOnce) {
  constexpr std::int64_t count = 8 << 20;
  std::vector<float> values(count, 1.0f);
  for (bool is_raw : {true, false}) {
    WireMessage t = is_raw ? wire_floats("w", {count}, values) : wire_tensor("w", 1, {count}).packed_fixed(4, values);
    write_bytes(path(), wire_model(WireMessage().message(5, t)).bytes());
    t = {};
    Tensor to = Tensor::full({DType::f32, {count}}, 0);  // its pages are there
    std::int64_t before = resident_bytes();
    FileTensor w = read_document(path()).initializers.at(0);
    w.read_into(to);
    EXPECT_LT(resident_bytes() - before, to.bytes() / 4);
    EXPECT_EQ(to.span<float>()[count - 1], 1);
  }
}

}  // namespace
}  // namespace reprise::onnx
