// SPDX-License-Identifier: Apache-2.0
// The snapshot file: 64 bytes of preamble (mark, version, size and checksum of the header, checksum of the preamble
// itself), the header in JSON (a text of its owner, and name, type, offset, bytes and checksum of each tensor), and the
// tensors at multiples of 64. Checksums are XXH3 of 64 bits; everything is little-endian.
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/elements.h"
#include "io/file.h"
#include "reprise/io.h"

namespace reprise::io {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::array<char, 16> mark = {'r', 'e', 'p', 'r', 'i', 's', 'e', ' ', 's', 'n', 'a', 'p', 's', 'h', 'o', 't'};
constexpr std::uint64_t newest_version = 1;
constexpr std::int64_t alignment = 64, chunk = 1 << 20;

struct Preamble {
  std::array<char, 16> mark = io::mark;
  std::uint64_t version = newest_version;
  std::uint64_t header_bytes = 0, header_checksum = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t unused = 0;
  std::uint64_t checksum = 0;  // of all before it
};
static_assert(sizeof(Preamble) == 64);

std::uint64_t hash(const void* data, std::size_t bytes) { return XXH3_64bits(data, bytes); }
std::uint64_t own_checksum(const Preamble& p) { return hash(&p, offsetof(Preamble, checksum)); }

std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

struct Entry {
  Type type;
  std::int64_t offset = 0;
  std::uint64_t checksum = 0;
};

Preamble read_preamble(const InputFile& file) {
  Preamble p;
  if (file.bytes() < static_cast<std::int64_t>(sizeof p)) file.reject("is cut short: it is too small for a snapshot");
  file.read(0, &p, sizeof p);
  if (p.mark != mark) file.reject("is not a snapshot: it begins otherwise");
  if (p.checksum != own_checksum(p)) file.reject("is damaged: the checksum of its first bytes is wrong");
  if (p.version > newest_version)
    file.reject(fmt::format("is of version {}, this program reads versions up to {}: use a newer one", p.version,
                            newest_version));
  if (p.file_bytes != static_cast<std::uint64_t>(file.bytes()))
    file.reject(fmt::format("is cut short: it has {} of {} bytes", file.bytes(), p.file_bytes));
  if (p.header_bytes > static_cast<std::uint64_t>(file.bytes()) - sizeof p)
    file.reject("is damaged: its header is too long");
  return p;
}

// Piece by piece, so that no tensor need be in memory.
std::uint64_t checksum_of(const InputFile& file, std::int64_t offset, std::int64_t bytes) {
  std::vector<char> buffer(static_cast<std::size_t>(std::min(bytes, chunk)));
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
  XXH3_64bits_reset(state.get());
  for (std::int64_t done = 0; done < bytes; done += chunk) {
    std::int64_t count = std::min(chunk, bytes - done);
    file.read(offset + done, buffer.data(), count);
    XXH3_64bits_update(state.get(), buffer.data(), static_cast<std::size_t>(count));
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace

struct Snapshot::Impl {
  InputFile file;
  std::string text;
  std::vector<std::pair<std::string, Type>> tensors = {};
  std::map<std::string, Entry> entries = {};

  explicit Impl(const std::string& path) : file("snapshot", path) {
    Preamble p = read_preamble(file);
    std::string header(p.header_bytes, '\0');
    file.read(sizeof p, header.data(), static_cast<std::int64_t>(header.size()));
    if (hash(header.data(), header.size()) != p.header_checksum)
      file.reject("is damaged: the checksum of its header is wrong");
    Json json = Json::parse(header, nullptr, false);
    try {
      text = json.at("text").get<std::string>();
      for (const Json& row : json.at("tensors")) take(row);
    } catch (const Json::exception& e) {
      file.reject(fmt::format("is damaged: its header lacks what it needs: {}", e.what()));
    }
  }

  void take(const Json& row) {
    auto name = row.at("name").get<std::string>();
    Entry e{parse_type(row.at("type").get<std::string>()), row.at("offset").get<std::int64_t>(),
            row.at("checksum").get<std::uint64_t>()};
    if (checksum_of(file, e.offset, e.type.bytes()) != e.checksum)
      file.reject(fmt::format("is damaged: the checksum of '{}' is wrong", name));
    tensors.emplace_back(name, e.type);
    entries.emplace(name, e);
  }
};

Snapshot::Snapshot(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
Snapshot::~Snapshot() = default;
Snapshot::Snapshot(Snapshot&&) noexcept = default;
Snapshot& Snapshot::operator=(Snapshot&&) noexcept = default;

const std::string& Snapshot::text() const { return impl_->text; }
const std::vector<std::pair<std::string, Type>>& Snapshot::tensors() const { return impl_->tensors; }

void Snapshot::read(const std::string& name, const Tensor& to) const {
  auto found = impl_->entries.find(name);
  if (found == impl_->entries.end()) impl_->file.reject(fmt::format("holds no '{}'", name));
  if (found->second.type != to.type())
    impl_->file.reject(
        fmt::format("holds '{}' as {}, {} is wanted", name, to_string(found->second.type), to_string(to.type())));
  impl_->file.read(found->second.offset, to.data(), to.bytes());
}

Tensor Snapshot::read(const std::string& name) const {
  auto found = impl_->entries.find(name);
  if (found == impl_->entries.end()) impl_->file.reject(fmt::format("holds no '{}'", name));
  Tensor t = Tensor::empty(found->second.type);
  read(name, t);
  return t;
}

void save_snapshot(const std::string& path, const std::string& text, const NamedTensors& tensors) {
  Json rows = Json::array();
  // Offsets depend on the header's length, which depends on their digits: room is left for the longest.
  std::int64_t room = 512 + static_cast<std::int64_t>(Json(text).dump().size());
  for (const auto& [name, tensor] : tensors)
    room += 256 + static_cast<std::int64_t>(Json(name).dump().size() + to_string(tensor.type()).size());
  std::int64_t at = aligned(static_cast<std::int64_t>(sizeof(Preamble)) + room);
  std::vector<std::int64_t> offsets;
  for (const auto& [name, tensor] : tensors) {
    offsets.push_back(at);
    rows.push_back({{"name", name},
                    {"type", to_string(tensor.type())},
                    {"offset", at},
                    {"checksum", hash(tensor.data(), static_cast<std::size_t>(tensor.bytes()))}});
    at = aligned(at + tensor.bytes());
  }
  std::string header = Json{{"text", text}, {"tensors", std::move(rows)}}.dump();
  Preamble p;
  p.header_bytes = header.size();
  p.header_checksum = hash(header.data(), header.size());
  p.file_bytes = static_cast<std::uint64_t>(at);
  p.checksum = own_checksum(p);
  OutputFile file("snapshot", path);
  file.reserve(at);
  file.write(&p, sizeof p);
  file.write(header.data(), static_cast<std::int64_t>(header.size()));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    file.write_at(offsets[i], tensors[i].second.data(), tensors[i].second.bytes());
  file.commit();
}

}  // namespace reprise::io
