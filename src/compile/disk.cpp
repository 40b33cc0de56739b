// SPDX-License-Identifier: Apache-2.0
#include "compile/disk.h"

#include <chrono>

#include "base/error.h"
#include "compile/page_file.h"

namespace reprise {
namespace {

constexpr std::int64_t piece = 1 << 20, pieces = 8;

struct Rates {
  double write = 0, read = 0;  // seconds for a piece
};

// Each piece is written to the disk itself and read from there: what the system holds in memory beside it cannot be
// counted on where memory is short.
Rates measured_rates(const std::string& folder) {
  using Clock = std::chrono::steady_clock;
  auto seconds = [start = Clock::now()] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  PageFile file(folder, piece * pieces);
  std::vector<char> buffer(static_cast<std::size_t>(piece), 1);
  double begin = seconds();
  for (std::int64_t i = 0; i < pieces; ++i) file.write(i * piece, buffer.data(), piece);
  file.flush();
  double written = seconds();
  for (std::int64_t i = 0; i < pieces; ++i) file.read(i * piece, buffer.data(), piece);
  return {(written - begin) / pieces, (seconds() - written) / pieces};
}

Rates rates(const CompileOptions& options) {
  std::string write = "page_out 1 MiB " + options.disk.folder, read = "page_in 1 MiB " + options.disk.folder;
  if (options.profile)
    if (auto known_write = options.profile->find(write), known_read = options.profile->find(read);
        known_write && known_read)
      return {*known_write, *known_read};
  if (!options.measure) return {1e-9 * piece, 0.5e-9 * piece};  // a plain solid-state disk
  Rates measured = measured_rates(options.disk.folder);
  if (options.profile) options.profile->set(write, measured.write), options.profile->set(read, measured.read);
  return measured;
}

}  // namespace

DiskTimes disk_times(const CompileOptions& options) {
  const PagingOptions& disk = options.disk;
  if (!(disk.write_rate >= 0) || !(disk.read_rate >= 0))
    fail("[disk] rates of {} and {} bytes a second: both must be positive, or 0 to measure them", disk.write_rate,
         disk.read_rate);
  bool is_known = disk.write_rate > 0 && disk.read_rate > 0;
  Rates found = is_known ? Rates{} : rates(options);
  auto a_byte = [](double rate, double seconds) { return rate > 0 ? 1 / rate : seconds / piece; };
  return {10e-6, a_byte(disk.write_rate, found.write), a_byte(disk.read_rate, found.read)};
}

}  // namespace reprise
