// SPDX-License-Identifier: Apache-2.0
// A training step within a budget: forward, backward and update as one planned program in one arena.
//
//     auto step = train_step(model, optim::Adam{{.lr = 1e-3}}, {.budget = 256_MiB},
//         [&](const Value& x, const Value& label) { return cross_entropy(model(x), label); });
//     for (const auto& [x, label] : batches) report(step(x, label));
//     std::cout << step.plan().summary();
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "reprise/compile.h"
#include "reprise/nn.h"
#include "reprise/optim.h"

namespace reprise {

/// What must be finite before a step changes anything; NotFinite is thrown otherwise. For gradients all updates wait
/// for all of them, which are held meanwhile, or computed twice where the plan finds that cheaper.
enum class FiniteCheck : std::uint8_t { off, loss, gradients };  // gradients: the loss too

struct StepOptions {
  /// Bytes for everything: parameters, optimizer state, gradients, activations, the batch, every kernel's scratch.
  std::int64_t budget = std::numeric_limits<std::int64_t>::max();
  /// The batch is worked through in so many parts whose gradients are summed; 0: as many as run fastest within the
  /// budget, which may be several where everything would fit. The loss must be a mean over the batch, the first
  /// dimension of every input.
  int accumulate = 1;
  double clip_norm = 0;   // largest norm of all gradients together, which are then all held at once; 0: any
  double clip_value = 0;  // largest magnitude of an element of a gradient; 0: any
  FiniteCheck check_finite = FiniteCheck::off;
  // As in CompileOptions.
  PlanOptions planning = {};
  bool measure = true;
  std::shared_ptr<Profile> profile = {};
  bool poison = false, verify_recompute = false, timeline = false;
  PagingOptions disk = {};
};

/// The loss or a gradient was NaN or infinite. Parameters and all other state are as they were before the step.
class REPRISE_API NotFinite : public Error {
 public:
  NotFinite(const std::string& why, std::string first) : Error(why), node(std::move(first)) {}
  std::string node;  // the first that made such a value, or the input that held one
};

/// A compiled training step. Parameters live in its arena from its first run to its end; reading them there is reading
/// them.
class REPRISE_API TrainStep {
 public:
  TrainStep(Function loss, nn::Fields parameters, optim::Rule rule, StepOptions options);
  ~TrainStep();
  TrainStep(TrainStep&&) noexcept;
  TrainStep& operator=(TrainStep&&) noexcept;

  /// One step on a batch; the loss before the update. Compiled once for each set of batch types: what the loss reads
  /// besides values (a layer's `training`, an if) is as it was then. What an op refuses (an index out of range, say) or
  /// a disk (.disk) does is an Error that leaves the step usable; what was updated before it, such as running
  /// statistics, stays so.
  template <class... Batch>
  double operator()(const Batch&... batch) {
    const Tensor tensors[] = {batch...};
    return run(tensors);
  }
  double run(std::span<const Tensor> batch);
  /// Plans and compiles for batches of these types without running; throws NoScheduleFits.
  void compile(std::span<const Type> batch);

  /// The whole step on such a batch as a graph: loss, gradients and updates.
  Graph graph(std::span<const Type> batch) const;

  /// What was decided for the batch types used last.
  const PlanResult& plan() const;
  std::int64_t arena_bytes() const;
  /// In how many parts the batch is worked through.
  int parts() const;
  /// The batch's place in the arena: filling it there saves the copy. Pass the same tensors to run().
  Tensor batch(std::size_t i) const;
  const std::vector<Moment>& timeline() const;
  /// Bytes of what stays between steps: parameters, optimizer state, the batch.
  std::int64_t pinned_bytes() const;
  /// Gives all memory but that back to the system until the next step, for other work in between.
  void give_back();

  std::int64_t steps() const;
  /// Everything the next step depends on besides the batch: parameters, optimizer state, the number of steps done.
  nn::Fields state() const;

 private:
  struct Impl;
  Impl& impl() const;  // throws Error if it was moved away
  std::unique_ptr<Impl> impl_;
};

/// The step that trains `model` to lower `loss`, a function of the batch.
template <class Model, class Optimizer, class Loss>
TrainStep train_step(Model& model, const Optimizer& optimizer, const StepOptions& options, Loss loss) {
  return TrainStep(detail::as_function(std::move(loss)), nn::parameters(model), optimizer.rule(), options);
}

}  // namespace reprise
