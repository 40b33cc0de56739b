// SPDX-License-Identifier: Apache-2.0
// PNG by libpng, which reports errors by a jump: what is jumped over holds nothing that needs destroying.
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "data/image.h"

namespace reprise::data {
namespace {

// What libpng's callbacks see.
struct Source {
  std::string_view file;
  std::size_t at = 0;
  char why[128] = "";
};

void take(png_structp png, png_bytep to, std::size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (source->file.size() - source->at < count) png_error(png, "the file ends early");
  std::memcpy(to, source->file.data() + source->at, count);
  source->at += count;
}

[[noreturn]] void note_error(png_structp png, png_const_charp why) {
  std::snprintf(static_cast<Source*>(png_get_error_ptr(png))->why, sizeof Source::why, "%s", why);
  png_longjmp(png, 1);
}
void ignore_warning(png_structp, png_const_charp) {}

class Decoder {
 public:
  explicit Decoder(std::string_view file) : source_{file} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source_, note_error, ignore_warning);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) std::snprintf(source_.why, sizeof source_.why, "libpng cannot begin");
  }
  ~Decoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  const char* why() const { return source_.why; }
  std::size_t at() const { return source_.at; }
  ImageSize size() const {
    return {png_get_channels(png_, info_), png_get_image_height(png_, info_), png_get_image_width(png_, info_)};
  }
  std::size_t row_bytes() const { return png_get_rowbytes(png_, info_); }
  bool is_wide() const { return png_get_bit_depth(png_, info_) == 16; }

  // Reads the header and asks for bytes or pairs of them, of grey or of red, green and blue. False: see why().
  bool begin() {
    if (!info_ || setjmp(png_jmpbuf(png_))) return false;
    png_set_user_limits(png_, most_pixels, most_pixels);
    png_set_read_fn(png_, &source_, take);
    png_read_info(png_, info_);
    png_set_expand(png_);
    png_set_strip_alpha(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool read(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

 private:
  Source source_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (char c : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

// Bytes of all rows before they are deflated.
std::int64_t packed_rows(const ImageSize& size, int depth, int colour) {
  std::int64_t parts = colour == 2 ? 3 : colour == 4 ? 2 : colour == 6 ? 4 : 1;
  return size.height * ((size.width * parts * depth + 7) / 8);
}

}  // namespace

// Signature, then the first chunk: its length, "IHDR", width, height, depth, colour type.
ImageSize png_size(const std::string& path, std::string_view beginning, std::int64_t file_bytes) {
  if (!beginning.starts_with("\x89PNG\r\n\x1a\n")) fail("[data] '{}', byte 0: this is not a PNG", path);
  if (beginning.size() < 26 || beginning.substr(12, 4) != "IHDR")
    fail("[data] '{}', byte 8: it has no header: the file is damaged", path);
  std::int64_t width = big_endian(beginning.substr(16)), height = big_endian(beginning.substr(20));
  if (width < 1 || height < 1 || width > most_pixels || height > most_pixels || width * height > most_pixels)
    fail("[data] '{}', byte 16: {}x{} pixels: there must be 1 to {}", path, width, height, most_pixels);
  int colour = beginning[25];  // 0 grey, 2 colours, 3 palette; 4 more with transparency
  ImageSize size{colour == 0 || colour == 4 ? 1 : 3, height, width};
  if (packed_rows(size, beginning[24], colour) / 1032 > file_bytes)  // deflate packs at most 1032 to 1
    fail("[data] '{}', byte 16: {}x{} pixels cannot be in its {} bytes: the file is damaged", path, width, height,
         file_bytes);
  return size;
}

Image decode_png(const std::string& path, std::string_view file) {
  ImageSize size = png_size(path, file, static_cast<std::int64_t>(file.size()));
  Decoder decoder(file);
  auto expect = [&](bool went_well) {
    if (!went_well) fail("[data] '{}', byte {}: {}: the file is damaged", path, decoder.at(), decoder.why());
  };
  expect(decoder.begin());
  if (decoder.size() != size) fail("[data] '{}': libpng finds another size than its header says", path);
  std::vector<unsigned char> raw(static_cast<std::size_t>(size.height) * decoder.row_bytes());
  std::vector<png_bytep> rows;
  for (std::int64_t r = 0; r < size.height; ++r)
    rows.push_back(raw.data() + static_cast<std::size_t>(r) * decoder.row_bytes());
  expect(decoder.read(rows.data()));
  Image image{size, std::vector<float>(static_cast<std::size_t>(size.elements()))};
  std::int64_t area = size.height * size.width;
  for (std::int64_t p = 0; p < area; ++p)
    for (std::int64_t c = 0; c < size.channels; ++c) {
      const unsigned char* sample = rows[static_cast<std::size_t>(p / size.width)] +
                                    (p % size.width * size.channels + c) * (decoder.is_wide() ? 2 : 1);
      image.pixels[static_cast<std::size_t>(c * area + p)] =
          decoder.is_wide() ? static_cast<float>(sample[0] << 8 | sample[1]) / 65535
                            : static_cast<float>(sample[0]) / 255;
    }
  return image;
}

}  // namespace reprise::data
