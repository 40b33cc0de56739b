// SPDX-License-Identifier: Apache-2.0
// Evaluation: an explicit stack, so that chains of any length work.
#include "execute/lazy_store.h"

#include <algorithm>

#include "base/error.h"
#include "graph/builtin.h"

namespace reprise {
namespace {

std::string describe(const Graph& graph, std::int32_t i) {
  const std::string& name = graph.node(i).name;
  return name.empty() ? fmt::format("input {} ({})", i, to_string(graph.type({i, 0})))
                      : fmt::format("input '{}' ({})", name, to_string(graph.type({i, 0})));
}

}  // namespace

Table& LazyStore::table(const std::shared_ptr<Graph>& graph) {
  Table* found = nullptr;
  for (std::size_t i = 0; i < tables_.size();) {
    auto owner = tables_[i]->owner.lock();
    if (!owner) {
      forget(*tables_[i]);
      tables_.erase(tables_.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (owner == graph) found = tables_[i].get();
    ++i;
  }
  if (!found) {
    found = tables_.emplace_back(std::make_unique<Table>()).get();
    found->owner = graph;
    found->graph = graph.get();
  }
  extend(*found);
  return *found;
}

Table* LazyStore::find(const std::shared_ptr<Graph>& graph) const {
  for (const auto& t : tables_)
    if (t->owner.lock() == graph) return t.get();
  return nullptr;
}

void LazyStore::extend(Table& table) {
  while (table.size < table.graph->size()) {
    std::int32_t i = table.size++;
    if (static_cast<std::size_t>(i) / Table::chunk == table.chunks.size())
      table.chunks.push_back(std::make_unique<Cell[]>(Table::chunk));
    const Node& node = table.graph->node(i);
    Cell& cell = table.cell(i);
    cell.table = &table;
    cell.node = i;
    cell.root = {i, 0};
    if (node.op->view_of >= 0) {
      Ref viewed = node.inputs[static_cast<std::size_t>(node.op->view_of)];
      Ref root = table.cell(viewed.node).root;
      cell.root = root.node == viewed.node ? viewed : root;
    }
    if (is_limited()) connect(table, i);
    if (node.op == &constant_op) take_constant(cell, std::get<Tensor>(*node.attributes.find("value")));
  }
}

void LazyStore::take_constant(Cell& cell, const Tensor& value) {
  if (options_.counts_given) make_room_for(value);
  give(cell, value);
}

void LazyStore::connect(Table& table, std::int32_t i) {
  table.first_use.push_back(-1);
  for (Ref r : table.graph->node(i).inputs) {
    std::int32_t& first = table.first_use[static_cast<std::size_t>(table.cell(r.node).root.node)];
    table.uses.push_back({i, first});
    first = static_cast<std::int32_t>(table.uses.size()) - 1;
  }
}

void LazyStore::forget(Table& table) { shrink(table, 0); }

void LazyStore::shrink(Table& table, std::int32_t size) {
  candidates_.clear();
  for (std::int32_t i = size; i < table.size; ++i) {
    Cell& cell = table.cell(i);
    take_back(cell);
    drop(cell);
    if (cell.component >= 0) components_.subtract(cell.component, cell.seconds);
    cell = Cell{};
  }
  if (is_limited() && size < table.size) {
    table.first_use.resize(static_cast<std::size_t>(size));
    // A node's readers come in the order of recording: the latest are in front.
    for (std::int32_t& first : table.first_use)
      while (first >= 0 && table.uses[static_cast<std::size_t>(first)].reader >= size)
        first = table.uses[static_cast<std::size_t>(first)].next;
    while (!table.uses.empty() && table.uses.back().reader >= size) table.uses.pop_back();
  }
  table.size = std::min(table.size, size);
}

void LazyStore::give(Cell& cell, const Tensor& given, std::int32_t output) {
  Tensor value = given;  // it may be what is given up here
  const Node& node = cell.table->graph->node(cell.node);
  bool is_put = !is_given(node), counts = is_put || options_.counts_given;
  if (node.outputs.size() > 1) return put_one(cell, value, static_cast<std::size_t>(output));
  if (cell.given)
    take_back(cell);
  else
    drop(cell);
  if (counts) ledger_.hold(value);
  cell.value = value;
  cell.given = cell.present = true;
  cell.is_put = is_put;
  put_count_ += is_put;
}

// The other outputs stay as they are.
void LazyStore::put_one(Cell& cell, const Tensor& value, std::size_t output) {
  auto& outputs = substitutes_[&cell];
  outputs.resize(cell.table->graph->node(cell.node).outputs.size());
  if (auto& old = outputs[output]) ledger_.release(*old);
  ledger_.hold(value);
  outputs[output] = value;
  if (cell.present) substitute(cell);
}

const Tensor* LazyStore::put_output(Table& table, Ref ref) const {
  if (substitutes_.empty()) return nullptr;
  Ref root = table.cell(ref.node).root;
  if (root.node == ref.node) root = ref;
  auto at = substitutes_.find(&table.cell(root.node));
  if (at == substitutes_.end() || !at->second[static_cast<std::size_t>(root.output)]) return nullptr;
  return &*at->second[static_cast<std::size_t>(root.output)];
}

std::int64_t LazyStore::entry_count() const {
  std::int64_t count = static_cast<std::int64_t>(droppable_.size()) + put_count_;
  for (const auto& [cell, outputs] : substitutes_) count += !cell->present;
  return count;
}

void LazyStore::take_back(Cell& cell) {
  if (auto at = substitutes_.find(&cell); at != substitutes_.end()) {
    for (const auto& t : at->second)
      if (t) ledger_.release(*t);
    substitutes_.erase(at);
    drop(cell);
  }
  if (!cell.given) return;
  if (cell.is_put || options_.counts_given) ledger_.release(cell.value);
  put_count_ -= cell.is_put;
  cell.given = cell.present = cell.is_put = false;
  cell.value = {};
}

Tensor LazyStore::read(Table& table, Ref ref) {
  Ref at = table.cell(ref.node).root;
  if (at.node == ref.node) at = ref;
  Cell& cell = table.cell(at.node);
  touch(cell);
  const Tensor* put = cell.present ? nullptr : put_output(table, ref);
  const Tensor& t = put ? *put : at.output == 0 ? cell.value : cell.others[static_cast<std::size_t>(at.output - 1)];
  const Shape& shape = table.graph->type(ref).shape;
  return t.shape() == shape ? t : t.reshape(shape);
}

void LazyStore::touch(Cell& cell) {
  cell.used = ++clock_;
  ++cell.uses;
}

void LazyStore::push(Table& table, std::int32_t node) {
  stack_.push_back({node});
  for (Ref r : table.graph->node(node).inputs) {
    Cell& input = table.root(r);
    ++input.wanted;
    input.depth = static_cast<std::int32_t>(stack_.size());
    if (!input.given) ++(input.present ? stats_.hits : stats_.misses);
  }
}

void LazyStore::pop(Table& table) {
  Frame frame = stack_.back();
  stack_.pop_back();
  for (Ref r : table.graph->node(frame.node).inputs) --table.root(r).wanted;
  for (Cell* cell : frame.held) unlock(*cell);
}

std::int32_t LazyStore::missing_input(Table& table, const Node& node) {
  for (Ref r : node.inputs)
    if (Cell& input = table.root(r); !input.present) return input.node;
  return -1;
}

// From then on the inputs that are there stay: a frame whose inputs drive each other out would never end.
void LazyStore::hold_inputs(Table& table, Frame& frame) {
  for (Ref r : table.graph->node(frame.node).inputs) {
    Cell& input = table.root(r);
    if (!input.present || std::ranges::find(frame.held, &input) != frame.held.end()) continue;
    lock(input);
    frame.held.push_back(&input);
  }
}

void LazyStore::ensure(Table& table, std::int32_t target) {
  target = table.cell(target).root.node;
  if (table.cell(target).present) return;
  const Node& wanted = table.graph->node(target);
  if (wanted.op != &input_op && missing_input(table, wanted) < 0) {
    for (Ref r : wanted.inputs) stats_.hits += !table.root(r).given;
    return run(table, target);
  }
  std::size_t base = stack_.size();
  try {
    push(table, target);
    while (stack_.size() > base) {
      Frame& frame = stack_.back();
      if (table.cell(frame.node).present) {
        pop(table);
        continue;
      }
      const Node& node = table.graph->node(frame.node);
      if (node.op == &input_op) fail("[lazy] {} has no tensor: set it first", describe(*table.graph, frame.node));
      std::int32_t missing = missing_input(table, node);
      if (missing < 0) {
        run(table, frame.node);
        pop(table);
        continue;
      }
      if (++frame.descents > static_cast<std::int32_t>(node.inputs.size())) hold_inputs(table, frame);
      push(table, missing);
    }
  } catch (...) {
    while (stack_.size() > base) pop(table);
    throw;
  }
}

std::int64_t LazyStore::bytes_of(const Table& table, std::int32_t node) const {
  std::int64_t bytes = 0;
  for (const Type& type : table.graph->node(node).outputs) bytes += type.bytes();
  return bytes;
}

void LazyStore::run(Table& table, std::int32_t i) {
  Cell& cell = table.cell(i);
  const Node& node = table.graph->node(i);
  for (Ref r : node.inputs) lock(table.root(r));
  try {
    run_kernel(table, cell, node);
  } catch (...) {
    for (Ref r : node.inputs) unlock(table.root(r));
    throw;
  }
  for (Ref r : node.inputs) unlock(table.root(r));
}

void* LazyStore::data(Table& table, Ref r) {
  Ref root = table.cell(r.node).root;
  std::int32_t output = root.node == r.node ? r.output : root.output;
  Cell& cell = table.cell(root.node);
  return output == 0 ? cell.value.data() : cell.others[static_cast<std::size_t>(output - 1)].data();
}

void LazyStore::run_kernel(Table& table, Cell& cell, const Node& node) {
  const Kernel& kernel = kernels_.of(*table.graph, cell.node);
  if (is_limited()) make_room(bytes_of(table, cell.node) + kernel.scratch_bytes, 1);
  in_.clear();
  for (Ref r : node.inputs) {
    in_.push_back(data(table, r));
    touch(table.root(r));
  }
  take_outputs(cell, node);
  out_.clear();
  out_.push_back(cell.value.data());
  for (const Tensor& t : cell.others) out_.push_back(t.data());
  Tensor scratch;
  if (kernel.scratch_bytes > 0) scratch = Tensor::empty({DType::boolean, {kernel.scratch_bytes}});
  ledger_.add(kernel.scratch_bytes);
  double begin = options_.now();
  try {
    kernel.run({in_, out_, scratch.data()});
  } catch (...) {
    ledger_.subtract(kernel.scratch_bytes);
    release_outputs(cell);
    throw;
  }
  ledger_.subtract(kernel.scratch_bytes);
  scratch = {};
  finish(cell, options_.now() - begin);
}

void LazyStore::take_outputs(Cell& cell, const Node& node) {
  cell.value = Tensor::empty(node.outputs[0]);
  cell.bytes = cell.value.bytes();
  for (std::size_t k = 1; k < node.outputs.size(); ++k) {
    cell.bytes += node.outputs[k].bytes();
    cell.others.push_back(Tensor::empty(node.outputs[k]));
  }
  if (!options_.has_shares) return ledger_.add(cell.bytes);
  ledger_.hold(cell.value);
  for (const Tensor& t : cell.others) ledger_.hold(t);
}

void LazyStore::release_outputs(Cell& cell) {
  if (options_.has_shares) {
    ledger_.release(cell.value);
    for (const Tensor& t : cell.others) ledger_.release(t);
  } else {
    ledger_.subtract(cell.bytes);
  }
  cell.value = {};
  cell.others.clear();
}

// A node's run is over: its value is there.
void LazyStore::finish(Cell& cell, double seconds) {
  ++stats_.executed;
  if (cell.was_computed) ++stats_.recomputed;
  stats_.seconds += seconds;
  if (cell.was_computed) stats_.recompute_seconds += seconds;
  return_from_drop(cell);
  cell.seconds = cell.seconds == 0 ? seconds : std::min(cell.seconds, seconds);
  cell.was_computed = cell.present = true;
  cell.made = cell.used = ++clock_;
  cell.place = static_cast<std::int32_t>(droppable_.size());
  droppable_.push_back(&cell);
  if (!substitutes_.empty()) substitute(cell);
  if (cell.is_expected) settle(*cell.table, cell);
  if (options_.keeps_timeline) note(LazyEvent::Kind::ran, cell, seconds);
}

void LazyStore::note(LazyEvent::Kind kind, const Cell& cell, double seconds) {
  double now = options_.now() - beginning_;
  events_.push_back({kind, std::string(cell.table->graph->node(cell.node).op->name), cell.node, now - seconds, seconds,
                     ledger_.held()});
}

// Outputs that the caller gave stand in for computed ones.
void LazyStore::substitute(Cell& cell) {
  auto at = substitutes_.find(&cell);
  if (at == substitutes_.end()) return;
  for (std::size_t k = 0; k < at->second.size(); ++k) {
    if (!at->second[k]) continue;
    Tensor& output = k == 0 ? cell.value : cell.others[k - 1];
    if (output.data() == at->second[k]->data()) continue;
    ledger_.release(output);
    ledger_.hold(*at->second[k]);
    output = *at->second[k];
  }
}

void LazyStore::drop(Cell& cell) {
  if (!cell.present || cell.given) return;
  Cell* last = droppable_.back();
  last->place = cell.place;
  droppable_[static_cast<std::size_t>(cell.place)] = last;
  droppable_.pop_back();
  cell.place = -1;
  cell.present = false;
  cell.near_count = Cell::unknown;
  release_outputs(cell);
}

void LazyStore::expect(Table& table, std::span<const Ref> targets) {
  if (!is_limited() || options_.policy != CachePolicy::cost_aware) return;
  std::vector<std::int32_t> open;
  auto enter = [&](Ref r) {
    Cell& cell = table.root(r);
    if (cell.present || cell.is_expected) return;
    cell.is_expected = true;
    expected_.push_back(&cell);
    open.push_back(cell.node);
  };
  for (Ref r : targets) enter(r);
  while (!open.empty()) {
    std::int32_t i = open.back();
    open.pop_back();
    for (Ref r : table.graph->node(i).inputs) {
      ++table.root(r).pending;
      enter(r);
    }
  }
}

void LazyStore::settle(Table& table, Cell& cell) {
  cell.is_expected = false;
  for (Ref r : table.graph->node(cell.node).inputs) --table.root(r).pending;
}

void LazyStore::forget_expectations() {
  for (Cell* cell : expected_)
    if (cell->is_expected) settle(*cell->table, *cell);
  expected_.clear();
}

}  // namespace reprise
