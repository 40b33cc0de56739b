// SPDX-License-Identifier: Apache-2.0
// Any function of values as a program that stays within a number of bytes.
//
//     auto f = compile([&](const Value& x) { return model(x); }, {.budget = 64_MiB});
//     Tensor y = f(x)[0];
//     auto g = compile(value_and_grad(loss), {.budget = 64_MiB});      // the loss, then the gradient
//     if (auto r = plan(graph, {.budget = 32_MiB}); !r) std::cerr << r.why();
#pragma once

#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reprise/autodiff.h"
#include "reprise/plan.h"

namespace reprise {

/// Seconds that ops took on this machine, by op, types and attributes.
class REPRISE_API Profile {
 public:
  std::optional<double> find(const std::string& key) const;
  void set(const std::string& key, double seconds);
  std::size_t size() const { return seconds_.size(); }
  /// A text file, a line per op. Both throw Error where the file cannot be used.
  void save(const std::string& path) const;
  static Profile load(const std::string& path);

 private:
  std::map<std::string, double> seconds_;
};

/// A disk that values may move to while nothing needs them, where that is cheaper than computing them again or nothing
/// else fits.
struct PagingOptions {
  std::string folder = {};  // for one file without a name, as large as what a step moves; empty: no disk is used
  /// Bytes a second; 0: measured once by a short write and read in the folder, or estimated where nothing may be run.
  double write_rate = 0, read_rate = 0;
};

struct CompileOptions {
  /// Bytes for everything: inputs, parameters, results, every value in between, every kernel's scratch memory.
  std::int64_t budget = std::numeric_limits<std::int64_t>::max();
  /// How to plan: seed, iterations, time limit, threads, solvers. Its budget is the one above. The time limit is
  /// for better plans: whether one fits is searched for until that is sure, in graphs of up to 20,000 nodes.
  PlanOptions planning = {};
  /// Each op is timed once for each of its types; false: costs are estimated and nothing runs before the first step.
  bool measure = true;
  /// Times known already; new ones are added. Empty: none are known, none are handed on.
  std::shared_ptr<Profile> profile = {};
  bool poison = false;            // debugging: memory that is free is filled with NaN patterns
  bool verify_recompute = false;  // debugging: a recomputed value must have the bits of its first run
  bool timeline = false;          // notes when each instruction ran
  PagingOptions disk = {};
};

/// No schedule fits the budget. The message names the smallest that would, and where it peaks.
class REPRISE_API NoScheduleFits : public Error {
 public:
  NoScheduleFits(const std::string& why, std::int64_t smallest) : Error(why), smallest_budget(smallest) {}
  std::int64_t smallest_budget;
};

namespace detail {
/// Of a function's arguments, the one in whose graph it records: one that is not made of constants, if there is any.
/// Null stands for an argument that is no Value.
REPRISE_API const Value& leading(std::initializer_list<const Value*> arguments);
inline const Value* value_or_null(const Value& value) { return &value; }
template <class T>
const Value* value_or_null(const T&) {
  return nullptr;
}
REPRISE_API std::int32_t nodes_recorded(const Value& value);
REPRISE_API void recompute_since(const Value& input, std::int32_t first, const Values& outputs);
}  // namespace detail

/// f with the wish that what it computes inside is not kept for the backward pass but computed again, but for what is
/// made from state that the forward pass changes, such as dropout's key; its results are planned like any other value.
/// A value inside that asks to be kept is an Error.
///     auto block = recompute([&](const Value& v) { return mlp(norm(v)); });
template <class F>
auto recompute(F f) {
  return [f = std::move(f)](const Value& first, const auto&... rest) {
    const Value& leading = detail::leading({&first, detail::value_or_null(rest)...});
    std::int32_t before = detail::nodes_recorded(leading);
    auto result = f(first, rest...);
    detail::recompute_since(leading, before, detail::as_values(result));
    return result;
  };
}

/// What an instruction of the last run did.
struct Moment {
  std::string_view name;   // of its op, or "page_out" or "page_in"
  std::int32_t node = -1;  // of the compiled graph; where a value is moved, the one that makes it
  bool recompute = false;
  double begin = 0, end = 0;    // seconds since the run began; with what .poison and .verify_recompute add
  std::int64_t live_bytes = 0;  // of the arena, in use while it ran
  bool is_drop = false;         // it computed nothing, only gave memory back
  bool is_move = false;         // to a disk or back
};

/// The graph as compiling it would plan it: sizes, costs, edges. Nothing of it is run unless options.measure asks for
/// times.
REPRISE_API Problem problem_of(const Graph& graph, const CompileOptions& options = {});
/// What compiling the graph would decide. Nothing of it is run unless options.measure asks for times.
REPRISE_API PlanResult plan(const Graph& graph, const CompileOptions& options = {});

/// Bytes that a step of the plan moves to a disk; as many come back.
REPRISE_API std::int64_t paged_bytes(const PlanResult& plan);

/// A function that was compiled. Each set of input types is planned once, when it is first used.
class REPRISE_API Compiled {
 public:
  Compiled(Function f, CompileOptions options);
  ~Compiled();
  Compiled(Compiled&&) noexcept;
  Compiled& operator=(Compiled&&) noexcept;

  /// Runs it. The results have memory of their own.
  template <class... Inputs>
  std::vector<Tensor> operator()(const Inputs&... inputs) {
    const Tensor tensors[] = {inputs...};
    return run(tensors);
  }
  std::vector<Tensor> run(std::span<const Tensor> inputs);
  /// Plans for inputs of these types without running; throws NoScheduleFits.
  void prepare(std::span<const Type> inputs);

  /// What was decided for the types used last.
  const PlanResult& plan() const;
  std::int64_t arena_bytes() const;
  const std::vector<Moment>& timeline() const;

 private:
  struct Impl;
  Impl& impl() const;  // throws Error if it was moved away
  std::unique_ptr<Impl> impl_;
};

/// f takes one to eight Values and gives a Value, Values, or a pair of both as value_and_grad does.
template <class F>
Compiled compile(F f, CompileOptions options = {}) {
  return Compiled(detail::as_function(std::move(f)), std::move(options));
}

}  // namespace reprise
