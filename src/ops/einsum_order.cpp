// SPDX-License-Identifier: Apache-2.0
// Contraction orders of an einsum: optimal for few operands, greedy for many.
#include <algorithm>
#include <bit>
#include <limits>

#include "ops/einsum_spec.h"

namespace reprise {
namespace {

using Order = std::vector<std::pair<int, int>>;

double volume(LabelSet labels, const std::vector<std::int64_t>& sizes) {
  double product = 1;
  for (; labels; labels &= labels - 1)
    product *= static_cast<double>(sizes[static_cast<std::size_t>(std::countr_zero(labels))]);
  return product;
}

// The best way to contract every subset of operands, from the best ways of its halves.
class Subsets {
 public:
  Subsets(const std::vector<LabelSet>& operands, LabelSet output, const std::vector<std::int64_t>& sizes)
      : count_(operands.size()), sizes_(sizes), best_(std::size_t{1} << count_) {
    for (std::size_t s = 1; s < best_.size(); ++s) {
      LabelSet inside = 0, outside = output;
      for (std::size_t i = 0; i < count_; ++i) (s >> i & 1 ? inside : outside) |= operands[i];
      best_[s].labels = std::has_single_bit(s) ? inside : inside & outside;
    }
    for (std::size_t s = 1; s < best_.size(); ++s)
      if (!std::has_single_bit(s)) split(s);
  }

  Order order() {
    Order pairs;
    int next = static_cast<int>(count_);
    number(best_.size() - 1, pairs, next);
    return pairs;
  }

 private:
  struct Best {
    LabelSet labels = 0;
    double cost = 0;  // multiplications
    double held = 0;  // elements of all results on the way, which decides between equal costs
    std::size_t left = 0;
  };

  void split(std::size_t s) {
    Best& b = best_[s];
    b.cost = std::numeric_limits<double>::infinity();
    std::size_t lowest = s & -s;
    for (std::size_t left = (s - 1) & s; left; left = (left - 1) & s) {
      if (!(left & lowest)) continue;  // each split once
      const Best &x = best_[left], &y = best_[s ^ left];
      double cost = x.cost + y.cost + volume(x.labels | y.labels, sizes_);
      double held = x.held + y.held + volume(b.labels, sizes_);
      if (cost < b.cost || (cost == b.cost && held < b.held)) b.cost = cost, b.held = held, b.left = left;
    }
  }

  // As deep as there are operands.
  int number(std::size_t s, Order& pairs, int& next) {
    if (std::has_single_bit(s)) return std::countr_zero(s);
    int left = number(best_[s].left, pairs, next), right = number(s ^ best_[s].left, pairs, next);
    pairs.emplace_back(left, right);
    return next++;
  }

  std::size_t count_;
  const std::vector<std::int64_t>& sizes_;
  std::vector<Best> best_;  // by set of operands
};

LabelSet kept_of(const std::vector<LabelSet>& terms, const std::vector<int>& alive, int a, int b, LabelSet output) {
  LabelSet kept = output;
  for (int i : alive)
    if (i != a && i != b) kept |= terms[static_cast<std::size_t>(i)];
  return kept & (terms[static_cast<std::size_t>(a)] | terms[static_cast<std::size_t>(b)]);
}

Order greedy(std::vector<LabelSet> terms, LabelSet output, const std::vector<std::int64_t>& sizes) {
  std::vector<int> alive;
  for (int i = 0; i < std::ssize(terms); ++i) alive.push_back(i);
  Order pairs;
  while (alive.size() > 1) {
    std::pair<double, double> least{std::numeric_limits<double>::infinity(), 0};  // growth, then multiplications
    std::pair<int, int> best{alive[0], alive[1]};
    for (std::size_t i = 0; i < alive.size(); ++i)
      for (std::size_t j = i + 1; j < alive.size(); ++j) {
        int a = alive[i], b = alive[j];
        double growth = volume(kept_of(terms, alive, a, b, output), sizes) -
                        volume(terms[static_cast<std::size_t>(a)], sizes) -
                        volume(terms[static_cast<std::size_t>(b)], sizes);
        double work = volume(terms[static_cast<std::size_t>(a)] | terms[static_cast<std::size_t>(b)], sizes);
        if (std::pair(growth, work) < least) least = {growth, work}, best = {a, b};
      }
    terms.push_back(kept_of(terms, alive, best.first, best.second, output));
    std::erase_if(alive, [&](int i) { return i == best.first || i == best.second; });
    alive.push_back(static_cast<int>(terms.size()) - 1);
    pairs.push_back(best);
  }
  return pairs;
}

}  // namespace

Order contraction_order(const std::vector<LabelSet>& operands, LabelSet output,
                        const std::vector<std::int64_t>& sizes) {
  if (operands.size() < 2) return {};
  if (operands.size() <= 8) return Subsets(operands, output, sizes).order();
  return greedy(operands, output, sizes);
}

double contraction_cost(std::vector<LabelSet> terms, LabelSet output, const std::vector<std::int64_t>& sizes,
                        const Order& order) {
  std::vector<int> alive;
  for (int i = 0; i < std::ssize(terms); ++i) alive.push_back(i);
  double cost = 0;
  for (auto [a, b] : order) {
    cost += volume(terms[static_cast<std::size_t>(a)] | terms[static_cast<std::size_t>(b)], sizes);
    terms.push_back(kept_of(terms, alive, a, b, output));
    std::erase_if(alive, [a = a, b = b](int i) { return i == a || i == b; });
    alive.push_back(static_cast<int>(terms.size()) - 1);
  }
  return cost;
}

}  // namespace reprise
