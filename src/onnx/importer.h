// SPDX-License-Identifier: Apache-2.0
// A document understood: its nodes recorded with our own ops.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "onnx/document.h"
#include "reprise/graph.h"

namespace reprise::onnx {

/// Something a network needs that we do not have.
struct Missing {
  std::string op;    // "Loop", or "input" of a graph's input
  std::string node;  // the first that needs it
  std::int64_t count = 0;
  std::string why;  // and what can be done
};

/// A network that cannot be recorded: says everything that is missing, at once.
class UnsupportedModel : public Error {
 public:
  UnsupportedModel(const std::string& path, std::vector<Missing> missing);
  const std::vector<Missing>& missing() const { return missing_; }

 private:
  std::vector<Missing> missing_;
};

struct ImportOptions {
  std::int64_t batch = 0;  // binds first dimensions of inputs that the file leaves open; 0: 1
  std::map<std::string, std::vector<std::int64_t>> shapes = {};  // of inputs, where the user or the data say
  std::map<std::string, Tensor> known = {};  // inputs that are constants; they are no longer inputs then
  bool fuse = true;  // layer norms, GELUs, attention and RMS norms that exporters took apart become one op each
};

/// What an initializer is.
enum class Role {
  trained,    // floats, used as numbers
  statistic,  // a batch norm's running mean or variance
  constant    // integers, and floats that decide what is recorded: a clip's bounds, a dropout's ratio; what nobody uses
};

/// Named types, in order.
using NamedTypes = std::vector<std::pair<std::string, Type>>;

class Network {
 public:
  /// Records once to see that it can be done. Throws UnsupportedModel with everything that is missing, and Error where
  /// the file contradicts itself: an unknown name, a cycle, shapes that do not fit. Reads constants, no weights.
  explicit Network(std::shared_ptr<const Document> document, ImportOptions options = {});

  const Document& document() const;
  /// All that are no initializers and not known, bound to sizes.
  const NamedTypes& inputs() const;
  const NamedTypes& outputs() const;
  Role role(const std::string& initializer) const;
  /// What the user should know: "exported for inference: ...".
  const std::vector<std::string>& notes() const;
  /// How many subgraphs became one op, by the op's name.
  const std::map<std::string, int>& fused() const;

  struct Hooks {
    /// The value of a trained initializer or a statistic; constants are read here.
    std::function<Value(const std::string& name)> initializer;
    /// Told what a running statistic becomes.
    std::function<void(const std::string& name, const Value& next)> statistic = {};
    /// A key (i64[2]) for a dropout that is live; called once a node, in the order of recording.
    std::function<Value(const std::string& node)> dropout_key = {};
  };
  /// Records what the outputs need and gives them in order. Training: as the file says. Otherwise dropouts are off and
  /// batch norms use their running statistics.
  Values record(const Values& inputs, const Hooks& hooks, bool training) const;

 private:
  struct Plan;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace reprise::onnx
