// SPDX-License-Identifier: Apache-2.0
// What stands in a file is read as it stands there.
#include "onnx/document.h"

#include <gtest/gtest.h>

#include "message.h"
#include "onnx/wire_writer.h"
#include "temporary.h"

namespace reprise::onnx {
namespace {

class OnnxDocument : public testing::Test {
 protected:
  Document read(const WireMessage& model) {
    write_bytes(path(), model.bytes());
    return read_document(path());
  }
  FileTensor tensor(const WireMessage& message) {
    write_bytes(path(), message.bytes());
    return read_tensor(path());
  }
  std::string path() const { return folder_.path() + "/m.onnx"; }

  TemporaryFolder folder_;
};

template <class T>
const T& attribute_of(const Node& node, const std::string& name) {
  for (const NodeAttribute& a : node.attributes)
    if (a.name == name) return std::get<T>(a.value);
  throw Error("no attribute " + name);
}

TEST_F(OnnxDocument, HasWhatStandsInTheModel) {
  Document d = read(wire_small_model());
  EXPECT_EQ(d.ir_version, 8);
  EXPECT_EQ(d.producer, "tests");
  EXPECT_EQ(d.graph_name, "small");
  EXPECT_EQ(d.opsets.at(""), 13);
  EXPECT_EQ(d.metadata.at("author"), "nobody");
  ASSERT_EQ(d.nodes.size(), 2u);
  EXPECT_EQ(d.nodes[0].op, "Gemm");
  EXPECT_EQ(d.nodes[0].name, "Gemm_h");
  EXPECT_EQ(d.nodes[0].inputs, (std::vector<std::string>{"x", "w", "b"}));
  EXPECT_EQ(attribute_of<float>(d.nodes[0], "alpha"), 1);
  EXPECT_EQ(attribute_of<std::int64_t>(d.nodes[0], "transB"), 0);
  EXPECT_FALSE(d.has_functions);
}

TEST_F(OnnxDocument, HasInputsWithKnownAndNamedDimensions) {
  Document d = read(wire_small_model());
  ASSERT_EQ(d.inputs.size(), 1u);
  EXPECT_EQ(d.inputs[0].name, "x");
  EXPECT_EQ(d.inputs[0].data_type, element_float);
  ASSERT_EQ(d.inputs[0].dims.size(), 2u);
  EXPECT_EQ(d.inputs[0].dims[0].size, -1);
  EXPECT_EQ(d.inputs[0].dims[0].symbol, "N");
  EXPECT_EQ(d.inputs[0].dims[1].size, 2);
  EXPECT_EQ(d.outputs.at(0).name, "y");
}

TEST_F(OnnxDocument, KnowsAnInputThatDeclaresNoShape) {
  WireMessage type = WireMessage().message(1, WireMessage().integer(1, 7));
  Document d = read(wire_model(WireMessage().message(11, WireMessage().text(1, "x").message(2, type))));
  EXPECT_FALSE(d.inputs.at(0).has_shape);
  EXPECT_EQ(d.inputs.at(0).data_type, element_int64);
}

TEST_F(OnnxDocument, ReadsEveryKindOfAttribute) {
  WireMessage t = wire_floats("", {2}, {7, 8});
  std::vector<WireMessage> attributes = {
      WireMessage().text(1, "s").text(4, "same").integer(20, 3),
      WireMessage().text(1, "t").message(5, t).integer(20, 4),
      WireMessage().text(1, "floats").packed_fixed<float>(7, {1, 2}).fixed(7, 3.0f).integer(20, 6),
      WireMessage().text(1, "ints").packed(8, {-1, 300}).integer(8, 5).integer(20, 7),
      WireMessage().text(1, "strings").text(9, "a").text(9, "").integer(20, 8),
      WireMessage().text(1, "none").integer(20, 7),
      WireMessage().text(1, "kindless").integer(3, -4),
      WireMessage().text(1, "body").message(6, WireMessage().text(2, "inner")).integer(20, 5)};
  Node n = read(wire_model(WireMessage().message(1, wire_node("Op", {"", "x"}, {"y"}, attributes)))).nodes.at(0);
  EXPECT_EQ(n.inputs[0], "");
  EXPECT_EQ(attribute_of<std::string>(n, "s"), "same");
  EXPECT_TRUE(same_bits(attribute_of<FileTensor>(n, "t").read(), Tensor{7, 8}));
  EXPECT_EQ(attribute_of<std::vector<float>>(n, "floats"), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(attribute_of<std::vector<std::int64_t>>(n, "ints"), (std::vector<std::int64_t>{-1, 300, 5}));
  EXPECT_EQ(attribute_of<std::vector<std::string>>(n, "strings"), (std::vector<std::string>{"a", ""}));
  EXPECT_TRUE(attribute_of<std::vector<std::int64_t>>(n, "none").empty());
  EXPECT_EQ(attribute_of<std::int64_t>(n, "kindless"), -4);
  attribute_of<Subgraph>(n, "body");
}

TEST_F(OnnxDocument, TakesTheLongNameOfTheDomainForTheShortOne) {
  WireMessage graph = WireMessage().message(1, wire_node("Relu", {"x"}, {"y"}).text(7, "ai.onnx"));
  Document d = read(WireMessage().message(7, graph).message(8, WireMessage().text(1, "ai.onnx").integer(2, 17)));
  EXPECT_EQ(d.opsets.at(""), 17);
  EXPECT_EQ(d.nodes[0].domain, "");
}

TEST_F(OnnxDocument, PassesOverFieldsItDoesNotKnow) {
  WireMessage model = wire_small_model().integer(1000, 5).text(1001, "later").fixed(1002, 1.0f).fixed(1003, 1.0);
  EXPECT_EQ(read(model).nodes.size(), 2u);
}

TEST_F(OnnxDocument, ReadsRawNumbersOfEveryType) {
  auto raw = [&](int type, const std::string& bytes) {
    return tensor(wire_tensor("t", type, {2}).text(9, bytes)).read();
  };
  EXPECT_TRUE(same_bits(raw(1, WireMessage::raw<float>({1.5f, -0.0f})), Tensor{1.5, -0.0}));
  EXPECT_TRUE(same_bits(raw(11, WireMessage::raw<double>({1.5, -2})), Tensor{1.5, -2}.to(DType::f64)));
  EXPECT_TRUE(same_bits(raw(6, WireMessage::raw<std::int32_t>({-3, 4})), Tensor{-3, 4}.to(DType::i32)));
  EXPECT_TRUE(same_bits(raw(7, WireMessage::raw<std::int64_t>({-3, 4})), Tensor{-3, 4}.to(DType::i64)));
  EXPECT_TRUE(same_bits(raw(2, "\xff\x01"), Tensor{255, 1}.to(DType::i32)));
  EXPECT_TRUE(same_bits(raw(3, "\xff\x01"), Tensor{-1, 1}.to(DType::i32)));
  EXPECT_TRUE(same_bits(raw(4, WireMessage::raw<std::uint16_t>({65535, 1})), Tensor{65535, 1}.to(DType::i32)));
  EXPECT_TRUE(same_bits(raw(5, WireMessage::raw<std::int16_t>({-2, 1})), Tensor{-2, 1}.to(DType::i32)));
  EXPECT_TRUE(same_bits(raw(9, std::string("\x02\x00", 2)), Tensor{1, 0}.to(DType::boolean)));
  EXPECT_TRUE(same_bits(raw(10, WireMessage::raw<std::uint16_t>({0x3c00, 0xc000})), Tensor{1, -2}.to(DType::f16)));
  EXPECT_TRUE(same_bits(raw(16, WireMessage::raw<std::uint16_t>({0x3f80, 0xc000})), Tensor{1, -2}.to(DType::bf16)));
  EXPECT_TRUE(same_bits(raw(12, WireMessage::raw<std::uint32_t>({4294967295u, 1})),
                        Tensor::from<std::int64_t>({4294967295, 1}, {2})));
  EXPECT_TRUE(same_bits(raw(13, WireMessage::raw<std::uint64_t>({5, 1})), Tensor{5, 1}.to(DType::i64)));
}

TEST_F(OnnxDocument, ReadsTypedNumbersPackedAndAlone) {
  auto typed = [&](int type) { return wire_tensor("t", type, {2}); };
  auto is = [&](const WireMessage& t, const Tensor& expected) { return same_bits(tensor(t).read(), expected); };
  EXPECT_TRUE(is(typed(1).packed_fixed<float>(4, {1, 2}), {1, 2}));
  EXPECT_TRUE(is(typed(1).fixed(4, 1.0f).fixed(4, 2.0f), {1, 2}));
  EXPECT_TRUE(is(typed(11).packed_fixed<double>(10, {1, 2}), Tensor{1, 2}.to(DType::f64)));
  EXPECT_TRUE(is(typed(11).fixed(10, 1.0).fixed(10, 2.0), Tensor{1, 2}.to(DType::f64)));
  EXPECT_TRUE(is(typed(6).packed(5, {-1, 2}), Tensor{-1, 2}.to(DType::i32)));
  EXPECT_TRUE(is(typed(6).integer(5, -1).integer(5, 2), Tensor{-1, 2}.to(DType::i32)));
  EXPECT_TRUE(is(typed(7).packed(7, {-1, 2}), Tensor{-1, 2}.to(DType::i64)));
  EXPECT_TRUE(is(typed(2).packed(5, {255, 2}), Tensor{255, 2}.to(DType::i32)));
  EXPECT_TRUE(is(typed(9).packed(5, {1, 0}), Tensor{1, 0}.to(DType::boolean)));
  EXPECT_TRUE(is(typed(10).packed(5, {0x3c00, 0xc000}), Tensor{1, -2}.to(DType::f16)));
  EXPECT_TRUE(is(typed(16).packed(5, {0x3f80, 0xc000}), Tensor{1, -2}.to(DType::bf16)));
  EXPECT_TRUE(is(typed(13).packed(11, {7, 8}), Tensor{7, 8}.to(DType::i64)));
  EXPECT_TRUE(is(typed(12).packed(11, {7, 8}), Tensor{7, 8}.to(DType::i64)));
}

TEST_F(OnnxDocument, ReadsTensorsWithoutElementsAndWithoutDimensions) {
  EXPECT_EQ(tensor(wire_tensor("t", 1, {3, 0})).read().elements(), 0);
  EXPECT_EQ(tensor(wire_tensor("t", 7, {0}).text(9, "")).read().elements(), 0);
  EXPECT_EQ(tensor(wire_floats("t", {}, {5})).read().item(), 5);
}

TEST_F(OnnxDocument, ReadsPackedDimensions) {
  FileTensor t = tensor(WireMessage().packed(1, {2, 2}).integer(2, 1).text(9, WireMessage::raw<float>({1, 2, 3, 4})));
  EXPECT_TRUE(same_bits(t.read(), Tensor{{1, 2}, {3, 4}}));
}

TEST_F(OnnxDocument, RefusesToReadAsAnotherType) {
  FileTensor t = tensor(wire_floats("t", {2}, {1, 2}));
  EXPECT_EQ(message_of([&] {
              t.read_into(Tensor::empty({DType::f32, {3}}));
            }),
            "[onnx] 't' is f32[2] in memory and cannot be read as f32[3]");
}

TEST_F(OnnxDocument, RefusesToComputeWithStrings) {
  FileTensor t = tensor(wire_tensor("words", 8, {1}).text(6, "hello"));
  EXPECT_EQ(message_of([&] { t.type(); }),
            "[onnx] '" + path() +
                "' has a tensor 'words', string[1], whose elements cannot be computed with: cast them "
                "to float or an integer type in the model");
}

TEST_F(OnnxDocument, RefusesIntegersThatItCannotHold) {
  FileTensor t = tensor(wire_tensor("t", 13, {1}).text(9, "\xff\xff\xff\xff\xff\xff\xff\xff"));
  EXPECT_NE(message_of([&] { t.read(); }).find("with a number that i64 cannot hold"), std::string::npos);
}

TEST_F(OnnxDocument, TakesNoMemoryForNumbersThatAreNotRead) {
  std::vector<float> many(1 << 20, 1.0f);
  MemoryScope scope;
  Document d = read(wire_model(WireMessage().message(5, wire_floats("w", {1 << 20}, many))));
  EXPECT_EQ(scope.use().peak_bytes, 0);
  Tensor w = d.initializers.at(0).read();
  EXPECT_EQ(scope.use().peak_bytes, w.bytes());
  EXPECT_EQ(w.span<float>()[1 << 19], 1);
}

}  // namespace
}  // namespace reprise::onnx
