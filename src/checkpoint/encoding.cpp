// SPDX-License-Identifier: Apache-2.0
// States in fewer bytes: 16-bit floats, 8-bit integers in blocks with one scale each, and lossless compression.
// No encoding has a header: lengths follow from the bytes, so what is held is what the figures say.
#include <zstd.h>

#include <cfloat>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "checkpoint/refuse.h"
#include "reprise/half.h"
#include "reprise/stores.h"

namespace reprise::detail {
namespace {

using Bytes = std::vector<std::byte>;
using View = std::span<const std::byte>;

template <class T>
T load(View bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void append(Bytes& bytes, T value) {
  auto raw = std::as_bytes(std::span<const T, 1>(&value, 1));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

// A NaN that stays NaN and an infinity that stays one are exact; a number that becomes an infinity is infinitely wrong.
double error_of(double exact, double stored) {
  if (exact == stored || (std::isnan(exact) && std::isnan(stored))) return 0;
  return std::abs(exact - stored);
}

// To float so that a second rounding, to fewer bits, gives what rounding once would have: an inexact result gets an odd
// last bit (Boldo & Melquiond 2008).
float round_to_odd(double x) {
  auto nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || std::isnan(x) || (std::bit_cast<std::uint32_t>(nearest) & 1)) return nearest;
  float towards = static_cast<double>(nearest) < x ? INFINITY : -INFINITY;
  return std::nextafter(nearest, towards);
}
float round_to_odd(float x) { return x; }

template <class Half, class T>
Encoded to_half(View plain) {
  std::size_t count = plain.size() / sizeof(T);
  Encoded encoded{Bytes(count * sizeof(Half))};
  for (std::size_t i = 0; i < count; ++i) {
    T x = load<T>(plain, i);
    Half half(round_to_odd(x));
    std::memcpy(encoded.bytes.data() + i * sizeof(Half), &half, sizeof(Half));
    encoded.largest_error = std::max(encoded.largest_error, error_of(x, static_cast<float>(half)));
  }
  return encoded;
}

template <class Half, class T>
Bytes from_half(View encoded) {
  std::size_t count = encoded.size() / sizeof(Half);
  Bytes plain(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    auto x = static_cast<T>(static_cast<float>(load<Half>(encoded, i)));
    std::memcpy(plain.data() + i * sizeof(T), &x, sizeof(T));
  }
  return plain;
}

template <class T>
T largest_magnitude(std::span<const T> block) {
  T largest = 0;
  for (T x : block) {
    if (!std::isfinite(x))
      refuse<BadRequest>("[int8 store] {} is not finite: keep such states in f16, bf16 or plain", x);
    largest = std::max(largest, std::abs(x));
  }
  return largest;
}

template <class T>
std::int8_t quantise(T x, T scale) {
  return static_cast<std::int8_t>(scale == 0 ? 0 : std::clamp<T>(std::nearbyint(x / scale), -127, 127));
}

// Per block: the scale (largest magnitude / 127, of the elements' own type), then one signed byte per element.
template <class T>
Encoded to_int8(View plain, std::size_t block_size) {
  std::vector<T> values(plain.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), plain.data(), plain.size());
  Encoded encoded;
  for (std::size_t start = 0; start < values.size(); start += block_size) {
    std::span<const T> block(values.data() + start, std::min(block_size, values.size() - start));
    T scale = largest_magnitude(block) / 127;
    append(encoded.bytes, scale);
    for (T x : block) {
      std::int8_t q = quantise(x, scale);
      encoded.bytes.push_back(static_cast<std::byte>(q));
      encoded.largest_error = std::max(encoded.largest_error, error_of(x, static_cast<T>(q) * scale));
    }
  }
  return encoded;
}

template <class T>
Bytes from_int8(View encoded, std::size_t block_size) {
  Bytes plain;
  while (!encoded.empty()) {
    T scale = load<T>(encoded, 0);
    std::size_t count = std::min(block_size, encoded.size() - sizeof(T));
    for (std::byte q : encoded.subspan(sizeof(T), count))
      append(plain, static_cast<T>(static_cast<std::int8_t>(q)) * scale);
    encoded = encoded.subspan(sizeof(T) + count);
  }
  return plain;
}

// All first bytes, then all second bytes, …: neighbouring numbers share exponents, so this compresses far better.
Bytes shuffled(View plain, std::size_t width) {
  Bytes out(plain.size());
  std::size_t count = plain.size() / width;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < width; ++k) out[k * count + i] = plain[i * width + k];
  return out;
}

Bytes unshuffled(View mixed, std::size_t width) {
  Bytes out(mixed.size());
  std::size_t count = mixed.size() / width;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < width; ++k) out[i * width + k] = mixed[k * count + i];
  return out;
}

std::size_t width_of(Element element) { return element == Element::f32 ? 4 : element == Element::f64 ? 8 : 1; }

std::size_t checked(std::size_t result) {
  if (ZSTD_isError(result)) fail("[zstd store] {}", ZSTD_getErrorName(result));
  return result;
}

Encoded to_zstd(View plain, Element element, int level) {
  Bytes mixed = shuffled(plain, width_of(element));
  Bytes out(ZSTD_compressBound(mixed.size()));
  out.resize(checked(ZSTD_compress(out.data(), out.size(), mixed.data(), mixed.size(), level)));
  out.shrink_to_fit();
  return {std::move(out)};
}

Bytes from_zstd(View encoded, Element element) {
  Bytes mixed(checked(ZSTD_getFrameContentSize(encoded.data(), encoded.size())));
  checked(ZSTD_decompress(mixed.data(), mixed.size(), encoded.data(), encoded.size()));
  return unshuffled(mixed, width_of(element));
}

template <class T>
Encoded encode_numbers(View plain, const EncodingOptions& options) {
  if (options.encoding == Encoding::f16) return to_half<f16, T>(plain);
  if (options.encoding == Encoding::bf16) return to_half<bf16, T>(plain);
  return to_int8<T>(plain, static_cast<std::size_t>(options.int8_block));
}

template <class T>
Bytes decode_numbers(View encoded, const EncodingOptions& options) {
  if (options.encoding == Encoding::f16) return from_half<f16, T>(encoded);
  if (options.encoding == Encoding::bf16) return from_half<bf16, T>(encoded);
  return from_int8<T>(encoded, static_cast<std::size_t>(options.int8_block));
}

bool is_lossy(Encoding encoding) { return encoding != Encoding::plain && encoding != Encoding::zstd; }

}  // namespace

void check_encoding(Element element, const EncodingOptions& options) {
  if (options.encoding < Encoding::plain || options.encoding > Encoding::zstd)
    refuse<BadRequest>("[store] there is no encoding number {}: give one of plain, f16, bf16, int8 and zstd",
                       static_cast<int>(options.encoding));
  if (is_lossy(options.encoding) && element == Element::bytes)
    refuse<BadRequest>(
        "[store] f16, bf16 and int8 round float or double elements, and this state has others: use plain or zstd");
  if (options.int8_block < 1)
    refuse<BadRequest>("[store] int8_block is {}: a block has at least 1 element", options.int8_block);
  if (options.zstd_level < 1 || options.zstd_level > 19)
    refuse<BadRequest>("[store] zstd_level is {}: it must be in 1 to 19", options.zstd_level);
}

Encoded encode(View plain, Element element, const EncodingOptions& options) {
  if (options.encoding == Encoding::plain) return {Bytes(plain.begin(), plain.end())};
  if (options.encoding == Encoding::zstd) return to_zstd(plain, element, options.zstd_level);
  return element == Element::f32 ? encode_numbers<float>(plain, options) : encode_numbers<double>(plain, options);
}

Bytes decode(View encoded, Element element, const EncodingOptions& options) {
  if (options.encoding == Encoding::plain) return Bytes(encoded.begin(), encoded.end());
  if (options.encoding == Encoding::zstd) return from_zstd(encoded, element);
  return element == Element::f32 ? decode_numbers<float>(encoded, options) : decode_numbers<double>(encoded, options);
}

std::int64_t encoded_bound(std::int64_t plain_bytes, Element element, const EncodingOptions& options) {
  if (plain_bytes < 0) refuse<BadRequest>("[store] a state of {} bytes: sizes are not negative", plain_bytes);
  // Far more than any disk holds, and far from where the sums below would pass the largest integer.
  if (plain_bytes > INT64_MAX / 4)
    refuse<BadRequest>("[store] a state of {} bytes: no store is that large", plain_bytes);
  auto width = static_cast<std::int64_t>(width_of(element));
  std::int64_t count = plain_bytes / width;
  switch (options.encoding) {
    case Encoding::plain: return plain_bytes;
    case Encoding::f16:
    case Encoding::bf16: return 2 * count;
    case Encoding::int8: return count + width * (count / options.int8_block + (count % options.int8_block != 0));
    case Encoding::zstd: return static_cast<std::int64_t>(ZSTD_compressBound(static_cast<std::size_t>(plain_bytes)));
  }
  fail("[internal] no such encoding");
}

}  // namespace reprise::detail
