// SPDX-License-Identifier: Apache-2.0
#include "data/files.h"

namespace reprise::data {
namespace {

using Text = DataTest;

std::vector<std::int64_t> ids(const Dataset& data, std::int64_t i, bool of_y) {
  std::vector<std::int64_t> x(static_cast<std::size_t>(data.x.elements())), y = x;
  data.read(i, x.data(), y.data());
  return of_y ? y : x;
}

TEST_F(Text, GivesCharactersAndTheSameOneFurtherOn) {
  Dataset data = load(put("a.txt", "hello hello\n"), {.context = 4});
  EXPECT_EQ(data.classes, (std::vector<std::string>{"\n", " ", "e", "h", "l", "o"}));
  EXPECT_EQ(data.size, 2);  // twelve characters: the last window needs one that follows
  EXPECT_EQ(data.x, (Type{DType::i64, {4}}));
  EXPECT_EQ(data.y, data.x);
  EXPECT_EQ(ids(data, 1, false), (std::vector<std::int64_t>{5, 1, 3, 2}));
  EXPECT_EQ(ids(data, 1, true), (std::vector<std::int64_t>{1, 3, 2, 4}));
}

TEST_F(Text, CountsCodePointsAndLeavesTheByteOrderMarkOut) {
  Dataset data = load(put("a.txt",
                          "\xef\xbb\xbf"
                          "aäß€𝄞a"),
                      {.context = 5});
  EXPECT_EQ(data.classes, (std::vector<std::string>{"a", "ß", "ä", "€", "𝄞"}));
  EXPECT_EQ(ids(data, 0, false), (std::vector<std::int64_t>{0, 2, 1, 3, 4}));
}

TEST_F(Text, HasRoomForMoreThan256DifferentCharacters) {
  std::string text;
  for (int i = 0; i < 400; ++i)
    text += {static_cast<char>(0xe4), static_cast<char>(0xb8 + i / 64), static_cast<char>(0x80 + i % 64)};
  Dataset data = load(put("a.txt", text), {.context = 399});
  EXPECT_EQ(data.classes.size(), 400u);
  EXPECT_EQ(ids(data, 0, true).back(), 399);
}

TEST_F(Text, LoadsFromGzipAndFromAnUnknownEnding) {
  std::string text = "the same text, packed or not";
  Dataset plain = load(put("a.log", text), {.context = 8}),
          packed = load(put("a.txt.gz", gzipped(text)), {.context = 8});
  EXPECT_EQ(plain.classes, packed.classes);
  EXPECT_EQ(ids(plain, 1, true), ids(packed, 1, true));
}

TEST_F(Text, RefusesWhatIsNotUtf8ByLineAndByte) {
  EXPECT_EQ(complaint(put("a.txt", "ok\nna\xefve")),
            "[data] 'a.txt', line 2, byte 5: 0xef is not UTF-8: convert the file, for example with iconv");
  for (std::string bad : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80", "\xff"})
    EXPECT_NE(complaint(put("a.txt", "x" + bad)).find("line 1, byte 1: 0x"), std::string::npos);
  EXPECT_EQ(complaint(put("a.txt", std::string("ab\0c", 4))),
            "[data] 'a.txt', line 1, byte 2: a zero byte: this is not a text");
}

TEST_F(Text, RefusesTextsShorterThanASample) {
  EXPECT_EQ(
      complaint(put("a.txt", "four"), {.context = 4}),
      "[data] 'a.txt' has 4 characters, too few for samples of 4 and the one that follows: use a longer text or a "
      "smaller context");
  EXPECT_EQ(complaint(put("a.txt", "")).substr(0, 31), "[data] 'a.txt' has 0 characters");
  EXPECT_EQ(complaint(put("a.txt", "four"), {.context = 0}), "[data] a context of 0 characters: it must be positive");
}

TEST_F(Text, IsReportedWhenItsPackingIsDamaged) {
  std::string packed = gzipped("some text that was packed");
  EXPECT_EQ(complaint(put("a.txt.gz", packed.substr(0, packed.size() - 10))),
            "[data] 'a.txt.gz', byte " + std::to_string(packed.size() - 10) +
                " of the packed file: it ends early: the file is damaged, fetch it again");
  packed[packed.size() - 6] ^= 1;
  EXPECT_NE(complaint(put("a.txt.gz", packed)).find("incorrect data check"), std::string::npos);
  EXPECT_NE(complaint(put("a.txt.gz", gzipped("text") + "junk")).find("the file is damaged"), std::string::npos);
}

TEST_F(Text, OfSeveralPackedPartsIsOne) {
  Dataset data = load(put("a.txt.gz", gzipped("abc") + gzipped("def")), {.context = 5});
  EXPECT_EQ(data.classes.size(), 6u);
}

TEST_F(Text, OrAnythingElseMustBeThereAndOfAKnownKind) {
  EXPECT_EQ(complaint(path("none.txt")), "[data] 'none.txt' does not exist: check the path");
  EXPECT_NE(complaint("/dev/zero", {.kind = "text"}).find("is not a file"), std::string::npos);
  EXPECT_NE(
      complaint(put("a.txt", "text"), {.kind = "jpeg"}).find("there is no format 'jpeg': choose from text, idx, csv"),
      std::string::npos);
}

}  // namespace
}  // namespace reprise::data
