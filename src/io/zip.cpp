// SPDX-License-Identifier: Apache-2.0
// Only what the central directory says counts, and it is believed only within the file's bounds. Written archives use
// the 64-bit fields throughout, so that large ones take no path of their own (PKWARE's APPNOTE 4.3 and 4.5.3).
#include "io/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace reprise::io {
namespace {

constexpr std::uint32_t local_mark = 0x04034b50, central_mark = 0x02014b50, end_mark = 0x06054b50,
                        end64_mark = 0x06064b50, locator_mark = 0x07064b50, full32 = 0xffffffff;
constexpr std::uint16_t full16 = 0xffff, wide_field = 1, method_stored = 0, method_deflated = 8;
constexpr std::int64_t piece = 1 << 16;
// No byte of a deflate stream stands for more than this.
constexpr std::int64_t largest_ratio = 1032;

// Little-endian fields of a piece of the file, one after another.
class Fields {
 public:
  Fields(const InputFile& file, std::int64_t offset, std::int64_t bytes)
      : file_(file), bytes_(static_cast<std::size_t>(bytes)) {
    file.read(offset, bytes_.data(), bytes);
  }
  template <class T>
  T next() {
    T x;
    need(sizeof x);
    std::memcpy(&x, bytes_.data() + at_, sizeof x);
    at_ += sizeof x;
    return x;
  }
  std::int64_t next_size() {
    auto x = next<std::uint64_t>();
    if (x > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      file_.reject("is damaged: a size of its directory is out of range");
    return static_cast<std::int64_t>(x);
  }
  std::string text(std::size_t size) {
    need(size);
    at_ += size;
    return {bytes_.data() + at_ - size, size};
  }
  void skip(std::size_t size) {
    need(size);
    at_ += size;
  }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  void need(std::size_t size) const {
    if (size > left()) file_.reject("is damaged: its directory ends in the middle of an entry");
  }
  const InputFile& file_;
  std::vector<char> bytes_;
  std::size_t at_ = 0;
};

struct Directory {
  std::int64_t offset = 0, bytes = 0, count = 0;
};

// The end record is the last 22 bytes, unless a comment follows it.
std::int64_t end_record_of(const InputFile& file) {
  std::int64_t most = std::min<std::int64_t>(file.bytes(), 22 + 65535);
  std::vector<char> tail(static_cast<std::size_t>(most));
  file.read(file.bytes() - most, tail.data(), most);
  for (std::int64_t at = most - 22; at >= 0; --at) {
    std::uint32_t mark;
    std::uint16_t comment;
    std::memcpy(&mark, tail.data() + at, 4);
    std::memcpy(&comment, tail.data() + at + 20, 2);
    if (mark == end_mark && at + 22 + comment == most) return file.bytes() - most + at;
  }
  file.reject("is not a npz (zip) file, or it is cut short: write or copy it again");
}

Directory directory_of(const InputFile& file) {
  std::int64_t end = end_record_of(file);
  Fields record(file, end + 4, 18);
  record.skip(6);
  Directory d;
  d.count = record.next<std::uint16_t>();
  d.bytes = record.next<std::uint32_t>();
  d.offset = record.next<std::uint32_t>();
  if (end >= 20) {
    Fields locator(file, end - 20, 20);
    if (locator.next<std::uint32_t>() == locator_mark) {
      locator.skip(4);
      Fields wide(file, locator.next_size(), 56);
      if (wide.next<std::uint32_t>() != end64_mark) file.reject("is damaged: its end record is not where it should be");
      wide.skip(28);
      d.count = wide.next_size();
      d.bytes = wide.next_size();
      d.offset = wide.next_size();
    }
  }
  if (d.offset > file.bytes() || d.bytes > file.bytes() - d.offset || d.count > d.bytes / 46)
    file.reject("is damaged: its directory is larger than the file");
  return d;
}

// The 64-bit sizes stand in an extra field, those only whose 32-bit field is full, in this order.
void read_wide(const InputFile& file, Fields& fields, std::size_t extra_bytes, ZipMember& m) {
  while (extra_bytes >= 4) {
    auto id = fields.next<std::uint16_t>(), size = fields.next<std::uint16_t>();
    extra_bytes -= 4;
    if (size > extra_bytes) file.reject("is damaged: an extra field of its directory is too long");
    extra_bytes -= size;
    std::size_t left = size;
    if (id == wide_field)
      for (std::int64_t* value : {&m.bytes, &m.packed_bytes, &m.header_offset})
        if (*value == full32 && left >= 8) *value = fields.next_size(), left -= 8;
    fields.skip(left);
  }
  fields.skip(extra_bytes);
}

ZipMember read_entry(const InputFile& file, Fields& fields) {
  if (fields.next<std::uint32_t>() != central_mark)
    file.reject("is damaged: an entry of its directory begins otherwise");
  ZipMember m;
  fields.skip(4);
  auto flags = fields.next<std::uint16_t>(), method = fields.next<std::uint16_t>();
  fields.skip(4);
  m.crc = fields.next<std::uint32_t>();
  m.packed_bytes = fields.next<std::uint32_t>();
  m.bytes = fields.next<std::uint32_t>();
  auto name = fields.next<std::uint16_t>(), extra = fields.next<std::uint16_t>(),
       comment = fields.next<std::uint16_t>();
  fields.skip(8);
  m.header_offset = fields.next<std::uint32_t>();
  m.name = fields.text(name);
  read_wide(file, fields, extra, m);
  fields.skip(comment);
  if (flags & 1) file.reject(fmt::format("holds '{}' encrypted, which cannot be read", m.name));
  if (method != method_stored && method != method_deflated)
    file.reject(fmt::format("holds '{}' compressed by method {}: only stored and deflated members can be read", m.name,
                            method));
  m.is_deflated = method == method_deflated;
  bool is_possible = m.packed_bytes <= file.bytes() &&
                     (m.is_deflated ? m.bytes / largest_ratio <= m.packed_bytes : m.bytes == m.packed_bytes);
  if (!is_possible) file.reject(fmt::format("is damaged: the size of '{}' cannot be", m.name));
  return m;
}

// Where a member's bytes begin, behind its local header.
std::int64_t data_offset(const InputFile& file, const ZipMember& m) {
  Fields local(file, m.header_offset, 30);
  if (local.next<std::uint32_t>() != local_mark)
    file.reject(fmt::format("is damaged: '{}' is not where it should be", m.name));
  local.skip(22);
  auto name = local.next<std::uint16_t>(), extra = local.next<std::uint16_t>();
  return m.header_offset + 30 + name + extra;
}

// Inflates piece by piece.
class Inflater {
 public:
  Inflater(const InputFile& file, const ZipMember& m) : file_(file), member_(m), offset_(data_offset(file, m)) {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) fail("[npz] zlib cannot start");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void read(void* to, std::int64_t bytes) {
    auto* at = static_cast<Bytef*>(to);
    while (bytes > 0) {
      auto part = static_cast<uInt>(std::min<std::int64_t>(bytes, 1 << 30));
      stream_.next_out = at;
      stream_.avail_out = part;
      while (stream_.avail_out > 0) step();
      at += part;
      bytes -= part;
    }
  }

 private:
  void step() {
    if (stream_.avail_in == 0 && taken_ < member_.packed_bytes) {
      std::int64_t count = std::min(piece, member_.packed_bytes - taken_);
      file_.read(offset_ + taken_, buffer_.data(), count);
      taken_ += count;
      stream_.next_in = buffer_.data();
      stream_.avail_in = static_cast<uInt>(count);
    }
    int result = inflate(&stream_, Z_NO_FLUSH);
    bool is_over = result == Z_STREAM_END && stream_.avail_out > 0;
    if ((result != Z_OK && result != Z_STREAM_END) || is_over) reject();
  }
  [[noreturn]] void reject() const { file_.reject(fmt::format("is damaged: '{}' cannot be inflated", member_.name)); }

  const InputFile& file_;
  const ZipMember& member_;
  std::int64_t offset_, taken_ = 0;
  std::vector<Bytef> buffer_ = std::vector<Bytef>(piece);
  z_stream stream_ = {};
};

std::uint32_t checksum(std::uint32_t crc, const void* data, std::int64_t bytes) {
  if (bytes == 0) return crc;  // zlib would begin anew at a null pointer
  return static_cast<std::uint32_t>(crc32_z(crc, static_cast<const Bytef*>(data), static_cast<z_size_t>(bytes)));
}

class Deflater {
 public:
  explicit Deflater(OutputFile& file) : file_(file) {
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      fail("[npz] zlib cannot start");
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void write(const void* data, std::int64_t bytes) {
    const auto* at = static_cast<const Bytef*>(data);
    while (bytes > 0) {
      auto part = static_cast<uInt>(std::min<std::int64_t>(bytes, 1 << 30));
      stream_.next_in = const_cast<Bytef*>(at);  // zlib's interface; it reads only
      stream_.avail_in = part;
      drain(Z_NO_FLUSH);
      at += part;
      bytes -= part;
    }
  }
  void finish() { drain(Z_FINISH); }

 private:
  void drain(int flush) {
    do {
      stream_.next_out = buffer_.data();
      stream_.avail_out = piece;
      deflate(&stream_, flush);
      file_.write(buffer_.data(), piece - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  OutputFile& file_;
  std::vector<Bytef> buffer_ = std::vector<Bytef>(piece);
  z_stream stream_ = {};
};

class Record {
 public:
  template <class T>
  Record& add(T x) {
    bytes_.append(reinterpret_cast<const char*>(&x), sizeof x);
    return *this;
  }
  Record& wide(std::int64_t x) { return add(static_cast<std::uint64_t>(x)); }
  Record& half(int x) { return add(static_cast<std::uint16_t>(x)); }
  Record& text(std::string_view t) {
    bytes_ += t;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// What local header and directory entry have in common: version needed to lengths of name and extra field. The date is
// the first there is: equal arrays make equal files.
void add_common(Record& record, const ZipMember& m, int extra_bytes) {
  record.half(45).half(0).half(m.is_deflated ? method_deflated : method_stored);
  record.half(0).half((1 << 5) | 1).add(m.crc).add(full32).add(full32);
  record.half(static_cast<int>(m.name.size())).half(extra_bytes);
}

std::string local_header(const ZipMember& m) {
  Record record;
  record.add(local_mark);
  add_common(record, m, 20);
  record.text(m.name).half(wide_field).half(16).wide(m.bytes).wide(m.packed_bytes);
  return record.bytes();
}

std::string directory_entry(const ZipMember& m) {
  Record record;
  record.add(central_mark).half(45);
  add_common(record, m, 28);
  record.half(0).half(0).half(0).add(std::uint32_t{0}).add(full32).text(m.name);
  record.half(wide_field).half(24).wide(m.bytes).wide(m.packed_bytes).wide(m.header_offset);
  return record.bytes();
}

}  // namespace

std::vector<ZipMember> members_of(const InputFile& file) {
  Directory d = directory_of(file);
  Fields fields(file, d.offset, d.bytes);
  std::vector<ZipMember> members;
  for (std::int64_t i = 0; i < d.count; ++i) members.push_back(read_entry(file, fields));
  return members;
}

void read_member(const InputFile& file, const ZipMember& m, const std::function<void(const Source&)>& use) {
  std::uint32_t crc = 0;
  std::int64_t done = 0, offset = data_offset(file, m);
  std::unique_ptr<Inflater> inflater = m.is_deflated ? std::make_unique<Inflater>(file, m) : nullptr;
  use([&](void* to, std::int64_t bytes) {
    if (bytes > m.bytes - done) file.reject(fmt::format("is damaged: '{}' is cut short", m.name));
    if (inflater)
      inflater->read(to, bytes);
    else
      file.read(offset + done, to, bytes);
    crc = checksum(crc, to, bytes);
    done += bytes;
  });
  if (done != m.bytes || crc != m.crc)
    file.reject(fmt::format("is damaged: the checksum of '{}' is wrong; write or copy it again", m.name));
}

void ZipWriter::add(const std::string& name, bool deflate, std::string_view head, const Tensor& body) {
  ZipMember m{name, deflate};
  m.header_offset = file_.position();
  m.bytes = static_cast<std::int64_t>(head.size()) + body.bytes();
  m.crc = checksum(checksum(0, head.data(), static_cast<std::int64_t>(head.size())), body.data(), body.bytes());
  std::string header = local_header(m);
  file_.write(header.data(), static_cast<std::int64_t>(header.size()));
  std::int64_t begin = file_.position();
  if (deflate) {
    Deflater deflater(file_);
    deflater.write(head.data(), static_cast<std::int64_t>(head.size()));
    deflater.write(body.data(), body.bytes());
    deflater.finish();
  } else {
    file_.write(head.data(), static_cast<std::int64_t>(head.size()));
    file_.write(body.data(), body.bytes());
  }
  m.packed_bytes = file_.position() - begin;
  header = local_header(m);
  file_.write_at(m.header_offset, header.data(), static_cast<std::int64_t>(header.size()));
  members_.push_back(std::move(m));
}

void ZipWriter::finish() {
  std::int64_t begin = file_.position();
  std::string all;
  for (const ZipMember& m : members_) all += directory_entry(m);
  auto bytes = static_cast<std::int64_t>(all.size()), count = static_cast<std::int64_t>(members_.size());
  Record end;
  end.add(end64_mark).wide(44).half(45).half(45).add(std::uint32_t{0}).add(std::uint32_t{0});
  end.wide(count).wide(count).wide(bytes).wide(begin);
  end.add(locator_mark).add(std::uint32_t{0}).wide(begin + bytes).add(std::uint32_t{1});
  end.add(end_mark).half(0).half(0).half(full16).half(full16).add(full32).add(full32).half(0);
  all += end.bytes();
  file_.write(all.data(), static_cast<std::int64_t>(all.size()));
}

}  // namespace reprise::io
