// SPDX-License-Identifier: Apache-2.0
// An ONNX file held open: mapped for its structure, read by position for its numbers, so that numbers which were read
// do not stay in memory as pages of the map as well.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "io/file.h"

namespace reprise::onnx {

using Bytes = std::span<const std::uint8_t>;

class SourceFile {
 public:
  explicit SourceFile(const std::string& path);
  ~SourceFile();
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;

  const io::InputFile& file() const { return file_; }
  /// The whole file. Who changes the file meanwhile changes this too; an Error where it was made shorter since it was
  /// opened, for nobody can read what is mapped and not there.
  Bytes bytes() const;
  std::int64_t offset_of(const std::uint8_t* at) const { return at - bytes_.data(); }
  /// Lets go of the pages of a part that was gone through.
  void forget(Bytes part) const;
  /// A file of external data: see external.h.
  io::InputFile open_beside(const std::string& location) const;
  /// "[onnx] 'path' <why>"
  [[noreturn]] void reject(const std::string& why) const { file_.reject(why); }

 private:
  io::InputFile file_;
  Bytes bytes_;
  int folder_ = -1;
};

/// A name from a file, fit to be printed: short, without control characters, in quotes.
std::string shown(std::string_view name);

}  // namespace reprise::onnx
