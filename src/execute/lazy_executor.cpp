// SPDX-License-Identifier: Apache-2.0
// The public face of the store: inputs, invalidation, figures.
#include <algorithm>

#include "base/error.h"
#include "execute/lazy_level.h"
#include "execute/lazy_store.h"
#include "graph/builtin.h"
#include "reprise/autodiff.h"

namespace reprise {
namespace {

bool is_input(const Node& node) { return node.op == &input_op; }
bool is_computed(const Node& node) { return !is_given(node) && node.op->view_of < 0; }

void expect_value(std::string_view who, const Value& value) {
  if (!value) fail("[{}] the Value is empty: it was never assigned", who);
}

void expect_type(std::string_view who, const Type& wanted, const Tensor& tensor) {
  if (tensor.type() != wanted)
    fail("[{}] the tensor is {}, the value is {}", who, to_string(tensor.type()), to_string(wanted));
}

void expect_graph(std::string_view who, const std::shared_ptr<Graph>& graph) {
  if (!graph) fail("[{}] there is no graph: the pointer is null", who);
}

// The gradient of one graph, recorded once for the inputs it has.
struct Recorded {
  std::weak_ptr<Graph> graph;
  Ref loss;
  std::vector<std::int32_t> inputs;
  Ref seed;
  std::vector<Ref> gradients;
};

}  // namespace

struct LazyExecutor::State {
  explicit State(const LazyOptions& o)
      : options(o),
        store({.limit = o.cache, .entries = o.entries, .policy = o.policy, .keeps_timeline = o.keeps_timeline}),
        runner(o.threads) {}

  LazyOptions options;
  LazyStore store;
  LevelRunner runner;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<Recorded> gradients;

  std::vector<Tensor> evaluate(const Values& values) {
    std::vector<Cell*> locked;
    std::vector<Tensor> results;
    auto end = [&] {
      for (Cell* cell : locked) store.unlock(*cell);
      store.forget_expectations();
    };
    try {
      for (const Value& v : values) {
        expect_value("lazy", v);
        store.expect(store.table(v.graph()), std::array{v.ref()});
      }
      if (options.threads > 1) run_levels(values);
      for (const Value& v : values) results.push_back(result(v, locked));
    } catch (...) {
      end();
      throw;
    }
    end();
    settle();
    return results;
  }

  void run_levels(const Values& values) {
    std::vector<Ref> targets;
    for (const Value& v : values) {
      targets.push_back(v.ref());
      bool is_last = &v == &values.back() || (&v)[1].graph() != v.graph();
      if (!is_last) continue;
      store.ensure_in_levels(store.table(v.graph()), targets, runner);
      targets.clear();
    }
  }

  // Runs a function of values at once, on a graph of its own.
  Tensor run_now(const std::vector<Tensor>& inputs, const std::function<Value(const Values&)>& f) {
    auto own = std::make_shared<Graph>();
    Values values;
    for (const Tensor& t : inputs) values.emplace_back(own, own->add_input(t.type()));
    Value result = f(values);
    Table& table = store.table(own);
    for (std::size_t i = 0; i < inputs.size(); ++i) store.give(table.cell(values[i].ref().node), inputs[i]);
    Tensor tensor = evaluate({result})[0];
    store.forget(table);
    return tensor;
  }

  // It counts as held until all results are there.
  Tensor result(const Value& v, std::vector<Cell*>& locked) {
    Table& table = store.table(v.graph());
    Cell& cell = table.root(v.ref());
    if (!cell.present && store.put_output(table, v.ref())) {
      ++store.stats().hits;
      return store.read(table, v.ref());
    }
    if (!cell.given) ++(cell.present ? store.stats().hits : store.stats().misses);
    store.ensure(table, v.ref().node);
    store.lock(cell);
    locked.push_back(&cell);
    return store.read(table, v.ref());
  }

  void settle() {
    if (options.policy == CachePolicy::none)
      while (!store.droppable().empty()) store.drop(*store.droppable().back());
    store.trim();
  }

  // Drops what depends on a node, or on one output of it; the node itself is the caller's business.
  void dirty_descendants(Table& table, std::int32_t from, bool inputs_changed,
                         std::optional<std::int32_t> output = {}) {
    std::vector<bool> is_dirty(static_cast<std::size_t>(table.size - from), false);
    auto reads_dirty = [&](Ref r) {
      if (r.node == from) return !output || r.output == *output;
      return r.node > from && is_dirty[static_cast<std::size_t>(r.node - from)];
    };
    for (std::int32_t i = from + 1; i < table.size; ++i) {
      if (!std::ranges::any_of(table.graph->node(i).inputs, reads_dirty)) continue;
      is_dirty[static_cast<std::size_t>(i - from)] = true;
      Cell& cell = table.cell(i);
      store.take_back(cell);
      store.drop(cell);
      if (inputs_changed) cell.was_computed = false;
    }
  }

  void set_input(Table& table, Ref ref, const Tensor& tensor) {
    expect_type("set_input", table.graph->type(ref), tensor);
    if (!is_input(table.graph->node(ref.node)))
      fail("[set_input] '{}' is not an input: put_cached says what a computed value is",
           table.graph->node(ref.node).op->name);
    store.give(table.cell(ref.node), tensor);
    dirty_descendants(table, ref.node, true);
  }

  const Recorded& gradient_of(const std::shared_ptr<Graph>& g) {
    std::erase_if(gradients, [](const Recorded& r) { return r.graph.expired(); });
    for (const Recorded& r : gradients)
      if (r.graph.lock() == g && r.loss == g->outputs[0] && r.inputs == g->inputs) return r;
    Values wrt;
    for (std::int32_t i : g->inputs)
      if (is_float(g->type({i, 0}).dtype)) wrt.emplace_back(g, Ref{i, 0});
    const Type& type = g->type(g->outputs[0]);
    Value loss(g, g->outputs[0]);
    // An input of nobody's list: the graph keeps the inputs it has.
    Value seed(g, {g->add(input_op, {}, {{"shape", type.shape.sizes()}, {"dtype", std::string(to_string(type.dtype))}},
                          "loss_gradient"),
                   0});
    Recorded recorded{g, loss.ref(), g->inputs, seed.ref(), {}};
    for (const Value& v : reprise::gradients(Values{loss}, Values{seed}, wrt)) recorded.gradients.push_back(v.ref());
    return gradients.emplace_back(std::move(recorded));
  }
};

namespace {

LazyExecutor::State& open_executor(const std::unique_ptr<LazyExecutor::State>& state) {
  if (!state) fail("[lazy] this executor was moved from: use the one it was moved to");
  return *state;
}

}  // namespace

LazyExecutor::LazyExecutor(const LazyOptions& options) : state_(std::make_unique<State>(options)) {
  if (options.cache < 0 || options.entries < 0 || options.threads < 1)
    fail("[lazy] cache {}, entries {}, threads {}: limits are 0 or more, threads 1 or more", options.cache,
         options.entries, options.threads);
}
LazyExecutor::~LazyExecutor() = default;
LazyExecutor::LazyExecutor(LazyExecutor&&) noexcept = default;
LazyExecutor& LazyExecutor::operator=(LazyExecutor&&) noexcept = default;

Value LazyExecutor::input(const Tensor& tensor, std::string name) {
  Value value(open_executor(state_).graph, open_executor(state_).graph->add_input(tensor.type(), std::move(name)));
  set_input(value, tensor);
  return value;
}

void LazyExecutor::set_input(const Value& input, const Tensor& tensor) {
  expect_value("set_input", input);
  open_executor(state_).set_input(open_executor(state_).store.table(input.graph()), input.ref(), tensor);
}

Tensor LazyExecutor::evaluate(const Value& value) { return open_executor(state_).evaluate({value})[0]; }
std::vector<Tensor> LazyExecutor::evaluate(const Values& values) { return open_executor(state_).evaluate(values); }

std::vector<Tensor> LazyExecutor::forward(const std::shared_ptr<Graph>& graph) {
  expect_graph("forward", graph);
  State& state = open_executor(state_);
  Values outputs;
  for (Ref r : graph->outputs) outputs.emplace_back(graph, r);
  return state.evaluate(outputs);
}

std::vector<Tensor> LazyExecutor::forward(const std::shared_ptr<Graph>& graph, std::span<const Tensor> inputs) {
  expect_graph("forward", graph);
  if (inputs.size() != graph->inputs.size())
    fail("[forward] the graph has {} inputs, {} tensors were given", graph->inputs.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) set_input({graph, {graph->inputs[i], 0}}, inputs[i]);
  return forward(graph);
}

std::vector<Tensor> LazyExecutor::backward(const std::shared_ptr<Graph>& graph, const Tensor& loss_gradient) {
  expect_graph("backward", graph);
  if (graph->outputs.empty()) fail("[backward] the graph has no output");
  const Recorded& recorded = open_executor(state_).gradient_of(graph);
  expect_type("backward", graph->type(recorded.loss), loss_gradient);
  Table& table = open_executor(state_).store.table(graph);
  Cell& seed = table.cell(recorded.seed.node);
  if (!seed.given || !same_bits(seed.value, loss_gradient))
    open_executor(state_).set_input(table, recorded.seed, loss_gradient.clone());
  Values values;
  for (Ref r : recorded.gradients) values.emplace_back(graph, r);
  return open_executor(state_).evaluate(values);
}

std::optional<Tensor> LazyExecutor::get_cached(const Value& value) const {
  expect_value("get_cached", value);
  LazyStore& store = open_executor(state_).store;
  Table* table = store.find(value.graph());
  if (!table || value.ref().node >= table->size) return {};
  if (!store.is_present(*table, value.ref()) && !store.put_output(*table, value.ref())) return {};
  return store.read(*table, value.ref());
}

void LazyExecutor::put_cached(const Value& value, const Tensor& tensor) {
  expect_value("put_cached", value);
  expect_type("put_cached", value.type(), tensor);
  Table& table = open_executor(state_).store.table(value.graph());
  const Node& node = table.graph->node(value.ref().node);
  if (is_input(node)) fail("[put_cached] this is an input: set_input gives it its tensor");
  if (!is_computed(node)) fail("[put_cached] '{}' computes nothing of its own: put the value it shows", node.op->name);
  Cell& cell = table.cell(value.ref().node);
  open_executor(state_).dirty_descendants(table, value.ref().node, true, value.ref().output);
  if (node.outputs.size() == 1) open_executor(state_).store.drop(cell);
  open_executor(state_).store.make_room(tensor.bytes(), 1);
  open_executor(state_).store.give(cell, tensor, value.ref().output);
  open_executor(state_).store.trim();
}

void LazyExecutor::invalidate_node(const Value& value) {
  expect_value("invalidate_node", value);
  Table& table = open_executor(state_).store.table(value.graph());
  Cell& cell = table.root(value.ref());
  if (is_computed(table.graph->node(cell.node))) {
    open_executor(state_).store.take_back(cell);
    open_executor(state_).store.drop(cell);
  }
  open_executor(state_).dirty_descendants(table, cell.node, false);
}

void LazyExecutor::invalidate_cache() {
  for (auto& table : open_executor(state_).store.tables())
    for (std::int32_t i = 0; i < table->size; ++i)
      if (auto owner = table->owner.lock(); owner && is_computed(table->graph->node(i))) {
        open_executor(state_).store.take_back(table->cell(i));
        open_executor(state_).store.drop(table->cell(i));
      }
}

std::int64_t LazyExecutor::cached_count() const { return stats().entries; }

std::int64_t LazyExecutor::memory_estimate_for(const std::shared_ptr<Graph>& graph) const {
  expect_graph("memory_estimate_for", graph);
  std::vector<bool> is_needed(static_cast<std::size_t>(graph->size()), false);
  for (Ref r : graph->outputs) is_needed[static_cast<std::size_t>(r.node)] = true;
  std::int64_t bytes = 0;
  for (std::int32_t i = graph->size() - 1; i >= 0; --i) {
    if (!is_needed[static_cast<std::size_t>(i)]) continue;
    for (Ref r : graph->node(i).inputs) is_needed[static_cast<std::size_t>(r.node)] = true;
    if (!is_computed(graph->node(i))) continue;
    for (const Type& type : graph->node(i).outputs) bytes += type.bytes();
  }
  return bytes;
}

LazyStats LazyExecutor::stats() const {
  LazyStats stats = open_executor(state_).store.stats();
  stats.bytes = open_executor(state_).store.ledger().held();
  stats.peak_bytes = open_executor(state_).store.ledger().peak();
  stats.entries = open_executor(state_).store.entry_count();
  return stats;
}

const std::vector<LazyEvent>& LazyExecutor::timeline() const { return open_executor(state_).store.events(); }

Tensor LazyExecutor::einsum(std::string_view spec, const std::vector<Tensor>& inputs) {
  return open_executor(state_).run_now(inputs, [&](const Values& v) { return reprise::einsum(spec, v); });
}
Tensor LazyExecutor::elem_op(ElemOp op, const Tensor& x) {
  return open_executor(state_).run_now({x}, [&](const Values& v) { return reprise::elem_op(op, v[0]); });
}
Tensor LazyExecutor::elem_op_binary(BinaryOp op, const Tensor& a, const Tensor& b) {
  return open_executor(state_).run_now({a, b},
                                       [&](const Values& v) { return reprise::elem_op_binary(op, v[0], v[1]); });
}
Tensor LazyExecutor::reduce(ReduceOp op, const Tensor& x, const Axes& axes, bool keepdims) {
  return open_executor(state_).run_now({x}, [&](const Values& v) { return reprise::reduce(op, v[0], axes, keepdims); });
}

void LazyExecutor::reset_stats() {
  open_executor(state_).store.forget_events();
  open_executor(state_).store.stats() = {};
  open_executor(state_).store.ledger().forget_peak();
}

}  // namespace reprise
