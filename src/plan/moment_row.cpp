// SPDX-License-Identifier: Apache-2.0
// Moments in a row. What is made again between the first runs of two nodes is not what is made again after the second,
// so bounds of moments that each count only what is made again until the next add up. The best row of a few moments is
// a longest path; others are then tried beside those it has.
#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "plan/certificate.h"

namespace reprise::plan {
namespace {

class Row {
 public:
  Row(const Certificate& certificate, const Model& model, std::int64_t budget, Scope scope,
      const std::function<bool()>& should_stop)
      : model_(model), budget_(budget), scope_(scope), should_stop_(should_stop), known_(certificate.known) {
    std::ranges::sort(known_, {}, &Certificate::Known::node);
    const std::size_t most = at(std::lround(std::clamp(std::sqrt(6e5 / model_.node_count()), 3.0, 24.0)));
    find(most_binding(std::min(most, known_.size())));
    const std::size_t stride = (known_.size() + most - 1) / most, rounds = at(4000 / model_.node_count() + 1);
    for (std::size_t k = 0; k < std::min({stride, rounds, most_rounds}); ++k) find(with_others(stride, k));
  }

  // Bounds along the best row, each raised.
  Certificate::Bound raised(int limit) {
    Certificate::Bound sum;
    double largest = 0;
    auto first = std::ranges::max_element(moments_, {}, &Link::sum);
    if (first == moments_.end()) return sum;
    for (std::size_t k = at(first - moments_.begin()); k != none; k = moments_[k].next) {
      Moment moment(model_, moments_[k].node, scope_, end_of(moments_[k].next));
      MomentBound root = best_price(moment, budget_);
      double extra = branch_and_bound(moment, budget_, root, limit, should_stop_).extra;
      sum.extra += extra;
      if (extra > largest) sum.node = moments_[k].node;
      largest = std::max(largest, extra);
    }
    return sum;
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1), most_rounds = 12;
  struct Link {
    int node;
    double sum = 0;  // of the best row that begins here
    std::size_t next = none;
  };

  int end_of(std::size_t next) const { return next == none ? Moment::the_end : moments_[next].node; }

  // The most binding moment of each of so many stretches.
  std::vector<int> most_binding(std::size_t count) const {
    std::vector<int> nodes;
    for (std::size_t k = 0; k < count; ++k) {
      auto begin = known_.begin() + static_cast<std::ptrdiff_t>(k * known_.size() / count);
      auto end = known_.begin() + static_cast<std::ptrdiff_t>((k + 1) * known_.size() / count);
      nodes.push_back(std::max_element(begin, end, [](auto& a, auto& b) { return a.extra < b.extra; })->node);
    }
    return nodes;
  }

  // The best row so far and other moments, some of which may do better.
  std::vector<int> with_others(std::size_t stride, std::size_t offset) const {
    std::vector<int> nodes;
    auto first = std::ranges::max_element(moments_, {}, &Link::sum);
    for (std::size_t k = at(first - moments_.begin()); k != none; k = moments_[k].next)
      nodes.push_back(moments_[k].node);
    for (std::size_t k = offset; k < known_.size(); k += stride) nodes.push_back(known_[k].node);
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }

  // The best rows of these moments, the last moments first.
  void find(const std::vector<int>& nodes) {
    if (should_stop_()) return;
    moments_.clear();
    for (int node : nodes) moments_.push_back({node});
    for (std::size_t k = moments_.size(); k-- > 0;) extend(k);
  }

  double bound(std::size_t from, std::size_t to) const {
    Moment moment(model_, moments_[from].node, scope_, end_of(to));
    MomentBound bound = best_price(moment, budget_);
    return bound.is_infeasible ? 0 : bound.extra;
  }

  // The best row from one moment on. No bound until a later one is higher than that until the end; and one of nothing
  // links nothing: the later node need not come after this one in every order.
  void extend(std::size_t k) {
    Link& link = moments_[k];
    const double alone = link.sum = bound(k, none);
    for (std::size_t next = k + 1; next < moments_.size() && !should_stop_(); ++next) {
      if (alone + moments_[next].sum <= link.sum) continue;
      double part = bound(k, next);
      if (part <= 0 || part + moments_[next].sum <= link.sum) continue;
      link.sum = part + moments_[next].sum;
      link.next = next;
    }
  }

  const Model& model_;
  const std::int64_t budget_;
  const Scope scope_;
  const std::function<bool()>& should_stop_;
  std::vector<Certificate::Known> known_;  // in order
  std::vector<Link> moments_;
};

// What is moved out of memory or compressed once may come back twice, at a cost that would then count twice.
bool has_other_forms(const Model& model) { return model.forms.size() > 1; }

}  // namespace

Certificate::Bound bound_in_a_row(const Certificate& certificate, const Model& model, std::int64_t budget, Scope scope,
                                  int limit, const std::function<bool()>& should_stop) {
  if (has_other_forms(model) || should_stop()) return {};
  return Row(certificate, model, budget, scope, should_stop).raised(limit);
}

}  // namespace reprise::plan
