// SPDX-License-Identifier: Apache-2.0
// Finds chains. For a last forward node P, node t ends a block if
//   few values made up to t are read by forward nodes after t (the state), and
//   backward nodes that read values made after t all come before those that read other values made up to t.
// P itself ends a block if the first backward node reads few values, of the block before it only.
#include "plan/chain.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/index.h"

namespace reprise::plan {
namespace {

constexpr int never = std::numeric_limits<int>::max();
constexpr std::size_t widest_state = 3;  // values

struct Cut {
  int after = 0;   // last forward node before the cut
  int turned = 0;  // last backward node of the blocks behind it
  std::vector<int> state;
};

class Finder {
 public:
  Finder(const Problem& problem, std::int64_t tiny)
      : problem_(problem), is_free_(problem.values().size(), 0), is_output_(problem.values().size(), 0) {
    for (int v = 0; v < problem.value_count(); ++v) {
      int root = problem.value(v).view_of >= 0 ? problem.value(v).view_of : v;
      if (problem.value(v).output) is_output_[at(v)] = is_output_[at(root)] = 1;
      is_free_[at(v)] = is_held(root, tiny) || is_held(v, tiny) || (root == v && problem.value(v).bytes == 0);
    }
  }

  Chain find(int most_blocks) const {
    auto [cuts, last] = most_cuts();
    return chain_of(thinned(cuts, most_blocks - 1), last);
  }

  // Every cut, every second one and so on; at last a few of them, whatever they are.
  Chain find(const std::function<bool(const Chain&)>& is_small) const {
    constexpr std::size_t most_blocks = 1024, few_blocks = 96;
    auto [cuts, last] = most_cuts();
    for (std::size_t stride = 1; cuts.size() / stride >= few_blocks; stride += 1 + stride / 3) {
      if (cuts.size() / stride >= most_blocks) continue;
      Chain chain = chain_of(every(stride, cuts), last);
      if (is_small(chain)) return chain;
    }
    return chain_of(thinned(cuts, few_blocks - 1), last);
  }

 private:
  struct Cuts {
    std::vector<Cut> cuts;
    int last;  // forward node
  };

  // Blocks become more as P comes nearer to the turn, so large problems are searched coarsely first.
  Cuts most_cuts() const {
    std::vector<Cut> best;
    int best_last = 0, count = problem_.node_count();
    auto try_each = [&](int from, int to, int stride) {
      for (int last = std::max(0, from); last < std::min(count, to); last += stride) {
        std::vector<Cut> found = cuts(last);
        if (found.size() <= best.size()) continue;
        best = std::move(found);
        best_last = last;
      }
    };
    int stride = std::max(1, count / 64);
    try_each(0, count, stride);
    for (; stride > 1; stride = (stride + 7) / 8) try_each(best_last - stride, best_last + stride, (stride + 7) / 8);
    return {std::move(best), best_last};
  }

  bool is_held(int v, std::int64_t tiny) const {
    const Problem::Value& value = problem_.value(v);
    const Problem::Node& node = problem_.node(value.node);
    bool is_small = value.view_of < 0 && value.bytes <= tiny;
    return node.never_recompute || value.keep || is_small;
  }

  // Outputs of the forward stretch are made once, too.
  bool is_free(int v, int last) const {
    return is_free_[at(v)] || (is_output_[at(v)] && problem_.value(v).node <= last);
  }

  std::vector<Cut> cuts(int last) const {
    std::size_t values = problem_.values().size();
    std::vector<int> last_forward(values, -1), first_backward(values, never), last_backward(values, -1);
    for (int n = 0; n < problem_.node_count(); ++n) {
      for (int input : problem_.inputs(n)) {
        for (int v : {input, problem_.value(input).view_of}) {
          if (v < 0 || is_free(v, last)) continue;
          if (n <= last) last_forward[at(v)] = n;
          if (n > last && first_backward[at(v)] == never) first_backward[at(v)] = n;
          if (n > last) last_backward[at(v)] = n;
        }
      }
    }
    return cuts(last, last_forward, first_backward, last_backward);
  }

  std::vector<Cut> cuts(int last, const std::vector<int>& last_forward, const std::vector<int>& first_backward,
                        const std::vector<int>& last_backward) const {
    std::vector<int> latest_behind(at(last) + 2, -1);  // last backward read of anything made at or after a node
    for (int n = last; n >= 0; --n) {
      latest_behind[at(n)] = latest_behind[at(n) + 1];
      for_each_value(n, last,
                     [&](int v) { latest_behind[at(n)] = std::max(latest_behind[at(n)], last_backward[at(v)]); });
    }
    std::vector<Cut> found;
    std::set<std::pair<int, int>> frontier;  // last forward reader, value
    int first_before = never;  // first backward read of what is made up to here and is not in the frontier
    for (int t = 0; t < last; ++t) {
      for_each_value(t, last, [&](int v) { frontier.insert({std::max(last_forward[at(v)], t), v}); });
      while (!frontier.empty() && frontier.begin()->first <= t) {
        first_before = std::min(first_before, first_backward[at(frontier.begin()->second)]);
        frontier.erase(frontier.begin());
      }
      if (frontier.empty() || frontier.size() > widest_state || latest_behind[at(t) + 1] >= first_before) continue;
      Cut cut{t, std::min(first_before, problem_.node_count()) - 1, {}};
      for (auto [reader, v] : frontier) cut.state.push_back(v);
      bool overlaps = !found.empty() && share_a_value(found.back().state, cut.state);
      if (!overlaps && cut.turned > last) found.push_back(std::move(cut));
    }
    add_turn(last, first_backward, found);
    return found;
  }

  // A cut right after the last forward node: the state is what the first backward node reads.
  void add_turn(int last, const std::vector<int>& first_backward, std::vector<Cut>& found) const {
    Cut cut{last, problem_.node_count() - 1, {}};
    int behind = found.empty() ? -1 : found.back().after;
    for (int n = 0; n <= last; ++n) {
      bool fits = true;
      for_each_value(n, last, [&](int v) {
        if (first_backward[at(v)] == last + 1) {
          cut.state.push_back(v);
          fits = n > behind;
        } else if (first_backward[at(v)] != never) {
          cut.turned = std::min(cut.turned, first_backward[at(v)] - 1);
        }
      });
      if (!fits) return;
    }
    if (!cut.state.empty() && cut.state.size() <= widest_state) found.push_back(std::move(cut));
  }

  template <class Visit>
  void for_each_value(int n, int last, const Visit& visit) const {
    const Problem::Node& node = problem_.node(n);
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      if (!is_free(v, last)) visit(v);
    }
  }

  static bool share_a_value(const std::vector<int>& a, const std::vector<int>& b) {
    return std::any_of(a.begin(), a.end(), [&](int v) { return std::find(b.begin(), b.end(), v) != b.end(); });
  }

  static std::vector<Cut> every(std::size_t stride, const std::vector<Cut>& cuts) {
    std::vector<Cut> kept;
    for (std::size_t k = stride - 1; k < cuts.size(); k += stride) kept.push_back(cuts[k]);
    return kept;
  }

  static std::vector<Cut> thinned(const std::vector<Cut>& cuts, int most) {
    if (static_cast<int>(cuts.size()) <= most) return cuts;
    std::vector<Cut> kept;
    for (int k = 0; k < most; ++k) kept.push_back(cuts[at(k) * cuts.size() / at(most)]);
    return kept;
  }

  Chain chain_of(const std::vector<Cut>& cuts, int last) const {
    Chain chain{.is_free = is_free_, .held_bytes = problem_.resident_bytes()};
    for (int v = 0; v < problem_.value_count(); ++v) {
      chain.is_free[at(v)] = is_free(v, last);
      if (chain.is_free[at(v)]) chain.held_bytes += problem_.value(v).bytes;
    }
    std::vector<int> backs{problem_.node_count()};  // where backward blocks begin: after that of block 0, and before
    for (const Cut& cut : cuts) backs.push_back(cut.turned + 1);
    backs.push_back(last + 1);
    std::vector<std::vector<int>> handed_on = carried(last, backs);
    for (std::size_t k = 0; k <= cuts.size(); ++k) {
      Chain::Block block;
      if (k > 0) block.state = cuts[k - 1].state;
      int first = k == 0 ? 0 : cuts[k - 1].after + 1, end = k == cuts.size() ? last : cuts[k].after;
      for (int n = first; n <= end; ++n) block.forward.push_back(n);
      for (int n = backs[k + 1]; n < backs[k]; ++n) block.backward.push_back(n);
      block.carried = handed_on[k + 1];
      block.handed_on = handed_on[k];
      chain.blocks.push_back(std::move(block));
    }
    return chain;
  }

  // Of each of these nodes, later ones first: the values made by nodes after `last` and before it that are outputs or
  // read at or after it.
  std::vector<std::vector<int>> carried(int last, const std::vector<int>& backs) const {
    std::vector<int> last_read(problem_.values().size(), -1);
    for (int n = last + 1; n < problem_.node_count(); ++n) {
      for (int input : problem_.inputs(n)) {
        int root = problem_.value(input).view_of >= 0 ? problem_.value(input).view_of : input;
        last_read[at(root)] = n;
      }
    }
    std::vector<std::vector<int>> values(backs.size());
    for (int v = 0; v < problem_.value_count(); ++v) {
      int made = problem_.value(v).node;
      if (made <= last || is_free_[at(v)]) continue;
      bool is_plain_output = is_output_[at(v)] && problem_.value(v).view_of < 0;
      int until = is_plain_output ? problem_.node_count() : last_read[at(v)];
      auto first = std::ranges::lower_bound(backs, until, std::greater<>{});
      for (auto back = first; back != backs.end() && *back > made; ++back)
        values[at(back - backs.begin())].push_back(v);
    }
    return values;
  }

  const Problem& problem_;
  std::vector<char> is_free_, is_output_;
};

// Sizes up to which values are held whatever happens, which makes chains simpler: those that are nothing beside the
// peak; and, where these are so many that they do count together, only the smallest of them.
std::vector<std::int64_t> tiny_sizes(const Problem& problem) {
  const std::int64_t whole = peak(problem, keep_all(problem)), tiny = whole / 10'000;
  std::map<std::int64_t, std::int64_t> bytes_of_size;
  for (const Problem::Value& value : problem.values()) {
    if (value.bytes <= tiny && value.view_of < 0) bytes_of_size[value.bytes] += value.bytes;
  }
  std::int64_t sum = 0, tiniest = 0;
  for (auto [size, bytes] : bytes_of_size) {
    sum += bytes;
    if (sum > whole / 1000) return {tiny, tiniest};
    tiniest = size;
  }
  return {tiny};
}

}  // namespace

Chain find_chain(const Problem& problem, int most_blocks) {
  return Finder(problem, tiny_sizes(problem).front()).find(most_blocks);
}

std::vector<Chain> find_chains(const Problem& problem, const std::function<bool(const Chain&)>& is_small) {
  std::vector<Chain> chains;
  for (std::int64_t tiny : tiny_sizes(problem)) chains.push_back(Finder(problem, tiny).find(is_small));
  return chains;
}

}  // namespace reprise::plan
