// SPDX-License-Identifier: Apache-2.0
// Tensors in files: NumPy's npy and npz, safetensors, and snapshots that training resumes from.
//
//     io::save_safetensors("weights.safetensors", {{"w", w}, {"b", b}}, {{"trained on", "digits"}});
//     for (const auto& [name, tensor] : io::load_npz("batch.npz")) ...
//
// Whatever is written appears whole or not at all: it is written to a temporary file that then takes the name. Whatever
// is read is checked first; a file that is cut short, damaged or foreign is an Error that names it and says why.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reprise/tensor.h"

namespace reprise::io {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// A .npy file. Integers that Tensors do not have become the next larger ones (uint8 becomes i32, uint32 i64);
/// Fortran order and other machines' byte order are read too. bf16 is written as the two-byte void that NumPy's
/// extensions use.
REPRISE_API Tensor load_npy(const std::string& path);
REPRISE_API void save_npy(const std::string& path, const Tensor& tensor);

struct NpzOptions {
  bool compress = false;  // deflate, as numpy.savez_compressed
};
/// The arrays of a .npz file, in its order, without the ".npy" of their names.
REPRISE_API NamedTensors load_npz(const std::string& path);
REPRISE_API void save_npz(const std::string& path, const NamedTensors& tensors, const NpzOptions& options = {});

using Metadata = std::map<std::string, std::string>;
struct SafeTensors {
  NamedTensors tensors;
  Metadata metadata;
};
REPRISE_API SafeTensors load_safetensors(const std::string& path);
REPRISE_API void save_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata = {});

/// By the name's ending: .safetensors, .npz, or .npy for one tensor, whose name is then empty.
REPRISE_API NamedTensors load_tensors(const std::string& path);
REPRISE_API void save_tensors(const std::string& path, const NamedTensors& tensors);

/// A snapshot file: named tensors and a text, each under a checksum of its own. The file is preallocated, written
/// beside its place, forced to disk and renamed, and so is its folder: what bears the name survives a crash whole.
REPRISE_API void save_snapshot(const std::string& path, const std::string& text, const NamedTensors& tensors);

/// A snapshot that was read through and found whole when it was opened. Tensors are read one by one, so that they need
/// not be in memory twice.
class REPRISE_API Snapshot {
 public:
  /// Throws Error for a file that is cut short, damaged, foreign, or of a newer version.
  explicit Snapshot(const std::string& path);
  ~Snapshot();
  Snapshot(Snapshot&&) noexcept;
  Snapshot& operator=(Snapshot&&) noexcept;

  const std::string& text() const;
  const std::vector<std::pair<std::string, Type>>& tensors() const;
  /// Reads the tensor of that name into memory of its type; an Error where there is none of that name and type.
  void read(const std::string& name, const Tensor& to) const;
  Tensor read(const std::string& name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reprise::io
