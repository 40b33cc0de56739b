// SPDX-License-Identifier: Apache-2.0
// Programs of one function, by input types, and the executor of the one in use. State (parameters) moves into the arena
// of the program about to run, and stays in that of the last. A program's literals are in its arena as long as there is
// one, and nowhere else.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "compile/build.h"
#include "execute/executor.h"

namespace reprise {

class Session {
 public:
  explicit Session(CompileOptions options) : options_(std::move(options)) {}
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Makes the program of that key the current one; `make` builds it if it is new.
  void choose(const std::string& key, const std::function<Built()>& make);
  /// The executor of the current program, with all state in its arena.
  Executor& executor();

  /// Of the current program; an Error that names `who` if there is none.
  const PlanResult& plan(std::string_view who) const;
  std::int64_t arena_bytes(std::string_view who) const;
  std::int64_t pinned_bytes(std::string_view who) const;
  const std::vector<Moment>& timeline(std::string_view who) const;
  const CompileOptions& options() const { return options_; }

 private:
  void release();

  CompileOptions options_;
  std::map<std::string, Built> built_;
  Built* current_ = nullptr;
  Built* loaded_ = nullptr;  // the one the executor runs
  std::unique_ptr<Executor> executor_;
};

/// Copies tensors to the first inputs of the executor's graph, where they are not there already.
void write_inputs(const Executor& executor, std::span<const Tensor> inputs);

std::vector<Type> types_of(std::span<const Tensor> tensors);

}  // namespace reprise
