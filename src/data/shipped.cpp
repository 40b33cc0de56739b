// SPDX-License-Identifier: Apache-2.0
// Where the project's own data are. A build folder looks like an installation: bin/ and share/reprise/data side by
// side.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "reprise/data.h"

namespace reprise::data {
namespace {

namespace fs = std::filesystem;

struct Alias {
  std::string_view name, file;
};
constexpr Alias aliases[] = {{"digits", "digits-images-idx3-ubyte.gz"}, {"text", "pride-and-prejudice.txt.gz"}};

std::string file_of(const std::string& name) {
  for (const Alias& alias : aliases)
    if (alias.name == name) return std::string(alias.file);
  return name;
}

// The running program, and the library where that is a file of its own.
std::vector<fs::path> binaries() {
  std::error_code ignored;
  std::vector<fs::path> found = {fs::read_symlink("/proc/self/exe", ignored)};
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&shipped), &info) && info.dli_fname && info.dli_fname[0] == '/')
    found.emplace_back(fs::weakly_canonical(info.dli_fname, ignored));
  return found;
}

// Of bin/reprise and of lib/x86_64-linux-gnu/libreprise.so, share is two or three folders up.
std::vector<fs::path> folders() {
  if (const char* own = std::getenv("REPRISE_DATA"); own && *own) return {own};
  std::vector<fs::path> all;
  for (const fs::path& binary : binaries()) {
    fs::path above = binary.parent_path();
    for (int level = 0; level < 3 && above.has_relative_path(); ++level) {
      above = above.parent_path();
      fs::path folder = above / "share/reprise/data";
      if (std::ranges::find(all, folder) == all.end()) all.push_back(folder);
    }
  }
  return all;
}

}  // namespace

std::string shipped(const std::string& name) {
  std::string file = file_of(name), searched;
  for (const fs::path& folder : folders()) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / file, ignored)) return (folder / file).string();
    searched += (searched.empty() ? "" : ", ") + folder.string();
  }
  std::string known;
  for (const Alias& alias : aliases) known += (known.empty() ? "" : ", ") + std::string(alias.name);
  fail("[data] there is no '{}' in {}: set REPRISE_DATA to the folder of the data that ship with the project ({})",
       file, searched, known);
}

}  // namespace reprise::data
