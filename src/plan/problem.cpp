// SPDX-License-Identifier: Apache-2.0
// Builds a Problem and refuses what cannot be. Inputs are values of earlier nodes, so there are no cycles.
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "reprise/plan.h"

namespace reprise {
namespace {

constexpr std::int64_t largest_total = std::int64_t{1} << 60;  // sums and differences of sizes never overflow
constexpr double largest_cost = 1e200;                         // nor do costs, however often nodes run

void check_cost(const std::string& where, const char* what, double cost) {
  if (!std::isfinite(cost) || cost < 0)
    fail("[problem] {} of '{}' is {}: give a finite number >= 0", what, where, cost);
  if (cost > largest_cost)
    fail("[problem] {} of '{}' is {}: give numbers up to {}, in a larger unit if need be", what, where, cost,
         largest_cost);
}

// Adds a size to a sum that must not overflow.
void add_size(std::int64_t& total, const std::string& where, std::int64_t bytes) {
  if (bytes < 0) fail("[problem] '{}' has a size of {} bytes: give sizes >= 0", where, bytes);
  if (bytes > largest_total - total) fail("[problem] sizes up to '{}' sum to more than 2^60 bytes", where);
  total += bytes;
}

}  // namespace

int Problem::index(ValueRef value) const {
  if (value.node < 0 || value.node >= node_count()) {
    fail("[problem] there is no node number {}: {} were added", value.node, node_count());
  }
  const Node& made_by = node(value.node);
  if (value.output < 0 || value.output >= made_by.value_count) {
    fail("[problem] '{}' has no output {}: it has {}", made_by.name, value.output, made_by.value_count);
  }
  return made_by.first_value + value.output;
}

std::string Problem::value_name(int index) const {
  const Node& made_by = node(value(index).node);
  int output = index - made_by.first_value;
  return output == 0 ? made_by.name : fmt::format("{}:{}", made_by.name, output);
}

int Problem::find(std::string_view name) const {
  auto [first, last] = data_->by_hash.equal_range(std::hash<std::string_view>{}(name));
  for (auto at = first; at != last; ++at)
    if (node(at->second).name == name) return at->second;
  return -1;
}

Problem::Data& Problem::own() {
  if (data_.use_count() > 1) data_ = std::make_shared<Data>(*data_);
  return *data_;
}

bool operator==(const Problem& a, const Problem& b) {
  const Problem::Data &x = *a.data_, &y = *b.data_;
  return &x == &y || (x.nodes == y.nodes && x.values == y.values && x.resident_bytes == y.resident_bytes);
}

Problem Problem::aligned(std::int64_t alignment) const {
  if (alignment < 1 || alignment > largest_total || !std::has_single_bit(static_cast<std::uint64_t>(alignment)))
    fail("[problem] an alignment of {}: give a power of two up to 2^60", alignment);
  auto rounded = [&](std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  Problem result = *this;
  auto has_other = [&](const Value& value) {
    return rounded(value.bytes) != value.bytes ||
           (value.compression && rounded(value.compression->bytes) != value.compression->bytes);
  };
  bool is_aligned = std::ranges::none_of(values(), has_other) &&
                    std::ranges::all_of(nodes(), [&](const Node& n) { return rounded(n.scratch) == n.scratch; });
  if (is_aligned) return result;
  Data& data = result.own();
  data.total_bytes = data.resident_bytes;
  for (Node& node : data.nodes) add_size(data.total_bytes, node.name, node.scratch = rounded(node.scratch));
  for (Value& value : data.values) {
    add_size(data.total_bytes, data.nodes[at(value.node)].name, value.bytes = rounded(value.bytes));
    if (value.compression) value.compression->bytes = rounded(value.compression->bytes);
  }
  return result;
}

void Problem::reserve(int nodes, int values) {
  Data& data = own();
  data.nodes.reserve(at(nodes));
  data.values.reserve(at(values));
}

ValueRef Problem::add(NodeSpec spec, const std::vector<ValueRef>& inputs) {
  check_cost(spec.name, "cost", spec.cost);
  if (find(spec.name) >= 0) fail("[problem] two nodes are named '{}': names must differ", spec.name);
  if (spec.bytes.empty()) fail("[problem] '{}' has no output: give it one, of 0 bytes if need be", spec.name);
  if (spec.pinned && (spec.cost != 0 || !inputs.empty() || spec.scratch != 0)) {
    fail("[problem] '{}' is pinned, so nobody computes it: it has neither cost, scratch nor inputs", spec.name);
  }
  std::int64_t total = data_->total_bytes;
  add_size(total, spec.name, spec.scratch);
  for (std::int64_t bytes : spec.bytes) add_size(total, spec.name, bytes);

  Node node{.name = spec.name, .cost = spec.cost, .scratch = spec.scratch, .pinned = spec.pinned};
  node.never_recompute = spec.pinned;
  node.group = std::move(spec.group);
  node.first_value = value_count();
  node.value_count = static_cast<int>(spec.bytes.size());
  for (ValueRef input : inputs) {
    int read = index(input);
    if (int by = value(read).updated_by; by >= 0) {
      fail(
          "[problem] '{}' reads '{}', which '{}' has overwritten: read the output of '{}' instead, or add '{}' before "
          "it",
          spec.name, value_name(read), this->node(by).name, this->node(by).name, spec.name);
    }
    if (std::find(node.inputs.begin(), node.inputs.end(), read) == node.inputs.end()) node.inputs.push_back(read);
  }
  Data& data = own();
  for (std::int64_t bytes : spec.bytes) data.values.push_back({.node = node_count(), .bytes = bytes});
  data.by_hash.emplace(std::hash<std::string_view>{}(node.name), node_count());
  data.nodes.push_back(std::move(node));
  data.total_bytes = total;
  return {node_count() - 1, 0};
}

void Problem::output(ValueRef value) { own().values[at(index(value))].output = true; }

// A view is gone when what it views is made again: that is kept, too.
void Problem::keep(ValueRef value) {
  Value& kept = own().values[at(index(value))];
  kept.keep = true;
  if (kept.view_of >= 0) own().values[at(kept.view_of)].keep = true;
}

void Problem::never_keep(ValueRef value, ValueRef across) {
  int dropped = index(value), during = this->value(index(across)).node;
  const Node& busy = node(during);
  if (node(value.node).pinned) fail("[problem] '{}' is pinned, so it is always in memory", value_name(dropped));
  auto needs_it = [&](int read) { return read == dropped || this->value(read).view_of == dropped; };
  if (value.node == during || std::any_of(busy.inputs.begin(), busy.inputs.end(), needs_it)) {
    fail("[problem] '{}' cannot be out of memory while '{}' runs: that makes or reads it", value_name(dropped),
         busy.name);
  }
  own().values[at(dropped)].never_keep_across = during;
}

void Problem::never_recompute(ValueRef node) { own().nodes[at(value(index(node)).node)].never_recompute = true; }

void Problem::view(ValueRef value, ValueRef of) {
  int viewed = check_reads_last(value, of, "view");
  int root = this->value(viewed).view_of >= 0 ? this->value(viewed).view_of : viewed;
  check_reads_only(value, root);
  Data& data = own();
  Value& view = data.values[at(index(value))];
  if (view.compression || view.paging)
    fail("[problem] '{}' is a view: compress or page '{}' instead", value_name(index(value)), value_name(root));
  view.view_of = root;
  if (view.keep) data.values[at(root)].keep = true;
  data.total_bytes -= std::exchange(view.bytes, 0);
}

// When the viewed value is made again its views must come back with it, from it and from what is always there.
void Problem::check_reads_only(ValueRef view, int root) const {
  if (node(this->value(root).node).pinned) return;  // never made again
  for (int input : node(this->value(index(view)).node).inputs) {
    if (input == root || this->value(input).view_of == root || node(this->value(input).node).pinned) continue;
    fail(
        "[problem] '{}' is to view '{}', but its node also reads '{}': a view's node reads what it views, and pinned "
        "values",
        value_name(index(view)), value_name(root), value_name(input));
  }
}

void Problem::in_place(ValueRef value, ValueRef input) {
  int read = check_reads_last(value, input, "in_place");
  int root = this->value(read).view_of >= 0 ? this->value(read).view_of : read;
  Value& taker = own().values[at(index(value))];
  if (taker.bytes > this->value(root).bytes) {
    fail("[problem] '{}' ({} bytes) is larger than '{}' ({} bytes): it cannot take its memory",
         value_name(index(value)), taker.bytes, value_name(root), this->value(root).bytes);
  }
  taker.in_place_of = root;
}

int Problem::check_reads_last(ValueRef value, ValueRef input, const char* what) const {
  const Node& made_by = node(this->value(index(value)).node);
  int read = index(input);
  if (std::find(made_by.inputs.begin(), made_by.inputs.end(), read) == made_by.inputs.end()) {
    fail("[problem] {}: '{}' is not an input of '{}'", what, value_name(read), made_by.name);
  }
  if (value.node != node_count() - 1) {
    fail("[problem] {} of '{}': say so before adding further nodes", what, value_name(index(value)));
  }
  return read;
}

void Problem::update(ValueRef node, ValueRef pinned) {
  int overwritten = index(pinned), updater = this->value(index(node)).node;
  Data& data = own();
  Value& value = data.values[at(overwritten)];
  if (!this->node(value.node).pinned) {
    fail("[problem] '{}' updates '{}', which is not pinned", this->node(updater).name, value_name(overwritten));
  }
  if (value.updated_by >= 0) {
    fail("[problem] both '{}' and '{}' update '{}'", this->node(value.updated_by).name, this->node(updater).name,
         value_name(overwritten));
  }
  for (int later = updater + 1; later < node_count(); ++later) {
    const std::vector<int>& inputs = this->node(later).inputs;
    if (std::find(inputs.begin(), inputs.end(), overwritten) == inputs.end()) continue;
    fail("[problem] '{}' reads '{}' after '{}' has overwritten it: add it before", this->node(later).name,
         value_name(overwritten), this->node(updater).name);
  }
  value.updated_by = updater;
  data.nodes[at(updater)].updates = overwritten;
  data.nodes[at(updater)].never_recompute = true;
}

void Problem::compressible(ValueRef value, Compression how) {
  int index = check_has_own_memory(value);
  check_cost(value_name(index), "encode cost", how.encode_cost);
  check_cost(value_name(index), "decode cost", how.decode_cost);
  if (how.bytes < 0 || how.bytes > this->value(index).bytes) {
    fail("[problem] '{}' of {} bytes compresses to {}: give 0 to {}", value_name(index), this->value(index).bytes,
         how.bytes, this->value(index).bytes);
  }
  own().values[at(index)].compression = how;
}

void Problem::pageable(ValueRef value, Paging how) {
  int index = check_has_own_memory(value);
  check_cost(value_name(index), "page-out cost", how.out_cost);
  check_cost(value_name(index), "page-in cost", how.in_cost);
  own().values[at(index)].paging = how;
}

int Problem::check_has_own_memory(ValueRef value) const {
  int index = this->index(value);
  if (this->value(index).view_of >= 0) {
    fail("[problem] '{}' is a view: compress or page '{}' instead", value_name(index),
         value_name(this->value(index).view_of));
  }
  if (node(value.node).pinned) fail("[problem] '{}' is pinned: it is neither compressed nor paged", value_name(index));
  return index;
}

void Problem::resident(std::int64_t bytes) {
  std::int64_t total = data_->total_bytes - data_->resident_bytes;
  add_size(total, "resident_bytes", bytes);
  Data& data = own();
  data.total_bytes = total;
  data.resident_bytes = bytes;
}

}  // namespace reprise
