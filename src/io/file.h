// SPDX-License-Identifier: Apache-2.0
// Files that are read by position and files that appear whole or not at all.
#pragma once

#include <cstdint>
#include <string>

namespace reprise::io {

/// A file open for reading. Errors begin with [who].
class InputFile {
 public:
  InputFile(const char* who, std::string path);
  /// Takes over an open descriptor.
  InputFile(const char* who, std::string path, int descriptor);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const char* who() const { return who_; }
  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  std::int64_t bytes() const { return bytes_; }
  /// Reading past the end is an Error that calls the file cut short.
  void read(std::int64_t offset, void* to, std::int64_t bytes) const;
  /// An Error that names the file: "[who] 'path' <why>".
  [[noreturn]] void reject(const std::string& why) const;

 private:
  const char* who_;
  std::string path_;
  int descriptor_ = -1;
  std::int64_t bytes_ = 0;
};

/// A file written under a temporary name beside its place; commit() forces it to disk and gives it its name, the
/// destructor without commit() leaves nothing behind. A file that was there stays until then.
class OutputFile {
 public:
  OutputFile(const char* who, std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Takes the room on the disk before anything is written.
  void reserve(std::int64_t bytes);
  void write(const void* from, std::int64_t bytes);
  void write_at(std::int64_t offset, const void* from, std::int64_t bytes);
  std::int64_t position() const { return position_; }
  void commit();

 private:
  [[noreturn]] void fail_with(int error, const char* what) const;
  void check_limit(std::int64_t bytes) const;

  const char* who_;
  std::string path_, temporary_;
  int descriptor_ = -1;
  std::int64_t position_ = 0;
};

/// What the names of temporary files contain; those that a killed process left can be removed.
inline constexpr const char* temporary_mark = ".tmp.";

}  // namespace reprise::io
