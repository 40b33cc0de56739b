// SPDX-License-Identifier: Apache-2.0
// Small networks for tests: written as a file, read back, recorded and run.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "onnx/importer.h"
#include "onnx/wire_writer.h"
#include "reprise/autodiff.h"
#include "temporary.h"

namespace reprise::onnx {

inline WireMessage draft_integer(const std::string& name, std::int64_t value) {
  return WireMessage().text(1, name).integer(3, value).integer(20, 2);
}
inline WireMessage draft_real(const std::string& name, float value) {
  return WireMessage().text(1, name).fixed(2, value).integer(20, 1);
}
inline WireMessage draft_text(const std::string& name, const std::string& value) {
  return WireMessage().text(1, name).text(4, value).integer(20, 3);
}
inline WireMessage draft_integers(const std::string& name, const std::vector<std::int64_t>& values) {
  return WireMessage().text(1, name).packed(8, values).integer(20, 7);
}

inline Tensor draft_numbers(const Type& type, std::uint64_t seed) {
  Tensor t = Tensor::empty(type);
  std::uint64_t state = seed * 2654435761u + 12345;
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    t.span<float>()[static_cast<std::size_t>(i)] = static_cast<float>(static_cast<double>(state >> 40) / (1 << 23) - 1);
  }
  return t;
}

/// A graph in the making.
class Draft {
 public:
  explicit Draft(int opset = 13) : opset_(opset) {}

  Draft& node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
              const std::vector<WireMessage>& attributes = {}) {
    graph_.message(1, wire_node(op, inputs, outputs, attributes));
    return *this;
  }
  Draft& number(const std::string& name, float value) {
    return node("Constant", {}, {name},
                {WireMessage().text(1, "value").message(5, wire_floats("", {}, {value})).integer(20, 4)});
  }
  Draft& truth(const std::string& name, bool value) {
    WireMessage t = wire_tensor("", 9, {}).text(9, std::string(1, value ? '\1' : '\0'));
    return node("Constant", {}, {name}, {WireMessage().text(1, "value").message(5, t).integer(20, 4)});
  }
  Draft& integers(const std::string& name, const std::vector<std::int64_t>& values) {
    graph_.message(5,
                   wire_tensor(name, 7, {static_cast<std::int64_t>(values.size())}).text(9, WireMessage::raw(values)));
    return *this;
  }
  /// Random numbers between -1 and 1.
  Draft& weight(const std::string& name, const std::vector<std::int64_t>& dims) {
    Tensor t = draft_numbers({DType::f32, Shape(dims)}, ++seed_);
    return floats(name, dims, t.to_vector<float>());
  }
  Draft& floats(const std::string& name, const std::vector<std::int64_t>& dims, const std::vector<float>& values) {
    graph_.message(5, wire_floats(name, dims, values));
    return *this;
  }
  Draft& truths(const std::string& name, const std::vector<std::int64_t>& dims, const std::string& bytes) {
    graph_.message(5, wire_tensor(name, 9, dims).text(9, bytes));
    return *this;
  }
  Draft& input(const std::string& name, const std::vector<std::int64_t>& dims, int type = 1) {
    graph_.message(11, wire_value(name, dims, type));
    return *this;
  }
  Draft& output(const std::string& name) {
    graph_.message(12, WireMessage().text(1, name).message(2, WireMessage().message(1, WireMessage().integer(1, 1))));
    return *this;
  }

  std::shared_ptr<const Document> document() const {
    std::filesystem::path memory = "/dev/shm";  // where there is one: thousands of files take long on a disk
    TemporaryFolder folder(std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path());
    std::string path = folder.path() + "/draft.onnx";
    write_bytes(path, wire_model(graph_, opset_).bytes());
    return std::make_shared<const Document>(read_document(path));
  }

 private:
  WireMessage graph_;
  int opset_;
  std::uint64_t seed_ = 0;
};

/// A network's outputs, and the gradients of the sum of their squares by its float inputs and trained initializers.
struct Ran {
  std::vector<Tensor> outputs, gradients;
  Graph graph;
};

inline Ran run_network(const Network& network, const std::vector<Tensor>& given, bool training = true) {
  std::vector<Type> types;
  std::vector<Tensor> tensors = given;
  for (const auto& [name, type] : network.inputs()) types.push_back(type);
  std::map<std::string, std::size_t> place;
  for (const FileTensor& t : network.document().initializers)
    if (network.role(t.name) != Role::constant) {
      place[t.name] = types.size();
      types.push_back(t.type());
      tensors.push_back(t.read());
    }
  std::size_t outputs = 0;
  Graph graph = trace(
      [&](const Values& all) {
        Network::Hooks hooks;
        hooks.initializer = [&](const std::string& name) { return all.at(place.at(name)); };
        Values results = network.record(Values(all.begin(), all.begin() + std::ssize(given)), hooks, training), wrt;
        outputs = results.size();
        Value total;
        for (const Value& y : results)
          if (y.dtype() == DType::f32) total = total ? total + sum(square(y)) : sum(square(y));
        for (const Value& v : all)
          if (v.dtype() == DType::f32) wrt.push_back(v);
        if (total && !wrt.empty() && total.graph() == wrt[0].graph())
          for (const Value& g : gradients(total, wrt)) results.push_back(g);
        return results;
      },
      types);
  std::vector<Tensor> results = evaluate(graph, tensors);
  auto middle = results.begin() + static_cast<std::ptrdiff_t>(outputs);
  return {{results.begin(), middle}, {middle, results.end()}, std::move(graph)};
}

/// The largest difference of two tensors, relative to the largest magnitude.
inline double difference_of(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return 1e9;
  std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  double most = 0, scale = 1e-3;
  for (std::size_t i = 0; i < x.size(); ++i) {
    most = std::max(most, std::abs(x[i] - y[i]));
    scale = std::max(scale, std::abs(y[i]));
  }
  return most / scale;
}

inline void expect_alike(const Ran& a, const Ran& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  ASSERT_EQ(a.gradients.size(), b.gradients.size());
  for (std::size_t i = 0; i < a.outputs.size(); ++i)
    EXPECT_LT(difference_of(a.outputs[i], b.outputs[i]), tolerance) << "output " << i;
  for (std::size_t i = 0; i < a.gradients.size(); ++i)
    EXPECT_LT(difference_of(a.gradients[i], b.gradients[i]), 20 * tolerance) << "gradient " << i;
}

}  // namespace reprise::onnx
