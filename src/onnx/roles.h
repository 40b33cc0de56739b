// SPDX-License-Identifier: Apache-2.0
// What each initializer is for: told by who reads it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/importer.h"

namespace reprise::onnx {

struct Roles {
  std::map<std::string, Role> of;             // of every initializer
  std::map<std::string, std::string> origin;  // the initializer that a name is a copy of, itself included
  std::vector<std::string> notes;
};

Roles find_roles(const Document& document, const std::vector<Node>& nodes);

/// Advice on what the exporter left out for the sake of inference.
std::vector<std::string> notes_on(const Document& document, const std::vector<Node>& nodes);

/// The opset that counts for a node.
std::int64_t opset_of(const Document& document, const Node& node);

}  // namespace reprise::onnx
