// SPDX-License-Identifier: Apache-2.0
// Where kept states live: in memory as they are, in memory encoded (16-bit, 8-bit, compressed), or in a file on disk.
// All stores have one face: put, get, drop, holds, bytes_held, largest_error. A slot is any number the caller likes; a
// put into a taken slot replaces its state, a get leaves it there, dropping an empty slot does nothing. One thread at a
// time.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reprise/checkpoint_errors.h"
#include "reprise/export.h"
#include "reprise/serial.h"

namespace reprise {

/// f16, bf16 and int8 round (and need float or double elements); plain and zstd give back every bit.
enum class Encoding { plain, f16, bf16, int8, zstd };

struct EncodingOptions {
  Encoding encoding = Encoding::plain;
  std::int64_t int8_block = 64;  // elements that share one scale
  int zstd_level = 1;            // 1 to 19: fastest to smallest
};

namespace detail {

struct Encoded {
  std::vector<std::byte> bytes;
  double largest_error = 0;  // of any element, absolute
};

/// Throws BadRequest where the options make no sense for such elements.
REPRISE_API void check_encoding(Element element, const EncodingOptions& options);
REPRISE_API Encoded encode(std::span<const std::byte> plain, Element element, const EncodingOptions& options);
REPRISE_API std::vector<std::byte> decode(std::span<const std::byte> encoded, Element element,
                                          const EncodingOptions& options);
/// The most bytes that `plain_bytes` can take once encoded.
REPRISE_API std::int64_t encoded_bound(std::int64_t plain_bytes, Element element, const EncodingOptions& options);

/// A store whose put says how many bytes it took.
template <class Store, class State>
concept CountingStore = requires(Store& store, const State& state) {
  { store.put(0, state) } -> std::convertible_to<std::int64_t>;
};

/// A store that makes a state's bytes before it puts them in place.
template <class Store, class State>
concept EncodingStore = requires(Store& store, const State& state, Encoded encoded) {
  { store.encode(0, state) } -> std::same_as<Encoded>;
  { store.put_encoded(0, std::move(encoded)) } -> std::convertible_to<std::int64_t>;
};

/// For drivers that own their store: what it held before would be counted, and dropped.
template <class Store>
void check_empty(const char* where, const Store& store) {
  if constexpr (requires { store.bytes_held(); })
    if (store.bytes_held() != 0)
      throw BadRequest("[" + std::string(where) + "] the store holds " + std::to_string(store.bytes_held()) +
                       " bytes already: give an empty one");
}

}  // namespace detail

/// Keeps states as they are. It takes any copyable type; bytes are counted for those that are Storable.
template <std::copyable State>
class MemoryStore {
 public:
  void put(std::int64_t slot, State state) { states_.insert_or_assign(slot, std::move(state)); }
  State get(std::int64_t slot) const {
    auto at = states_.find(slot);
    if (at == states_.end()) throw NothingStored("memory store", slot);
    return at->second;
  }
  /// What get and drop do, without a copy.
  State take(std::int64_t slot) {
    auto node = states_.extract(slot);
    if (node.empty()) throw NothingStored("memory store", slot);
    return std::move(node.mapped());
  }
  void drop(std::int64_t slot) { states_.erase(slot); }
  bool holds(std::int64_t slot) const { return states_.contains(slot); }
  std::int64_t bytes_held() const requires Storable<State> {
    std::int64_t bytes = 0;
    for (const auto& [slot, state] : states_) bytes += stored_bytes(state);
    return bytes;
  }
  double largest_error() const { return 0; }

 private:
  std::unordered_map<std::int64_t, State> states_;
};

/// Keeps states in memory in fewer bytes: EncodedStore<std::vector<float>> store({.encoding = Encoding::bf16});
template <class State>
class EncodedStore {
  static_assert(detail::check_storable<State>());

 public:
  explicit EncodedStore(EncodingOptions options) : options_(options) { detail::check_encoding(element, options_); }

  /// Returns the bytes that the state takes.
  std::int64_t put(std::int64_t slot, const State& state) { return put_encoded(slot, encode(slot, state)); }
  /// The two halves of put, for those who make room for the state once they know its bytes: what is wrong with it is an
  /// error of the first half.
  detail::Encoded encode(std::int64_t, const State& state) const {
    auto&& plain = Serial<State>::save(state);
    return detail::encode(plain, element, options_);
  }
  std::int64_t put_encoded(std::int64_t slot, detail::Encoded encoded) {
    std::int64_t bytes = std::ssize(encoded.bytes);
    std::vector<std::byte>& place = states_[slot];
    bytes_ += bytes - std::ssize(place);
    place = std::move(encoded.bytes);
    largest_error_ = std::max(largest_error_, encoded.largest_error);
    return bytes;
  }
  State get(std::int64_t slot) const {
    auto at = states_.find(slot);
    if (at == states_.end()) throw NothingStored("store", slot);
    return Serial<State>::load(detail::decode(at->second, element, options_));
  }
  void drop(std::int64_t slot) {
    auto at = states_.find(slot);
    if (at == states_.end()) return;
    bytes_ -= static_cast<std::int64_t>(at->second.size());
    states_.erase(at);
  }
  bool holds(std::int64_t slot) const { return states_.contains(slot); }
  std::int64_t bytes_held() const { return bytes_; }
  /// The largest absolute error of any element ever put here; infinite where a finite number became an infinity.
  double largest_error() const { return largest_error_; }
  const EncodingOptions& options() const { return options_; }

 private:
  static constexpr Element element = detail::element_of<State>();
  EncodingOptions options_;
  std::unordered_map<std::int64_t, std::vector<std::byte>> states_;
  std::int64_t bytes_ = 0;
  double largest_error_ = 0;
};

struct DiskOptions {
  std::int64_t slots = 0;       // most states held at once; at least 1
  std::int64_t slot_bytes = 0;  // stored_bytes() of the largest state; at least 1
  std::string directory = {};   // where the store makes its own directory; empty: the system's place for such files
  std::int64_t write_behind =
      2;                        // states in memory that wait to be written, at least 1; a put waits when there are more
  std::int64_t read_ahead = 2;  // newest states on disk that are read before they are asked for
  EncodingOptions encoding = {};
};

/// How the states of a DiskStore came back.
struct DiskTraffic {
  std::int64_t writes = 0, reads = 0;           // of the file
  std::int64_t from_memory = 0, from_file = 0;  // gets that found the state in memory, and that had to read
};

/// The bytes of a DiskStore: one file, preallocated, one background thread.
class REPRISE_API DiskSlots {
 public:
  DiskSlots(const DiskOptions& options, std::int64_t slot_bytes);
  ~DiskSlots();
  DiskSlots(DiskSlots&&) noexcept;
  DiskSlots& operator=(DiskSlots&&) noexcept;

  /// Throws StoreFailed where so many bytes are more than a slot has.
  void check_size(std::int64_t slot, std::int64_t bytes) const;
  void put(std::int64_t slot, std::vector<std::byte> bytes);
  std::shared_ptr<const std::vector<std::byte>> get(std::int64_t slot);
  void drop(std::int64_t slot);
  void flush();
  bool holds(std::int64_t slot) const;
  std::int64_t bytes_held() const;
  std::int64_t memory_bytes() const;
  DiskTraffic traffic() const;
  const std::string& directory() const;

 private:
  struct Worker;
  std::unique_ptr<Worker> worker_;
};

/// Keeps states in a file. The constructor takes all the room the file will need, so that a full disk is an error there
/// and not in the middle of a sweep. A background thread writes behind the caller and, since a reverse sweep asks for
/// the newest state first, reads the newest ahead of it. Every state is checked by its XXH3 sum when it comes back. The
/// directory and its file go when the store does.
///
/// When a write fails behind the caller, the next put, get or flush throws StoreFailed, once each; that slot is then
/// empty, all others are intact, and the call that threw has done nothing; dropping the slot forgets the failure. A put
/// of a state larger than its slot throws StoreFailed and does nothing. A get that cannot read throws StoreFailed, one
/// that reads something else than was written StoreCorrupted; both leave the store as it was.
template <class State>
class DiskStore {
  static_assert(detail::check_storable<State>());

 public:
  explicit DiskStore(DiskOptions options)
      : encoding_((detail::check_encoding(element, options.encoding), options.encoding)),
        slots_(options, detail::encoded_bound(options.slot_bytes, element, encoding_)) {}

  /// Returns the bytes that the state takes.
  std::int64_t put(std::int64_t slot, const State& state) { return put_encoded(slot, encode(slot, state)); }
  /// The two halves of put, as in EncodedStore: a state that is too large is an error of the first.
  detail::Encoded encode(std::int64_t slot, const State& state) const {
    auto&& saved = Serial<State>::save(state);
    detail::Encoded encoded = detail::encode(saved, element, encoding_);
    slots_.check_size(slot, std::ssize(encoded.bytes));
    return encoded;
  }
  std::int64_t put_encoded(std::int64_t slot, detail::Encoded encoded) {
    std::int64_t bytes = std::ssize(encoded.bytes);
    slots_.put(slot, std::move(encoded.bytes));
    largest_error_ = std::max(largest_error_, encoded.largest_error);
    return bytes;
  }
  State get(std::int64_t slot) {
    auto bytes = slots_.get(slot);
    if (encoding_.encoding == Encoding::plain) return Serial<State>::load(*bytes);
    return Serial<State>::load(detail::decode(*bytes, element, encoding_));
  }
  void drop(std::int64_t slot) { slots_.drop(slot); }
  bool holds(std::int64_t slot) const { return slots_.holds(slot); }
  /// Waits until everything is written; throws StoreFailed where something was not.
  void flush() { slots_.flush(); }
  /// Bytes of the states held, in the file or on their way to it.
  std::int64_t bytes_held() const { return slots_.bytes_held(); }
  /// Bytes of states that are in memory now: at most write_behind + 2 * read_ahead states.
  std::int64_t memory_bytes() const { return slots_.memory_bytes(); }
  double largest_error() const { return largest_error_; }
  DiskTraffic traffic() const { return slots_.traffic(); }
  /// The store's own directory.
  const std::string& directory() const { return slots_.directory(); }

 private:
  static constexpr Element element = detail::element_of<State>();
  EncodingOptions encoding_;
  DiskSlots slots_;
  double largest_error_ = 0;
};

}  // namespace reprise
