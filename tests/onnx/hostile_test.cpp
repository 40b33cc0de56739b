// SPDX-License-Identifier: Apache-2.0
// Files that were damaged, or made to do harm, are refused by a sentence that names the file and says what to do.
#include <gtest/gtest.h>

#include "base/random.h"
#include "message.h"
#include "onnx/stranger.h"
#include "plan/test_factor.h"
#include "temporary.h"

namespace reprise::onnx {
namespace {

class OnnxHostile : public testing::Test {
 protected:
  // The refusal without the file's name; "" where nothing is refused. What is read and understood may still be more
  // than a plan can hold.
  std::string said(const std::string& bytes) {
    write_bytes(path(), bytes);
    std::string why = try_stranger(path(), folder_.path() + "/copy.onnx"), begin = "[onnx] '" + path() + "' ";
    EXPECT_TRUE(why.empty() || why.starts_with("[onnx] ") || why.starts_with("[problem] ")) << why;
    EXPECT_TRUE(!why.starts_with("[onnx] ") || why.find(": ") != std::string::npos) << why << ": and what to do?";
    return why.starts_with(begin) ? why.substr(begin.size()) : why;
  }
  std::string said_of(const WireMessage& tensor) { return said(wire_model(WireMessage().message(5, tensor)).bytes()); }
  std::string path() const { return folder_.path() + "/m.onnx"; }

  TemporaryFolder folder_{fast_folder()};
};

const char* const damaged = "is cut short, damaged or no ONNX file";

TEST_F(OnnxHostile, AModelCutShortAtAnyByteIsRefusedOrLacksItsEnd) {
  std::string whole = wire_small_model().bytes();
  ASSERT_EQ(said(whole), "");
  int refused = 0;
  for (std::size_t size = 1; size < whole.size(); ++size) refused += !said(whole.substr(0, size)).empty();
  // Between two fields of the model itself nothing tells that more was there.
  EXPECT_GE(refused, static_cast<int>(whole.size()) - 4);
  EXPECT_EQ(said(""), "is empty: export or copy it again");
}

// Flips bits, sets bytes to those that end or never end a length, cuts, repeats and swaps parts.
std::string mutated(std::string bytes, Random& random) {
  auto place = [&] { return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bytes.size()))); };
  for (std::int64_t i = random.between(1, 4); i > 0 && !bytes.empty(); --i) {
    std::size_t at = place(), size = 1 + place() % 16;
    switch (random.below(6)) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8))); break;
      case 1: bytes[at] = static_cast<char>(random.bits()); break;
      case 2: bytes.replace(at, 1, std::string(size, '\xff') + '\x01'); break;
      case 3: bytes.erase(at, size); break;
      case 4: bytes.insert(place(), bytes.substr(at, size)); break;
      default: bytes[at] = "\x00\x7f\x80\xff"[random.below(4)]; break;
    }
  }
  return bytes;
}

TEST_F(OnnxHostile, RandomDamageIsRefusedOrHarmless) {
  auto trials = static_cast<int>(problem_count(5000));
  Random random(20240611);
  WireMessage graph = WireMessage().message(5, wire_tensor("h", 10, {3}).packed(5, {1, 2, 0x3c00}));
  graph.message(5, wire_external("e", {2}, "data", "4", "8")).message(11, wire_value("x", {-1, 2}));
  graph.message(1, wire_node("Mul", {"x", "e"}, {"y"})).message(12, wire_value("y", {-1, 2}));
  write_bytes(folder_.path() + "/data", std::string(12, 'x'));
  for (const std::string& whole : {wire_small_model().bytes(), wire_model(graph).bytes()}) {
    int refused = 0;
    for (int i = 0; i < trials; ++i) refused += !said(mutated(whole, random)).empty();
    EXPECT_GT(refused, trials / 4);
    EXPECT_LT(refused, trials);
  }
}

// What covers most among the files that `make fuzz-onnx` grew from libonnx-testdata, and what it once broke.
TEST_F(OnnxHostile, EverythingTheFuzzerFoundIsRefusedOrHarmless) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(REPRISE_SOURCE_DIR "/tests/onnx/corpus")) {
    SCOPED_TRACE(entry.path());
    said(bytes_of(entry.path().string()));
    ++files;
  }
  EXPECT_GE(files, 100);
}

TEST_F(OnnxHostile, TextIsNoModel) {
  EXPECT_NE(said("This is a letter, not a model.\n").find(damaged), std::string::npos);
  EXPECT_NE(said(std::string(1000, '\0')).find(damaged), std::string::npos);
  EXPECT_NE(said(WireMessage().integer(1, 8).bytes()).find("has no graph"), std::string::npos);
}

TEST_F(OnnxHostile, NegativeAndOverflowingDimensionsAreRefused) {
  EXPECT_EQ(said_of(wire_floats("w", {-1, 2}, {1, 2})),
            "has a tensor 'w', float[-1,2], with a negative dimension: export it again");
  EXPECT_EQ(said_of(wire_floats("w", {1LL << 32, 1LL << 32}, {1})),
            "has a tensor 'w', float[4294967296,4294967296], larger than any memory: export it again");
  EXPECT_EQ(
      said_of(wire_tensor("w", 1, {1LL << 62, 0, 1LL << 62})),
      "has a tensor 'w', float[4611686018427387904,0,4611686018427387904], larger than any memory: export it again");
  EXPECT_EQ(said_of(wire_floats("w", std::vector<std::int64_t>(13, 1), {1})),
            "has a tensor 'w', float[1,1,1,1,1,1,1,1,1,1,1,1,1], of more than 12 dimensions: export it with fewer");
}

TEST_F(OnnxHostile, NumbersThatAreTooFewOrTooManyAreRefusedBeforeAnyMemoryIsTaken) {
  MemoryScope scope;
  EXPECT_EQ(
      said_of(wire_floats("w", {1LL << 40}, {1, 2})),
      "has a tensor 'w', float[1099511627776], with 8 bytes of numbers instead of 4398046511104: export it again");
  EXPECT_EQ(said_of(wire_floats("w", {1}, {1, 2})),
            "has a tensor 'w', float[1], with 8 bytes of numbers instead of 4: export it again");
  EXPECT_EQ(said_of(wire_tensor("w", 1, {1LL << 40}).packed_fixed<float>(4, {1})),
            "has a tensor 'w', float[1099511627776], with 1 numbers instead of 1099511627776: export it again");
  EXPECT_EQ(said_of(wire_tensor("w", 1, {3})),
            "has a tensor 'w', float[3], with 0 bytes of numbers instead of 12: export it again");
  EXPECT_EQ(scope.use().peak_bytes, 0);
}

TEST_F(OnnxHostile, NumbersOfTwoKindsAreRefused) {
  EXPECT_EQ(said_of(wire_floats("w", {1}, {1}).fixed(4, 1.0f)),
            "has a tensor 'w', float[1], with two sets of numbers: export it again");
  EXPECT_EQ(said_of(wire_floats("w", {1}, {1}).text(9, "1234")),
            "has a tensor 'w', float[1], with two sets of numbers: export it again");
  EXPECT_EQ(said_of(wire_external("w", {1}, "data", "", "").text(9, "1234")),
            "has a tensor 'w', float[1], with two sets of numbers: export it again");
  EXPECT_EQ(said_of(wire_tensor("w", 1, {1}).fixed(4, 1.0f).integer(5, 1)),
            "has a tensor 'w', float[1], with numbers of two types: export it again");
  EXPECT_EQ(said_of(wire_tensor("w", 1, {1}).integer(7, 1)),
            "has a tensor 'w', float[1], with numbers of another type: export it again");
}

TEST_F(OnnxHostile, OddTensorsAreRefused) {
  EXPECT_EQ(said_of(wire_tensor("w", 99, {1}).text(9, "1234")),
            "has a tensor 'w', type 99[1], of a type that is not known: export it as float");
  EXPECT_EQ(said_of(wire_floats("", {1}, {1})), "has an initializer without a name at byte 13: export it again");
  EXPECT_NE(said_of(wire_tensor("w", 1, {1}).message(3, WireMessage())).find("in segments: export it whole"),
            std::string::npos);
  write_bytes(path(), wire_model(WireMessage().message(5, wire_tensor("w", 10, {1}).integer(5, 70000))).bytes());
  EXPECT_NE(
      message_of([&] { read_document(path()).initializers.at(0).read(); }).find("with a number that f16 cannot hold"),
      std::string::npos);
}

TEST_F(OnnxHostile, NamesGivenTwiceAreRefused) {
  WireMessage w = wire_floats("w", {1}, {1});
  EXPECT_EQ(said(wire_model(WireMessage().message(5, w).message(5, w)).bytes()),
            "has two initializers 'w': export it again");
  WireMessage x = wire_value("x", {1});
  EXPECT_EQ(said(wire_model(WireMessage().message(11, x).message(11, x)).bytes()),
            "has two inputs 'x': export it again");
  EXPECT_EQ(said(wire_model(WireMessage()).message(7, WireMessage()).bytes()), "has two graphs: export it again");
  EXPECT_EQ(said(wire_model(WireMessage()).message(8, WireMessage().integer(2, 9)).bytes()),
            "names two versions of operator set '', 13 and 9: export it again");
}

TEST_F(OnnxHostile, NamesWithControlCharactersArePrintedWithoutThem) {
  EXPECT_EQ(
      said_of(wire_floats("\x1b[31m\n" + std::string(200, 'w'), {-1}, {})),
      "has a tensor '?[31m?" + std::string(74, 'w') + "...', float[-1], with a negative dimension: export it again");
}

TEST_F(OnnxHostile, DeepNestingIsPassedOver) {
  WireMessage graph = WireMessage().text(2, "deepest");
  for (int depth = 0; depth < 2000; ++depth)
    graph = WireMessage().message(
        1, wire_node("If", {"c"}, {"y"}, {WireMessage().text(1, "then_branch").message(6, graph).integer(20, 5)}));
  EXPECT_EQ(said(wire_model(graph).bytes()), "lacks a value: 'If' 'If_y' reads 'c', which nothing makes");
  EXPECT_NE(said(std::string(100000, '\x0b')).find(damaged), std::string::npos);  // groups in groups
}

std::string repeated(std::string_view part, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += part;
  return all;
}

// Two bytes of a file must not become a kilobyte of memory without end.
TEST_F(OnnxHostile, TooManyTinyThingsAreRefused) {
  const std::string_view empty_node("\x0a\x00", 2), empty_output("\x62\x00", 2), one_by_one("\x40\x01", 2);
  EXPECT_EQ(said(WireMessage().text(7, repeated(empty_node, 100'001)).bytes()),
            "holds more than 100000 nodes: split the model");
  EXPECT_EQ(said(WireMessage().text(7, repeated(empty_output, 500'001)).bytes()),
            "holds more than 500000 names, attributes and tensors: split the model");
  WireMessage node = WireMessage().text(5, repeated(one_by_one, 4'000'001));
  EXPECT_EQ(said(WireMessage().message(7, WireMessage().message(1, node)).bytes()),
            "holds more than 4000000 numbers in attributes: split the model");
}

TEST_F(OnnxHostile, WhatIsNoFileIsRefused) {
  EXPECT_EQ(message_of([&] { read_document(folder_.path()); }), "[onnx] '" + folder_.path() + "' is not a file");
  EXPECT_EQ(message_of([&] { read_document(path() + "x"); }),
            "[onnx] cannot open '" + path() + "x': No such file or directory");
}

}  // namespace
}  // namespace reprise::onnx
