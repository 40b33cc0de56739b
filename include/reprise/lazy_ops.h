// SPDX-License-Identifier: Apache-2.0
// Ops by enum or by name, and graphs of einsums, element-wise ops and reductions whose tensors have names.
//
//     EinsumGraph rules;
//     rules.add_input("parent", {DType::f32, {4, 4}});
//     rules.add_einsum("grandparent", "ij,jk->ik", {"parent", "parent"});
//     rules.add_unary("not", "one_minus", "grandparent");
//     rules.set_outputs({"not"});
//     NamedGraph g = rules.build();                        // checked, in topological order
//     lazy.set_input(g["parent"], facts);
//     Tensor t = lazy.evaluate(g["not"]);
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/graph.h"
#include "reprise/ops.h"

namespace reprise {

enum class ElemOp : std::uint8_t { relu, sigmoid, one_minus };
/// Comparisons give 0 or 1; eq holds within 1e-10. or_prob_sum is a + b - ab, nand 1 - ab, nor 1 - max(a, b),
/// exclusive_or a + b - 2ab.
enum class BinaryOp : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  min,
  max,
  eq,
  lt,
  gt,
  lte,
  gte,
  or_max,
  or_prob_sum,
  nand,
  nor,
  exclusive_or
};
enum class ReduceOp : std::uint8_t { sum, max, min, mean, product };

/// By name, whatever its case and underscores, and by short names: sub, mul, div, xor, prod, avg, ... Throws Error on
/// any other, with the nearest one there is.
REPRISE_API ElemOp parse_elem_op(std::string_view name);
REPRISE_API BinaryOp parse_binary_op(std::string_view name);
REPRISE_API ReduceOp parse_reduce_op(std::string_view name);
REPRISE_API std::string_view to_string(ElemOp op);
REPRISE_API std::string_view to_string(BinaryOp op);
REPRISE_API std::string_view to_string(ReduceOp op);

/// Recorded as the functions of reprise/ops.h are.
REPRISE_API Value elem_op(ElemOp op, const Value& x);
REPRISE_API Value elem_op_binary(BinaryOp op, const Value& a, const Value& b);
/// No axes: the value itself.
REPRISE_API Value reduce(ReduceOp op, const Value& x, const Axes& axes, bool keepdims = false);

/// A graph whose values have names.
struct REPRISE_API NamedGraph {
  std::shared_ptr<Graph> graph;
  std::map<std::string, Value, std::less<>> values;

  /// Throws Error on a name that is not there.
  const Value& operator[](std::string_view name) const;
};

/// Tensors and nodes by name, in any order.
class REPRISE_API EinsumGraph {
 public:
  enum class Kind : std::uint8_t { einsum, unary, binary, reduce };
  struct Node {
    std::string output;
    Kind kind = Kind::einsum;
    std::string op;  // of einsum: the spec
    std::vector<std::string> inputs;
    Axes axes = {};  // of reduce
    bool keepdims = false;
  };

  void add_input(std::string name, const Type& type);
  void add_einsum(std::string output, std::string spec, std::vector<std::string> inputs);
  void add_unary(std::string output, std::string op, std::string input);
  void add_binary(std::string output, std::string op, std::string a, std::string b);
  void add_reduce(std::string output, std::string op, std::string input, Axes axes, bool keepdims = false);
  void set_outputs(std::vector<std::string> names) { outputs_ = std::move(names); }

  const std::vector<std::pair<std::string, Type>>& inputs() const { return inputs_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<std::string>& outputs() const { return outputs_; }

  /// Throws Error where a tensor is made twice or never, an op is unknown, an output is missing, nodes form a cycle, or
  /// an op refuses the ranks, sizes or axes it would get.
  void validate() const;
  /// Positions in nodes(), each after those that make its inputs.
  std::vector<std::size_t> order() const;
  NamedGraph build() const;

 private:
  void check_names() const;

  std::vector<std::pair<std::string, Type>> inputs_;
  std::vector<Node> nodes_;
  std::vector<std::string> outputs_;
};

}  // namespace reprise
