// SPDX-License-Identifier: Apache-2.0
// An ONNX file as data: what stands in it, checked for form, not yet understood. Strings and lists are copied; numbers
// stay in the file until they are read.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "reprise/tensor.h"

namespace reprise::onnx {

class SourceFile;  // a file held open and mapped: source.h

/// Some of the element types, by ONNX's numbers.
enum Element : std::int32_t {
  element_float = 1,
  element_uint8 = 2,
  element_int8 = 3,
  element_uint16 = 4,
  element_int16 = 5,
  element_int32 = 6,
  element_int64 = 7,
  element_string = 8,
  element_bool = 9,
  element_float16 = 10,
  element_double = 11,
  element_uint32 = 12,
  element_uint64 = 13,
  element_complex64 = 14,
  element_complex128 = 15,
  element_bfloat16 = 16,
};

/// "float", "uint8", ...; "type 99" of what ONNX 1.16 does not know.
std::string element_name(std::int32_t data_type);
/// In our dtypes: uint8, int8, uint16 and int16 become i32, uint32 and uint64 become i64. An Error for the others.
DType dtype_of_element(std::int32_t data_type);

/// A tensor that stands in a file: its type, and where its numbers are. Copies are cheap; they keep the file open.
/// A document's tensors hold as many numbers as their dimensions say: that was checked.
struct FileTensor {
  enum class Stored { raw, typed, external };

  std::string name;
  std::int32_t data_type = 0;  // ONNX's number: element_float, ...
  std::vector<std::int64_t> dims;

  /// In our dtypes; an Error for strings and complex numbers.
  Type type() const;
  bool is_float() const;
  /// Straight into memory of type(). An integer that the dtype cannot hold is an Error.
  void read_into(const Tensor& to) const;
  Tensor read() const;

  // Where the numbers are.
  Stored stored = Stored::raw;
  std::shared_ptr<const SourceFile> model;
  std::int64_t message_at = 0, message_bytes = 0;  // the TensorProto in the model
  std::string location;                            // of external data: the file beside the model
  std::int64_t offset = 0, bytes = 0;              // of the numbers in their file, unless they are typed
};

/// Stands for the value of an attribute that is not read: a graph, or a kind that only unsupported ops have.
struct Subgraph {};

struct NodeAttribute {
  std::string name;
  std::variant<std::int64_t, float, std::string, FileTensor, std::vector<std::int64_t>, std::vector<float>,
               std::vector<std::string>, Subgraph>
      value;
};

struct Node {
  std::string name, op, domain;              // domain: "" is ONNX's own, also where the file says "ai.onnx"
  std::vector<std::string> inputs, outputs;  // "" where left out
  std::vector<NodeAttribute> attributes;
};

struct Dimension {
  std::int64_t size = -1;  // -1: not given
  std::string symbol;      // may name it then
};

/// An input or output of the graph. A type that is no tensor has data_type 0.
struct Declared {
  std::string name;
  std::int32_t data_type = 0;
  bool has_shape = false;
  std::vector<Dimension> dims;
};

struct Document {
  std::string path;
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets;  // by domain; "" is ONNX's own
  std::string producer, graph_name;
  std::map<std::string, std::string> metadata;
  std::vector<Node> nodes;               // in the file's order
  std::vector<FileTensor> initializers;  // each has a name of its own
  std::vector<Declared> inputs;          // as written: initializers may be among them
  std::vector<Declared> outputs;
  bool has_functions = false;
  std::shared_ptr<const SourceFile> source;
  std::int64_t room = std::numeric_limits<std::int64_t>::max();  // bytes that what is recorded from it may take
};

/// Throws Error "[onnx] 'path' ...". Takes no memory for the numbers of tensors. A budget in
/// bytes, where there is one, limits what the structure may take: room_within of footprint.h.
Document read_document(const std::string& path, std::int64_t budget = 0);

/// A TensorProto that is a file of its own.
FileTensor read_tensor(const std::string& path);

/// The paths of the files beside the model that hold external data, each once.
std::vector<std::string> external_files(const Document& document);

using DeclaredShapes = std::map<std::string, std::vector<Dimension>>;

/// The document's file again with these numbers of initializers, or of Constant nodes by the names of their outputs.
/// Everything else stays byte for byte, and a number that did not change keeps its bytes. The dtype must be that of
/// FileTensor::type(); the shape may be another, which then stands in the file. Appears whole or not at all, and may
/// replace the file it comes from. External data go to one new file beside `path` with a name that was free.
/// `shapes` are new dimensions of the graph's inputs and outputs; where there are any, hints of the shapes of inner
/// values are left out.
void write_document(const Document& document, const std::map<std::string, Tensor>& values, const std::string& path,
                    DeclaredShapes shapes = {});

}  // namespace reprise::onnx
