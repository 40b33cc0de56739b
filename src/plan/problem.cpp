// SPDX-License-Identifier: Apache-2.0
// Builds a Problem and refuses what cannot be. Inputs are values of earlier nodes, so there are no cycles.
#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>
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

// Of a list by value that ends with the last that has something.
template <class T>
const std::optional<T>& item_of(const std::vector<std::optional<T>>& list, int value) {
  static const std::optional<T> none;
  return at(value) < list.size() ? list[at(value)] : none;
}

template <class T>
void set_item(std::vector<std::optional<T>>& list, int value, const T& item) {
  if (list.size() <= at(value)) list.resize(at(value) + 1);
  list[at(value)] = item;
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
  if (data_->by_name.empty()) return -1;
  const std::size_t mask = data_->by_name.size() - 1;
  for (std::size_t slot = std::hash<std::string_view>{}(name)&mask;; slot = (slot + 1) & mask) {
    int found = data_->by_name[slot];
    if (found < 0 || node(found).name == name) return found;
  }
}

// At least half of the slots stay free.
void Problem::grow_names(Data& data, std::size_t nodes) {
  if (2 * nodes <= data.by_name.size()) return;
  data.by_name.assign(std::bit_ceil(2 * nodes), -1);
  for (int node = 0; node < static_cast<int>(data.nodes.size()); ++node) enter_name(data, node);
}

void Problem::enter_name(Data& data, int node) {
  const std::size_t mask = data.by_name.size() - 1;
  std::size_t slot = std::hash<std::string_view>{}(data.nodes[at(node)].name) & mask;
  while (data.by_name[slot] >= 0) slot = (slot + 1) & mask;
  data.by_name[slot] = node;
}

std::string_view Problem::group(const Node& node) const {
  return node.group < 0 ? std::string_view() : data_->groups[at(node.group)];
}

const std::optional<Compression>& Problem::compression(int value) const { return item_of(data_->compression, value); }
const std::optional<Paging>& Problem::paging(int value) const { return item_of(data_->paging, value); }

Problem::Data& Problem::own() {
  if (data_.use_count() > 1) data_ = std::make_shared<Data>(*data_);
  return *data_;
}

bool operator==(const Problem& a, const Problem& b) {
  const Problem::Data &x = *a.data_, &y = *b.data_;
  auto facts = [](const Problem::Data& d) {
    return std::tie(d.nodes, d.values, d.inputs, d.groups, d.compression, d.paging, d.resident_bytes);
  };
  return &x == &y || facts(x) == facts(y);
}

Problem Problem::aligned(std::int64_t alignment) const {
  if (alignment < 1 || alignment > largest_total || !std::has_single_bit(static_cast<std::uint64_t>(alignment)))
    fail("[problem] an alignment of {}: give a power of two up to 2^60", alignment);
  auto rounded = [&](std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  Problem result = *this;
  auto is_even = [&](std::int64_t bytes) { return rounded(bytes) == bytes; };
  bool is_aligned =
      std::ranges::all_of(values(), is_even, &Value::bytes) && std::ranges::all_of(nodes(), is_even, &Node::scratch) &&
      std::ranges::all_of(data_->compression, [&](const auto& form) { return !form || is_even(form->bytes); });
  if (is_aligned) return result;
  Data& data = result.own();
  data.total_bytes = data.resident_bytes;
  for (Node& node : data.nodes) add_size(data.total_bytes, node.name, node.scratch = rounded(node.scratch));
  for (Value& value : data.values)
    add_size(data.total_bytes, data.nodes[at(value.node)].name, value.bytes = rounded(value.bytes));
  for (std::optional<Compression>& form : data.compression)
    if (form) form->bytes = rounded(form->bytes);
  return result;
}

void Problem::reserve(int nodes, int values) {
  Data& data = own();
  data.nodes.reserve(at(nodes));
  data.values.reserve(at(values));
  grow_names(data, at(nodes));
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
  node.first_value = value_count();
  node.value_count = static_cast<int>(spec.bytes.size());
  std::vector<int> reads;
  for (ValueRef input : inputs) {
    int read = index(input);
    if (int by = value(read).updated_by; by >= 0) {
      fail(
          "[problem] '{}' reads '{}', which '{}' has overwritten: read the output of '{}' instead, or add '{}' before "
          "it",
          spec.name, value_name(read), this->node(by).name, this->node(by).name, spec.name);
    }
    if (std::find(reads.begin(), reads.end(), read) == reads.end()) reads.push_back(read);
  }
  Data& data = own();
  node.first_input = static_cast<int>(data.inputs.size());
  node.input_count = static_cast<int>(reads.size());
  data.inputs.insert(data.inputs.end(), reads.begin(), reads.end());
  if (!spec.group.empty()) {
    auto known = std::ranges::find(data.groups, spec.group);
    node.group = static_cast<int>(known - data.groups.begin());
    if (known == data.groups.end()) data.groups.push_back(std::move(spec.group));
  }
  for (std::int64_t bytes : spec.bytes) data.values.push_back({.node = node_count(), .bytes = bytes});
  grow_names(data, data.nodes.size() + 1);
  data.nodes.push_back(std::move(node));
  enter_name(data, node_count() - 1);
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
  if (value.node == during || std::ranges::any_of(inputs(busy), needs_it)) {
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
  if (compression(index(value)) || paging(index(value)))
    fail("[problem] '{}' is a view: compress or page '{}' instead", value_name(index(value)), value_name(root));
  if (view.in_place_of >= 0)
    fail("[problem] '{}' takes over memory, so it is no view: leave out one of the two", value_name(index(value)));
  view.view_of = root;
  if (view.keep) data.values[at(root)].keep = true;
  data.total_bytes -= std::exchange(view.bytes, 0);
}

// When the viewed value is made again its views must come back with it, from it and from what is always there.
void Problem::check_reads_only(ValueRef view, int root) const {
  if (node(this->value(root).node).pinned) return;  // never made again
  for (int input : inputs(this->value(index(view)).node)) {
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
  if (taker.view_of >= 0)
    fail("[problem] '{}' is a view, so it takes over no memory: leave out one of the two", value_name(index(value)));
  taker.in_place_of = root;
}

int Problem::check_reads_last(ValueRef value, ValueRef input, const char* what) const {
  const Node& made_by = node(this->value(index(value)).node);
  int read = index(input);
  if (std::ranges::count(inputs(made_by), read) == 0) {
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
    if (std::ranges::count(inputs(later), overwritten) == 0) continue;
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
  set_item(own().compression, index, how);
}

void Problem::pageable(ValueRef value, Paging how) {
  int index = check_has_own_memory(value);
  check_cost(value_name(index), "page-out cost", how.out_cost);
  check_cost(value_name(index), "page-in cost", how.in_cost);
  set_item(own().paging, index, how);
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
