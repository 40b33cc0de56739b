// SPDX-License-Identifier: Apache-2.0
// Kernels that do not depend on each other, run on several threads. Every kernel finds the same number of OpenMP
// threads as it would alone, so that it computes the same bits; those that are large enough to use them run one after
// the other.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "reprise/graph.h"

namespace reprise {

struct Job {
  const Kernel* kernel = nullptr;
  std::vector<const void*> in;
  std::vector<void*> out;
  void* scratch = nullptr;
  Cost cost;
  double seconds = 0;  // how long it took
};

class LevelRunner {
 public:
  explicit LevelRunner(int threads) : thread_count_(threads) {}
  ~LevelRunner();
  LevelRunner(const LevelRunner&) = delete;
  LevelRunner& operator=(const LevelRunner&) = delete;

  /// Runs all jobs; where several throw, gives the first job's exception.
  void run(std::span<Job> jobs);

 private:
  void start();
  void work();
  void take_jobs(std::unique_lock<std::mutex>& lock);

  int thread_count_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<Job*> queue_;
  std::vector<std::exception_ptr> errors_;  // one a job of the queue
  std::size_t next_ = 0, finished_ = 0;
  int omp_threads_ = 1;
  bool is_over_ = false;
};

}  // namespace reprise
