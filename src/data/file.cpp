// SPDX-License-Identifier: Apache-2.0
// Whole files, packed by gzip or not.
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "data/formats.h"

namespace reprise::data {
namespace {

constexpr std::size_t everything = static_cast<std::size_t>(-1);

std::string raw_bytes(const std::string& path, std::size_t most) {
  std::error_code failed;
  auto status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status)) fail("[data] '{}' does not exist: check the path", path);
  if (!std::filesystem::is_regular_file(status)) fail("[data] '{}' is not a file", path);
  std::ifstream file(path, std::ios::binary);
  auto size = std::filesystem::file_size(path, failed);
  if (!file || failed) fail("[data] '{}' cannot be opened: check its permissions", path);
  std::string bytes(std::min<std::size_t>(size, most), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file.gcount() != static_cast<std::streamsize>(bytes.size()))
    fail("[data] '{}' could only be read up to byte {} of {}", path, file.gcount(), bytes.size());
  return bytes;
}

// Inflates gzip members one after another.
class Inflater {
 public:
  Inflater(const std::string& path, const std::string& packed) : path_(path) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // zlib only reads there
    left_ = packed.size();
    if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) fail("[data] zlib cannot begin to unpack '{}'", path);
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::string unpack(std::size_t most) {
    std::string out;
    char piece[1 << 16];
    while (out.size() < most) {
      stream_.next_out = reinterpret_cast<Bytef*>(piece);
      stream_.avail_out = sizeof piece;
      bool at_end = step();
      out.append(piece, sizeof piece - stream_.avail_out);
      if (at_end) break;
    }
    return out.substr(0, most);
  }

 private:
  // Whether the last member is complete.
  bool step() {
    auto feed = static_cast<uInt>(std::min<std::size_t>(left_, 1 << 20));
    stream_.avail_in = feed;
    int result = inflate(&stream_, Z_NO_FLUSH);
    taken_ += feed - stream_.avail_in;
    left_ -= feed - stream_.avail_in;
    if (result == Z_STREAM_END) {
      if (left_ == 0) return true;
      if (inflateReset(&stream_) != Z_OK) complain("zlib cannot go on");
    } else if (result == Z_BUF_ERROR && left_ == 0) {
      complain("it ends early");
    } else if (result != Z_OK) {
      complain(stream_.msg ? stream_.msg : "it is not gzip");
    }
    return false;
  }
  [[noreturn]] void complain(const char* why) const {
    fail("[data] '{}', byte {} of the packed file: {}: the file is damaged, fetch it again", path_, taken_, why);
  }

  const std::string& path_;
  z_stream stream_{};
  std::size_t left_ = 0, taken_ = 0;  // packed bytes
};

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

}  // namespace

std::string read_file(const std::string& path) {
  std::string bytes = raw_bytes(path, everything);
  return is_gzip(bytes) ? Inflater(path, bytes).unpack(everything) : bytes;
}

std::string read_beginning(const std::string& path, std::size_t count) {
  std::string bytes = raw_bytes(path, count);
  if (!is_gzip(bytes)) return bytes;
  return Inflater(path, raw_bytes(path, everything)).unpack(count);
}

std::int64_t most_bytes(const std::string& path) {
  auto size = static_cast<std::int64_t>(std::filesystem::file_size(path));
  return is_gzip(raw_bytes(path, 2)) ? 1032 * size : size;  // deflate packs at most 1032 to 1
}

std::string shown(std::string_view part) {
  constexpr std::size_t most = 40;
  std::string text(part.substr(0, most));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return part.size() > most ? text + "..." : text;
}

}  // namespace reprise::data
