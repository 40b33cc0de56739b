// SPDX-License-Identifier: Apache-2.0
// What a file from a stranger has to be safe for. Tests and the fuzzer call the same function.
#pragma once

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "onnx/document.h"
#include "onnx/wire_writer.h"

namespace reprise::onnx {

/// In memory where that can be: forcing thousands of files to a disk takes minutes.
inline std::filesystem::path fast_folder() {
  return std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
}

/// Reads the file, its numbers, and writes it again. What is refused is refused by a sentence, which is returned; ""
/// where nothing was. Anything else that does not go right is our bug and thrown as std::logic_error.
inline std::string try_stranger(const std::string& path, const std::string& copy) {
  std::string refusal;
  try {
    Document document = read_document(path);
    std::map<std::string, Tensor> values;
    bool is_plain = true;
    for (const FileTensor& t : document.initializers) {
      is_plain = is_plain && t.stored != FileTensor::Stored::external && t.data_type != element_bool;
      try {
        values[t.name] = t.read();
      } catch (const Error& e) {
        refusal = e.what();
      }
    }
    write_document(document, values, copy);
    if (is_plain && bytes_of(copy) != bytes_of(path)) throw std::logic_error("written unchanged, it is another file");
  } catch (const Error& e) {
    refusal = e.what();
  }
  return refusal;
}

}  // namespace reprise::onnx
