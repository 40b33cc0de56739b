// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "io/samples.h"

namespace reprise::io {
namespace {

std::string file_with(const std::string& header, const std::string& data) {
  std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

TEST(SafeTensors, ReadsBackWhatItWroteWithMetadata) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/a.safetensors";
  Metadata metadata = {{"trained on", "digits"}, {"quote", "\"ü\""}};
  save_safetensors(path, every_type(), metadata);
  SafeTensors read = load_safetensors(path);
  expect_equal(read.tensors, every_type());
  EXPECT_EQ(read.metadata, metadata);
  save_tensors(path, {{"w", Tensor{1, 2}}});
  expect_equal(load_tensors(path), {{"w", Tensor{1, 2}}});
}

TEST(SafeTensors, ReadsTheFormatAsItsAuthorsDescribeIt) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/a.safetensors";
  float numbers[] = {1, 2, 3, 4};
  std::string data = "\x07\xff";
  data.append(reinterpret_cast<const char*>(numbers), 16);
  write_bytes(path, file_with("{\"w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[2,18]},"
                              "\"u\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ",
                              data));
  expect_equal(load_safetensors(path).tensors, {{"w", Tensor{{1, 2}, {3, 4}}}, {"u", Tensor{7, 255}.to(DType::i32)}});
}

TEST(SafeTensors, SaysWhatIsWrongWithAFile) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/a.safetensors";
  auto message = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    return message_of([&] { load_safetensors(path); });
  };
  auto one = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return "{\"w\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
  };
  auto expect = [&](const std::string& bytes, const std::string& words) {
    EXPECT_NE(message(bytes).find(words), std::string::npos) << message(bytes);
  };
  expect("abc", "is cut short");
  expect(std::string(8, '\xff') + "{}", "its header would be longer than it");
  expect(file_with("[]", ""), "has a header that is not a JSON object");
  expect(file_with("{\"w\": 3}", ""), "has a header without what it needs");
  expect(file_with(one("F8", "[1]", "[0,1]"), "a"), "holds 'w' as F8, which cannot be read");
  expect(file_with(one("F32", "[-1]", "[0,4]"), "abcd"), "has a shape of 'w'");
  expect(file_with(one("F32", "[2]", "[0,4]"), "abcd"), "the offsets of 'w' do not fit its shape [2]");
  expect(file_with(one("F32", "[1]", "[4,8]"), "abcdefgh"), "overlap or leave gaps");
  expect(file_with(one("F32", "[1]", "[0,4]"), "abc"), "is cut short or damaged");
  expect(file_with(one("F32", "[1]", "[0,4]"), "abcde"), "is cut short or damaged");
  expect(file_with(one("F32", "[1]", "[0,4,5]"), "abcd"), "has offsets of 'w' that are not two numbers");
  expect(file_with(one("BOOL", "[1]", "[0,1]"), "\x02"), "it must be 0 or 1");
  expect(file_with("{\"w\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},"
                   "\"w\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}",
                   ""),
         "names the tensor 'w' twice");
  EXPECT_NE(message_of([&] {
              save_safetensors(path, {{"a", Tensor{1}}, {"a", Tensor{1}}});
            }).find("two tensors"),
            std::string::npos);
}

TEST(SafeTensors, SurvivesAnyDamage) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/a.safetensors";
  save_safetensors(path, every_type());
  EXPECT_GT(errors_of_damage(path, 2000, [](const std::string& p) { load_safetensors(p); }), 1000);
}

}  // namespace
}  // namespace reprise::io
