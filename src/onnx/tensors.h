// SPDX-License-Identifier: Apache-2.0
// TensorProto: where a tensor's numbers are, and that they are as many as its dimensions say.
#pragma once

#include <memory>

#include "onnx/document.h"
#include "onnx/wire.h"

namespace reprise::onnx {

/// Some fields of TensorProto.
enum : int { field_dims = 1, field_raw_data = 9, field_external_data = 13 };

/// Reads what a TensorProto says and checks it; takes no memory for its numbers. `message` is a part of the file.
FileTensor parse_tensor(const std::shared_ptr<const SourceFile>& file, Bytes message);

/// The TensorProto that `tensor` was read from.
inline Bytes message_of(const FileTensor& tensor) {
  return tensor.model->bytes().subspan(static_cast<std::size_t>(tensor.message_at),
                                       static_cast<std::size_t>(tensor.message_bytes));
}

/// A key and a value, as external data and metadata have them.
std::pair<std::string, std::string> parse_entry(const SourceFile& file, Bytes message);

/// "tensor 'w', float[3,4]," for messages.
std::string described(const FileTensor& tensor);

}  // namespace reprise::onnx
