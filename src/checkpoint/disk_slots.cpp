// SPDX-License-Identifier: Apache-2.0
// States in one preallocated file, with one background thread that writes behind the caller and reads ahead of it.
//
// Each entry goes through  queued → writing → held or on_disk,  and back by  on_disk → wanted → reading → held.  Its
// bytes are in memory in all phases but on_disk, wanted and reading. The newest `read_ahead` entries are brought to
// memory; an entry leaves it once twice as many newer ones exist (the slack keeps a sweep that drops and saves by turns
// from reading the same state again and again). Only the caller adds and removes entries; only the thread moves them
// through writing and reading; a ticket whose entry has gone or has left its phase is void.
#include <signal.h>
#include <xxhash.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "checkpoint/refuse.h"
#include "checkpoint/scratch_file.h"
#include "reprise/stores.h"

namespace reprise {
namespace {

using Buffer = std::shared_ptr<const std::vector<std::byte>>;

enum class Phase { queued, writing, held, on_disk, wanted, reading };

struct Entry {
  std::int64_t place = 0;  // which part of the file
  std::int64_t bytes = 0;
  std::uint64_t age = 0;  // counts puts; names this version of the slot
  Phase phase = Phase::queued;
  std::uint64_t checksum = 0;  // known once written
  Buffer memory;
};

struct Ticket {
  std::int64_t slot;
  std::uint64_t age;
};

std::int64_t page_multiple(std::int64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

// A write past the process's limit of file sizes then fails like any other, instead of ending the process.
void block_signal_of_file_sizes() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

std::int64_t file_bytes(const DiskOptions& options, std::int64_t slot_bytes) {
  if (options.slots < 1) refuse<BadRequest>("[disk store] {} slots: a store needs at least 1", options.slots);
  if (slot_bytes < 1) refuse<BadRequest>("[disk store] slot_bytes is 0: give stored_bytes() of the largest state");
  if (options.write_behind < 1)
    refuse<BadRequest>("[disk store] write_behind is {}: it must be at least 1", options.write_behind);
  if (options.read_ahead < 0)
    refuse<BadRequest>("[disk store] read_ahead is {}: it must not be negative", options.read_ahead);
  if (slot_bytes > (INT64_MAX - 4096) / options.slots)
    refuse<BadRequest>("[disk store] {} slots of {} bytes: no file is that large", options.slots, slot_bytes);
  std::int64_t total = 0;
  if (__builtin_mul_overflow(page_multiple(slot_bytes), options.slots, &total))
    refuse<BadRequest>("[disk store] {} slots of {} bytes: no file is that large", options.slots, slot_bytes);
  return total;
}

DiskOptions within_slots(DiskOptions options) {
  options.read_ahead = std::min(options.read_ahead, options.slots);
  return options;
}

}  // namespace

struct DiskSlots::Worker {
  Worker(const DiskOptions& chosen, std::int64_t bytes)
      : options(within_slots(chosen)),
        slot_bytes(bytes),
        file(options.directory, file_bytes(options, slot_bytes)),
        thread([this](const std::stop_token& stop) { work(stop); }) {}

  const DiskOptions options;
  const std::int64_t slot_bytes;
  ScratchFile file;

  mutable std::mutex mutex;  // guards everything below but `thread`
  std::condition_variable_any work_to_do, work_done;
  std::map<std::int64_t, Entry> entries;         // by slot
  std::map<std::uint64_t, std::int64_t> by_age;  // to slots
  std::vector<std::int64_t> free_places;
  std::int64_t places_used = 0;  // the first so many of the file were ever taken
  std::deque<Ticket> writes, reads;
  std::int64_t writes_pending = 0;  // queued or writing
  std::uint64_t puts = 0;
  std::int64_t bytes_held = 0, memory_bytes = 0;
  DiskTraffic traffic;
  std::deque<StoreFailed> failures;  // of writes, not yet reported
  std::jthread thread;               // last: it stops before anything it uses goes

  using Lock = std::unique_lock<std::mutex>;

  std::int64_t offset_of(const Entry& entry) const { return entry.place * page_multiple(slot_bytes); }

  Entry* find(const Ticket& ticket, Phase phase) {
    auto at = entries.find(ticket.slot);
    return at != entries.end() && at->second.age == ticket.age && at->second.phase == phase ? &at->second : nullptr;
  }

  // How many newer entries there are, counted up to twice the read-ahead.
  std::int64_t newer_than(std::uint64_t age) const {
    std::int64_t count = 0;
    for (auto at = by_age.rbegin(); at != by_age.rend() && at->first > age && count < 2 * options.read_ahead; ++at)
      ++count;
    return count;
  }
  bool stays_in_memory(const Entry& entry) const { return newer_than(entry.age) < 2 * options.read_ahead; }

  void take_into_memory(Entry& entry, Buffer bytes) {
    entry.memory = std::move(bytes);
    entry.phase = Phase::held;
    memory_bytes += entry.bytes;
  }
  void leave_memory(Entry& entry) {
    entry.memory.reset();
    entry.phase = Phase::on_disk;
    memory_bytes -= entry.bytes;
  }

  void report_failure() {
    if (failures.empty()) return;
    StoreFailed error = failures.front();
    failures.pop_front();
    throw error;
  }

  void check_size(std::int64_t slot, std::int64_t bytes) const;
  void put(std::int64_t slot, std::vector<std::byte> bytes);
  Buffer get(std::int64_t slot);
  void drop(std::int64_t slot);
  void remove(std::map<std::int64_t, Entry>::iterator at);
  void release_oldest();
  void read_ahead();
  void work(const std::stop_token& stop);
  void write_one(Lock& lock, const Ticket& ticket);
  void read_one(Lock& lock, const Ticket& ticket);
  Buffer read(std::int64_t slot, std::int64_t offset, std::int64_t bytes, std::uint64_t checksum) const;
};

void DiskSlots::Worker::check_size(std::int64_t slot, std::int64_t bytes) const {
  if (bytes <= slot_bytes) return;
  throw StoreFailed(
      fmt::format("[disk store] the state for slot {} takes {} bytes and a slot has {}: make the store with "
                  "DiskOptions::slot_bytes = stored_bytes() of the largest state",
                  slot, bytes, slot_bytes),
      slot);
}

void DiskSlots::Worker::put(std::int64_t slot, std::vector<std::byte> bytes) {
  auto size = static_cast<std::int64_t>(bytes.size());
  check_size(slot, size);
  auto memory = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  Lock lock(mutex);
  work_done.wait(lock, [&] { return writes_pending < options.write_behind || !failures.empty(); });
  report_failure();
  auto old = entries.find(slot);
  if (old == entries.end() && std::ssize(entries) == options.slots) throw MaximumReached("disk store", options.slots);
  if (old != entries.end()) remove(old);
  if (free_places.empty()) free_places.push_back(places_used++);
  Entry entry{.place = free_places.back(), .bytes = size, .age = ++puts, .memory = std::move(memory)};
  free_places.pop_back();
  bytes_held += size;
  memory_bytes += size;
  writes.push_back({slot, entry.age});
  by_age.emplace(entry.age, slot);
  entries.emplace(slot, std::move(entry));
  ++writes_pending;
  release_oldest();
  work_to_do.notify_one();
}

Buffer DiskSlots::Worker::get(std::int64_t slot) {
  Lock lock(mutex);
  report_failure();
  auto at = entries.find(slot);
  if (at == entries.end()) throw NothingStored("disk store", slot);
  Entry& entry = at->second;
  work_done.wait(lock, [&] { return entry.phase != Phase::reading; });
  if (entry.memory) {
    ++traffic.from_memory;
    return entry.memory;
  }
  entry.phase = Phase::on_disk;  // voids a ticket of the thread, so that nobody else touches the entry meanwhile
  ++traffic.from_file;
  ++traffic.reads;
  lock.unlock();
  Buffer bytes = read(slot, offset_of(entry), entry.bytes, entry.checksum);
  lock.lock();
  if (stays_in_memory(entry)) take_into_memory(entry, bytes);
  return bytes;
}

void DiskSlots::Worker::drop(std::int64_t slot) {
  Lock lock(mutex);
  std::erase_if(failures, [&](const StoreFailed& failure) { return failure.slot == slot; });
  auto at = entries.find(slot);
  if (at == entries.end()) return;
  remove(at);
  read_ahead();
}

void DiskSlots::Worker::remove(std::map<std::int64_t, Entry>::iterator at) {
  Entry& entry = at->second;
  if (entry.phase == Phase::queued) --writes_pending;
  if (entry.memory) memory_bytes -= entry.bytes;
  bytes_held -= entry.bytes;
  free_places.push_back(entry.place);
  by_age.erase(entry.age);
  entries.erase(at);
}

// A put makes every older entry older by one, so only one can have reached the age at which it leaves memory.
void DiskSlots::Worker::release_oldest() {
  if (std::ssize(by_age) <= 2 * options.read_ahead) return;
  Entry& entry = entries.at(std::next(by_age.rbegin(), 2 * options.read_ahead)->second);
  if (entry.phase == Phase::held) leave_memory(entry);
}

void DiskSlots::Worker::read_ahead() {
  std::int64_t left = options.read_ahead;
  for (auto at = by_age.rbegin(); at != by_age.rend() && left > 0; ++at, --left) {
    Entry& entry = entries.at(at->second);
    if (entry.phase != Phase::on_disk) continue;
    entry.phase = Phase::wanted;
    reads.push_back({at->second, entry.age});
    work_to_do.notify_one();
  }
}

void DiskSlots::Worker::work(const std::stop_token& stop) {
  block_signal_of_file_sizes();
  Lock lock(mutex);
  while (work_to_do.wait(lock, stop, [&] { return !reads.empty() || !writes.empty(); })) {
    if (stop.stop_requested()) return;
    bool reads_first = !reads.empty();
    std::deque<Ticket>& queue = reads_first ? reads : writes;
    Ticket ticket = queue.front();
    queue.pop_front();
    reads_first ? read_one(lock, ticket) : write_one(lock, ticket);
  }
}

void DiskSlots::Worker::write_one(Lock& lock, const Ticket& ticket) {
  Entry* entry = find(ticket, Phase::queued);
  if (!entry) return;
  entry->phase = Phase::writing;
  Buffer bytes = entry->memory;
  std::int64_t offset = offset_of(*entry);
  lock.unlock();
  std::optional<StoreFailed> error;
  std::uint64_t checksum = XXH3_64bits(bytes->data(), bytes->size());
  try {
    file.write(ticket.slot, offset, *bytes);
  } catch (const StoreFailed& e) {
    error = e;
  }
  lock.lock();
  --writes_pending;
  ++traffic.writes;
  if ((entry = find(ticket, Phase::writing))) {
    entry->checksum = checksum;
    entry->phase = Phase::held;
    if (error) {
      failures.push_back(*error);
      remove(entries.find(ticket.slot));
    } else if (!stays_in_memory(*entry)) {
      leave_memory(*entry);
    }
  }
  work_done.notify_all();
}

// A read that fails here is no error yet: the get that needs the state reads it again and throws.
void DiskSlots::Worker::read_one(Lock& lock, const Ticket& ticket) {
  Entry* entry = find(ticket, Phase::wanted);
  if (!entry) return;
  entry->phase = Phase::reading;
  ++traffic.reads;
  std::int64_t offset = offset_of(*entry), bytes = entry->bytes;
  std::uint64_t checksum = entry->checksum;
  lock.unlock();
  Buffer memory;
  try {
    memory = read(ticket.slot, offset, bytes, checksum);
  } catch (const std::exception&) {
  }
  lock.lock();
  if ((entry = find(ticket, Phase::reading))) {
    entry->phase = Phase::on_disk;
    if (memory && stays_in_memory(*entry)) take_into_memory(*entry, std::move(memory));
  }
  work_done.notify_all();
}

Buffer DiskSlots::Worker::read(std::int64_t slot, std::int64_t offset, std::int64_t bytes,
                               std::uint64_t checksum) const {
  std::vector<std::byte> memory(static_cast<std::size_t>(bytes));
  file.read(slot, offset, memory);
  if (XXH3_64bits(memory.data(), memory.size()) != checksum) throw StoreCorrupted(slot);
  return std::make_shared<const std::vector<std::byte>>(std::move(memory));
}

DiskSlots::DiskSlots(const DiskOptions& options, std::int64_t slot_bytes)
    : worker_(std::make_unique<Worker>(options, slot_bytes)) {}
DiskSlots::~DiskSlots() = default;
DiskSlots::DiskSlots(DiskSlots&&) noexcept = default;
DiskSlots& DiskSlots::operator=(DiskSlots&&) noexcept = default;

void DiskSlots::check_size(std::int64_t slot, std::int64_t bytes) const { worker_->check_size(slot, bytes); }
void DiskSlots::put(std::int64_t slot, std::vector<std::byte> bytes) { worker_->put(slot, std::move(bytes)); }
Buffer DiskSlots::get(std::int64_t slot) { return worker_->get(slot); }
void DiskSlots::drop(std::int64_t slot) { worker_->drop(slot); }

void DiskSlots::flush() {
  std::unique_lock lock(worker_->mutex);
  worker_->work_done.wait(lock, [&] { return worker_->writes_pending == 0 || !worker_->failures.empty(); });
  worker_->report_failure();
}

bool DiskSlots::holds(std::int64_t slot) const {
  std::lock_guard lock(worker_->mutex);
  return worker_->entries.contains(slot);
}
std::int64_t DiskSlots::bytes_held() const {
  std::lock_guard lock(worker_->mutex);
  return worker_->bytes_held;
}
std::int64_t DiskSlots::memory_bytes() const {
  std::lock_guard lock(worker_->mutex);
  return worker_->memory_bytes;
}
DiskTraffic DiskSlots::traffic() const {
  std::lock_guard lock(worker_->mutex);
  return worker_->traffic;
}
const std::string& DiskSlots::directory() const { return worker_->file.directory(); }

}  // namespace reprise
