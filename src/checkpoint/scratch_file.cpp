// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/scratch_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "reprise/checkpoint_errors.h"

namespace reprise {
namespace {

[[noreturn]] void fail_with(int error, std::string_view what, std::string_view remedy, std::int64_t slot = -1) {
  throw StoreFailed(fmt::format("[disk store] {} ({}): {}", what, std::generic_category().message(error), remedy),
                    slot);
}

constexpr std::string_view place_remedy = "let DiskOptions::directory name one that exists and may be written to";
constexpr std::string_view room_remedy =
    "make room, ask for fewer or smaller slots, or let DiskOptions::directory name another disk";

std::string parent_or_default(const std::string& parent) {
  if (!parent.empty()) return parent;
  std::error_code error;
  std::filesystem::path path = std::filesystem::temp_directory_path(error);
  if (error) fail_with(error.value(), "cannot find the place for temporary files that TMPDIR names", place_remedy);
  return path.string();
}

void check_free_space(int descriptor, std::int64_t bytes, const std::string& path) {
  struct statvfs disk {};
  if (fstatvfs(descriptor, &disk) != 0) fail_with(errno, "cannot ask for the free space of " + path, place_remedy);
  auto block = static_cast<std::int64_t>(disk.f_frsize), blocks = static_cast<std::int64_t>(disk.f_bavail);
  if (bytes / block < blocks || bytes == 0) return;
  throw StoreFailed(fmt::format("[disk store] the disk is too full: {} needs {} and {} are free: {}", path,
                                format_bytes(bytes), format_bytes(blocks * block), room_remedy),
                    -1);
}

// Past this limit the system would not only refuse but, by default, end the process with a signal.
void check_file_size_limit(std::int64_t bytes, const std::string& path) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) fail_with(errno, "cannot ask for the limit of file sizes", "see ulimit -f");
  if (limit.rlim_cur == RLIM_INFINITY || static_cast<rlim_t>(bytes) <= limit.rlim_cur) return;
  throw StoreFailed(
      fmt::format("[disk store] {} needs {} and the process may make files of {} at most: raise that limit "
                  "(ulimit -f), or ask for fewer or smaller slots",
                  path, format_bytes(bytes), format_bytes(static_cast<std::int64_t>(limit.rlim_cur))),
      -1);
}

int open_with_room(const std::string& path, std::int64_t bytes) {
  int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) fail_with(errno, "cannot make the file " + path, place_remedy);
  try {
    check_file_size_limit(bytes, path);
    check_free_space(descriptor, bytes, path);
    int error = bytes == 0 ? 0 : posix_fallocate(descriptor, 0, bytes);
    if (error != 0) fail_with(error, fmt::format("cannot take {} for {}", format_bytes(bytes), path), room_remedy);
  } catch (...) {
    close(descriptor);
    throw;
  }
  return descriptor;
}

}  // namespace

ScratchDirectory::ScratchDirectory(const std::string& parent) : path_(parent_or_default(parent) + "/reprise-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr)
    fail_with(errno, "cannot make a directory in " + parent_or_default(parent), place_remedy);
}

ScratchDirectory::~ScratchDirectory() {
  unlink(file().c_str());
  rmdir(path_.c_str());
}

ScratchFile::ScratchFile(const std::string& parent, std::int64_t bytes)
    : directory_(parent), descriptor_(open_with_room(directory_.file(), bytes)) {}

ScratchFile::~ScratchFile() { close(descriptor_); }

void ScratchFile::write(std::int64_t slot, std::int64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    ssize_t done = pwrite(descriptor_, bytes.data(), bytes.size(), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0)
      fail_with(done < 0 ? errno : ENOSPC, fmt::format("cannot write slot {}", slot),
                "it is empty now: make room and put its state again", slot);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += done;
  }
}

void ScratchFile::read(std::int64_t slot, std::int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    ssize_t done = pread(descriptor_, bytes.data(), bytes.size(), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_with(errno, fmt::format("cannot read slot {}", slot), "try again, or put its state again", slot);
    if (done == 0)
      throw StoreFailed(
          fmt::format("[disk store] cannot read slot {}: the file ends before it: leave the store's files "
                      "alone, and put the state again",
                      slot),
          slot);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += done;
  }
}

}  // namespace reprise
