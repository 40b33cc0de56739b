// SPDX-License-Identifier: Apache-2.0
// The cases that come with ONNX (Debian's libonnx-testdata): every one whose operators we have must give the expected
// outputs. The table and the reasons why cases are left out are printed, so that nothing hides among them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>

#include "onnx/importer.h"
#include "onnx/operators.h"
#include "onnx/order.h"
#include "onnx/roles.h"

namespace reprise::onnx {
namespace {

namespace fs = std::filesystem;

const fs::path conformance_data = "/usr/share/libonnx-testdata/data";

enum class Verdict { passed, failed, unsupported };

struct Outcome {
  Verdict verdict = Verdict::passed;
  std::string why;        // one line, for what did not pass
  bool was_told = false;  // inputs had to be known while recording
};

struct CaseData {
  std::shared_ptr<const Document> document;
  std::vector<std::string> names;  // of the inputs that tensors are given for
  std::vector<Tensor> inputs, outputs;
};

std::vector<FileTensor> tensors_in(const fs::path& set, const std::string& kind) {
  std::vector<FileTensor> all;
  for (int i = 0; fs::exists(set / fmt::format("{}_{}.pb", kind, i)); ++i)
    all.push_back(read_tensor((set / fmt::format("{}_{}.pb", kind, i)).string()));
  return all;
}

// Older files list initializers among the inputs; no tensors are given for those.
std::vector<std::string> given_names(const Document& document, std::size_t count) {
  std::set<std::string> initializers;
  for (const FileTensor& t : document.initializers) initializers.insert(t.name);
  std::vector<std::string> names;
  for (const Declared& input : document.inputs)
    if (document.inputs.size() == count || !initializers.contains(input.name)) names.push_back(input.name);
  return names;
}

// The files keep bf16 numbers as uint16, by their bits.
Tensor as_declared(const FileTensor& file, std::int32_t declared) {
  Tensor read = file.read();
  if (declared != element_bfloat16 || file.data_type != element_uint16) return read;
  Tensor result = Tensor::empty({DType::bf16, read.shape()});
  for (std::size_t i = 0; i < static_cast<std::size_t>(read.elements()); ++i) {
    auto bits = static_cast<std::uint16_t>(read.span<std::int32_t>()[i]);
    std::memcpy(static_cast<char*>(result.data()) + 2 * i, &bits, 2);
  }
  return result;
}

std::int32_t declared_element(const std::vector<Declared>& all, const std::string& name) {
  for (const Declared& d : all)
    if (d.name == name) return d.data_type;
  return 0;
}

CaseData read_case(std::shared_ptr<const Document> document, const fs::path& set) {
  CaseData data{document, {}, {}, {}};
  std::vector<FileTensor> inputs = tensors_in(set, "input"), outputs = tensors_in(set, "output");
  data.names = given_names(*document, inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    data.inputs.push_back(as_declared(inputs[i], declared_element(document->inputs, data.names.at(i))));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    data.outputs.push_back(as_declared(outputs[i], document->outputs.at(i).data_type));
  return data;
}

// Inputs that decide what is recorded: integers and truth values, and floats that only such places read.
bool decides_shapes(const Document& document, const std::string& name, const Tensor& t) {
  if (!is_float(t.dtype())) return true;
  bool decides = false;
  for (const Node& node : document.nodes)
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != name) continue;
      const Operator* op = find_operator(node, opset_of(document, node));
      if (!op || (op->decides >> i & 1) == 0) return false;
      decides = true;
    }
  return decides;
}

std::vector<Tensor> run_case(const CaseData& data, bool tell) {
  ImportOptions options;
  std::vector<Tensor> given;
  for (std::size_t i = 0; i < data.names.size() && i < data.inputs.size(); ++i) {
    options.shapes[data.names[i]] = data.inputs[i].shape().sizes();
    if (tell && decides_shapes(*data.document, data.names[i], data.inputs[i]))
      options.known[data.names[i]] = data.inputs[i];
    else
      given.push_back(data.inputs[i]);
  }
  Network network(data.document, options);
  std::vector<Type> types;
  for (const auto& [name, type] : network.inputs()) types.push_back(type);
  Network::Hooks hooks;
  hooks.initializer = [&](const std::string& name) {
    for (const FileTensor& t : data.document->initializers)
      if (t.name == name) return Value(t.read());
    throw Error("no initializer " + name);
  };
  Graph graph = trace([&](const Values& inputs) { return network.record(inputs, hooks, true); }, types);
  verify(graph);
  return evaluate(graph, given);
}

bool is_near(double a, double b, double relative) {
  if (std::isnan(b)) return std::isnan(a);
  if (std::isinf(b) || std::isinf(a)) return a == b;
  return std::fabs(a - b) <= 1e-6 + relative * std::fabs(b);
}

std::string difference(const Tensor& got, const Tensor& wanted) {
  if (got.type() != wanted.type()) return "gives " + to_string(got.type()) + ", not " + to_string(wanted.type());
  bool half = got.dtype() == DType::f16 || got.dtype() == DType::bf16;
  std::vector<double> a = got.to_vector<double>(), b = wanted.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!is_near(a[i], b[i], half ? 1e-2 : 1e-3)) return fmt::format("element {} is {}, not {}", i, a[i], b[i]);
  return {};
}

Outcome judged(const CaseData& data, bool tell) {
  std::vector<Tensor> got = run_case(data, tell);
  if (got.size() != data.outputs.size()) return {Verdict::failed, "another number of outputs"};
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::string d = difference(got[i], data.outputs[i]); !d.empty())
      return {Verdict::failed, fmt::format("output {} {}", i, d)};
  return {Verdict::passed, {}, tell};
}

std::string reasons_of(const UnsupportedModel& e) {
  std::string all;
  for (const Missing& m : e.missing()) all += (all.empty() ? "" : "; ") + m.op + ": " + m.why;
  return all;
}

bool wants_to_know(const std::string& reasons) {
  return reasons.find("must be known while recording") != std::string::npos;
}

// What no tensor of ours holds; such a case is left out whatever its operators are.
std::string foreign_type(const Document& document) {
  for (const auto* side : {&document.inputs, &document.outputs})
    for (const Declared& d : *side) {
      if (d.data_type == 0) return "type: sequences and optional values";
      if (d.data_type == element_string) return "type: strings";
    }
  return {};
}

Outcome run_set(const std::shared_ptr<const Document>& document, const fs::path& set) {
  if (std::string foreign = foreign_type(*document); !foreign.empty()) return {Verdict::unsupported, foreign};
  CaseData data = read_case(document, set);
  try {
    return judged(data, false);
  } catch (const UnsupportedModel& e) {
    if (!wants_to_know(reasons_of(e))) return {Verdict::unsupported, reasons_of(e)};
  }
  return judged(data, true);
}

// The outputs of this case were computed with an epsilon that its file does not say; ONNX's default is 1e-6.
void amend(Document& document, const std::string& name) {
  if (name == "test_adam_multiple") document.nodes.at(0).attributes.push_back({"epsilon", 1e-2f});
}

Outcome run_directory(const fs::path& path, std::set<std::string>& ops) {
  try {
    auto document = std::make_shared<Document>(read_document((path / "model.onnx").string()));
    amend(*document, path.filename().string());
    for (const Node& node : document->nodes) ops.insert(node.op);
    Outcome outcome;
    for (int i = 0; fs::exists(path / fmt::format("test_data_set_{}", i)); ++i) {
      Outcome one = run_set(document, path / fmt::format("test_data_set_{}", i));
      if (one.verdict != Verdict::passed) return one;
      outcome.was_told = one.was_told;
    }
    return outcome;
  } catch (const UnsupportedModel& e) {
    return {Verdict::unsupported, reasons_of(e)};
  } catch (const Error& e) {
    return {Verdict::failed, e.what()};
  }
}

struct Tally {
  int counts[3] = {0, 0, 0};  // by Verdict
};

struct Summary {
  Tally all;
  int told = 0;
  std::map<std::string, Tally> by_op;
  std::map<std::string, std::vector<std::string>> reasons;  // of what is unsupported: its cases
  std::vector<std::string> failures;
};

Summary run_everything() {
  Summary s;
  for (const char* part : {"node", "pytorch-operator", "pytorch-converted", "simple"}) {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(conformance_data / part)) paths.push_back(entry.path());
    std::ranges::sort(paths);
    for (const fs::path& path : paths) {
      std::set<std::string> ops;
      Outcome o = run_directory(path, ops);
      auto verdict = static_cast<std::size_t>(o.verdict);
      ++s.all.counts[verdict];
      for (const std::string& op : ops) ++s.by_op[op].counts[verdict];
      s.told += o.was_told;
      std::string name = path.filename().string();
      if (o.verdict == Verdict::failed) s.failures.push_back(name + ": " + o.why);
      if (o.verdict == Verdict::unsupported) s.reasons[o.why].push_back(name);
    }
  }
  return s;
}

void print(const Summary& s) {
  std::printf("%-28s %7s %7s %12s\n", "operator (cases it is in)", "passed", "failed", "unsupported");
  for (const auto& [op, t] : s.by_op)
    std::printf("%-28s %7d %7d %12d\n", op.c_str(), t.counts[0], t.counts[1], t.counts[2]);
  std::printf("\nwhy cases are unsupported:\n");
  for (const auto& [why, cases] : s.reasons)
    std::printf("  %3zu  %s  [%s%s]\n", cases.size(), why.c_str(), cases[0].c_str(), cases.size() > 1 ? ", ..." : "");
  for (const std::string& f : s.failures) std::printf("FAILED %s\n", f.c_str());
  std::printf("\n%d cases: %d passed (%d of them with inputs known while recording), %d failed, %d unsupported\n",
              s.all.counts[0] + s.all.counts[1] + s.all.counts[2], s.all.counts[0], s.told, s.all.counts[1],
              s.all.counts[2]);
}

TEST(OnnxConformance, EveryCaseWhoseOperatorsWeHavePasses) {
  ASSERT_TRUE(fs::exists(conformance_data)) << "install libonnx-testdata: scripts/install-packages test";
  Summary s = run_everything();
  print(s);
  EXPECT_EQ(s.all.counts[1], 0);
  EXPECT_GE(s.all.counts[0], 500);
}

}  // namespace
}  // namespace reprise::onnx
