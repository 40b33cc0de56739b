// SPDX-License-Identifier: Apache-2.0
#include "io/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace reprise::io {
namespace {

std::string words(int error) { return std::generic_category().message(error); }

std::string folder_of(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Without waiting, for a pipe would never open; to files it makes no difference.
int open_to_read(const char* who, const std::string& path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail("[{}] cannot open '{}': {}", who, path, words(errno));
  return descriptor;
}

}  // namespace

InputFile::InputFile(const char* who, std::string path) : InputFile(who, path, open_to_read(who, path)) {}

InputFile::InputFile(const char* who, std::string path, int descriptor)
    : who_(who), path_(std::move(path)), descriptor_(descriptor) {
  struct stat status {};
  bool is_file = fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  bytes_ = status.st_size;
  if (is_file) return;
  close(descriptor_);
  fail("[{}] '{}' is not a file", who_, path_);
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::reject(const std::string& why) const { fail("[{}] '{}' {}", who_, path_, why); }

void InputFile::read(std::int64_t offset, void* to, std::int64_t bytes) const {
  if (offset < 0 || bytes < 0 || offset > bytes_ || bytes > bytes_ - offset)
    reject(fmt::format("is cut short: {} bytes are wanted at {}, it has {}; write or copy it again", bytes, offset,
                       bytes_));
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    ssize_t done = pread(descriptor_, at, static_cast<std::size_t>(bytes), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) reject("cannot be read: " + words(errno));
    if (done == 0) reject("became shorter while it was read");
    at += done, offset += done, bytes -= done;
  }
}

OutputFile::OutputFile(const char* who, std::string path)
    : who_(who), path_(std::move(path)), temporary_(path_ + temporary_mark + std::to_string(getpid())) {
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    fail("[{}] cannot write '{}': {}; check the folder and its permissions", who_, path_, words(errno));
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void OutputFile::fail_with(int error, const char* what) const {
  fail("[{}] cannot {} '{}': {}; what was there before is untouched. Free some space or write elsewhere", who_, what,
       path_, words(error));
}

// Past this limit the system would not only refuse but, by default, end the process with a signal.
void OutputFile::check_limit(std::int64_t bytes) const {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (static_cast<rlim_t>(bytes) > limit.rlim_cur) fail_with(EFBIG, "write");
}

void OutputFile::reserve(std::int64_t bytes) {
  check_limit(bytes);
  int error = bytes > 0 ? posix_fallocate(descriptor_, 0, bytes) : 0;
  if (error != 0) fail_with(error, "take the room for");
}

void OutputFile::write(const void* from, std::int64_t bytes) {
  write_at(position_, from, bytes);
  position_ += bytes;
}

void OutputFile::write_at(std::int64_t offset, const void* from, std::int64_t bytes) {
  check_limit(offset + bytes);
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    ssize_t done = pwrite(descriptor_, at, static_cast<std::size_t>(bytes), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail_with(done < 0 ? errno : ENOSPC, "write");
    at += done, offset += done, bytes -= done;
  }
}

void OutputFile::commit() {
  if (fsync(descriptor_) != 0) fail_with(errno, "force to disk");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail_with(errno, "give its name to");
  close(descriptor_);
  descriptor_ = -1;
  int folder = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = folder < 0 || fsync(folder) != 0 ? errno : 0;
  if (folder >= 0) close(folder);
  if (error != 0 && error != EINVAL) fail_with(error, "force the folder to disk of");  // EINVAL: it has no such thing
}

}  // namespace reprise::io
