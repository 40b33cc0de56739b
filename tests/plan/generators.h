// SPDX-License-Identifier: Apache-2.0
// Random problems for tests. The same arguments give the same problem.
#pragma once

#include <fmt/core.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "reprise/plan.h"

namespace reprise::generators {

enum class Kind { chain, tree, layered, u_shape, training };
constexpr Kind kinds[] = {Kind::chain, Kind::tree, Kind::layered, Kind::u_shape, Kind::training};

struct Options {
  int nodes = 8;  // about
  std::int64_t most_bytes = 20;
  std::int64_t most_cost = 9;
  bool with_facts = false;  // views, in-place, pinned values, other forms, several outputs, what must not run twice …
};

class Generator {
 public:
  Generator(Random& random, const Options& options) : random_(random), options_(options) {}

  Problem make(Kind kind) {
    switch (kind) {
      case Kind::chain: chain(options_.nodes); break;
      case Kind::tree: tree(); break;
      case Kind::layered: layered(); break;
      case Kind::u_shape: u_shape(); break;
      case Kind::training: training(); break;
    }
    p_.output(made_.back());
    if (random_.chance(0.2)) p_.output(any());
    if (random_.chance(0.3)) p_.resident(random_.between(0, options_.most_bytes));
    return std::move(p_);
  }

 private:
  ValueRef any() { return made_[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(made_.size())))]; }

  ValueRef add(std::vector<ValueRef> inputs) {
    NodeSpec spec{fmt::format("n{}", p_.node_count()), random_.between(0, options_.most_bytes)};
    bool is_pinned = options_.with_facts && inputs.empty() && random_.chance(0.4);
    spec.pinned = is_pinned;
    if (!is_pinned) {
      spec.cost = static_cast<double>(random_.between(0, options_.most_cost));
      if (random_.chance(0.3)) spec.scratch = random_.between(0, options_.most_bytes / 2);
      if (options_.with_facts && random_.chance(0.15)) spec.bytes.push_back(random_.between(0, options_.most_bytes));
    }
    made_.push_back(p_.add(spec, inputs));
    if (options_.with_facts && !is_pinned) tell_facts(made_.back(), inputs);
    return made_.back();
  }

  void tell_facts(ValueRef node, const std::vector<ValueRef>& inputs) {
    std::int64_t bytes = p_.value(p_.index(node)).bytes;
    if (may_view(inputs) && random_.chance(0.15)) return p_.view(node, inputs[0]);
    if (!inputs.empty() && random_.chance(0.3)) {
      int input = p_.index(inputs[0]), root = p_.value(input).view_of >= 0 ? p_.value(input).view_of : input;
      if (p_.value(root).bytes >= bytes) p_.in_place(node, inputs[0]);
    }
    if (random_.chance(0.1)) p_.never_recompute(node);
    if (random_.chance(0.1)) p_.keep(node);
    if (random_.chance(0.15)) p_.pageable(node, {price(), price()});
    if (random_.chance(0.15)) p_.compressible(node, {bytes / 2, price(), price()});
  }

  // A view's node reads what it views and pinned values, nothing else.
  bool may_view(const std::vector<ValueRef>& inputs) const {
    for (std::size_t i = 1; i < inputs.size(); ++i)
      if (!p_.node(inputs[i].node).pinned) return false;
    return !inputs.empty();
  }

  double price() { return static_cast<double>(random_.between(0, 3)); }

  void chain(int length) {
    add({});
    while (p_.node_count() < length) add({made_.back()});
  }

  void tree() {
    std::vector<ValueRef> roots;
    while (p_.node_count() < options_.nodes) {
      if (roots.size() >= 2 && random_.chance(0.6)) {
        ValueRef a = roots.back(), b = roots[roots.size() - 2];
        roots.resize(roots.size() - 2);
        roots.push_back(add({a, b}));
      } else {
        roots.push_back(add({}));
      }
    }
  }

  void layered() {
    add({});
    while (p_.node_count() < options_.nodes) {
      std::vector<ValueRef> inputs;
      for (std::int64_t k = random_.between(0, 3); k > 0; --k) inputs.push_back(any());
      add(inputs);
    }
  }

  // What is made first is read last.
  void u_shape() {
    int half = std::max(1, options_.nodes / 2);
    chain(half);
    for (int i = half; i-- > 0;) add({made_.back(), made_[static_cast<std::size_t>(i)]});
  }

  // A random forward graph and its mirror: the gradient of a node reads the gradients of its readers, its inputs, and
  // sometimes its value.
  void training() {
    int half = std::max(1, options_.nodes / 2);
    std::vector<std::vector<int>> inputs, readers(static_cast<std::size_t>(half));
    for (int i = 0; i < half; ++i) {
      std::vector<ValueRef> refs;
      inputs.emplace_back();
      for (int k = 0; i > 0 && k < (random_.chance(0.3) ? 2 : 1); ++k) {
        int from = k == 0 ? i - 1 : static_cast<int>(random_.below(i));
        inputs.back().push_back(from);
        readers[static_cast<std::size_t>(from)].push_back(i);
        refs.push_back({from, 0});
      }
      add(refs);
    }
    std::vector<ValueRef> gradients(static_cast<std::size_t>(half));
    for (int i = half; i-- > 0;) {
      std::vector<ValueRef> refs;
      for (int reader : readers[static_cast<std::size_t>(i)])
        refs.push_back(gradients[static_cast<std::size_t>(reader)]);
      for (int input : inputs[static_cast<std::size_t>(i)]) refs.push_back({input, 0});
      if (i + 1 == half || random_.chance(0.4)) refs.push_back({i, 0});
      gradients[static_cast<std::size_t>(i)] = add(refs);
    }
  }

  Random& random_;
  Options options_;
  Problem p_;
  std::vector<ValueRef> made_;
};

inline Problem random_problem(Kind kind, std::uint64_t seed, const Options& options = {}) {
  Random random(seed * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(kind));
  return Generator(random, options).make(kind);
}

/// A budget from too small to loose: a random share of what keeping everything takes.
inline std::int64_t random_budget(const Problem& problem, std::uint64_t seed, double least = 0.2) {
  Random random(seed + 77);
  return static_cast<std::int64_t>(static_cast<double>(peak(problem, keep_all(problem))) * random.uniform(least, 1.1));
}

/// A random sequence in which every node runs at least once, and never before what it reads ran.
inline std::vector<int> random_runs(const Problem& problem, Random& random) {
  std::vector<int> runs;
  for (int n = 0; n < problem.node_count(); ++n) {
    while (n > 0 && random.chance(0.4)) runs.push_back(static_cast<int>(random.below(n)));
    runs.push_back(n);
  }
  return runs;
}

}  // namespace reprise::generators
