// SPDX-License-Identifier: Apache-2.0
// What a file from a stranger has to be safe for. Tests and the fuzzer call the same function.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "onnx/document.h"
#include "onnx/importer.h"
#include "onnx/wire_writer.h"
#include "reprise/compile.h"
#include "reprise/onnx.h"

namespace reprise::onnx {

/// In memory where that can be: forcing thousands of files to a disk takes minutes.
inline std::filesystem::path fast_folder() {
  return std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
}

/// Reads all numbers and writes the file again, which must give the same file.
inline void copy_stranger(const Document& document, const std::string& copy) {
  std::map<std::string, Tensor> values;
  bool is_plain = true;
  for (const FileTensor& t : document.initializers) {
    is_plain = is_plain && t.stored != FileTensor::Stored::external && t.data_type != element_bool;
    try {
      values[t.name] = t.read();
    } catch (const Error&) {  // strings, or an integer past what we have
    }
  }
  write_document(document, values, copy);
  if (is_plain && bytes_of(copy) != bytes_of(document.path))
    throw std::logic_error("written unchanged, it is another file");
}

/// The network with its weights and its gradients, as training records it.
inline Graph graph_of_stranger(const Network& network) {
  std::vector<Type> types;
  std::map<std::string, std::size_t> places;
  for (const auto& [name, type] : network.inputs()) types.push_back(type);
  for (const FileTensor& t : network.document().initializers) {
    if (network.role(t.name) == Role::constant) continue;
    places[t.name] = types.size();
    types.push_back(t.type());
  }
  return trace(
      [&](const Values& v) -> Values {
        Network::Hooks hooks;
        hooks.initializer = [&](const std::string& name) { return v[places.at(name)]; };
        hooks.dropout_key = [](const std::string&) { return Value(Tensor::zeros({DType::i64, {2}})); };
        Values inputs(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(network.inputs().size())), wrt;
        Values outputs = network.record(inputs, hooks, true);
        for (const auto& [name, place] : places) wrt.push_back(v[place]);
        if (outputs.empty() || wrt.empty() || outputs[0].type().dtype != DType::f32) return outputs;
        return gradients(sum(outputs[0]), wrt);
      },
      types);
}

/// The gradients of the loss that the file is trained for.
inline Graph step_of_stranger(const std::string& path) {
  BuiltInModel model =
      onnx_model(path, {.batch = 2, .budget = std::int64_t{1} << 30});  // its structure is counted first
  return trace(
      [&](const Values& v) -> Values {
        Value loss = model.loss(v)[0];
        Values wrt;
        for (const nn::Named& p : model.parameters)
          if (is_float(p.parameter.type().dtype)) wrt.push_back(p.parameter.in(loss));
        return gradients(loss, wrt);
      },
      model.batch);
}

/// Everything that is done with a file before training: it is read and copied, understood, recorded and planned. The
/// sentence it is refused by, or "". Anything that is thrown is our bug.
inline std::string try_stranger(const std::string& path, const std::string& copy) {
  try {
    auto document = std::make_shared<const Document>(read_document(path));
    copy_stranger(*document, copy);
    Network network(document);
    for (const Graph& graph : {graph_of_stranger(network), step_of_stranger(path)}) {
      verify(graph);
      plan(graph, {.planning = {.iterations = 10, .time_limit = 0.05}, .measure = false});
    }
  } catch (const Error& e) {
    if (std::string_view(e.what()).starts_with("[internal]")) throw std::logic_error(e.what());
    return e.what();
  }
  return {};
}

}  // namespace reprise::onnx
