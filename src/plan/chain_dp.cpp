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
//
// Fronts depend on the numbers of the blocks alone, so ranges of blocks that are alike, one by one, share theirs: a
// uniform chain of L blocks has O(L) fronts instead of O(L²).
#include <algorithm>
#include <cmath>
#include <map>

#include "base/free_memory.h"
#include "base/index.h"
#include "plan/chain_block.h"
#include "plan/replay.h"
#include "plan/solver.h"

namespace reprise::plan {
namespace {

// Numbers ranges of blocks so that two have the same number if their blocks are alike and the last block ends both or
// neither: on the way to it blocks run for the first time.
class Ranges {
 public:
  explicit Ranges(const std::vector<ChainBlock>& blocks) : count_(static_cast<int>(blocks.size())) {
    std::vector<int> numbers = kinds(blocks);
    for (int length = 1; length <= count_; ++length) {
      if (length > 1) numbers = joined(numbers);
      lengths_.resize(at(next_), length);
      of_.push_back(numbers);
    }
  }

  int count() const { return next_; }
  int number(int i, int j) const { return of_[at(j - i - 1)][at(i)]; }
  /// Ways to split a range, over all that differ.
  std::int64_t splits() const {
    std::int64_t sum = 0;
    for (int length : lengths_) sum += length - 1;
    return sum;
  }

 private:
  std::vector<int> kinds(const std::vector<ChainBlock>& blocks) {
    std::vector<int> found, first_of_kind;
    for (int k = 0; k < count_; ++k) {
      bool is_last = k + 1 == count_;
      auto known = std::ranges::find_if(
          first_of_kind, [&](int other) { return !is_last && is_alike(blocks[at(k)], blocks[at(other)]); });
      found.push_back(static_cast<int>(known - first_of_kind.begin()));
      if (known == first_of_kind.end()) first_of_kind.push_back(k);
    }
    next_ = static_cast<int>(first_of_kind.size());
    return found;
  }

  // A range is its first blocks but one, and its last.
  std::vector<int> joined(const std::vector<int>& shorter) {
    std::map<std::pair<int, int>, int> known;
    std::vector<int> numbers;
    for (std::size_t i = 0; i + 1 < shorter.size(); ++i) {
      auto [found, is_new] = known.try_emplace({shorter[i], shorter[i + 1]}, next_);
      if (is_new) ++next_;
      numbers.push_back(found->second);
    }
    return numbers;
  }

  int count_, next_ = 0;
  std::vector<std::vector<int>> of_;  // [length - 1][i]
  std::vector<int> lengths_;          // by number
};

struct Point {
  std::int64_t bytes = 0;
  double cost = 0;
  int split = 0;              // blocks before state s; leaf: 0; tape number t: -1 - t
  int first = 0, second = 0;  // points of the fronts it is made of
};
using Front = std::vector<Point>;  // lower bytes first, each cheaper than those before it

class Program {
 public:
  Program(const Problem& problem, const Chain& chain)
      : held_bytes_(chain.held_bytes),
        count_(static_cast<int>(chain.blocks.size())),
        blocks_(build_blocks(problem, chain)),
        ranges_(blocks_),
        longest_front_(at(std::clamp<std::int64_t>(most_points / (2 * ranges_.splits() + 1), 48, 20'000))) {}

  /// Whether it is solved in a fraction of a second.
  bool is_small() const { return ranges_.splits() <= most_splits; }

  bool solve(std::int64_t budget, const Deadline& deadline) {
    budget_ = budget - held_bytes_;
    fronts_.assign(at(ranges_.count()), {});
    for (int length = 1; length <= count_; ++length) {
      for (int i = 0; i + length <= count_; ++i) {
        Front& front = fronts_[at(ranges_.number(i, i + length))];
        if (!front.empty()) continue;
        if (deadline.is_over()) return false;
        front = filled(i, i + length);
      }
    }
    return true;
  }

  /// The lowest peak there is, at whatever cost.
  std::int64_t lowest() const { return front(0, count_).front().bytes + held_bytes_; }

  bool fits(double dearest) const {
    const Point& point = front(0, count_)[first_below(dearest)];
    return point.bytes <= budget_ && point.cost <= dearest;
  }

  /// The node runs of the one with the lowest peak that is not too dear, and of the cheapest within the budget.
  std::vector<std::vector<int>> runs(double dearest) const {
    std::size_t low = first_below(dearest), cheapest = front(0, count_).size() - 1;
    std::vector<std::vector<int>> found(low == cheapest ? 1 : 2);
    emit(0, count_, low, found.front());
    if (low != cheapest) emit(0, count_, cheapest, found.back());
    return found;
  }

 private:
  static constexpr std::int64_t most_splits = 600'000, most_points = 60'000'000;

  static std::vector<ChainBlock> build_blocks(const Problem& problem, const Chain& chain) {
    std::vector<ChainBlock> blocks;
    for (std::size_t k = 0; k < chain.blocks.size(); ++k) blocks.push_back(build_block(problem, chain, k));
    return blocks;
  }

  std::size_t first_below(double dearest) const {
    const Front& front = this->front(0, count_);
    std::size_t k = 0;
    while (k + 1 < front.size() && front[k].cost > dearest) ++k;
    return k;
  }

  const Front& front(int i, int j) const { return fronts_[at(ranges_.number(i, j))]; }
  int is_first(int j) const { return j == count_ ? 1 : 0; }  // blocks are first run on the way to the last

  Front filled(int i, int j) {
    const ChainBlock& block = blocks_[at(i)];
    if (j == i + 1) return {{block.leaf.peak, block.leaf.cost, 0, 0, 0}};
    Front front;
    add_splits(i, j, front);
    add_tapes(i, j, front);
    return thinned(front);
  }

  void add_splits(int i, int j, Front& front) {
    int first = is_first(j);
    const ChainBlock& block = blocks_[at(i)];
    std::int64_t carried = blocks_[at(j - 1)].carried_bytes;
    std::int64_t transit = block.advance_held[first];
    double cost = block.advance[first].cost;
    for (int s = i + 1; s < j; ++s) {
      combine(s - i, cost, carried + transit, block.state_bytes, this->front(s, j), this->front(i, s));
      merge(front);
      if (s + 1 == j) break;
      transit = std::max(transit, block.state_bytes + blocks_[at(s)].advance[first].peak);
      cost += blocks_[at(s)].advance[first].cost;
    }
  }

  // Points of "`cost` for at least `floor` bytes; `behind`, with `held` more; `before`".
  void combine(int split, double cost, std::int64_t floor, std::int64_t held, const Front& behind,
               const Front& before) {
    points_.clear();
    std::size_t a = 0, b = 0;
    while (true) {
      std::int64_t need_a = behind[a].bytes + held, need_b = before[b].bytes;
      std::int64_t bytes = std::max({floor, need_a, need_b});
      if (bytes > budget_ && !points_.empty()) return;
      while (a + 1 < behind.size() && behind[a + 1].bytes + held <= bytes) ++a;
      while (b + 1 < before.size() && before[b + 1].bytes <= bytes) ++b;
      points_.push_back(
          {bytes, cost + behind[a].cost + before[b].cost, split, static_cast<int>(a), static_cast<int>(b)});
      bool more_a = a + 1 < behind.size(), more_b = b + 1 < before.size();
      if (!more_a && !more_b) return;
      if (more_a && (!more_b || behind[a + 1].bytes + held <= before[b + 1].bytes))
        ++a;
      else
        ++b;
    }
  }

  void add_tapes(int i, int j, Front& front) {
    const std::vector<Tape>& tapes = blocks_[at(i)].tapes[is_first(j)];
    std::int64_t carried = blocks_[at(j - 1)].carried_bytes;
    const Front& behind = this->front(i + 1, j);
    for (std::size_t t = 0; t < tapes.size(); ++t) {
      std::int64_t floor = std::max(carried + tapes[t].forward.peak, tapes[t].backward.peak);
      double cost = tapes[t].forward.cost + tapes[t].backward.cost;
      points_.clear();
      for (std::size_t a = 0; a < behind.size(); ++a) {
        std::int64_t bytes = std::max(floor, behind[a].bytes + tapes[t].held);
        if (!points_.empty() && points_.back().bytes == bytes) points_.pop_back();  // the next is cheaper
        points_.push_back({bytes, cost + behind[a].cost, -1 - static_cast<int>(t), static_cast<int>(a), 0});
      }
      merge(front);
    }
  }

  // Takes the points into the front. What exceeds the budget is of use only as the lowest there is.
  void merge(Front& front) {
    if (points_.empty()) return;
    auto dearer = std::ranges::upper_bound(front, points_.front().bytes, {}, &Point::bytes);
    if (dearer != front.begin() && std::prev(dearer)->cost <= points_.back().cost) return;  // none is better
    merged_.clear();
    auto a = front.begin();
    auto b = points_.begin();
    while (a != front.end() || b != points_.end()) {
      bool takes_a = b == points_.end() || (a != front.end() && is_before(*a, *b));
      const Point& point = takes_a ? *a++ : *b++;
      bool is_of_use = merged_.empty() || (point.cost < merged_.back().cost && point.bytes <= budget_);
      if (is_of_use) merged_.push_back(point);
    }
    front.swap(merged_);
  }

  static bool is_before(const Point& a, const Point& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.cost <= b.cost;
  }

  // Of a front that is too long some points are left out. There are many fronts, so none holds more than it needs.
  Front thinned(const Front& front) const {
    if (front.size() <= longest_front_) return front;
    Front thinned;
    thinned.reserve(longest_front_);
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
    int s = i + point.split;
    for (int k = i; k < s; ++k) append(blocks_[at(k)].advance[first]);
    emit(s, j, at(point.first), nodes);
    emit(i, s, at(point.second), nodes);
  }

  std::int64_t held_bytes_;
  int count_;
  std::int64_t budget_ = 0;  // besides what is held
  std::vector<ChainBlock> blocks_;
  Ranges ranges_;
  std::vector<Front> fronts_;  // by number of the range
  std::size_t longest_front_;
  Front points_, merged_;
};

bool is_long(const Model& model) { return model.node_count() > 4000; }

// The last percents of a long chain's memory take dozens of times its cost, and a list of runs that takes more memory
// than they save.
double dearest_of_use(const Model& model) {
  return is_long(model) ? 5 * model.base_cost : std::numeric_limits<double>::infinity();
}

std::vector<std::vector<int>> best_runs(const Attempt& attempt, const Chain& chain) {
  if (chain.blocks.size() < 2) return {};
  Program program(attempt.problem, chain);
  if (!program.solve(attempt.options.budget, attempt.deadline)) return {};
  // Where nothing fits, the cheapest of the lowest there are: parts may take what the whole takes.
  const double dearest = dearest_of_use(attempt.model);
  const std::int64_t low = program.lowest(), enough = std::isinf(dearest) ? low : low + low / 4;
  if (!program.fits(dearest) && !program.solve(enough, attempt.deadline)) return {};
  return program.runs(dearest);
}

}  // namespace

std::vector<Schedule> solve_chain_dp(const Attempt& attempt) {
  auto is_small = [&](const Chain& chain) { return Program(attempt.problem, chain).is_small(); };
  Best best(attempt);
  for (const Chain& chain : find_chains(attempt.problem, is_small)) {
    std::vector<std::vector<int>> found = best_runs(attempt, chain);
    if (is_long(attempt.model)) give_back_free_memory();  // of thousands of fronts, too small for what follows
    for (const std::vector<int>& runs : found) best.offer(with_drops(attempt.problem, runs));
  }
  return best.take();
}

}  // namespace reprise::plan
