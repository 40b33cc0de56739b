// SPDX-License-Identifier: Apache-2.0
// What a budget forces whatever one does: the best bound over the moments of a model, and the proof when nothing fits.
#pragma once

#include <functional>
#include <vector>

#include "plan/moment.h"

namespace reprise::plan {

struct Certificate {
  struct Bound {
    double extra = 0;  // cost beyond running every node once
    int node = -1;     // the moment that says so, or -1
  };
  Bound this_order;               // for first runs in the model's order
  Bound any_order;                // for every order
  std::int64_t least_budget = 0;  // below this nothing fits, in any order
  int tightest = 0;               // node that says so
  std::int64_t least_budget_this_order = 0;
  double price = 0;  // of a byte at the binding moment

  struct Seed {
    int node;
    MomentBound bound;
  };
  std::vector<Seed> seeds;  // the moments that bind most, the most binding first
  struct Known {
    int node;
    double extra;
  };
  std::vector<Known> known;  // of all moments that were bounded, for first runs in the model's order
};

/// Bounds every moment, or a spread of them if the model is large, by the price relaxation.
Certificate prove(const Model& model, std::int64_t budget, const std::function<bool()>& should_stop);

/// The best sum over moments in a row, each of which counts what is made again until the next: runs at different times
/// are different runs. Raised by branching, `limit` cuts per moment. Chooses from the moments known.
Certificate::Bound bound_in_a_row(const Certificate& certificate, const Model& model, std::int64_t budget, Scope scope,
                                  int limit, const std::function<bool()>& should_stop);

/// Raises the bounds of the binding moments by adding up moments in a row and by branching; `limit` cuts per moment.
void raise(Certificate& certificate, const Model& model, std::int64_t budget, int limit,
           const std::function<bool()>& should_stop);

}  // namespace reprise::plan
