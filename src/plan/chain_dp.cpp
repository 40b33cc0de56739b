// SPDX-License-Identifier: Apache-2.0
// Dynamic program over chains, after Beaumont, Eyraud-Dubois, Herrmann, Joly & Shilova (2019; "rotor"), which extends
// Revolve (Griewank & Walther 2000) to any sizes and costs. The best schedule of blocks i … j-1, state i being in
// memory:
//
//   split  advance from state i to some state s, keep it; then blocks s … j-1; then blocks i … s-1 from state i again
//   tape   run block i keeping what its backward block reads; then blocks i+1 … j-1; then backward block i
//   leaf   (one block) run it and its backward block
//
// Memory is exact: instead of a table over sizes every (i, j) holds its Pareto front of (bytes, cost). Optimal among
// schedules in which a kept state stays until its backward block ran (on uniform chains: among all).
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/index.h"
#include "plan/chain.h"
#include "plan/replay.h"
#include "plan/solver.h"

namespace reprise::plan {
namespace {

constexpr int most_blocks = 96;

using Values = std::unordered_set<int>;

// Nodes run one after the other, what they cost, and the most bytes in memory meanwhile.
struct Stretch {
  std::vector<int> nodes;
  double cost = 0;
  std::int64_t peak = 0;
};

// A way to run a block whose backward block follows later, and that backward block.
struct Tape {
  Stretch forward;
  Stretch backward;
  std::int64_t held = 0;  // bytes in between, besides the next state
};

struct Block {
  Stretch advance[2];                 // makes the next state; [1]: the first time, when every node has to run
  std::int64_t advance_held[2] = {};  // peak if the state it starts from stays
  std::vector<Tape> tapes[2];
  Stretch leaf;
  std::int64_t state_bytes = 0, carried_bytes = 0;
};

// Works out what a block of the chain can do.
class BlockBuilder {
 public:
  BlockBuilder(const Problem& problem, const Chain& chain) : problem_(problem), chain_(chain) {}

  Block build(std::size_t k) const {
    const Chain::Block& link = chain_.blocks[k];
    bool is_last = k + 1 == chain_.blocks.size();
    Values next = is_last ? Values() : set_of(chain_.blocks[k + 1].state);
    Values state = set_of(link.state);
    Block block;
    block.state_bytes = bytes(state);
    block.carried_bytes = bytes(set_of(link.carried));
    std::vector<int> leaf = is_last ? link.forward : closure(link, read_by_backward(link));
    leaf.insert(leaf.end(), link.backward.begin(), link.backward.end());
    block.leaf = stretch(std::move(leaf), joined(state, set_of(link.carried)), set_of(link.handed_on));
    if (is_last) return block;
    for (int first : {0, 1}) {
      std::vector<int> nodes = first ? link.forward : closure(link, next);
      block.advance[first] = stretch(nodes, state, next);
      block.advance_held[first] = stretch(nodes, state, joined(state, next)).peak;
      for (const Values& saved : choices_of_saved(link)) {
        block.tapes[first].push_back(tape(link, state, next, saved, first != 0));
      }
    }
    return block;
  }

 private:
  static Values set_of(const std::vector<int>& values) { return {values.begin(), values.end()}; }
  static Values joined(Values a, const Values& b) {
    a.insert(b.begin(), b.end());
    return a;
  }
  int root_of(int v) const { return problem_.value(v).view_of >= 0 ? problem_.value(v).view_of : v; }
  std::int64_t size(int v) const { return chain_.is_free[at(v)] ? 0 : problem_.value(v).bytes; }
  std::int64_t bytes(const Values& values) const {
    std::int64_t sum = 0;
    for (int v : values) sum += size(v);
    return sum;
  }
  bool is_forward_of(const Chain::Block& link, int v) const {
    int made = problem_.value(v).node;
    return !link.forward.empty() && made >= link.forward.front() && made <= link.forward.back();
  }

  // What the backward block reads of the block and of its state.
  Values read_by_backward(const Chain::Block& link) const {
    Values state = set_of(link.state), read;
    for (int n : link.backward) {
      for (int input : problem_.node(n).inputs) {
        for (int v : {input, root_of(input)}) {
          bool is_ours = is_forward_of(link, v) || state.contains(v);
          if (is_ours && !chain_.is_free[at(v)]) read.insert(v);
        }
      }
    }
    return read;
  }

  // Nodes of the block needed to make `wanted` from the state, in base order.
  std::vector<int> closure(const Chain::Block& link, Values wanted) const {
    std::vector<int> nodes;
    for (auto n = link.forward.rbegin(); n != link.forward.rend(); ++n) {
      const Problem::Node& node = problem_.node(*n);
      bool is_needed = false;
      for (int v = node.first_value; v < node.first_value + node.value_count; ++v) is_needed |= wanted.contains(v);
      if (!is_needed) continue;
      nodes.push_back(*n);
      for (int input : node.inputs) {
        if (!chain_.is_free[at(input)]) wanted.insert(input);
      }
    }
    std::reverse(nodes.begin(), nodes.end());
    return nodes;
  }

  // Everything the backward block reads; and without what is cheapest to compute again per byte.
  std::vector<Values> choices_of_saved(const Chain::Block& link) const {
    Values all = read_by_backward(link), state = set_of(link.state);
    std::vector<std::pair<double, int>> by_price;
    for (int v : all) {
      bool is_own = is_forward_of(link, v) && problem_.value(v).view_of < 0 && size(v) > 0;
      if (is_own) by_price.emplace_back(problem_.node(problem_.value(v).node).cost / static_cast<double>(size(v)), v);
    }
    std::sort(by_price.begin(), by_price.end());
    std::vector<Values> choices{all};
    for (std::size_t share : {4, 2}) {
      Values fewer = all;
      for (std::size_t i = 0; i < by_price.size() / share; ++i) forget(fewer, by_price[i].second);
      fewer.insert(state.begin(), state.end());
      if (fewer != choices.back() && by_price.size() >= share) choices.push_back(fewer);
    }
    return choices;
  }

  void forget(Values& values, int value) const {
    std::erase_if(values, [&](int v) { return v == value || problem_.value(v).view_of == value; });
  }

  Tape tape(const Chain::Block& link, const Values& state, const Values& next, const Values& saved, bool first) const {
    Tape tape;
    Values kept = joined(saved, next);
    tape.forward = stretch(first ? link.forward : closure(link, kept), state, kept);
    tape.backward = stretch(with_recomputes(link, saved), joined(saved, set_of(link.carried)), set_of(link.handed_on));
    for (int v : saved) tape.held += next.contains(v) ? 0 : size(v);
    return tape;
  }

  // The backward block, each node preceded by the nodes that make what it reads and was not saved.
  std::vector<int> with_recomputes(const Chain::Block& link, Values there) const {
    std::vector<int> nodes;
    for (int n : link.backward) {
      Values missing;
      for (int input : problem_.node(n).inputs) {
        bool is_ours = is_forward_of(link, input) && !chain_.is_free[at(input)];
        if (is_ours && !there.contains(input)) missing.insert(input);
      }
      for (int again : closure_from(link, missing, there)) {
        nodes.push_back(again);
        const Problem::Node& node = problem_.node(again);
        for (int v = node.first_value; v < node.first_value + node.value_count; ++v) there.insert(v);
      }
      nodes.push_back(n);
    }
    return nodes;
  }

  std::vector<int> closure_from(const Chain::Block& link, Values wanted, const Values& there) const {
    std::vector<int> nodes;
    for (auto n = link.forward.rbegin(); n != link.forward.rend() && !wanted.empty(); ++n) {
      const Problem::Node& node = problem_.node(*n);
      bool is_needed = false;
      for (int v = node.first_value; v < node.first_value + node.value_count; ++v) is_needed |= wanted.contains(v);
      if (!is_needed) continue;
      nodes.push_back(*n);
      for (int input : node.inputs) {
        if (!chain_.is_free[at(input)] && !there.contains(input)) wanted.insert(input);
      }
    }
    std::reverse(nodes.begin(), nodes.end());
    return nodes;
  }

  // Runs the nodes from what is in memory to what is to be left there; the rest is dropped after its last use.
  Stretch stretch(std::vector<int> nodes, const Values& in, const Values& out) const {
    Stretch result{.nodes = std::move(nodes)};
    std::unordered_map<int, std::size_t> last_use;
    for (std::size_t i = 0; i < result.nodes.size(); ++i) {
      for (int input : problem_.node(result.nodes[i]).inputs) last_use[root_of(input)] = i;
    }
    for (int v : out) last_use[root_of(v)] = result.nodes.size();
    Values there;
    std::int64_t live = 0;
    for (int v : in) {
      if (last_use.contains(v) && there.insert(v).second) live += size(v);
    }
    result.peak = live;
    for (std::size_t i = 0; i < result.nodes.size(); ++i) {
      const Problem::Node& node = problem_.node(result.nodes[i]);
      result.cost += node.cost;
      result.peak = std::max(result.peak, live + node.scratch + made_bytes(node, i, last_use));
      std::vector<int> touched = node.inputs;
      for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
        if (problem_.value(v).view_of < 0 && there.insert(v).second) live += size(v);
        touched.push_back(v);
      }
      for (int v : touched) {
        auto use = last_use.find(root_of(v));
        bool dies = use == last_use.end() || use->second == i;
        if (dies && there.erase(root_of(v))) live -= size(root_of(v));
      }
    }
    return result;
  }

  std::int64_t made_bytes(const Problem::Node& node, std::size_t i,
                          const std::unordered_map<int, std::size_t>& last_use) const {
    std::int64_t made = 0;
    Values taken;
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      int input = problem_.value(v).in_place_of;
      bool dies = input >= 0 && !chain_.is_free[at(input)] && last_use.at(input) == i;
      if (!dies || !taken.insert(input).second) made += size(v);
    }
    return made;
  }

  const Problem& problem_;
  const Chain& chain_;
};

struct Point {
  std::int64_t bytes = 0;
  double cost = 0;
  int split = 0;              // state s; leaf: 0; tape number t: -1 - t
  int first = 0, second = 0;  // points of the fronts it is made of
};
using Front = std::vector<Point>;

class Program {
 public:
  Program(const Problem& problem, const Chain& chain, std::int64_t budget)
      : chain_(chain), count_(static_cast<int>(chain.blocks.size())), budget_(budget - chain.held_bytes) {
    BlockBuilder builder(problem, chain);
    for (std::size_t k = 0; k < chain.blocks.size(); ++k) blocks_.push_back(builder.build(k));
    fronts_.resize(at(count_ * (count_ + 1)));
    longest_front_ = std::max<std::size_t>(48, 20'000 / at(count_));
  }

  bool solve(const Deadline& deadline) {
    for (int length = 1; length <= count_; ++length) {
      for (int i = 0; i + length <= count_; ++i) {
        if (deadline.is_over()) return false;
        fill(i, i + length);
      }
    }
    return true;
  }

  /// The node runs of the cheapest within the budget, and of the one with the lowest peak.
  std::vector<std::vector<int>> runs() const {
    const Front& front = this->front(0, count_);
    std::vector<std::vector<int>> found;
    std::size_t fitting = 0;
    while (fitting < front.size() && front[fitting].bytes <= budget_) ++fitting;
    for (std::size_t point : {std::size_t{0}, fitting - 1}) {
      if (fitting == 0 && point != 0) continue;
      std::vector<int> nodes;
      emit(0, count_, point, nodes);
      found.push_back(std::move(nodes));
    }
    return found;
  }

 private:
  Front& front(int i, int j) { return fronts_[at(i * (count_ + 1) + j)]; }
  const Front& front(int i, int j) const { return fronts_[at(i * (count_ + 1) + j)]; }
  int is_first(int j) const { return j == count_ ? 1 : 0; }  // blocks are first run on the way to the last

  void fill(int i, int j) {
    const Block& block = blocks_[at(i)];
    Front points;
    if (j == i + 1) {
      points.push_back({block.leaf.peak, block.leaf.cost, 0, 0, 0});
    } else {
      add_splits(i, j, points);
      add_tapes(i, j, points);
    }
    front(i, j) = pareto(std::move(points));
  }

  void add_splits(int i, int j, Front& points) const {
    int first = is_first(j);
    const Block& block = blocks_[at(i)];
    std::int64_t carried = blocks_[at(j - 1)].carried_bytes;
    std::int64_t transit = block.advance_held[first];
    double cost = block.advance[first].cost;
    for (int s = i + 1; s < j; ++s) {
      combine(s, cost, carried + transit, block.state_bytes, front(s, j), front(i, s), points);
      if (s + 1 == j) break;
      transit = std::max(transit, block.state_bytes + blocks_[at(s)].advance[first].peak);
      cost += blocks_[at(s)].advance[first].cost;
    }
  }

  // Points of "`cost` for at least `floor` bytes; `behind`, with `held` more; `before`".
  static void combine(int split, double cost, std::int64_t floor, std::int64_t held, const Front& behind,
                      const Front& before, Front& points) {
    std::size_t a = 0, b = 0;
    while (true) {
      std::int64_t need_a = behind[a].bytes + held, need_b = before[b].bytes;
      std::int64_t bytes = std::max({floor, need_a, need_b});
      while (a + 1 < behind.size() && behind[a + 1].bytes + held <= bytes) ++a;
      while (b + 1 < before.size() && before[b + 1].bytes <= bytes) ++b;
      points.push_back(
          {bytes, cost + behind[a].cost + before[b].cost, split, static_cast<int>(a), static_cast<int>(b)});
      bool more_a = a + 1 < behind.size(), more_b = b + 1 < before.size();
      if (!more_a && !more_b) return;
      if (more_a && (!more_b || behind[a + 1].bytes + held <= before[b + 1].bytes))
        ++a;
      else
        ++b;
    }
  }

  void add_tapes(int i, int j, Front& points) const {
    const std::vector<Tape>& tapes = blocks_[at(i)].tapes[is_first(j)];
    std::int64_t carried = blocks_[at(j - 1)].carried_bytes;
    for (std::size_t t = 0; t < tapes.size(); ++t) {
      std::int64_t floor = std::max(carried + tapes[t].forward.peak, tapes[t].backward.peak);
      double cost = tapes[t].forward.cost + tapes[t].backward.cost;
      const Front& behind = front(i + 1, j);
      for (std::size_t a = 0; a < behind.size(); ++a) {
        points.push_back({std::max(floor, behind[a].bytes + tapes[t].held), cost + behind[a].cost,
                          -1 - static_cast<int>(t), static_cast<int>(a), 0});
      }
    }
  }

  // Lower bytes first, each cheaper than those before it. Of a front that is too long some points are left out.
  Front pareto(Front points) const {
    std::sort(points.begin(), points.end(),
              [](const Point& a, const Point& b) { return a.bytes != b.bytes ? a.bytes < b.bytes : a.cost < b.cost; });
    Front front;
    for (const Point& point : points) {
      bool is_of_use = front.empty() || (point.cost < front.back().cost && point.bytes <= budget_);
      if (is_of_use) front.push_back(point);
    }
    if (front.size() <= longest_front_) return front;
    Front thinned;
    for (std::size_t k = 0; k < longest_front_; ++k) {
      thinned.push_back(front[k * (front.size() - 1) / (longest_front_ - 1)]);
    }
    return thinned;
  }

  void emit(int i, int j, std::size_t index, std::vector<int>& nodes) const {
    auto append = [&](const Stretch& stretch) {
      nodes.insert(nodes.end(), stretch.nodes.begin(), stretch.nodes.end());
    };
    const Point& point = front(i, j)[index];
    int first = is_first(j);
    if (j == i + 1) return append(blocks_[at(i)].leaf);
    if (point.split < 0) {
      const Tape& tape = blocks_[at(i)].tapes[first][at(-1 - point.split)];
      append(tape.forward);
      emit(i + 1, j, at(point.first), nodes);
      return append(tape.backward);
    }
    for (int k = i; k < point.split; ++k) append(blocks_[at(k)].advance[first]);
    emit(point.split, j, at(point.first), nodes);
    emit(i, point.split, at(point.second), nodes);
  }

  const Chain& chain_;
  int count_;
  std::int64_t budget_;
  std::vector<Block> blocks_;
  std::vector<Front> fronts_;
  std::size_t longest_front_;
};

}  // namespace

std::vector<Schedule> solve_chain_dp(const Attempt& attempt) {
  Chain chain = find_chain(attempt.problem, most_blocks);
  if (chain.blocks.size() < 2) return {};
  Program program(attempt.problem, chain, attempt.options.budget);
  if (!program.solve(attempt.deadline)) return {};
  Best best(attempt);
  for (const std::vector<int>& runs : program.runs()) best.offer(with_drops(attempt.problem, runs));
  return best.schedules();
}

}  // namespace reprise::plan
