// SPDX-License-Identifier: Apache-2.0
// Zip archives as NumPy writes them: members stored or deflated, sizes of 64 bits where needed.
#pragma once

#include <vector>

#include "io/elements.h"
#include "io/file.h"

namespace reprise::io {

struct ZipMember {
  std::string name;
  bool is_deflated = false;
  std::uint32_t crc = 0;
  std::int64_t packed_bytes = 0, bytes = 0;
  std::int64_t header_offset = 0;
};

std::vector<ZipMember> members_of(const InputFile& file);

/// Calls `use` with a source of the member's bytes, then checks that all were read and have the archive's checksum.
void read_member(const InputFile& file, const ZipMember& member, const std::function<void(const Source&)>& use);

/// Writes members one after another, then the directory.
class ZipWriter {
 public:
  explicit ZipWriter(OutputFile& file) : file_(file) {}
  /// A member made of these two pieces.
  void add(const std::string& name, bool deflate, std::string_view head, const Tensor& body);
  void finish();

 private:
  OutputFile& file_;
  std::vector<ZipMember> members_;
};

}  // namespace reprise::io
