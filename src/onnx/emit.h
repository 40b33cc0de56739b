// SPDX-License-Identifier: Apache-2.0
// A TensorProto again with other numbers, in the form that they were stored in.
#pragma once

#include <functional>
#include <string>

#include "onnx/document.h"
#include "onnx/sink.h"

namespace reprise::onnx {

/// What is new about one tensor.
struct Change {
  const FileTensor* tensor = nullptr;
  const Tensor* value = nullptr;  // none: its numbers stay
  std::string location = {};      // external data move to `offset` of this file
  std::int64_t offset = 0;

  bool is_reshaped() const { return value && value->shape().sizes() != tensor->dims; }
  /// Of its numbers as raw bytes.
  std::int64_t bytes() const;
};

/// A field whose content is written by `inside`. One that keeps its length keeps the bytes of its length too.
void emit_nested(Sink& to, const Field& field, const std::function<void(Sink&)>& inside);

/// The TensorProto.
void emit_tensor(Sink& to, const Change& change);

/// A ValueInfoProto with other dimensions.
void emit_declared(Sink& to, const SourceFile& file, Bytes message, const std::vector<Dimension>& dims);

/// A tensor's numbers as raw bytes.
void emit_raw(Sink& to, const Change& change);

}  // namespace reprise::onnx
