// SPDX-License-Identifier: Apache-2.0
#include "onnx/external.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "onnx/source.h"

namespace reprise::onnx {
namespace {

constexpr int reading_flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

std::vector<std::string> parts_of(std::string_view location) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = location.find('/', begin);
    parts.emplace_back(location.substr(begin, end == std::string_view::npos ? end : end - begin));
  }
  return parts;
}

bool is_plain(std::string_view location) {
  if (location.size() > 1024 || location.find('\0') != std::string_view::npos) return false;
  for (const std::string& part : parts_of(location))
    if (part.empty() || part == "." || part == "..") return false;
  return true;
}

// The kernel's own refusal of every link and every way out; -1 and ENOSYS or EPERM where it has none.
int open_beneath(int folder, const std::string& location) {
  open_how how{};
  how.flags = reading_flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, folder, location.c_str(), &how, sizeof how));
}

}  // namespace

int open_by_steps(int folder, const std::string& location) {
  std::vector<std::string> parts = parts_of(location);
  int at = dup(folder);
  for (std::size_t i = 0; i < parts.size() && at >= 0; ++i) {
    int flags = i + 1 < parts.size() ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC : reading_flags;
    int next = openat(at, parts[i].c_str(), flags);
    int error = errno;
    close(at);
    at = next;
    errno = error;
  }
  return at;
}

io::InputFile open_external(const io::InputFile& model, int folder, const std::string& location) {
  auto refuse = [&](const std::string& why) { model.reject("has its data in " + shown(location) + ", " + why); };
  if (!is_plain(location))
    refuse("which is no plain name of a file in the model's own folder: save it with such names");
  int descriptor = open_beneath(folder, location);
  if (descriptor < 0 && (errno == ENOSYS || errno == EPERM)) descriptor = open_by_steps(folder, location);
  if (descriptor < 0 && (errno == ELOOP || errno == EXDEV))
    refuse("which is a symbolic link: put the file itself into the model's folder");
  if (descriptor < 0)
    refuse("which cannot be opened: " + std::generic_category().message(errno) + "; put it beside the model");
  struct stat status {};
  bool is_file = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  bool is_linked = is_file && status.st_nlink != 1;
  if (!is_file || is_linked) close(descriptor);
  if (!is_file) refuse("which is not a file: put the data there");
  if (is_linked) refuse("which has other names too (hard links): copy it into the model's folder");
  return {model.who(), (std::filesystem::path(model.path()).parent_path() / location).string(), descriptor};
}

}  // namespace reprise::onnx
