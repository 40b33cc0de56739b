// SPDX-License-Identifier: Apache-2.0
#include "execute/lazy_level.h"

#include <chrono>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace reprise {
namespace {

// A kernel beyond this may use several threads itself; waking another thread costs as much as a few of the small ones.
constexpr double large_flops = 2e6, large_bytes = 1 << 18;
constexpr double least_work = 2e5;  // of all small jobs together, in flops or bytes

double work_of(const Job& job) { return job.cost.flops + job.cost.bytes; }
bool is_large(const Job& job) { return job.cost.flops >= large_flops || job.cost.bytes >= large_bytes; }

void run_one(Job& job) {
  auto begin = std::chrono::steady_clock::now();
  job.kernel->run({job.in, job.out, job.scratch});
  job.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int omp_threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

void set_omp_threads([[maybe_unused]] int count) {
#ifdef _OPENMP
  omp_set_num_threads(count);
#endif
}

}  // namespace

LevelRunner::~LevelRunner() {
  {
    std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void LevelRunner::start() {
  while (static_cast<int>(threads_.size()) < thread_count_ - 1) threads_.emplace_back([this] { work(); });
}

void LevelRunner::work() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    if (next_ >= queue_.size()) {
      wake_.wait(lock);
      continue;
    }
    set_omp_threads(omp_threads_);
    take_jobs(lock);
  }
}

void LevelRunner::take_jobs(std::unique_lock<std::mutex>& lock) {
  while (next_ < queue_.size()) {
    std::size_t mine = next_++;
    lock.unlock();
    std::exception_ptr error;
    try {
      run_one(*queue_[mine]);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    errors_[mine] = error;
    if (++finished_ == queue_.size()) done_.notify_all();
  }
}

void LevelRunner::run(std::span<Job> jobs) {
  std::vector<Job*> small;
  double work = 0;
  for (Job& job : jobs)
    if (!is_large(job)) {
      small.push_back(&job);
      work += work_of(job);
    }
  bool pays = thread_count_ > 1 && small.size() > 1 && work >= least_work;
  for (Job& job : jobs)
    if (!pays || is_large(job)) run_one(job);
  if (!pays) return;
  start();
  std::unique_lock lock(mutex_);
  queue_ = std::move(small);
  errors_.assign(queue_.size(), nullptr);
  next_ = finished_ = 0;
  omp_threads_ = omp_threads();
  wake_.notify_all();
  take_jobs(lock);
  done_.wait(lock, [&] { return finished_ == queue_.size(); });
  queue_.clear();
  next_ = 0;
  for (const std::exception_ptr& error : errors_)
    if (error) std::rethrow_exception(error);
}

}  // namespace reprise
