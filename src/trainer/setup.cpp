// SPDX-License-Identifier: Apache-2.0
#include "trainer/setup.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/error.h"
#include "reprise/io.h"

namespace reprise {
namespace {

Type without_batch(const Type& type) {
  Type sample{type.dtype, {}};
  for (int axis = 1; axis < type.shape.rank(); ++axis) sample.shape.push_back(type.shape[axis]);
  return sample;
}

Type with_batch(std::int64_t batch, const Type& sample) {
  Type type{sample.dtype, {batch}};
  for (std::int64_t size : sample.shape) type.shape.push_back(size);
  return type;
}

void check_sample(const Recipe& recipe, const char* which, const Type& has, const Type& wants) {
  if (has == wants) return;
  fail("[train] the {} of a sample is {}, {} takes {}: choose other data or another model", which, to_string(has),
       recipe.model, to_string(wants));
}

// How data are read for an x of this dtype and these sizes of a sample; an open one leaves them as they are.
data::LoadOptions load_options(const Recipe& recipe, DType dtype, const std::vector<std::int64_t>& sizes) {
  data::LoadOptions options;
  options.kind = recipe.data_kind;
  bool is_open = std::ranges::find(sizes, -1) != sizes.end();
  if (is_float(dtype) && !is_open)
    options.x_shape = sizes;
  else if (!is_float(dtype) && sizes.size() == 1 && !is_open)
    options.context = sizes[0];
  return options;
}

// The file's first input, with the sizes that the recipe gives.
OnnxTensor onnx_x(const Recipe& recipe, std::int64_t budget) {
  OnnxSummary summary = onnx_summary(recipe.model, budget);
  if (summary.inputs.empty()) fail("[onnx] '{}' has no input: there is nothing to learn from", recipe.model);
  OnnxTensor x = summary.inputs[0];
  auto shapes = onnx_shapes(recipe.shapes);
  if (auto given = shapes.find(x.name); given != shapes.end()) x.sizes = given->second, x.has_rank = true;
  return x;
}

std::int64_t sample_bytes(const Tensor& t) { return t.shape()[0] > 0 ? t.bytes() / t.shape()[0] : 0; }

// The arrays that a model of several inputs takes, in its order; nothing where the file has others.
std::vector<std::pair<std::string, Tensor>> arrays_for(const Recipe& recipe, const OnnxSummary& summary) {
  std::vector<std::pair<std::string, Tensor>> chosen;
  io::NamedTensors arrays = io::load_npz(recipe.data);
  auto take = [&](const std::string& name, const DType* dtype) {
    auto found = std::ranges::find(arrays, name, [](const auto& a) { return a.first; });
    if (found == arrays.end()) return false;
    DType as = is_float(found->second.dtype()) ? DType::f32 : DType::i64;
    chosen.emplace_back(name, found->second.to(dtype ? *dtype : as));
    return true;
  };
  for (const OnnxTensor& input : summary.inputs)
    if (!take(input.name, &input.dtype)) return {};
  take("target", nullptr);
  return chosen;
}

// Sample i is row i of every array; the last is y.
Samples samples_of(const Recipe& recipe, const std::vector<std::pair<std::string, Tensor>>& arrays) {
  std::int64_t count = arrays[0].second.shape().rank() > 0 ? arrays[0].second.shape()[0] : 0;
  Samples samples;
  samples.name = recipe.data, samples.size = count;
  std::int64_t record = 0;
  for (const auto& [name, tensor] : arrays) {
    if (tensor.shape().rank() == 0 || tensor.shape()[0] != count || count == 0)
      fail("[data] '{}': '{}' is {}, '{}' {}: the first size counts the samples and must be the same", recipe.data,
           name, to_string(tensor.type()), arrays[0].first, to_string(arrays[0].second.type()));
    samples.parts.emplace_back(name, without_batch(tensor.type()));
    samples.bytes += tensor.bytes();
    record += sample_bytes(tensor);
  }
  samples.y = samples.parts.back().second;
  samples.parts.pop_back();
  samples.x = {DType::boolean, {record - sample_bytes(arrays.back().second)}};
  samples.read = [arrays](std::int64_t i, void* x, void* y) {
    for (const auto& [name, tensor] : arrays) {
      bool is_last = &tensor == &arrays.back().second;
      std::int64_t bytes = sample_bytes(tensor);
      std::memcpy(is_last ? y : x, static_cast<const char*>(tensor.data()) + i * bytes,
                  static_cast<std::size_t>(bytes));
      if (!is_last) x = static_cast<char*>(x) + bytes;
    }
  };
  return samples;
}

Samples load_for_onnx(const Recipe& recipe, std::int64_t budget) {
  if (recipe.data.empty()) fail("[train] '{}' needs data to learn from: name them with --data", recipe.model);
  OnnxSummary summary = onnx_summary(recipe.model, budget);
  if (summary.inputs.size() > 1 && recipe.data.ends_with(".npz")) {
    auto arrays = arrays_for(recipe, summary);
    if (!arrays.empty()) return samples_of(recipe, arrays);
  }
  OnnxTensor x = onnx_x(recipe, budget);
  std::vector<std::int64_t> sizes = {-1};
  if (x.has_rank && !x.sizes.empty()) sizes.assign(x.sizes.begin() + 1, x.sizes.end());
  data::LoadOptions options = load_options(recipe, x.dtype, sizes);
  options.x_name = x.name;
  return {data::load(recipe.data, options)};
}

std::int64_t onnx_batch(const Recipe& recipe, const OnnxTensor& x) {
  if (recipe.batch > 0) return recipe.batch;
  return x.has_rank && !x.sizes.empty() && x.sizes[0] > 0 ? x.sizes[0] : 8;
}

void expect_classes(const Recipe& recipe, const BuiltInModel& model, const data::Dataset& data) {
  auto count = static_cast<std::int64_t>(data.classes.size());
  if (count == 0 || !model.predict || is_float(model.batch.back().dtype)) return;
  Graph graph = trace(model.predict, std::span(model.batch).first(model.batch.size() - 1));
  std::int64_t outputs = graph.type(graph.outputs[0]).shape.back();
  if (count > outputs)
    fail("[train] the data have {} classes, '{}' tells {} apart: --classes {} gives it a new last layer", count,
         recipe.model, outputs, count);
}

// Says what to bring where the samples have too little or too much.
[[noreturn]] void refuse_samples(const Recipe& recipe, const BuiltInModel& model, std::size_t has) {
  std::string names;
  for (const std::string& name : model.inputs) names += (names.empty() ? "'" : ", '") + name + "'";
  fail(
      "[train] '{}' takes {}, the samples of '{}' have {} tensors: {}", recipe.model, names, recipe.data, has,
      model.batch.size() < 2 ? "choose a loss that compares with a target" : "bring an npz with arrays of these names");
}

BuiltInModel onnx_model_for(const Recipe& recipe, const Samples& data, std::int64_t budget) {
  OnnxTensor x = onnx_x(recipe, budget);
  std::int64_t batch = onnx_batch(recipe, x);
  OnnxOptions options{.batch = batch,
                      .shapes = onnx_shapes(recipe.shapes),
                      .loss = recipe.loss,
                      .output = recipe.output,
                      .target = with_batch(batch, data.y),
                      .classes = recipe.classes,
                      .seed = recipe.seed,
                      .budget = budget};
  for (const auto& [name, type] : data.parts) options.shapes[name] = with_batch(batch, type).shape.sizes();
  if (data.parts.empty()) options.shapes[x.name] = with_batch(batch, data.x).shape.sizes();
  BuiltInModel model = onnx_model(recipe.model, options);
  std::size_t has = std::max<std::size_t>(1, data.parts.size()) + 1;
  if (model.batch.size() != has || has < 2) refuse_samples(recipe, model, has);
  expect_classes(recipe, model, data);
  return model;
}

BuiltInModel built_in_model_for(const Recipe& recipe, const Samples& data) {
  return built_in_model(
      recipe.model,
      {.batch = recipe.batch, .seed = recipe.seed, .classes = static_cast<std::int64_t>(data.classes.size())});
}

}  // namespace

PlanOptions planning_of(const TrainerOptions& options, double most_seconds) {
  if (options.iterations > 0) return {.iterations = options.iterations};
  return {.time_limit = std::min(most_seconds, options.time_limit)};
}

void place_parts(const void* x, std::span<const Tensor> batch, std::int64_t i) {
  const char* from = static_cast<const char*>(x);
  for (const Tensor& tensor : batch) {
    std::int64_t bytes = sample_bytes(tensor);
    std::memcpy(static_cast<char*>(tensor.data()) + i * bytes, from, static_cast<std::size_t>(bytes));
    from += bytes;
  }
}

std::int64_t known_bytes(const TrainerOptions& options) {
  if (options.budget == "auto") return available_memory() / 10 * 9;
  return options.budget.find('%') == std::string::npos ? parse_bytes(options.budget) : onnx_usual_budget;
}

Samples load_data(const Recipe& recipe, std::int64_t budget) {
  if (is_onnx_path(recipe.model)) return load_for_onnx(recipe, budget);
  BuiltInModel model = built_in_model(recipe.model, {.batch = 1, .seed = recipe.seed});
  if (recipe.data.empty() && model.data.empty())
    fail("[train] no data that suit {} ship with the project: name some with --data", recipe.model);
  Type x = without_batch(model.batch[0]);
  return {data::load(recipe.data.empty() ? data::shipped(model.data) : recipe.data,
                     load_options(recipe, x.dtype, x.shape.sizes()))};
}

BuiltInModel model_for(const Recipe& recipe, const Samples& data, std::int64_t budget) {
  BuiltInModel model =
      is_onnx_path(recipe.model) ? onnx_model_for(recipe, data, budget) : built_in_model_for(recipe, data);
  if (data.parts.empty()) check_sample(recipe, "x", data.x, without_batch(model.batch[0]));
  for (std::size_t i = 0; i < data.parts.size(); ++i)
    check_sample(recipe, data.parts[i].first.c_str(), data.parts[i].second, without_batch(model.batch[i]));
  check_sample(recipe, "y", data.y, without_batch(model.batch.back()));
  if (!recipe.optimizer.empty()) model.rule = optim::rule_named(recipe.optimizer);
  if (recipe.lr > 0) model.rule.rate = recipe.lr;
  choose_trained(model, {recipe.train, recipe.freeze});
  return model;
}

std::int64_t constant_bytes(const BuiltInModel& model, const TrainStep& step, const Graph& other) {
  std::map<const void*, std::int64_t> constants;
  auto count = [&](const Graph& graph) {
    for (const Node& node : graph.nodes())
      for (const auto& [name, attribute] : node.attributes)
        if (const auto* tensor = std::get_if<Tensor>(&attribute)) constants[tensor->data()] = tensor->bytes();
  };
  Graph recorded, folded;  // both there until all is counted, so that no address comes twice
  if (is_onnx_path(model.name)) {
    recorded = step.graph(model.batch);
    folded = fold_constants(recorded);
  }
  count(recorded);
  count(folded);
  count(other);
  std::int64_t bytes = 0;
  for (const auto& [place, size] : constants) bytes += size;
  return bytes;
}

void check_fingerprint(Recipe& recipe) {
  if (!is_onnx_path(recipe.model)) return;
  std::string found = onnx_fingerprint(recipe.model);
  if (!recipe.fingerprint.empty() && recipe.fingerprint != found)
    fail("[train] '{}' is not the file that the run began with: bring that back, or begin a new run", recipe.model);
  recipe.fingerprint = found;
}

}  // namespace reprise
