// SPDX-License-Identifier: Apache-2.0
// Optimizers, learning-rate schedules and gradient clipping. An optimizer is a few numbers that become a rule: which
// fused update runs for each parameter, and what state it keeps.
//
//     optim::Adam adam{{.lr = 1e-3}};
//     optim::Sgd sgd{{.lr = 0.1, .momentum = 0.9, .schedule = optim::cosine(10'000)}};
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reprise/nn.h"

namespace reprise::optim {

/// The factor on the learning rate at a step, counted from 0.
using Schedule = std::function<double(std::int64_t step)>;

// Schedules. Factors, so that one schedule serves any rate.
REPRISE_API Schedule constant();
REPRISE_API Schedule step_decay(std::int64_t every, double factor = 0.1);
REPRISE_API Schedule multistep(std::vector<std::int64_t> at, double factor = 0.1);
REPRISE_API Schedule exponential(double factor);
/// From 1 to `floor` over `steps`, half a cosine; then it stays.
REPRISE_API Schedule cosine(std::int64_t steps, double floor = 0);
/// Cosine that begins again; each period is `longer` times the one before (Loshchilov & Hutter 2017).
REPRISE_API Schedule cosine_restarts(std::int64_t first_period, std::int64_t longer = 1, double floor = 0);
/// Grows linearly from `start` to 1 over `steps`, then goes on with `then`, whose steps count from there.
REPRISE_API Schedule warm_up(std::int64_t steps, Schedule then, double start = 0);
/// Up from 1/25 to 1 in the first 30 %, down to 1e-4/25 in the rest, by cosines (Smith & Topin 2018).
REPRISE_API Schedule one_cycle(std::int64_t steps, double warm_share = 0.3, double start = 1.0 / 25,
                               double end = 1e-4 / 25);
REPRISE_API Schedule polynomial(std::int64_t steps, double power = 1, double floor = 0);
/// A triangle between `low` and 1: up in `up` steps, down in `down`.
REPRISE_API Schedule cyclic(double low, std::int64_t up, std::int64_t down);

/// Lowers the rate when a measure stops falling. Holds state: ask it once an evaluation.
class REPRISE_API Plateau {
 public:
  struct Options {
    double factor = 0.1;
    int patience = 10;        // evaluations without improvement that are forgiven
    double threshold = 1e-4;  // an improvement is at least this share
    double floor = 0;
  };
  explicit Plateau(Options options) : options_(options) {}
  Plateau() : Plateau(Options{}) {}
  /// Takes the newest measure, gives the factor to go on with.
  double observe(double measure);

 private:
  Options options_;
  double best_ = 0, factor_ = 1;
  int bad_ = -1;  // -1: nothing seen yet
};

/// What an optimizer comes down to.
struct Rule {
  std::string op;  // of the fused update: (parameter, state..., gradient, rate, step) → (parameter, state...)
  Attributes attributes;
  int state_count = 0;  // tensors of the parameter's size
  double initial_state = 0;
  double rate = 0;
  Schedule schedule;
  // Lookahead around it; one more state tensor, which starts as the parameter.
  bool has_lookahead = false;
  std::int64_t lookahead_every = 0;
  double lookahead_alpha = 0;

  /// The learning rate of a step, counted from 0. Throws Error if the schedule gives no number.
  REPRISE_API double rate_at(std::int64_t step) const;
  /// Refuses a learning rate or a lookahead with which nothing can be trained.
  REPRISE_API void check() const;
  /// State for a parameter before the first step.
  REPRISE_API std::vector<nn::Parameter> start(const nn::Parameter& parameter) const;
  /// Records one step: the new parameter, then the new states.
  REPRISE_API Values apply(const Value& parameter, const Values& states, const Value& gradient, const Value& rate,
                           const Value& step) const;
};

// clang-format off
struct SgdOptions { double lr = 0.01, momentum = 0, dampening = 0, weight_decay = 0; bool nesterov = false; Schedule schedule = {}; };
struct AdamOptions { double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0; Schedule schedule = {}; };
struct AdamWOptions { double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01; Schedule schedule = {}; };
struct AdagradOptions { double lr = 0.01, lr_decay = 0, eps = 1e-10, weight_decay = 0, initial = 0; Schedule schedule = {}; };
struct RmsPropOptions { double lr = 0.01, alpha = 0.99, eps = 1e-8, momentum = 0, weight_decay = 0; bool centered = false; Schedule schedule = {}; };
struct LambOptions { double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-6, weight_decay = 0; Schedule schedule = {}; };
struct LarsOptions { double lr = 0.1, momentum = 0.9, weight_decay = 1e-4, trust = 1e-3, eps = 1e-8; Schedule schedule = {}; };

struct Sgd { SgdOptions options; REPRISE_API Rule rule() const; };
struct Adam { AdamOptions options; REPRISE_API Rule rule() const; };
struct AdamW { AdamWOptions options; REPRISE_API Rule rule() const; };
struct RAdam { AdamOptions options; REPRISE_API Rule rule() const; };
struct Adagrad { AdagradOptions options; REPRISE_API Rule rule() const; };
struct RmsProp { RmsPropOptions options; REPRISE_API Rule rule() const; };
struct Lamb { LambOptions options; REPRISE_API Rule rule() const; };
struct Lars { LarsOptions options; REPRISE_API Rule rule() const; };
// clang-format on

/// Lookahead (Zhang et al. 2019) around any of them.
template <class Inner>
struct Lookahead {
  Inner inner;
  std::int64_t every = 5;
  double alpha = 0.5;
  Rule rule() const {
    Rule r = inner.rule();
    r.has_lookahead = true;
    r.lookahead_every = every;
    r.lookahead_alpha = alpha;
    return r;
  }
};

/// The optimizer of that name with its usual numbers: "sgd", "momentum", "adam", ... An Error lists the names.
REPRISE_API Rule rule_named(std::string_view name);
/// Those names, separated by commas.
REPRISE_API std::string rule_names();

/// Scales all gradients so that their common Euclidean norm is at most `largest`. A norm that is not finite leaves them
/// as they are, so that the NaN is found where it was made. The step holds all gradients at once.
REPRISE_API Values clip_by_norm(const Values& gradients, double largest);
/// Each element within ±largest; NaN stays NaN.
REPRISE_API Values clip_by_value(const Values& gradients, double largest);

}  // namespace reprise::optim
