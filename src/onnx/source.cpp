// SPDX-License-Identifier: Apache-2.0
#include "onnx/source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "base/error.h"
#include "onnx/external.h"

namespace reprise::onnx {
namespace {

int open_folder_of(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  return open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

Bytes map_file(const io::InputFile& file) {
  if (file.bytes() == 0) file.reject("is empty: export or copy it again");
  if (file.bytes() > std::numeric_limits<std::int32_t>::max())
    file.reject("is larger than the 2 GiB that such a file can have: save its weights as external data");
  auto size = static_cast<std::size_t>(file.bytes());
  void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (at == MAP_FAILED) file.reject("cannot be mapped into memory: copy it to a disk of this machine");
  return {static_cast<const std::uint8_t*>(at), size};
}

void* address_of(const std::uint8_t* at) { return const_cast<std::uint8_t*>(at); }

}  // namespace

SourceFile::SourceFile(const std::string& path)
    : file_("onnx", path), bytes_(map_file(file_)), folder_(open_folder_of(path)) {}

SourceFile::~SourceFile() {
  munmap(address_of(bytes_.data()), bytes_.size());
  if (folder_ >= 0) close(folder_);
}

Bytes SourceFile::bytes() const {
  struct stat status {};
  if (fstat(file_.descriptor(), &status) != 0 || status.st_size < file_.bytes())
    reject("was made shorter while it was in use: copy it again, and leave it until this has ended");
  return bytes_;
}

void SourceFile::forget(Bytes part) const {
  auto page = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  std::int64_t begin = offset_of(part.data()), end = begin + static_cast<std::int64_t>(part.size());
  begin = (begin + page - 1) / page * page, end = end / page * page;
  if (begin < end) madvise(address_of(bytes_.data() + begin), static_cast<std::size_t>(end - begin), MADV_DONTNEED);
}

io::InputFile SourceFile::open_beside(const std::string& location) const {
  return open_external(file_, folder_, location);
}

std::string shown(std::string_view name) {
  constexpr std::size_t longest = 80;
  std::string text(name.substr(0, longest));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return "'" + text + (name.size() > longest ? "...'" : "'");
}

}  // namespace reprise::onnx
