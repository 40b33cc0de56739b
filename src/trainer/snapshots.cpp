// SPDX-License-Identifier: Apache-2.0
#include "trainer/snapshots.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/file.h"
#include "reprise/trainer.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view prefix = "step-", ending = ".snapshot";

// The step of a snapshot's file name; -1 for other files.
std::int64_t step_of(const std::string& name) {
  if (!name.starts_with(prefix) || !name.ends_with(ending)) return -1;
  const char *begin = name.data() + prefix.size(), *end = name.data() + name.size() - ending.size();
  std::int64_t step = -1;
  auto [at, error] = std::from_chars(begin, end, step);
  return error == std::errc() && at == end ? step : -1;
}

struct OpenFile {
  explicit OpenFile(int descriptor) : number(descriptor) {}
  ~OpenFile() {
    if (number >= 0) close(number);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int number;
};

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("[train] cannot make the folder '{}': {}", folder, error.message());
}

Resumable opened(const SnapshotFile& file) {
  io::Snapshot snapshot(file.path);
  try {
    auto text = nlohmann::ordered_json::parse(snapshot.text());
    if (text.at("kind") != "training run") fail("[snapshot] '{}' holds something else than a training run", file.path);
    Recipe recipe = recipe_from_json(text.at("recipe").dump());
    auto step = text.at("step").get<std::int64_t>();
    return {file.path, step, std::move(recipe), std::move(snapshot), {}};
  } catch (const nlohmann::json::exception& e) {
    fail("[snapshot] '{}' holds something else than a training run: {}", file.path, e.what());
  }
}

}  // namespace

std::string snapshot_path(const std::string& folder, std::int64_t step) {
  return fmt::format("{}/{}{:08}{}", folder, prefix, step, ending);
}

std::vector<SnapshotFile> snapshots_in(const std::string& folder) {
  std::vector<SnapshotFile> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (std::int64_t step = step_of(entry.path().filename().string()); step >= 0)
      files.push_back({step, entry.path().string()});
  std::ranges::sort(files, std::greater(), &SnapshotFile::step);
  return files;
}

std::shared_ptr<void> hold_folder(const std::string& folder) {
  make_folder(folder);
  std::string path = folder + "/lock";
  auto file = std::make_shared<OpenFile>(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (file->number < 0) fail("[train] cannot write '{}': {}", path, std::strerror(errno));
  if (flock(file->number, LOCK_EX | LOCK_NB) == 0) return file;
  if (errno == EWOULDBLOCK)
    fail("[train] another process is training into '{}': wait for its end, stop it, or save elsewhere", folder);
  fail("[train] cannot lock '{}': {}", path, std::strerror(errno));
}

void prepare_folder(const std::string& folder) {
  make_folder(folder);
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().find(io::temporary_mark) != std::string::npos) fs::remove(entry.path(), error);
}

void prune_snapshots(const std::string& folder, int keep, std::int64_t best) {
  std::vector<SnapshotFile> files = snapshots_in(folder);
  std::error_code ignored;  // what cannot be removed does no harm
  for (std::size_t i = static_cast<std::size_t>(keep); i < files.size(); ++i)
    if (files[i].step != best) fs::remove(files[i].path, ignored);
}

std::optional<Resumable> newest_snapshot(const std::string& folder) {
  std::vector<std::string> passed_over;
  for (const SnapshotFile& file : snapshots_in(folder)) {
    try {
      Resumable found = opened(file);
      found.passed_over = std::move(passed_over);
      return found;
    } catch (const Error& e) {
      passed_over.push_back(e.what());
    }
  }
  if (passed_over.empty()) return std::nullopt;
  std::string all;
  for (const std::string& why : passed_over) all += "\n  " + why;
  fail("[train] no snapshot in '{}' can be used:{}", folder, all);
}

}  // namespace reprise
