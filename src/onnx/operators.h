// SPDX-License-Identifier: Apache-2.0
// What an ONNX operator is to us: a row of a table that names a function. Adding one is a row and a small function.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "onnx/document.h"
#include "reprise/ops.h"

namespace reprise::onnx {

/// A form of an operator that we do not have: one sentence that says which, and what can be done.
class UnsupportedForm : public Error {
 public:
  using Error::Error;
};

template <class... Args>
[[noreturn]] void unsupported(fmt::format_string<Args...> format, Args&&... args) {
  throw UnsupportedForm(fmt::format(format, std::forward<Args>(args)...));
}

/// A value and its type in ONNX's words, which tell small integers apart.
struct Operand {
  Value value;
  std::int32_t data_type = 0;
};

/// What nodes can ask of the recording they are part of.
struct Surroundings {
  bool training = false;
  std::function<Value()> dropout_key = {};                           // empty: no random numbers to be had
  std::function<void(int input, const Value& next)> statistic = {};  // what the statistic at an input becomes
  std::function<Value(const std::string& name)> value_of = {};       // of any name
};

/// The number of bytes one folded node may take, and the number of elements of a table made while recording.
inline constexpr std::int64_t most_folded_bytes = std::int64_t{4} << 20;

/// One node on the point of being recorded.
class NodeCall {
 public:
  NodeCall(const Node& node, std::int64_t opset, std::vector<Operand> inputs, const Surroundings& around)
      : node_(node), opset_(opset), inputs_(std::move(inputs)), around_(around) {}

  const Node& node() const { return node_; }
  std::int64_t opset() const { return opset_; }
  const Surroundings& around() const { return around_; }

  int arity() const { return static_cast<int>(inputs_.size()); }
  bool has(int i) const { return i < arity() && inputs_[static_cast<std::size_t>(i)].value; }
  /// An input; in() is an Error where it was left out, maybe() an empty Value.
  const Value& in(int i = 0) const;
  Value maybe(int i) const { return has(i) ? in(i) : Value{}; }
  std::int32_t data_type(int i) const { return in(i), inputs_[static_cast<std::size_t>(i)].data_type; }
  /// All inputs, none of which may be left out.
  Values all() const;
  int outputs() const { return static_cast<int>(node_.outputs.size()); }
  bool wants(int output) const {
    return output < outputs() && !node_.outputs[static_cast<std::size_t>(output)].empty();
  }

  // Attributes; another kind than asked for is an Error.
  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise = false) const { return integer(name, otherwise) != 0; }
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::vector<std::int64_t> integers(std::string_view name) const;  // none: empty
  std::vector<double> reals(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  Tensor tensor(std::string_view name) const;

  /// The numbers of an input that is known while recording, or nullptr.
  const Tensor* known(int i) const;
  // The same; an UnsupportedForm where they are computed from the network's inputs.
  const Tensor& tensor_of(int i) const;
  std::vector<std::int64_t> integers_of(int i) const;
  std::int64_t integer_of(int i) const;
  std::vector<double> reals_of(int i) const;
  double real_of(int i) const;
  /// Integers that are an attribute up to opset `last`, and then input i; none where left out.
  std::vector<std::int64_t> integers_at(std::string_view name, std::int64_t last, int i) const;

 private:
  const NodeAttribute* find(std::string_view name) const;
  template <class T>
  const T* attribute(std::string_view name, std::string_view kind) const;

  const Node& node_;
  std::int64_t opset_;
  std::vector<Operand> inputs_;
  const Surroundings& around_;
};

/// How an operator treats the types of its operands.
enum class Elements : std::uint8_t {
  moves,     // it looks at no element: any type goes through
  computes,  // 16-bit floats are computed in f32, small integers wrap around; the result has the operands' type
  tells      // the same of 16-bit floats; the result has a type of its own
};

using enum Elements;

struct Operator {
  std::string_view name;
  int first, last;  // opsets it is the meaning of
  Elements elements;
  Values (*record)(const NodeCall&);
  std::uint32_t decides = 0;                           // bit i: input i decides what is recorded, so it is no weight
  std::int32_t (*element)(const NodeCall&) = nullptr;  // the result's ONNX type, where `elements` does not say
};

inline constexpr int newest_opset = 21;

/// The tables, one a file.
std::span<const Operator> math_operators();
std::span<const Operator> activation_operators();
std::span<const Operator> compare_operators();
std::span<const Operator> reduce_operators();
std::span<const Operator> shape_operators();
std::span<const Operator> index_operators();
std::span<const Operator> constant_operators();
std::span<const Operator> linear_operators();
std::span<const Operator> pool_operators();
std::span<const Operator> norm_operators();
std::span<const Operator> resize_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> loss_operators();
std::span<const Operator> training_operators();  // of domain ai.onnx.preview.training
std::span<const Operator> fused_operators();     // of fused_domain: what fuse() writes

inline constexpr std::string_view training_domain = "ai.onnx.preview.training";
inline constexpr std::string_view fused_domain = "<fused>";  // no file may use it

/// The operator of a node in an opset, or nullptr; whether it is one in any.
const Operator* find_operator(const Node& node, std::int64_t opset);
bool knows_operator(const Node& node);
/// The names of those of ONNX's own domain.
std::set<std::string_view> own_operators();

// Helpers of the tables.

/// fn of input 0.
template <Value (*fn)(const Value&)>
Values unary(const NodeCall& c) {
  return {fn(c.in(0))};
}
/// A constant of x's dtype.
Value number(double value, const Value& x);
/// Axis from -rank to rank - 1 (or to rank, for new ones) as 0 to rank - 1.
int axis_of(const NodeCall& c, std::int64_t axis, int rank);
/// These sizes as a shape whose elements can be counted; an Error that names the node where they cannot.
Shape checked_shape(const NodeCall& c, const std::vector<std::int64_t>& sizes);
/// x in an element type by ONNX's number, small integers wrapped into their range.
Value to_element(const Value& x, std::int32_t data_type);
/// Integers wrapped into the range of a small type; others as they are.
Value wrapped(const Value& x, std::int32_t data_type);
/// The ONNX type of a dtype.
std::int32_t element_of(DType dtype);
/// x with its axis moved to the end, and back.
Value axis_to_end(const Value& x, int axis);
Value end_to_axis(const Value& x, int axis);

}  // namespace reprise::onnx
