// SPDX-License-Identifier: Apache-2.0
// A file written again is the same file, but for the numbers that were given.
#include <gtest/gtest.h>

#include "message.h"
#include "onnx/document.h"
#include "onnx/wire_writer.h"
#include "temporary.h"

namespace reprise::onnx {
namespace {

class OnnxWrite : public testing::Test {
 protected:
  Document read(const WireMessage& model) {
    write_bytes(from(), model.bytes());
    return read_document(from());
  }
  std::string from() const { return folder_.path() + "/from.onnx"; }
  std::string to() const { return folder_.path() + "/to.onnx"; }

  TemporaryFolder folder_;
};

// Every form that numbers can be stored in, two elements each, with things around them that must stay.
WireMessage model_of_every_form() {
  auto tensor = [](const char* name, int type) { return wire_tensor(name, type, {2}); };
  WireMessage graph = WireMessage().message(1, wire_node("Identity", {"x"}, {"y"}));
  graph.message(5, wire_floats("raw", {2}, {1, 2}).text(12, "of what it is").integer(999, 4));
  graph.message(5, tensor("double", 11).text(9, WireMessage::raw<double>({1, 2})));
  graph.message(5, tensor("half", 10).text(9, WireMessage::raw<std::uint16_t>({1, 2})));
  graph.message(5, tensor("byte", 2).text(9, "\x01\xff"));
  graph.message(5, tensor("packed", 1).packed_fixed<float>(4, {1, 2}));
  graph.message(5, tensor("alone", 1).fixed(4, 1.0f).integer(999, 4).fixed(4, 2.0f));
  graph.message(5, tensor("double_packed", 11).packed_fixed<double>(10, {1, 2}));
  graph.message(5, tensor("half_packed", 10).packed(5, {0x3c00, 3}));
  graph.message(5, tensor("half_alone", 16).integer(5, 0x3c00).integer(5, 3));
  graph.message(5, tensor("longs", 7).packed(7, {-1, 3}));
  graph.message(5, tensor("ints", 6).integer(5, -1).integer(5, 3));
  graph.message(5, tensor("unsigned", 13).packed(11, {1, 3}));
  // A varint of two bytes that one would do for.
  graph.message(5, tensor("long_winded", 7).text(7, std::string("\x81\x00\x02", 3)));
  return wire_model(graph).text(1001, "later");
}

std::map<std::string, Tensor> values_of(const Document& document) {
  std::map<std::string, Tensor> values;
  for (const FileTensor& t : document.initializers) values[t.name] = t.read();
  return values;
}

// Other numbers of the same types.
std::map<std::string, Tensor> other_values_of(const Document& document) {
  std::map<std::string, Tensor> values;
  for (const FileTensor& t : document.initializers) values[t.name] = Tensor{0.25, 77}.to(t.type().dtype);
  return values;
}

TEST_F(OnnxWrite, UnchangedNumbersGiveTheSameFile) {
  for (const WireMessage& model : {wire_small_model(), model_of_every_form()}) {
    Document d = read(model);
    write_document(d, {}, to());
    EXPECT_EQ(bytes_of(to()), model.bytes());
    write_document(d, values_of(d), to());
    EXPECT_EQ(bytes_of(to()), model.bytes());
  }
}

TEST_F(OnnxWrite, NewNumbersComeBackBitForBitInEveryForm) {
  Document d = read(model_of_every_form());
  std::map<std::string, Tensor> values = other_values_of(d);
  write_document(d, values, to());
  Document again = read_document(to());
  ASSERT_EQ(again.initializers.size(), d.initializers.size());
  for (std::size_t i = 0; i < d.initializers.size(); ++i) {
    EXPECT_EQ(again.initializers[i].stored, d.initializers[i].stored);
    EXPECT_TRUE(same_bits(again.initializers[i].read(), values.at(d.initializers[i].name))) << d.initializers[i].name;
  }
}

TEST_F(OnnxWrite, GoingBackGivesTheFirstFile) {
  Document d = read(wire_small_model());
  std::map<std::string, Tensor> first = values_of(d);
  write_document(d, {{"w", Tensor::zeros({DType::f32, {2, 3}})}, {"b", Tensor{1, 2, 3}}}, to());
  EXPECT_NE(bytes_of(to()), bytes_of(from()));
  write_document(read_document(to()), first, to());
  EXPECT_EQ(bytes_of(to()), bytes_of(from()));
}

TEST_F(OnnxWrite, ChangesNoByteButThoseOfTheNumbers) {
  WireMessage model = wire_small_model();
  Document d = read(model);
  write_document(d, {{"w", Tensor{{9, 8, 7}, {6, 5, 4}}}}, to());
  std::string before = model.bytes(), after = bytes_of(to());
  std::size_t at = before.find(WireMessage::raw<float>({1, 2, 3, 4, 5, 6}));
  before.replace(at, 24, WireMessage::raw<float>({9, 8, 7, 6, 5, 4}));
  EXPECT_EQ(after, before);
}

TEST_F(OnnxWrite, MayReplaceTheFileItComesFrom) {
  Document d = read(wire_small_model());
  write_document(d, {{"b", Tensor{1, 2, 3}}}, from());
  EXPECT_TRUE(same_bits(read_document(from()).initializers.at(1).read(), Tensor{1, 2, 3}));
  EXPECT_TRUE(same_bits(d.initializers.at(1).read(), Tensor{0.5, -1, 2}));
}

TEST_F(OnnxWrite, LeavesWhatWasThereIfItCannotWrite) {
  Document d = read(wire_small_model());
  write_bytes(to(), "precious");
  EXPECT_EQ(message_of([&] {
              write_document(d, {{"w", Tensor{1}.to(DType::f64)}}, to());
            }),
            "[onnx] 'w' is f32[2,3], the numbers to be written are f64[1]");
  EXPECT_EQ(message_of([&] {
              write_document(d, {{"v", Tensor{1}}}, to());
            }),
            "[onnx] '" + from() + "' has no initializer 'v' whose numbers could be written");
  EXPECT_EQ(bytes_of(to()), "precious");
  EXPECT_NE(message_of([&] { write_document(d, {}, folder_.path() + "/no/where.onnx"); }).find("[onnx] cannot write"),
            std::string::npos);
}

TEST_F(OnnxWrite, RefusesIntegersThatTheFileCannotHold) {
  Document d = read(model_of_every_form());
  EXPECT_EQ(message_of([&] {
              write_document(d, {{"byte", Tensor{1, 256}.to(DType::i32)}}, to());
            }),
            "[onnx] 'byte' is of uint8, which cannot hold its new element 1");
}

TEST_F(OnnxWrite, GivesConstantNodesNewNumbersByTheNameOfTheirOutput) {
  WireMessage value = WireMessage().text(1, "value").message(5, wire_floats("", {2}, {1, 2})).integer(20, 4);
  Document d = read(wire_model(WireMessage().message(1, wire_node("Constant", {}, {"c"}, {value}))));
  write_document(d, {{"c", Tensor{3, 4}}}, to());
  Node node = read_document(to()).nodes.at(0);
  EXPECT_TRUE(same_bits(std::get<FileTensor>(node.attributes.at(0).value).read(), Tensor{3, 4}));
}

TEST_F(OnnxWrite, GivesTensorsNewShapesInEveryForm) {
  Document d = read(model_of_every_form());
  std::map<std::string, Tensor> values;
  for (const FileTensor& t : d.initializers) values[t.name] = Tensor{{1, 2}, {3, 4}, {5, 6}}.to(t.type().dtype);
  write_document(d, values, to());
  for (const FileTensor& t : read_document(to()).initializers)
    EXPECT_TRUE(same_bits(t.read(), values.at(t.name))) << t.name;
  EXPECT_NE(bytes_of(to()).find("of what it is"), std::string::npos);
}

TEST_F(OnnxWrite, GivesScalarsAndTensorsWithoutElementsNewShapes) {
  WireMessage graph = WireMessage().message(5, wire_floats("scalar", {}, {5})).message(5, wire_tensor("none", 1, {0}));
  graph.message(5, wire_tensor("both", 1, {1}).fixed(4, 1.0f).text(9, ""));
  Document d = read(wire_model(graph));
  write_document(d, {{"scalar", Tensor{1, 2}}, {"none", Tensor{3}}, {"both", Tensor{4, 5}}}, to());
  EXPECT_TRUE(same_bits(read_document(to()).initializers.at(2).read(), Tensor{4, 5}));
  EXPECT_TRUE(same_bits(read_document(to()).initializers.at(0).read(), Tensor{1, 2}));
  EXPECT_TRUE(same_bits(read_document(to()).initializers.at(1).read(), Tensor{3}));
}

TEST_F(OnnxWrite, DeclaresNewShapesAndDropsHintsOfInnerOnes) {
  WireMessage graph = WireMessage().message(1, wire_node("Identity", {"x"}, {"y"}));
  graph.message(5, wire_floats("w", {2}, {1, 2}))
      .message(11, wire_value("x", {-1, 2}))
      .message(11, wire_value("w", {2}));
  graph.message(12, wire_value("y", {-1, 2}).text(3, "what y is")).message(13, wire_value("inner", {2}));
  Document d = read(wire_model(graph));
  write_document(d, {{"w", Tensor{1, 2, 3}}}, to(), {{"y", {{-1, "N"}, {3, ""}, {}}}});
  Document again = read_document(to());
  EXPECT_EQ(again.outputs.at(0).dims.size(), 3u);
  EXPECT_EQ(again.outputs.at(0).dims.at(0).symbol, "N");
  EXPECT_EQ(again.outputs.at(0).dims.at(1).size, 3);
  EXPECT_EQ(again.outputs.at(0).dims.at(2).size, -1);
  EXPECT_EQ(again.outputs.at(0).data_type, element_float);
  EXPECT_EQ(again.inputs.at(0).dims.at(1).size, 2);
  EXPECT_EQ(again.inputs.at(1).dims.at(0).size, 3);  // the initializer is declared as an input, too
  EXPECT_NE(bytes_of(to()).find("what y is"), std::string::npos);
  EXPECT_EQ(bytes_of(to()).find("inner"), std::string::npos);
}

class OnnxWriteExternal : public OnnxWrite {
 protected:
  // Two external tensors in two files, one that stays in the model, and an external constant of a node.
  Document read_external() {
    std::filesystem::create_directory(folder_.path() + "/parts");
    write_bytes(folder_.path() + "/from.onnx.data", WireMessage::raw<float>({0, 1, 2}));
    write_bytes(folder_.path() + "/parts/c", WireMessage::raw<float>({5, 6}));
    WireMessage constant = wire_external("", {2}, "parts/c", "", "");
    WireMessage graph = WireMessage().message(
        1, wire_node("Constant", {}, {"y"}, {WireMessage().text(1, "value").message(5, constant).integer(20, 4)}));
    graph.message(5, wire_external("a", {2}, "from.onnx.data", "4", "8"));
    graph.message(5, wire_external("b", {1}, "parts/c", "4", ""));
    graph.message(5, wire_floats("c", {1}, {3}));
    return read(wire_model(graph));
  }
  Tensor constant_of(const Document& d) { return std::get<FileTensor>(d.nodes.at(0).attributes.at(0).value).read(); }
};

TEST_F(OnnxWriteExternal, ReadsWhatStandsBesideTheModel) {
  Document d = read_external();
  EXPECT_TRUE(same_bits(d.initializers.at(0).read(), Tensor{1, 2}));
  EXPECT_TRUE(same_bits(d.initializers.at(1).read(), Tensor{6}));
  EXPECT_TRUE(same_bits(constant_of(d), Tensor{5, 6}));
}

TEST_F(OnnxWriteExternal, StaysExternalInANewFileAnywhere) {
  Document d = read_external();
  std::filesystem::create_directory(folder_.path() + "/other");
  std::string path = folder_.path() + "/other/tuned.onnx";
  write_document(d, {{"a", Tensor{7, 8}}, {"c", Tensor{9}}}, path);
  Document again = read_document(path);
  EXPECT_EQ(again.initializers.at(0).stored, FileTensor::Stored::external);
  EXPECT_EQ(again.initializers.at(0).location, "tuned.onnx.data");
  EXPECT_TRUE(same_bits(again.initializers.at(0).read(), Tensor{7, 8}));
  EXPECT_TRUE(same_bits(again.initializers.at(1).read(), Tensor{6}));
  EXPECT_TRUE(same_bits(again.initializers.at(2).read(), Tensor{9}));
  EXPECT_TRUE(same_bits(constant_of(again), Tensor{5, 6}));
}

TEST_F(OnnxWriteExternal, StaysExternalWithANewShape) {
  Document d = read_external();
  write_document(d, {{"a", Tensor{{7, 8}, {9, 10}}}}, to());
  FileTensor a = read_document(to()).initializers.at(0);
  EXPECT_EQ(a.stored, FileTensor::Stored::external);
  EXPECT_TRUE(same_bits(a.read(), Tensor{{7, 8}, {9, 10}}));
}

TEST_F(OnnxWriteExternal, TheFilesOfADocumentAreKnown) {
  EXPECT_EQ(external_files(read_external()), (std::vector<std::string>{from() + ".data", folder_.path() + "/parts/c"}));
}

TEST_F(OnnxWriteExternal, NeverOverwritesDataThatAreThere) {
  Document d = read_external();
  std::string before = bytes_of(from() + ".data");
  write_document(d, {{"a", Tensor{7, 8}}}, from());
  EXPECT_EQ(bytes_of(from() + ".data"), before);
  EXPECT_EQ(read_document(from()).initializers.at(0).location, "from.onnx.2.data");
  EXPECT_TRUE(same_bits(read_document(from()).initializers.at(0).read(), Tensor{7, 8}));
}

TEST_F(OnnxWriteExternal, LeavesNoDataBehindWithoutTheirModel) {
  Document d = read_external();
  std::filesystem::create_directories(to() + "/in_the_way");
  EXPECT_NE(message_of([&] { write_document(d, {}, to()); }).find("[onnx] cannot give its name to"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(to() + ".data"));
}

}  // namespace
}  // namespace reprise::onnx
