// SPDX-License-Identifier: Apache-2.0
// Damaged files of every format: an Error or samples, never anything else.
#include <cmath>

#include "base/random.h"
#include "data/files.h"

namespace reprise::data {
namespace {

constexpr std::uint64_t seed = 20240611;

std::string damaged(std::string file, Random& random) {
  auto place = [&] { return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(file.size()) + 1)); };
  for (std::int64_t n = random.between(1, 3); n > 0; --n) {
    std::size_t at = place();
    std::size_t count = std::min<std::size_t>(static_cast<std::size_t>(random.between(1, 8)), file.size() - at);
    switch (random.below(7)) {
      case 0: file.resize(at); break;
      case 1: file.erase(at, count); break;
      case 2: file.insert(at, file.substr(at, count)); break;
      case 3: file.insert(at, 1, static_cast<char>(random.below(256))); break;
      case 4:
        if (at < file.size()) file[at] = static_cast<char>(file[at] ^ (1 << random.below(8)));
        break;
      case 5:
        if (at < file.size()) file[at] = static_cast<char>(random.below(256));
        break;
      default:  // a number that breaks sums
        for (std::size_t k = 0; k < count; ++k) file[at + k] = "\x00\xff\x7f\x80\x39"[random.below(5)];
    }
  }
  return file;
}

// Puts the right check sums back, so that damage reaches what comes after their check.
std::string mended(std::string png) {
  for (std::size_t at = 8; at + 12 <= png.size();) {
    std::size_t length = 0;
    for (std::size_t k = 0; k < 4; ++k) length = length << 8 | static_cast<unsigned char>(png[at + k]);
    if (length > png.size() - at - 12) break;
    auto crc = crc32(0, reinterpret_cast<const Bytef*>(png.data() + at + 4), static_cast<uInt>(length + 4));
    png.replace(at + 8 + length, 4, big_endian(static_cast<std::uint32_t>(crc)));
    at += 12 + length;
  }
  return png;
}

struct Tally {
  int samples = 0, errors = 0;
};

// Reads everything there is to read.
void digest(const std::string& path, Tally& tally) {
  try {
    Dataset data = load(path);
    for (std::int64_t i = 0; i < data.size; ++i)
      for (float x : sample(data, i).x) ASSERT_TRUE(std::isfinite(x));
    ++tally.samples;
  } catch (const Error& e) {
    ASSERT_NE(std::string(e.what()).find("[data] "), std::string::npos) << e.what();
    ++tally.errors;
  }
}

void expect_both(const Tally& tally) {
  EXPECT_GT(tally.samples, 10);
  EXPECT_GT(tally.errors, 500);
}

class Mutations : public DataTest {
 protected:
  Random random_{seed};
  Tally tally_;
};

TEST_F(Mutations, OfIdxGiveAnErrorOrSamples) {
  const std::string images = idx(8, {3, 2, 2}, "abcdefghijkl"), labels = idx(8, {3}, {1, 2, 0});
  for (int i = 0; i < 2500; ++i) {
    std::string x = i % 2 ? damaged(images, random_) : images, y = i % 2 ? labels : damaged(labels, random_);
    if (i % 5 == 4) x = damaged(gzipped(images), random_);
    digest(put("x.idx", x) + "," + put("y.idx", y), tally_);
  }
  expect_both(tally_);
}

TEST_F(Mutations, OfCsvGiveAnErrorOrSamples) {
  const std::string table = "a,\"b\",label\n1,2.5,cat\n-3e2,4,\"the \"\"dog\"\"\"\n5,6,cat\n";
  for (int i = 0; i < 2500; ++i) {
    std::string file = i % 5 ? damaged(table, random_) : gzipped(damaged(table, random_));
    digest(put("a.csv", file), tally_);
  }
  expect_both(tally_);
}

TEST_F(Mutations, OfPngGiveAnErrorOrSamples) {
  std::string palette = png_chunk("PLTE", {1, 2, 3, 4, 5, 6}), clear = png_chunk("tRNS", {0, 7});
  const std::string files[] = {png({3, 2}, {0, 1, 2, 3, 1, 4, 5, 6}), png({2, 1, 8, 2}, {0, 1, 2, 3, 4, 5, 6}),
                               png({2, 1, 8, 3}, {0, 1, 0}, palette + clear), png({1, 2, 16, 6}, std::string(18, '\0')),
                               png({2, 2, 8, 0, 1}, {0, 0, 0, 51, 0, 1, 102})};
  for (int i = 0; i < 2500; ++i) {
    std::string file = damaged(files[i % 5], random_);
    put("p/only/a.png", i % 3 ? mended(file) : file);
    digest(path("p"), tally_);
  }
  expect_both(tally_);
}

TEST_F(Mutations, OfPnmGiveAnErrorOrSamples) {
  const std::string files[] = {"P6\n2 1\n255\nabcdef", "P3 1 2 9\n1 2 3 4 5 6\n", "P5 2 2 65535\nabcdefgh",
                               "P2 2 2 # x\n 4 1 2 3 4"};
  for (int i = 0; i < 2500; ++i) {
    put("p/only/a.ppm", damaged(files[i % 4], random_));
    digest(path("p"), tally_);
  }
  expect_both(tally_);
}

TEST_F(Mutations, OfTextsGiveAnErrorOrSamples) {
  const std::string text = "Grüße, 12 €!\nUnd so weiter.\n";
  for (int i = 0; i < 1000; ++i) {
    std::string file = i % 3 ? damaged(text, random_) : damaged(gzipped(text), random_);
    try {
      Dataset data = load(put("a.txt", file), {.context = 8});
      std::vector<std::int64_t> x(8), y(8);
      for (std::int64_t k = 0; k < data.size; ++k) data.read(k, x.data(), y.data());
      ++tally_.samples;
    } catch (const Error&) {
      ++tally_.errors;
    }
  }
  EXPECT_GT(tally_.samples, 10);
  EXPECT_GT(tally_.errors, 100);
}

}  // namespace
}  // namespace reprise::data
