// SPDX-License-Identifier: Apache-2.0
// Define-by-run: operations run at once, and backward walks them back.
//
//     Tape tape;                                           // or Tape tape({.budget = 64_MiB})
//     Var w = tape.variable(weights);
//     Value loss = sum(square(matmul(x, w)));              // every function of reprise/ops.h works, and runs at once
//     tape.backward(loss);
//     Tensor dw = tape.grad(w);
//
// Under a budget the tape drops values and computes them again, forward and backward; gradients keep their bits.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reprise/checkpoint_segments.h"
#include "reprise/graph.h"
#include "reprise/lazy.h"
#include "reprise/ops.h"

namespace reprise {

class Tape;
struct TapeState;

/// Misuse of a tape; each kind has its type.
class REPRISE_API TapeError : public Error {
 public:
  using Error::Error;
};
/// A value of another tape, of none, or one that truncate() took away.
class REPRISE_API NodeNotFound : public TapeError {
 public:
  using TapeError::TapeError;
};
/// backward() of a value with several elements, without a seed.
class REPRISE_API NonScalarTarget : public TapeError {
 public:
  using TapeError::TapeError;
};
/// A seed or a hook's result that is not of its value's type.
class REPRISE_API GradientShapeError : public TapeError {
 public:
  using TapeError::TapeError;
};
/// A gradient was asked for where there is none.
class REPRISE_API NoGradient : public TapeError {
 public:
  using TapeError::TapeError;
};
class REPRISE_API TruncateError : public TapeError {
 public:
  using TapeError::TapeError;
};
/// One operation, with all it needs at once, does not fit the budget.
class REPRISE_API BudgetError : public TapeError {
 public:
  BudgetError(const std::string& what, std::int64_t needed, std::int64_t budget)
      : TapeError(what), needed_bytes(needed), budget_bytes(budget) {}
  std::int64_t needed_bytes, budget_bytes;
};

/// A value on a tape that knows its tape and survives truncate() where its node does. It is a Value wherever one is
/// wanted; what functions of values return becomes a Var by assignment.
class REPRISE_API Var {
 public:
  Var() = default;
  Var(const Value& value);
  operator Value() const;

  const Type& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  /// The number of its node: nodes count from 0 in the order of recording.
  std::int64_t id() const { return ref_.node; }

 private:
  friend class Tape;
  friend struct TapeState;
  Var(std::shared_ptr<TapeState> tape, Ref ref, std::uint64_t serial)
      : tape_(std::move(tape)), ref_(ref), serial_(serial) {}

  std::shared_ptr<TapeState> tape_;
  Ref ref_;
  std::uint64_t serial_ = 0;  // of the node; a tape uses none twice
};

struct TapeOptions {
  /// Bytes of everything the tape holds: variables, constants, values, gradients, and what a running op needs.
  std::int64_t budget = LazyOptions::unlimited;
  /// Segments whose values are dropped as soon as the program has left them.
  tape::CheckpointConfig checkpoints = {};
  CachePolicy policy = CachePolicy::cost_aware;
};

class REPRISE_API Tape {
 public:
  using Hook = std::function<Tensor(const Tensor& gradient)>;

  explicit Tape(const TapeOptions& options = {});
  ~Tape();
  Tape(Tape&&) noexcept;
  Tape& operator=(Tape&&) noexcept;

  /// A value that gradients are collected for; one that has none.
  Var variable(const Tensor& tensor, std::string name = {});
  Var constant(const Tensor& tensor, std::string name = {});
  /// Any op, by its name or as it is; the same as the functions of reprise/ops.h.
  std::vector<Var> apply(std::string_view op, const std::vector<Var>& inputs, Attributes attributes = {});
  std::vector<Var> apply(const Op& op, const std::vector<Var>& inputs, Attributes attributes = {});

  /// The numbers; computed again if they were dropped.
  Tensor value(const Var& v);
  /// Gives a variable or constant other numbers; nothing on the tape may have been computed from it.
  void assign(const Var& v, const Tensor& tensor);

  /// Adds the gradients of a scalar, or of anything weighted by a seed of its type, to those collected before.
  void backward(const Var& target);
  void backward(const Var& target, const Tensor& seed);
  /// The same, while the values of the segments' nodes are dropped and computed again, one segment at a time. Given to
  /// the tape's options as well, the segments are dropped on the way forward already.
  void backward_with_checkpoints(const Var& target, const tape::CheckpointConfig& config);
  /// Gradients that are values on the tape themselves, and can be differentiated again. They add to no grad(). Zeros
  /// for what the target does not depend on; what was recorded under no_grad() passes none on.
  std::vector<Var> gradients(const Var& target, const std::vector<Var>& wrt);

  /// What backward collected for a variable, or for a value after retain_grad().
  Tensor grad(const Var& v) const;
  bool has_grad(const Var& v) const;
  void zero_grads();
  /// backward will keep this value's gradient as it keeps a variable's.
  void retain_grad(const Var& v);
  /// backward calls `hook` with the value's complete gradient and goes on with what it returns. If it throws, gradients
  /// that were complete before have been added, and the tape can be used on.
  std::int64_t add_hook(const Var& v, Hook hook);
  void remove_hook(std::int64_t id);

  /// Scales all gradients so that the root of the sum of all squares is at most `most`; gives that root as it was.
  /// Where it is not finite nothing is scaled: leave that step out.
  double clip_grad_norm(double most);
  /// Limits every element to -most..most, infinities too. Gives the number of NaNs, which stay.
  std::int64_t clip_grad_value(double most);

  /// What is recorded while it lives carries no gradients.
  class REPRISE_API NoGrad {
   public:
    explicit NoGrad(std::shared_ptr<TapeState> tape);
    ~NoGrad();
    NoGrad(const NoGrad&) = delete;
    NoGrad& operator=(const NoGrad&) = delete;

   private:
    std::shared_ptr<TapeState> tape_;
  };
  [[nodiscard]] NoGrad no_grad();

  std::int64_t node_count() const;
  /// Removes the nodes from `count` on. Their Vars, and all Values, become errors wherever they are used.
  void truncate(std::int64_t count);
  /// Whether a value is held just now; one that is not comes back when it is asked for.
  bool is_held(const Var& v) const;
  /// Ops run, values dropped and recomputed, bytes held; hits and misses count operands.
  LazyStats stats() const;
  void reset_stats();

 private:
  std::shared_ptr<TapeState> state_;
};

}  // namespace reprise
