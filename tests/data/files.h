// SPDX-License-Identifier: Apache-2.0
// Small files of every format, made byte by byte.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "message.h"
#include "reprise/data.h"
#include "temporary.h"

namespace reprise::data {

inline void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

inline std::string idx(int type, const std::vector<std::uint32_t>& sizes, const std::string& elements) {
  std::string file = {0, 0, static_cast<char>(type), static_cast<char>(sizes.size())};
  for (std::uint32_t size : sizes) file += big_endian(size);
  return file + elements;
}

inline std::string png_chunk(const std::string& name, const std::string& content) {
  std::string named = name + content;
  auto crc = crc32(0, reinterpret_cast<const Bytef*>(named.data()), static_cast<uInt>(named.size()));
  return big_endian(static_cast<std::uint32_t>(content.size())) + named + big_endian(static_cast<std::uint32_t>(crc));
}

struct PngHeader {
  std::uint32_t width, height;
  char depth = 8, colour = 0, interlaced = 0;
};
/// `rows` as deflate gets them: each begins with a byte for its filter. `more` are chunks before the rows.
inline std::string png(const PngHeader& h, const std::string& rows, const std::string& more = "") {
  std::string packed(compressBound(rows.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()), rows.size());
  packed.resize(size);
  std::string header = big_endian(h.width) + big_endian(h.height) + std::string{h.depth, h.colour, 0, 0, h.interlaced};
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + more + png_chunk("IDAT", packed) + png_chunk("IEND", "");
}

/// Sample i; only for x of f32.
struct Sample {
  std::vector<float> x;
  std::int64_t label = -1;  // or
  float wanted = 0;
};
inline Sample sample(const Dataset& data, std::int64_t i) {
  Sample s{std::vector<float>(static_cast<std::size_t>(data.x.elements()))};
  if (data.y.dtype == DType::i64)
    data.read(i, s.x.data(), &s.label);
  else
    data.read(i, s.x.data(), &s.wanted);
  return s;
}

/// In memory where there is such a place: thousands of small files are slow elsewhere.
inline std::filesystem::path fast_place() {
  std::filesystem::path memory = "/dev/shm";
  return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
}

/// A folder and shorthand for files in it.
class DataTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    write(path(name), bytes);
    return path(name);
  }
  /// The message of the Error that f throws, without the folder's path.
  template <class F>
  std::string complaint_of(F&& f) const {
    std::string text = message_of(f);
    for (std::size_t at; (at = text.find(folder_.path() + "/")) != std::string::npos;)
      text.erase(at, folder_.path().size() + 1);
    return text;
  }
  std::string complaint(const std::string& file, const LoadOptions& options = {}) const {
    return complaint_of([&] { load(file, options); });
  }

  TemporaryFolder folder_{fast_place()};
};

}  // namespace reprise::data
