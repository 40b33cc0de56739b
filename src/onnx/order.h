// SPDX-License-Identifier: Apache-2.0
// The nodes that a document's outputs need, each after what it reads.
#pragma once

#include <string>
#include <vector>

#include "onnx/document.h"

namespace reprise::onnx {

/// The names a node reads: its inputs, and what Gradient names in attributes.
std::vector<std::string> names_read(const Node& node);

/// Throws Error where a name has two makers or none, or where nodes wait for each other.
std::vector<Node> ordered_nodes(const Document& document);

/// Those of the nodes, in the same order, that make these names or what makes them.
std::vector<Node> needed_nodes(std::vector<Node> nodes, const std::vector<std::string>& names);

/// 'name', or the op and what it makes where it has none.
std::string title(const Node& node);

}  // namespace reprise::onnx
