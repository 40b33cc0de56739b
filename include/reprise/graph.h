// SPDX-License-Identifier: Apache-2.0
// Graphs of pure nodes, the values users record them with, and what an op is.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "reprise/base.h"
#include "reprise/export.h"
#include "reprise/tensor.h"

namespace reprise {

class Graph;
struct Op;

/// Shapes that do not broadcast to each other.
class REPRISE_API BroadcastError : public Error {
 public:
  using Error::Error;
};
/// An operand with more or fewer dimensions than the op takes.
class REPRISE_API RankError : public Error {
 public:
  using Error::Error;
};

/// Attributes are data, so that printing, hashing, comparing and saving them is written once. Booleans are 0 and 1.
using Attribute =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>, Tensor>;

/// Named attributes, sorted by name. Copies share them until one changes.
class REPRISE_API Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, Attribute>> items);

  void set(std::string name, Attribute value);
  /// The attribute of that name, or nullptr.
  const Attribute* find(std::string_view name) const;
  bool empty() const { return !items_; }
  auto begin() const { return items_ ? items_->data() : nullptr; }
  auto end() const { return items_ ? items_->data() + items_->size() : nullptr; }
  /// By bits, tensors included.
  friend REPRISE_API bool operator==(const Attributes& a, const Attributes& b);

 private:
  using Items = std::vector<std::pair<std::string, Attribute>>;
  static void put(Items& items, std::string name, Attribute value);

  std::shared_ptr<const Items> items_;  // null: none
};

/// Output `output` of node `node`.
struct Ref {
  std::int32_t node = -1;
  std::int32_t output = 0;
  friend auto operator<=>(const Ref&, const Ref&) = default;
};

/// A value of a graph being recorded. Functions on values (reprise/ops.h) record nodes; nothing is computed yet.
class REPRISE_API Value {
 public:
  Value() = default;
  /// A constant. It joins the graph of the values it is used with.
  Value(const Tensor& tensor);
  Value(std::shared_ptr<Graph> graph, Ref ref) : graph_(std::move(graph)), ref_(ref) {}

  explicit operator bool() const { return graph_ != nullptr; }
  const Type& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int rank() const { return shape().rank(); }
  const std::shared_ptr<Graph>& graph() const { return graph_; }
  Ref ref() const { return ref_; }

 private:
  std::shared_ptr<Graph> graph_;
  Ref ref_;
};
using Values = std::vector<Value>;

/// What an op is asked about: its inputs' types and its attributes; and, but for `infer`, its outputs' types.
struct REPRISE_API Signature {
  const Op& op;
  std::span<const Type> inputs;
  const Attributes& attributes;
  std::span<const Type> outputs = {};

  const Type& in(int i = 0) const { return inputs[static_cast<std::size_t>(i)]; }
  const Type& out(int i = 0) const { return outputs[static_cast<std::size_t>(i)]; }
  int arity() const { return static_cast<int>(inputs.size()); }
  std::string_view name() const;

  // An attribute by name and kind; a missing one or one of another kind is an Error that names the op.
  std::int64_t integer(std::string_view name) const;
  bool flag(std::string_view name) const { return integer(name) != 0; }
  double real(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;
  const std::vector<double>& reals(std::string_view name) const;
  const Tensor& tensor(std::string_view name) const;
  bool has(std::string_view name) const { return attributes.find(name) != nullptr; }
};

/// Where a kernel finds its data: row-major, 64-byte aligned; `scratch` has the bytes it asked for.
struct Buffers {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  void* scratch = nullptr;

  template <class T>
  const T* in(int i = 0) const {
    return static_cast<const T*>(inputs[static_cast<std::size_t>(i)]);
  }
  template <class T>
  T* out(int i = 0) const {
    return static_cast<T*>(outputs[static_cast<std::size_t>(i)]);
  }
};

/// A prepared computation: everything that depends on shapes only has been decided, running it allocates nothing.
struct Kernel {
  std::function<void(const Buffers&)> run;
  std::int64_t scratch_bytes = 0;
};

/// What one run takes, for planning without running.
struct Cost {
  double flops = 0;
  double bytes = 0;  // read and written
};

/// A recorded node as its gradient rule sees it.
class REPRISE_API Call {
 public:
  Call(std::shared_ptr<Graph> graph, std::int32_t node) : graph_(std::move(graph)), node_(node) {}
  Value in(int i = 0) const;
  Value out(int i = 0) const;
  int arity() const;
  Values inputs() const;
  const Attributes& attributes() const;

  // An attribute by name and kind, as in Signature.
  std::int64_t integer(std::string_view name) const;
  bool flag(std::string_view name) const { return integer(name) != 0; }
  double real(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;
  const std::vector<double>& reals(std::string_view name) const;
  bool has(std::string_view name) const { return attributes().find(name) != nullptr; }

 private:
  Signature attributes_only() const;

  std::shared_ptr<Graph> graph_;
  std::int32_t node_;
};

/// An op: everything there is to know about it, in one block.
///
///     {.name = "tanh", .infer = same_type, .forward = map<...>, .gradient = [](const Call& c, const Values& dy) ->
///     Values {
///        return {dy[0] * (1 - square(c.out()))}; }, .examples = "f32[2,3]; f32[0]"}
struct Op {
  std::string_view name;
  /// The outputs' types; throws Error where inputs or attributes do not fit.
  std::vector<Type> (*infer)(const Signature&) = nullptr;
  /// Prepares the computation for these types. The same types and attributes always give the same bits.
  Kernel (*forward)(const Signature&) = nullptr;
  /// Records the gradient of each input, given that of each output. An empty Value says "zero". No rule at all makes
  /// differentiating through the op an error. What a rule uses is what must live until the backward pass.
  Values (*gradient)(const Call&, const Values& dy) = nullptr;
  /// Default: no flops, every input and output moved once.
  Cost (*cost)(const Signature&) = nullptr;
  /// Output 0 is this input's memory under another shape: it costs and allocates nothing. -1: not a view.
  int view_of = -1;
  /// Output 0 may be written over these inputs (bit i: input i), if nobody else needs them and the sizes are equal.
  std::uint32_t may_overwrite = 0;
  /// An update: each of the first so many outputs may be written over the input at the same position.
  int updates = 0;
  /// May run again when its value was dropped.
  bool recomputable = true;
  /// f32 results agree with the same op run in f64 within this much, relative to the largest magnitude.
  double tolerance = 1e-5;
  /// Inputs to test and measure the op with, separated by ";". A float is drawn from -2 to 2 unless a range is given:
  ///     "f32[2,3] f32[3,4]; f32[5]{0.1..4}; f32[2,3] i64[2]{0..2} axis=1 mode=\"edge\" pads=[1,2]"
  std::string_view examples;
  /// The ONNX operator it imports as, where there is one of the same meaning.
  std::string_view onnx;
  /// One line for the table of ops.
  std::string_view doc;
};

/// The user's word on a value: plan as you like, always keep it, or always recompute it.
enum class Hint : std::uint8_t { none, keep, recompute };

/// The types of a node's outputs. Copies share them: a graph has many nodes and few types.
class Types {
 public:
  Types() = default;
  Types(std::initializer_list<Type> types) : Types(std::vector<Type>(types)) {}
  Types(std::vector<Type> types) : types_(std::make_shared<const std::vector<Type>>(std::move(types))) {}

  std::size_t size() const { return types_ ? types_->size() : 0; }
  const Type* begin() const { return types_ ? types_->data() : nullptr; }
  const Type* end() const { return begin() + size(); }
  const Type& operator[](std::size_t i) const { return (*types_)[i]; }
  friend bool operator==(const Types& a, const Types& b) {
    return a.types_ == b.types_ || std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::shared_ptr<const std::vector<Type>> types_;  // null: none
};

/// What a node reads. Nearly all read three values or less, and those take no memory of their own: small pieces of tens
/// of thousands of nodes would keep pages in memory that are free but for them.
class Refs {
 public:
  Refs() = default;
  Refs(std::initializer_list<Ref> refs) : Refs(std::vector<Ref>(refs)) {}
  Refs(std::vector<Ref> refs) {
    count_ = static_cast<std::uint32_t>(refs.size());
    if (count_ > few)
      many_ = std::make_unique<std::vector<Ref>>(std::move(refs));
    else
      std::copy(refs.begin(), refs.end(), few_.begin());
  }
  Refs(const Refs& other) : few_(other.few_), count_(other.count_) {
    if (other.many_) many_ = std::make_unique<std::vector<Ref>>(*other.many_);
  }
  Refs(Refs&& other) noexcept
      : few_(other.few_), count_(std::exchange(other.count_, 0)), many_(std::move(other.many_)) {}
  Refs& operator=(Refs other) noexcept {
    few_ = other.few_;
    count_ = other.count_;
    many_ = std::move(other.many_);
    return *this;
  }

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  Ref* begin() { return many_ ? many_->data() : few_.data(); }
  Ref* end() { return begin() + count_; }
  const Ref* begin() const { return many_ ? many_->data() : few_.data(); }
  const Ref* end() const { return begin() + count_; }
  Ref& operator[](std::size_t i) { return begin()[i]; }
  const Ref& operator[](std::size_t i) const { return begin()[i]; }
  friend bool operator==(const Refs& a, const Refs& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  static constexpr std::uint32_t few = 3;
  std::array<Ref, few> few_ = {};
  std::uint32_t count_ = 0;
  std::unique_ptr<std::vector<Ref>> many_;  // all of them, if they are more
};

/// One operation of a graph.
struct Node {
  const Op* op = nullptr;
  Refs inputs;
  Attributes attributes;
  Types outputs;
  std::string name;
  Hint hint = Hint::none;
  bool is_backward = false;  // part of a gradient
};

/// An input that stands for state held outside the graph (a parameter), recognised by the state's address.
struct Capture {
  std::shared_ptr<void> state;
  std::int32_t input = -1;
};
/// State that a step changes: at its end the input takes over the value.
struct Update {
  std::int32_t input = -1;
  Ref value;
  friend bool operator==(const Update&, const Update&) = default;
};

/// Told of each node that record() adds, as soon as it is there: how a Tape runs operations at once.
class REPRISE_API Recorder {
 public:
  virtual void recorded(std::int32_t node) = 0;

 protected:
  ~Recorder() = default;
};

/// Nodes in topological order. A plain value: copy it, compare it, print it.
class REPRISE_API Graph {
 public:
  /// Adds a node, its outputs inferred; gives its number. Throws Error where the op refuses the inputs.
  std::int32_t add(const Op& op, Refs inputs, Attributes attributes = {}, std::string name = {});
  /// Adds an input of the graph.
  Ref add_input(const Type& type, std::string name = {});
  /// Adds a node as it is, trusting its outputs: for passes that copy nodes.
  std::int32_t append(Node node);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(std::int32_t i) const { return nodes_[static_cast<std::size_t>(i)]; }
  Node& node(std::int32_t i) { return nodes_[static_cast<std::size_t>(i)]; }
  std::int32_t size() const { return static_cast<std::int32_t>(nodes_.size()); }
  const Type& type(Ref ref) const { return node(ref.node).outputs[static_cast<std::size_t>(ref.output)]; }
  Signature signature(std::int32_t i, std::vector<Type>& input_types) const;
  /// Makes room for so many nodes, so that adding them takes no more memory than they need.
  void reserve(std::int32_t size) { nodes_.reserve(static_cast<std::size_t>(size)); }
  /// Removes the nodes from `size` on, and the inputs and outputs among them.
  void shrink(std::int32_t size);

  /// The graph's inputs and outputs, in order.
  std::vector<std::int32_t> inputs;
  std::vector<Ref> outputs;
  /// Which of the inputs stand for state, and which of those a step changes.
  std::vector<Capture> captures;
  std::vector<Update> updates;

  /// Who is told of what record() adds, if anybody; copies of the graph tell nobody.
  struct Listener {
    Recorder* recorder = nullptr;
    Listener() = default;
    Listener(const Listener&) {}
    Listener& operator=(const Listener&) { return *this; }
  } listener;

 private:
  std::vector<Node> nodes_;
};

/// Records one node on the graph of its inputs, which must be one graph but for constants. Gives its outputs.
REPRISE_API Values record(const Op& op, const Values& inputs, Attributes attributes = {});
/// As above for the op of that name with one output.
REPRISE_API Value record(std::string_view op, const Values& inputs, Attributes attributes = {});

/// The same value under a name, shown in plans, reports and errors.
REPRISE_API Value named(Value value, std::string name);
/// Asks the planner to keep this value, or to recompute it.
REPRISE_API Value keep(Value value);
REPRISE_API Value recompute_value(Value value);

/// The op of that name, or nullptr; every op there is.
REPRISE_API const Op* find_op(std::string_view name);
REPRISE_API std::span<const Op* const> all_ops();

/// Records f's nodes: inputs of these types go in, a Value, or Values, come out.
REPRISE_API Graph trace(const std::function<Values(const Values&)>& f, std::span<const Type> inputs);

/// A line per node; parse_graph reads it back. `user_ops` are ops beside the library's own.
REPRISE_API std::string to_string(const Graph& graph);
REPRISE_API Graph parse_graph(std::string_view text, std::span<const Op* const> user_ops = {});

/// Equal graphs have equal hashes; names do not count.
REPRISE_API std::uint64_t hash(const Graph& graph);

/// The judge: throws Error("[internal] ...") unless nodes are in topological order and every type is what its op
/// infers.
REPRISE_API void verify(const Graph& graph);

/// Nodes that cannot reach an output are removed; inputs stay.
REPRISE_API Graph eliminate_dead_code(const Graph& graph);
/// Nodes of the same op, inputs and attributes become one; others with the same attributes or types share these.
REPRISE_API Graph eliminate_common_subexpressions(const Graph& graph);
/// Nodes whose inputs are all constants become constants, as long as those are not larger than `largest_bytes`.
REPRISE_API Graph fold_constants(const Graph& graph, std::int64_t largest_bytes = 1 << 20);

/// Runs the graph node by node; a value is freed after its last use.
REPRISE_API std::vector<Tensor> evaluate(const Graph& graph, std::span<const Tensor> inputs);

}  // namespace reprise
