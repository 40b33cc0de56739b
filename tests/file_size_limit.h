// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

namespace reprise {

/// While it lives, no byte can be written past `bytes` of any file: a disk that fills up under a running program. The
/// signal that the system sends with it, which ends a process by default, is for whoever writes to deal with.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace reprise
