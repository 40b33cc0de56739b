// SPDX-License-Identifier: Apache-2.0
#include "plan/chain_block.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/index.h"

namespace reprise::plan {
namespace {

using Values = std::unordered_set<int>;

// Works out what a block of the chain can do.
class BlockBuilder {
 public:
  BlockBuilder(const Problem& problem, const Chain& chain) : problem_(problem), chain_(chain) {}

  ChainBlock build(std::size_t k) const {
    const Chain::Block& link = chain_.blocks[k];
    bool is_last = k + 1 == chain_.blocks.size();
    Values next = is_last ? Values() : set_of(chain_.blocks[k + 1].state);
    Values state = set_of(link.state);
    ChainBlock block;
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
      for (int input : problem_.inputs(n)) {
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
      for (int input : problem_.inputs(node)) {
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
      for (int input : problem_.inputs(n)) {
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
      for (int input : problem_.inputs(node)) {
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
      for (int input : problem_.inputs(result.nodes[i])) last_use[root_of(input)] = i;
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
      std::span<const int> inputs = problem_.inputs(node);
      std::vector<int> touched(inputs.begin(), inputs.end());
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

bool is_alike(const Stretch& a, const Stretch& b) { return a.cost == b.cost && a.peak == b.peak; }

bool is_alike(const Tape& a, const Tape& b) {
  return is_alike(a.forward, b.forward) && is_alike(a.backward, b.backward) && a.held == b.held;
}

}  // namespace

ChainBlock build_block(const Problem& problem, const Chain& chain, std::size_t k) {
  return BlockBuilder(problem, chain).build(k);
}

bool is_alike(const ChainBlock& a, const ChainBlock& b) {
  auto are_alike = [](const Tape& x, const Tape& y) { return is_alike(x, y); };
  for (int first : {0, 1}) {
    if (!is_alike(a.advance[first], b.advance[first]) || a.advance_held[first] != b.advance_held[first]) return false;
    if (!std::ranges::equal(a.tapes[first], b.tapes[first], are_alike)) return false;
  }
  return is_alike(a.leaf, b.leaf) && a.state_bytes == b.state_bytes && a.carried_bytes == b.carried_bytes;
}

}  // namespace reprise::plan
