// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "base/error.h"
#include "io/npy.h"
#include "io/zip.h"
#include "reprise/io.h"

namespace reprise::io {

NamedTensors load_npz(const std::string& path) {
  InputFile file("npz", path);
  NamedTensors tensors;
  std::set<std::string> names;
  for (const ZipMember& m : members_of(file)) {
    std::string name = m.name.ends_with(".npy") ? m.name.substr(0, m.name.size() - 4) : m.name;
    if (!names.insert(name).second) file.reject(fmt::format("holds '{}' twice", name));
    read_member(file, m, [&](const Source& source) {
      tensors.emplace_back(name, read_npy(fmt::format("'{}' of '{}'", name, path), m.bytes, source));
    });
  }
  return tensors;
}

void save_npz(const std::string& path, const NamedTensors& tensors, const NpzOptions& options) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (name.empty() || name.size() > 60'000) fail("[npz] '{}': an array has no name, or one that is too long", path);
    if (!names.insert(name).second) fail("[npz] '{}': two arrays are named '{}'", path, name);
  }
  OutputFile file("npz", path);
  ZipWriter writer(file);
  for (const auto& [name, tensor] : tensors)
    writer.add(name + ".npy", options.compress, npy_header(tensor.type()), tensor);
  writer.finish();
  file.commit();
}

NamedTensors load_tensors(const std::string& path) {
  if (path.ends_with(".safetensors")) return load_safetensors(path).tensors;
  if (path.ends_with(".npz")) return load_npz(path);
  if (path.ends_with(".npy")) return {{"", load_npy(path)}};
  fail("[io] '{}' has none of the endings .safetensors, .npz and .npy, which say how to read it", path);
}

void save_tensors(const std::string& path, const NamedTensors& tensors) {
  if (path.ends_with(".safetensors")) return save_safetensors(path, tensors);
  if (path.ends_with(".npz")) return save_npz(path, tensors);
  if (!path.ends_with(".npy"))
    fail("[io] '{}' has none of the endings .safetensors, .npz and .npy, which say how to write it", path);
  if (tensors.size() != 1) fail("[io] '{}' can hold one tensor, not {}: use .npz", path, tensors.size());
  save_npy(path, tensors[0].second);
}

}  // namespace reprise::io
