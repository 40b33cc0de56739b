// SPDX-License-Identifier: Apache-2.0
#include "data/files.h"

namespace reprise::data {
namespace {

class Pictures : public DataTest {
 protected:
  std::vector<float> pixels(const std::string& name, const std::string& file, const LoadOptions& options = {}) const {
    std::filesystem::remove_all(path("p"));
    put("p/only/" + name, file);
    return sample(load(path("p"), options), 0).x;
  }
  std::string refusal(const std::string& name, const std::string& file) const {
    std::filesystem::remove_all(path("p"));
    put("p/only/" + name, file);
    return complaint_of([&] { sample(load(path("p")), 0); });
  }
};

const char full = static_cast<char>(255);
const std::string two_grey = png({2, 1}, {0, 0, full});

TEST_F(Pictures, HaveTheClassOfTheirFolder) {
  put("p/cat/1.png", two_grey);
  put("p/cat/notes.txt", "ignored");
  put("p/bird/b.PPM", "P6\n2 1\n255\nabcdef");
  put("p/bird/a.pgm", "P5 2 1 255\nab");
  put("p/.hidden/x.png", "ignored");
  put("p/readme.txt", "ignored");
  Dataset data = load(path("p"));
  EXPECT_EQ(data.classes, (std::vector<std::string>{"bird", "cat"}));
  EXPECT_EQ(data.size, 3);
  EXPECT_EQ(data.x, (Type{DType::f32, {3, 1, 2}}));  // one is in colours
  EXPECT_EQ(sample(data, 2).label, 1);
  EXPECT_EQ(sample(data, 2).x, (std::vector<float>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(sample(data, 1).label, 0);
  EXPECT_EQ(sample(data, 1).x[2], 'b' / 255.0f);
}

TEST_F(Pictures, OfEveryKindOfPngAreRead) {
  EXPECT_EQ(pixels("a.png", two_grey), (std::vector<float>{0, 1}));
  EXPECT_EQ(pixels("a.png", png({2, 1, 8, 2}, {0, full, 0, 51, 0, full, 0})),
            (std::vector<float>{1, 0, 0, 1, 0.2f, 0}));
  EXPECT_EQ(pixels("a.png", png({1, 1, 8, 6}, {0, full, 51, 0, 17})),
            (std::vector<float>{1, 0.2f, 0}));  // transparency
  EXPECT_EQ(pixels("a.png", png({2, 1, 8, 4}, {0, 51, 17, full, 0})), (std::vector<float>{0.2f, 1}));
  EXPECT_EQ(pixels("a.png", png({1, 1, 16, 0}, {0, 1, 1})), (std::vector<float>{257 / 65535.0f}));
  EXPECT_EQ(pixels("a.png", png({1, 1, 16, 2}, {0, full, full, 0, 0, 0, 1})), (std::vector<float>{1, 0, 1 / 65535.0f}));
  EXPECT_EQ(pixels("a.png", png({4, 1, 1, 0}, {0, 0x50})), (std::vector<float>{0, 1, 0, 1}));
  EXPECT_EQ(pixels("a.png", png({2, 1, 4, 0}, {0, 0x3f})), (std::vector<float>{0.2f, 1}));
  std::string palette = png_chunk("PLTE", {full, 0, 0, 0, 0, full}), clear = png_chunk("tRNS", std::string(1, '\0'));
  for (const std::string& chunks : {palette, palette + clear})
    EXPECT_EQ(pixels("a.png", png({2, 1, 8, 3}, {0, 1, 0}, chunks)), (std::vector<float>{0, 1, 0, 0, 1, 0}));
  // Interlaced: passes 1, 6 and 7 of a picture of 2x2.
  EXPECT_EQ(pixels("a.png", png({2, 2, 8, 0, 1}, {0, 0, 0, 51, 0, full, 102})), (std::vector<float>{0, 0.2f, 1, 0.4f}));
}

TEST_F(Pictures, OfEveryKindOfPnmAreRead) {
  EXPECT_EQ(pixels("a.pgm", "P2 # grey\n2 1\n# levels\n4\n1 4\n"), (std::vector<float>{0.25, 1}));
  EXPECT_EQ(pixels("a.ppm", "P3 1 1 255 255 0 51"), (std::vector<float>{1, 0, 0.2f}));
  EXPECT_EQ(pixels("a.pnm", std::string("P5\n1 2\n255\n\x33\xff", 13)), (std::vector<float>{0.2f, 1}));
  EXPECT_EQ(pixels("a.pgm", std::string("P5\n1 1\n65535\n\x01\x01", 15)), (std::vector<float>{257 / 65535.0f}));
}

TEST_F(Pictures, AreResizedToTheShapeWanted) {
  std::string file = "P2 4 2 8  0 8 0 8  8 0 8 0";
  EXPECT_EQ(pixels("a.pgm", file, {.x_shape = {3, 2, 4}}).size(), 24u);
  for (float x : pixels("a.pgm", file, {.x_shape = {1, 1, 1}})) EXPECT_NEAR(x, 0.5f, 1e-6);
  EXPECT_EQ(pixels("a.pgm", "P2 2 1 4 0 4", {.x_shape = {1, 1, 4}}), (std::vector<float>{0, 0.25, 0.75, 1}));
  EXPECT_NEAR(pixels("a.ppm", "P3 1 1 1 1 0 1", {.x_shape = {1, 1, 1}})[0], 0.413f, 1e-6);
}

TEST_F(Pictures, OfDifferentSizesNeedAShape) {
  put("p/a/1.pgm", "P2 1 1 1 1");
  put("p/a/2.pgm", "P2 1 2 1 1 0");
  EXPECT_EQ(complaint(path("p")),
            "[data] 'p/a/1.pgm' has 1x1 pixels and 'p/a/2.pgm' 1x2: name the shape that all are to be resized to");
  EXPECT_EQ(sample(load(path("p"), {.x_shape = {1, 2, 2}}), 1).x, (std::vector<float>{1, 1, 0, 0}));
  EXPECT_NE(complaint(path("p"), {.x_shape = {4}}).find("pictures cannot become [4]"), std::string::npos);
  EXPECT_NE(complaint(path("p"), {.x_shape = {2, 4, 4}}).find("channels (1 or 3), height, width"), std::string::npos);
}

TEST_F(Pictures, AreRefusedByNameWhenTheyAreDamaged) {
  std::string many = png({2, 2}, std::string(6, '\0'));
  EXPECT_EQ(refusal("a.png", "no picture at all, but long enough"), "[data] 'p/only/a.png', byte 0: this is not a PNG");
  EXPECT_EQ(refusal("a.png", many.substr(0, 20)),
            "[data] 'p/only/a.png', byte 8: it has no header: the file is damaged");
  EXPECT_NE(refusal("a.png", many.substr(0, many.size() - 20)).find("the file ends early"), std::string::npos);
  std::string flipped = many;
  flipped[many.size() - 20] ^= 1;
  EXPECT_NE(refusal("a.png", flipped).find("the file is damaged"), std::string::npos);
  EXPECT_NE(refusal("a.png", png({2, 9}, std::string(6, '\0'))).find("the file is damaged"), std::string::npos);
  EXPECT_NE(refusal("a.png", png({60000, 60000}, "")).find("byte 16: 60000x60000 pixels: there must be 1 to"),
            std::string::npos);
  EXPECT_NE(refusal("a.png", png({8000, 8000}, "")).find("8000x8000 pixels cannot be in its"), std::string::npos);
  EXPECT_NE(refusal("a.png", png({0, 1}, "")).find("0x1 pixels"), std::string::npos);
}

TEST_F(Pictures, InPnmAreRefusedByPlace) {
  EXPECT_EQ(refusal("a.ppm", "P7 1 1"), "[data] 'p/only/a.ppm', byte 0: a PGM or PPM begins with P2, P3, P5 or P6");
  EXPECT_EQ(refusal("a.ppm", "P6 2 x"), "[data] 'p/only/a.ppm', byte 5: a number is missing there, the height");
  EXPECT_EQ(refusal("a.ppm", "P6 0 1 255\n"),
            "[data] 'p/only/a.ppm', byte 3: width of 0: it must be from 1 to 67108864");
  EXPECT_EQ(refusal("a.ppm", "P6 1 1 99999\nabc"),
            "[data] 'p/only/a.ppm', byte 7: largest level of 99999: it must be from 1 to 65535");
  EXPECT_NE(refusal("a.ppm", "P6 20000 20000 255\nabc").find("more than the 67108864"), std::string::npos);
  EXPECT_NE(refusal("a.ppm", "P6 5000 5000 255\nabc").find("75000000 levels are promised, but it has 20 bytes"),
            std::string::npos);
  EXPECT_NE(refusal("a.pgm", "P2 1 1 7 9").find("level of 9: it must be from 0 to 7"), std::string::npos);
  EXPECT_NE(refusal("a.pgm", "P5 1 1 7\n9").find("level 57 of pixel 0 is past the largest, 7"), std::string::npos);
}

TEST_F(Pictures, NeedFoldersWithPicturesThatCanBeRead) {
  std::filesystem::create_directories(path("p"));
  EXPECT_EQ(complaint(path("p")), "[data] folder 'p' has no folders in it: give each class a folder of its pictures");
  put("p/a/notes.txt", "");
  EXPECT_EQ(complaint(path("p")), "[data] folder 'p/a' has no PNG or PPM: a class needs pictures");
  put("p/a/photo.JPG", "");
  EXPECT_EQ(complaint(path("p")), "[data] 'p/a/photo.JPG' cannot be read: convert it to PNG or PPM, or take it away");
}

}  // namespace
}  // namespace reprise::data
