// SPDX-License-Identifier: Apache-2.0
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "data/permutation.h"
#include "reprise/data.h"

namespace reprise::data {
namespace {

Type batch_type(const Type& one, std::int64_t count) {
  Shape shape{count};
  for (std::int64_t size : one.shape) shape.push_back(size);
  return {one.dtype, shape};
}

constexpr std::int64_t nothing = -1;

}  // namespace

// The thread owns the buffers while `prepared` is not `wanted`, the caller otherwise.
struct Batches::Impl {
  Dataset data;
  std::int64_t count;  // samples of a batch
  std::uint64_t seed;
  Tensor x, y;

  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t wanted = 0, prepared = nothing;
  std::exception_ptr error;  // why `prepared` could not be read
  bool is_over = false;
  std::thread thread;  // last: it starts when all others are there

  Impl(Dataset samples, std::int64_t batch_size, std::uint64_t order_seed)
      : data(std::move(samples)),
        count(batch_size),
        seed(order_seed),
        x(Tensor::empty(batch_type(data.x, count))),
        y(Tensor::empty(batch_type(data.y, count))),
        thread([this] { prepare(); }) {}

  std::int64_t per_epoch() const { return data.size / count; }

  void read(std::int64_t batch) const {
    std::int64_t epoch = batch / per_epoch(), first = batch % per_epoch() * count;
    Permutation order(data.size, seed, static_cast<std::uint64_t>(epoch));
    auto *to_x = static_cast<std::byte*>(x.data()), *to_y = static_cast<std::byte*>(y.data());
    for (std::int64_t k = 0; k < count; ++k)
      data.read(order(first + k), to_x + k * data.x.bytes(), to_y + k * data.y.bytes());
  }

  void prepare() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return is_over || prepared != wanted; });
      if (is_over) return;
      std::int64_t batch = wanted;
      prepared = nothing;
      lock.unlock();
      std::exception_ptr failed;
      try {
        read(batch);
      } catch (...) {
        failed = std::current_exception();
      }
      lock.lock();
      prepared = batch;
      error = failed;
      changed.notify_all();
    }
  }

  void next(std::span<Tensor> xy) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return prepared == wanted; });
    if (error) {
      prepared = nothing;  // to be read again
      std::exception_ptr thrown = std::exchange(error, nullptr);
      changed.notify_all();
      std::rethrow_exception(thrown);
    }
    std::memcpy(xy[0].data(), x.data(), static_cast<std::size_t>(x.bytes()));
    std::memcpy(xy[1].data(), y.data(), static_cast<std::size_t>(y.bytes()));
    ++wanted;
    changed.notify_all();
  }

  ~Impl() {
    {
      std::lock_guard lock(mutex);
      is_over = true;
      changed.notify_all();
    }
    thread.join();
  }
};

Batches::Batches(Dataset data, std::int64_t batch_size, std::uint64_t seed) {
  if (batch_size < 1) fail("[data] a batch of {} samples: it must be positive", batch_size);
  if (data.size < batch_size)
    fail("[data] {} has {} samples, which do not fill a batch of {}: use a smaller batch", data.name, data.size,
         batch_size);
  impl_ = std::make_unique<Impl>(std::move(data), batch_size, seed);
}
Batches::~Batches() = default;
Batches::Batches(Batches&&) noexcept = default;
Batches& Batches::operator=(Batches&&) noexcept = default;

std::int64_t Batches::per_epoch() const { return impl_->per_epoch(); }
std::int64_t Batches::buffer_bytes() const { return impl_->x.bytes() + impl_->y.bytes(); }

std::int64_t Batches::position() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->wanted;
}

void Batches::seek(std::int64_t batch_number) {
  if (batch_number < 0) fail("[data] batch {}: batches count from 0", batch_number);
  std::lock_guard lock(impl_->mutex);
  impl_->wanted = batch_number;
  impl_->changed.notify_all();
}

void Batches::next(std::span<Tensor> xy) {
  if (xy.size() != 2) fail("[data] a batch is copied to 2 tensors, x and y, not to {}", xy.size());
  for (auto [to, from] : {std::pair{&xy[0], &impl_->x}, {&xy[1], &impl_->y}})
    if (to->type() != from->type())
      fail("[data] a batch of {} is {}, which cannot be copied to {}", impl_->data.name, to_string(from->type()),
           to_string(to->type()));
  impl_->next(xy);
}

}  // namespace reprise::data
