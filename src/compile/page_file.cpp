// SPDX-License-Identifier: Apache-2.0
#include "compile/page_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace reprise {
namespace {

// A file without a name; where the file system has none, one whose name goes at once.
int open_nameless(const std::string& folder) {
  int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return descriptor;
  std::string path = folder + "/reprise-page-XXXXXX";
  descriptor = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor >= 0) unlink(path.c_str());
  return descriptor;
}

}  // namespace

PageFile::PageFile(std::string folder, std::int64_t bytes)
    : folder_(std::move(folder)), descriptor_(open_nameless(folder_)) {
  if (descriptor_ < 0)
    fail("[disk] cannot make a file in '{}': {}: name a folder that is there and may be written to", folder_,
         std::strerror(errno));
  try {
    check_room(bytes);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

PageFile::~PageFile() { close(descriptor_); }

void PageFile::check_room(std::int64_t bytes) const {
  if (bytes == 0) return;
  // Past this limit the system would not only refuse but, by default, end the process with a signal.
  rlimit limit{};
  bool is_limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  int error =
      is_limited && static_cast<rlim_t>(bytes) > limit.rlim_cur ? EFBIG : posix_fallocate(descriptor_, 0, bytes);
  if (error != 0)
    fail(
        "[disk] cannot take the {} that a step moves to '{}': {}: make room there, name another folder, or give more "
        "memory",
        format_bytes(bytes), folder_, std::strerror(error));
}

void PageFile::write(std::int64_t offset, const void* data, std::int64_t bytes) const {
  const char* from = static_cast<const char*>(data);
  for (std::int64_t done = 0; done < bytes;) {
    ssize_t count = pwrite(descriptor_, from + done, static_cast<std::size_t>(bytes - done), offset + done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      fail("[disk] cannot write {} to the file in '{}': {}", format_bytes(bytes), folder_,
           std::strerror(count < 0 ? errno : ENOSPC));
    done += count;
  }
}

void PageFile::read(std::int64_t offset, void* data, std::int64_t bytes) const {
  char* to = static_cast<char*>(data);
  for (std::int64_t done = 0; done < bytes;) {
    ssize_t count = pread(descriptor_, to + done, static_cast<std::size_t>(bytes - done), offset + done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      fail("[disk] cannot read {} of the file in '{}': {}", format_bytes(bytes), folder_,
           count < 0 ? std::strerror(errno) : "it ends before that");
    done += count;
  }
}

void PageFile::flush() const {
  if (fdatasync(descriptor_) != 0) fail("[disk] cannot write to the file in '{}': {}", folder_, std::strerror(errno));
  posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED);  // being refused that is no error
}

bool is_in_memory(const std::string& folder) {
  struct statfs system {};
  if (statfs(folder.c_str(), &system) != 0) return false;
  return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
}

}  // namespace reprise
