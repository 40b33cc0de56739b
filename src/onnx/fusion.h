// SPDX-License-Identifier: Apache-2.0
// The patterns that fuse() looks for, one family a file. Each is asked at every node whether it stands there.
#pragma once

#include "onnx/pattern.h"

namespace reprise::onnx {

using Nodes = std::set<std::size_t>;
using At = std::optional<std::size_t>;

struct Fusion {
  Nodes nodes;
  std::size_t last = 0;  // makes the pattern's result
  Node node;             // what takes their place
};

std::optional<Fusion> layer_norm_at(const Web& web, std::size_t i);
std::optional<Fusion> rms_norm_at(const Web& web, std::size_t i);
std::optional<Fusion> gelu_at(const Web& web, std::size_t i);
std::optional<Fusion> gelu_tanh_at(const Web& web, std::size_t i);
std::optional<Fusion> linear_at(const Web& web, std::size_t i);
std::optional<Fusion> attention_at(const Web& web, std::size_t i, bool training);

/// A node of fused_domain that makes what the pattern's last node made.
Node fused_node(const Web& web, std::size_t last, std::string op, std::vector<std::string> inputs,
                std::vector<NodeAttribute> attributes);
/// Lets the only reader of the pattern join it if it is such an op with a weight of so many dimensions; gives the
/// weight's name, or "".
std::string with_weight(const Web& web, Fusion& f, std::string_view op, std::size_t dims);

}  // namespace reprise::onnx
