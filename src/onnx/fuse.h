// SPDX-License-Identifier: Apache-2.0
// Recognises what exporters take apart: layer norms, RMS norms, GELUs and softmax attention become one node each, of
// fused_domain.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/document.h"

namespace reprise::onnx {

struct Fused {
  std::vector<Node> nodes;
  std::map<std::string, int> counts;  // by op
};

/// Nodes in order, in which no replaced value is read by anybody else. In training an attention with a live dropout
/// between its softmax and its values stays as it is.
Fused fuse(const Document& document, std::vector<Node> nodes, bool training);

}  // namespace reprise::onnx
