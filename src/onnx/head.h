// SPDX-License-Identifier: Apache-2.0
// Changes to a document before it is understood, so that the network it describes can be trained.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "onnx/document.h"

namespace reprise::onnx {

/// In a file without float initializers the weights are Constant nodes, as some exporters write them: floats of several
/// elements become initializers.
Document with_weights_as_initializers(Document document);

/// The document with this output alone.
Document with_output(Document document, const std::string& name);

/// The node that makes a value, or nullptr.
const Node* producer_of(const Document& document, const std::string& value);
/// An integer attribute, or what it is where it is not given.
std::int64_t integer_attribute(const Node& node, const std::string& name, std::int64_t otherwise);
/// The value before the Softmax, LogSoftmax or Sigmoid (one of `ops`) over the classes that `output` ends with; else
/// `output` itself.
std::string before(const Document& document, const std::string& output, const std::set<std::string>& ops);

/// The last layer before `output`: which initializers change their size, and along which axis.
struct Head {
  struct Part {
    std::string initializer;
    std::size_t axis = 0;
    std::int64_t inputs = 0;  // of an element of the layer's result
  };
  std::string node;
  std::vector<Part> parts;  // weight, then bias if there is one
};
/// Throws Error where it is no Gemm, MatMul or Conv with weights of its own.
Head head_of(const Document& document, const std::string& output);
/// The document with a head of so many outputs; the numbers are the caller's to give.
Document with_head(Document document, const Head& head, std::int64_t outputs);

}  // namespace reprise::onnx
