// SPDX-License-Identifier: Apache-2.0
// Runs a program: one arena, a flat list of prepared kernel calls. A step allocates nothing, looks nothing up.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "compile/page_file.h"
#include "compile/program.h"
#include "execute/arena.h"
#include "execute/kernel_cache.h"
#include "reprise/compile.h"

namespace reprise {

struct ExecuteOptions {
  bool poison = false;  // fill memory that is free with NaN patterns, so that a read of it cannot pass unnoticed
  bool verify_recompute = false;  // compare every recomputed value with its first one, by hash
  bool timeline = false;          // note start and end of every instruction
  std::string page_folder = {};   // for the file of a program that moves values to one
};

/// A value that holds NaN or infinity: output of a node, or an input of the graph.
struct NotFiniteValue {
  std::int32_t node = -1;
  std::int64_t count = 0;
  Type type;
};

class Executor {
 public:
  Executor(std::shared_ptr<const Program> program, const ExecuteOptions& options);
  Executor(Program program, const ExecuteOptions& options)
      : Executor(std::make_shared<const Program>(std::move(program)), options) {}

  /// The memory of an input of the graph, or of a constant: write state and batches here before a step.
  Tensor pinned(std::int32_t node) const;
  /// Output i of the last step; overwritten by the next.
  Tensor output(std::size_t i) const;
  /// One step. Before the first all memory is made present: by then state and batch are in their places, and need not
  /// be anywhere else. An exception leaves the executor usable; inputs that the step updates may then have been
  /// updated.
  void run();
  /// Runs again what a guard stopped, up to the first value that is not finite; nothing if there is none. Inputs are
  /// looked at first.
  std::optional<NotFiniteValue> find_not_finite();
  /// Gives all memory but that of inputs and constants back to the system, which takes it again as the next step needs
  /// it.
  void give_back();

  std::int64_t arena_bytes() const { return arena_->bytes(); }
  const Program& program() const { return *program_; }
  /// Of the last run.
  const std::vector<Moment>& timeline();

 private:
  void place_constants();
  void prepare_calls();
  void perform(const Instruction& instruction);
  void run_watched();
  void poison(std::int64_t offset, std::int64_t bytes);
  void verify(const Instruction& instruction);
  void verify_run(const Instruction& instruction);
  void verify_move(const Instruction& instruction);
  /// Good until the next are asked for.
  Buffers buffers(const Instruction& instruction);
  std::int64_t scratch_bytes(const Instruction& instruction) const;
  std::string_view doing(const Instruction& instruction) const;

  std::shared_ptr<const Program> program_;
  ExecuteOptions options_;
  std::shared_ptr<Arena> arena_;
  bool is_touched_ = false;
  KernelCache kernels_{std::numeric_limits<std::size_t>::max()};
  std::vector<void*> places_;         // in the arena, of what the instruction at work reads and makes
  std::vector<const Kernel*> calls_;  // by node; null: nothing to run
  std::unique_ptr<PageFile> page_file_;
  std::vector<std::uint64_t> hashes_;       // of what each node made first
  std::vector<std::uint64_t> page_hashes_;  // of what each page of the file is the beginning of
  /// Of the last run, seconds at which each instruction began, and at which all were done. An instruction ends where
  /// the next begins: filling what is dropped and verifying what is recomputed are part of it. Empty unless a timeline
  /// is asked for.
  std::vector<double> begins_;
  std::size_t done_ = 0;  // instructions of the last run that have times: an exception ends a run before its end
  std::vector<Moment> timeline_;
};

}  // namespace reprise
