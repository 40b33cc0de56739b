// SPDX-License-Identifier: Apache-2.0
// Connectionist temporal classification (Graves et al. 2006): the probability that a label sequence, with blanks
// between and repeats, is what T steps spell; by the forward and backward recursions, in logarithms and f64.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/parallel.h"

namespace reprise::kernels {

struct Ctc {
  std::int64_t steps = 0, batch = 0, classes = 0, labels = 0;  // log_probabilities [steps, batch, classes]
  std::int64_t blank = 0;

  std::int64_t states() const { return 2 * labels + 1; }  // a blank before, between and after the labels
  /// Numbers a sequence needs: alpha and beta, [steps, states] each.
  std::int64_t workspace() const { return 2 * steps * states(); }
};

namespace detail {

constexpr double log_zero = -std::numeric_limits<double>::infinity();

inline double log_add(double a, double b) {
  double high = a > b ? a : b, low = a > b ? b : a;
  return low == log_zero ? high : high + std::log1p(std::exp(low - high));
}

/// One sequence of the batch.
template <class T>
struct CtcSequence {
  const Ctc& p;
  const T* log_probability;    // of step 0; a step is batch * classes further
  const std::int64_t* target;  // its labels
  std::int64_t steps, length;  // that count

  std::int64_t states() const { return 2 * length + 1; }
  std::int64_t label(std::int64_t s) const { return s % 2 == 0 ? p.blank : target[s / 2]; }
  double at(std::int64_t t, std::int64_t s) const {
    return static_cast<double>(log_probability[t * p.batch * p.classes + label(s)]);
  }
  /// State s may follow s - 2 directly: it is a label that differs from the one before.
  bool skips(std::int64_t s) const { return s % 2 == 1 && s >= 2 && label(s) != label(s - 2); }

  // alpha[t, s]: all ways to be in state s at step t, what step t says included.
  void forward(double* alpha) const {
    for (std::int64_t t = 0; t < steps; ++t)
      for (std::int64_t s = 0; s < states(); ++s) {
        const double* before = alpha + (t - 1) * p.states();
        double ways = t == 0 ? (s < 2 ? 0.0 : log_zero) : before[s];
        if (t > 0 && s >= 1) ways = log_add(ways, before[s - 1]);
        if (t > 0 && skips(s)) ways = log_add(ways, before[s - 2]);
        alpha[t * p.states() + s] = ways + at(t, s);
      }
  }

  // beta[t, s]: all ways to the end from state s at step t, what step t says left out.
  void backward(double* beta) const {
    for (std::int64_t t = steps - 1; t >= 0; --t)
      for (std::int64_t s = states() - 1; s >= 0; --s) {
        const double* after = beta + (t + 1) * p.states();
        bool last = t == steps - 1;
        double ways = last ? (s >= states() - 2 ? 0.0 : log_zero) : after[s] + at(t + 1, s);
        if (!last && s + 1 < states()) ways = log_add(ways, after[s + 1] + at(t + 1, s + 1));
        if (!last && s + 2 < states() && skips(s + 2)) ways = log_add(ways, after[s + 2] + at(t + 1, s + 2));
        beta[t * p.states() + s] = ways;
      }
  }

  double log_likelihood(const double* alpha) const {
    if (steps == 0) return length == 0 ? 0.0 : log_zero;
    const double* last = alpha + (steps - 1) * p.states();
    return length == 0 ? last[0] : log_add(last[states() - 1], last[states() - 2]);
  }
};

template <class T>
CtcSequence<T> ctc_sequence(const Ctc& p, std::int64_t n, const T* x, const std::int64_t* target,
                            const std::int64_t* steps, const std::int64_t* lengths) {
  return {p, x + n * p.classes, target + n * p.labels, steps[n], lengths[n]};
}

}  // namespace detail

/// loss[n] = -log probability of sequence n; infinite where it cannot be spelt in its steps.
template <class T>
void ctc_loss(const Ctc& p, const T* x, const std::int64_t* target, const std::int64_t* steps,
              const std::int64_t* lengths, T* loss, double* work) {
  parallel_ranges(p.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      auto sequence = detail::ctc_sequence(p, n, x, target, steps, lengths);
      double* alpha = work + n * p.workspace();
      sequence.forward(alpha);
      loss[n] = static_cast<T>(-sequence.log_likelihood(alpha));
    }
  });
}

/// dx[t, n, c] = -dloss[n] * the posterior probability of class c at step t; 0 where the loss is infinite.
template <class T>
void ctc_loss_grad(const Ctc& p, const T* x, const std::int64_t* target, const std::int64_t* steps,
                   const std::int64_t* lengths, const T* dloss, T* dx, double* work) {
  std::fill_n(dx, p.steps * p.batch * p.classes, T(0));
  parallel_ranges(p.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      auto sequence = detail::ctc_sequence(p, n, x, target, steps, lengths);
      double *alpha = work + n * p.workspace(), *beta = alpha + p.steps * p.states();
      sequence.forward(alpha);
      sequence.backward(beta);
      double total = sequence.log_likelihood(alpha);
      if (total == detail::log_zero) continue;
      for (std::int64_t t = 0; t < sequence.steps; ++t)
        for (std::int64_t s = 0; s < sequence.states(); ++s) {
          double posterior = std::exp(alpha[t * p.states() + s] + beta[t * p.states() + s] - total);
          dx[(t * p.batch + n) * p.classes + sequence.label(s)] -= dloss[n] * static_cast<T>(posterior);
        }
    }
  });
}

}  // namespace reprise::kernels
