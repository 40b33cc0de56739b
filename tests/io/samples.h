// SPDX-License-Identifier: Apache-2.0
// Tensors of every dtype and shape, and files to damage.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/random.h"
#include "message.h"
#include "reprise/io.h"
#include "temporary.h"

namespace reprise::io {

inline Tensor random_numbers(const Type& type, std::uint64_t seed) {
  Random random(seed);
  Tensor t = Tensor::empty({DType::f64, type.shape});
  for (double& x : t.span<double>()) x = std::floor(random.uniform(-100, 100)) / 4;
  return t.to(type.dtype);
}

inline NamedTensors every_type() {
  NamedTensors all;
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean, DType::f16, DType::bf16})
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0, 4}, Shape{2, 1, 3, 2}})
      all.emplace_back(to_string(Type{dtype, shape}), random_numbers({dtype, shape}, all.size()));
  return all;
}

inline void expect_equal(const NamedTensors& a, const NamedTensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first);
    EXPECT_TRUE(same_bits(a[i].second, b[i].second)) << a[i].first;
  }
}

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Cuts the file short, flips bits and overwrites bytes, each at random places: reading it must give an Error or
/// tensors, never anything else. Gives how often it was an Error.
template <class Load>
int errors_of_damage(const std::string& path, int rounds, const Load& load) {
  std::string whole = bytes_of(path);
  Random random(7);
  int errors = 0;
  for (int i = 0; i < rounds; ++i) {
    std::string bytes = whole;
    auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bytes.size())));
    int kind = i % 3;
    if (kind == 0) bytes.resize(at);
    if (kind == 1) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
    if (kind == 2) bytes.replace(at, 8, 8, static_cast<char>(random.chance(0.5) ? 0xff : random.below(256)));
    write_bytes(path, bytes);
    errors += message_of([&] { load(path); }) != "no error";
  }
  write_bytes(path, whole);
  return errors;
}

}  // namespace reprise::io
