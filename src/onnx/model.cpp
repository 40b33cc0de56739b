// SPDX-License-Identifier: Apache-2.0
// The network of a file as a model: its parameters, its loss, and the way back into a file.
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>

#include "base/error.h"
#include "models/models.h"
#include "nn/initial.h"
#include "onnx/footprint.h"
#include "onnx/head.h"
#include "onnx/importer.h"
#include "onnx/loss.h"
#include "onnx/source.h"
#include "reprise/onnx.h"
#include "reprise/ops.h"

namespace reprise {
namespace onnx {
namespace {

// Floats come as f32 and integers as i64, whatever the file computes in.
DType presented(DType dtype) {
  if (is_float(dtype)) return dtype == DType::f64 ? DType::f64 : DType::f32;
  return dtype == DType::boolean ? dtype : DType::i64;
}

std::set<std::string> initializer_names(const Document& document) {
  std::set<std::string> names;
  for (const FileTensor& t : document.initializers) names.insert(t.name);
  return names;
}

std::string sizes_text(const Declared& input) {
  if (!input.has_shape) return "of any shape";
  std::string text;
  for (const Dimension& d : input.dims)
    text += (text.empty() ? "" : "x") + (d.size >= 0 ? std::to_string(d.size) : d.symbol.empty() ? "?" : d.symbol);
  return text;
}

// The shape of an input: as the options or the file say. The batch also replaces the file's, where the file has one for
// the first input and this has the same.
std::vector<std::int64_t> bound(const Document& document, const Declared& input, const Declared& first,
                                const OnnxOptions& options) {
  if (auto given = options.shapes.find(input.name); given != options.shapes.end()) return given->second;
  std::vector<std::int64_t> sizes;
  for (const Dimension& d : input.dims) sizes.push_back(d.size);
  constexpr std::int64_t usual_batch = 8;
  if (!sizes.empty() && sizes[0] < 0) sizes[0] = options.batch > 0 ? options.batch : usual_batch;
  bool has_batch = !first.dims.empty() && !input.dims.empty() && first.dims[0].size == input.dims[0].size;
  if (has_batch && options.batch > 0) sizes[0] = options.batch;
  if (!input.has_shape || std::ranges::find_if(sizes, [](std::int64_t s) { return s < 0; }) != sizes.end())
    fail("[onnx] '{}' leaves sizes of its input '{}' open: it is {}. Say them, as in --shape {}:8x3x224x224",
         document.path, input.name, sizes_text(input), input.name);
  return sizes;
}

ImportOptions import_options(const Document& document, const OnnxOptions& options) {
  std::set<std::string> given = initializer_names(document);
  ImportOptions import{.batch = options.batch};
  const Declared* first = nullptr;
  for (const Declared& input : document.inputs) {
    if (given.contains(input.name)) continue;
    if (!first) first = &input;
    import.shapes[input.name] = bound(document, input, *first, options);
  }
  std::string names;
  for (const auto& [name, sizes] : import.shapes) names += (names.empty() ? "" : ", ") + shown(name);
  for (const auto& [name, sizes] : options.shapes)
    if (!import.shapes.contains(name))
      fail("[onnx] '{}' has no input {} to give a shape: choose from {}", document.path, shown(name), names);
  return import;
}

std::string chosen_output(const Document& document, const std::string& wanted) {
  if (document.outputs.empty()) fail("[onnx] '{}' has no output: export it again", document.path);
  if (wanted.empty()) return document.outputs[0].name;
  std::string names;
  for (const Declared& output : document.outputs) {
    if (output.name == wanted) return wanted;
    names += (names.empty() ? "'" : ", '") + output.name + "'";
  }
  fail("[onnx] '{}' has no output '{}': choose from {}", document.path, wanted, names);
}

// What the loss is taken of: a loss from logits wants what is before the last Softmax or Sigmoid.
std::string loss_output(const Document& document, const OnnxOptions& options) {
  std::string output = chosen_output(document, options.output);
  if (options.loss.empty() || options.loss == "cross_entropy")
    return before(document, output, {"Softmax", "LogSoftmax"});
  return options.loss == "bce" ? before(document, output, {"Sigmoid"}) : output;
}

std::string shape_key(const Values& inputs) {
  std::string key;
  for (const Value& v : inputs) key += to_string(v.type()) + " ";
  return key;
}

constexpr std::size_t most_weights = 20'000;  // many times what models have; time grows with the square

/// The network, bound to shapes, with the parameters that stand for its initializers.
class FileModel {
 public:
  FileModel(const std::string& path, OnnxOptions options) : options_(std::move(options)) {
    original_ = std::make_shared<const Document>(read_document(path, options_.budget));
    Document document = with_weights_as_initializers(*original_);
    output_ = loss_output(document, options_);
    document = with_output(std::move(document), output_);
    if (options_.classes > 0) document = with_new_head(std::move(document));
    document_ = std::make_shared<const Document>(std::move(document));
    networks_.emplace("", Network(document_, import_options(*document_, options_)));
    if (network().inputs().empty()) fail("[onnx] '{}' has no input: there is nothing to learn from", path);
    loss_ = loss_named(options_.loss, network().outputs()[0].second);
    if (options_.target) check_target(loss_, *options_.target);
    add_parameters();
  }

  const Network& network() const { return networks_.at(""); }
  const Document& document() const { return *original_; }
  LossKind loss() const { return loss_; }
  const std::string& output() const { return output_; }
  const Type& output_type() const { return network().outputs()[0].second; }
  const nn::Fields& parameters() const { return parameters_; }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes = network().notes();
    if (options_.classes == 0) return notes;
    std::string names;
    for (const Head::Part& part : head_.parts) names += (names.empty() ? "'" : " and '") + part.initializer + "'";
    notes.push_back(fmt::format("a new head of {} outputs: {} start anew", options_.classes, names));
    return notes;
  }

  Type target() const { return options_.target.value_or(usual_target(loss_, output_type())); }

  std::vector<Type> batch() const {
    std::vector<Type> types;
    for (const auto& [name, type] : network().inputs()) types.push_back({presented(type.dtype), type.shape});
    if (needs_target(loss_)) types.push_back(target());
    return types;
  }

  /// The output for these inputs.
  Value record(const Values& inputs, bool training) {
    const Network& bound_network = network_for(inputs);
    Values cast_inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      cast_inputs.push_back(as(inputs[i], bound_network.inputs()[i].second.dtype));
    Value any = inputs[0];
    std::int64_t dropouts = 0;
    Network::Hooks hooks{
        .initializer = [&](const std::string& name) { return initializer(name, any); },
        .statistic = [&](const std::string& name, const Value& next) { update(name, next); },
        .dropout_key = [&](const std::string&) { return fold_in(dropout_key(any), dropouts++); },
    };
    Value output = bound_network.record(cast_inputs, hooks, training)[0];
    if (dropouts > 0 && !is_updated(key_.in(any))) key_.update(fold_in(key_.in(any), -1));
    return output;
  }

  Value loss_of(const Values& batch, bool training) {
    Values inputs(batch.begin(), batch.end() - (needs_target(loss_) ? 1 : 0));
    return loss_value(loss_, record(inputs, training), needs_target(loss_) ? batch.back() : Value{});
  }

  void save(const std::string& path) const {
    std::map<std::string, Tensor> values;
    for (const auto& [name, p] : weights_)
      if (p.state()->present) values.emplace(name, p.value().to(tensor(name).type().dtype));
    write_document(*original_, values, path, changed_shapes());
  }

 private:
  static Value as(const Value& v, DType dtype) { return v.dtype() == dtype ? v : cast(v, dtype); }

  Document with_new_head(Document document) {
    head_ = head_of(document, output_);
    return with_head(std::move(document), head_, options_.classes);
  }

  const FileTensor& tensor(const std::string& name) const {
    return *std::ranges::find(document_->initializers, name, &FileTensor::name);
  }

  nn::Parameter new_part(const Head::Part& part) const {
    double limit = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, part.inputs)));
    auto which = static_cast<nn::Seed>(&part - head_.parts.data());
    return nn::Parameter(nn::uniform(tensor(part.initializer).type().shape, limit, options_.seed + which));
  }

  nn::Parameter parameter(const FileTensor& t, bool is_trained) const {
    for (const Head::Part& part : head_.parts)
      if (part.initializer == t.name) return new_part(part);
    Type type{presented(t.type().dtype), t.type().shape};
    auto load = [t](const Tensor& to) {
      if (to.dtype() == t.type().dtype) return t.read_into(to);
      Tensor wide = t.read().to(to.dtype());
      if (to.bytes() > 0) std::memcpy(to.data(), wide.data(), static_cast<std::size_t>(to.bytes()));
    };
    return {type, load, is_trained};
  }

  void add_parameters() {
    for (const FileTensor& t : document_->initializers) {
      Role role = network().role(t.name);
      if (role == Role::constant) continue;
      if (weights_.size() == most_weights)
        fail("[onnx] '{}' has more than {} tensors of weights: merge some", document_->path, most_weights);
      if (static_cast<std::int64_t>(weights_.size()) * trained_bytes > document_->room)
        fail(
            "[onnx] '{}' has more than {} tensors of weights, all that there is memory for within the budget: take a "
            "larger one in bytes",
            document_->path, weights_.size());
      weights_.emplace(t.name, parameter(t, role == Role::trained));
      parameters_.push_back({t.name, weights_.at(t.name)});
    }
    bool has_dropout = std::ranges::any_of(document_->nodes, [](const Node& n) { return n.op == "Dropout"; });
    key_ = nn::Parameter(random_key(static_cast<std::int64_t>(options_.seed)), false);
    if (has_dropout) parameters_.push_back({"dropout.key", key_});
  }

  static bool is_updated(const Value& state) {
    return std::ranges::any_of(state.graph()->updates, [&](const Update& u) { return u.input == state.ref().node; });
  }

  // Later parts of a batch draw numbers of their own.
  Value dropout_key(const Value& any) const {
    Value key = key_.in(any);
    return is_updated(key) ? fold_in(key, any.ref().node) : key;
  }

  Value initializer(const std::string& name, const Value& any) const {
    return as(weights_.at(name).in(any), tensor(name).type().dtype);
  }

  void update(const std::string& name, const Value& next) const {
    const nn::Parameter& p = weights_.at(name);
    p.update(as(next, p.type().dtype));
  }

  // Shapes are part of what a network is bound to; parts of a batch have others.
  const Network& network_for(const Values& inputs) {
    const NamedTypes& usual = network().inputs();
    bool is_usual = inputs.size() == usual.size();
    for (std::size_t i = 0; is_usual && i < inputs.size(); ++i) is_usual = inputs[i].shape() == usual[i].second.shape;
    if (is_usual) return network();
    if (inputs.size() != usual.size())
      fail("[onnx] '{}' takes {} inputs, not {}", document_->path, usual.size(), inputs.size());
    std::string key = shape_key(inputs);
    auto found = networks_.find(key);
    if (found != networks_.end()) return found->second;
    ImportOptions import;
    for (std::size_t i = 0; i < inputs.size(); ++i) import.shapes[usual[i].first] = inputs[i].shape().sizes();
    return networks_.emplace(key, Network(document_, import)).first->second;
  }

  // A new head changes what the file says of its output.
  DeclaredShapes changed_shapes() const {
    DeclaredShapes shapes;
    if (options_.classes == 0) return shapes;
    std::string name = chosen_output(*original_, options_.output);
    const Declared& declared = *std::ranges::find(original_->outputs, name, &Declared::name);
    std::vector<Dimension> dims = declared.dims;
    dims.resize(static_cast<std::size_t>(output_type().shape.rank()));
    for (std::size_t i = 1; i < dims.size(); ++i)
      if (dims[i].size >= 0 || dims[i].symbol.empty()) dims[i].size = output_type().shape[static_cast<int>(i)];
    shapes.emplace(name, dims);
    return shapes;
  }

  OnnxOptions options_;
  std::shared_ptr<const Document> original_, document_;
  std::string output_;
  Head head_;
  std::map<std::string, Network> networks_;  // "": for the shapes asked for
  LossKind loss_ = LossKind::own;
  std::map<std::string, nn::Parameter> weights_;  // by initializer
  nn::Parameter key_;
  nn::Fields parameters_;
};

// Integers are 0 and 1, which every table has as rows.
void draw(const FileModel& model, std::uint64_t seed, std::size_t i, const Tensor& place) {
  std::vector<Type> types = model.batch();
  bool is_target = needs_target(model.loss()) && i + 1 == types.size();
  std::int64_t below = is_float(types[i].dtype) ? 0 : 2;
  if (is_target && model.loss() == LossKind::bce) below = 2;
  if (is_target && model.loss() == LossKind::cross_entropy)
    below = std::max<std::int64_t>(1, model.output_type().shape[class_axis(model.output_type().shape, types[i].shape)]);
  models::draw(place, below, types.size() * seed + i);
}

OnnxTensor summary_of(const Declared& d) {
  OnnxTensor t{.name = d.name, .has_rank = d.has_shape};
  if (d.data_type != 0) t.dtype = presented(dtype_of_element(d.data_type));
  for (const Dimension& dimension : d.dims) t.sizes.push_back(dimension.size);
  return t;
}

void add_to_hash(XXH3_state_t* state, const io::InputFile& file) {
  std::vector<char> piece(1 << 20);
  for (std::int64_t at = 0; at < file.bytes(); at += static_cast<std::int64_t>(piece.size())) {
    std::int64_t bytes = std::min<std::int64_t>(static_cast<std::int64_t>(piece.size()), file.bytes() - at);
    file.read(at, piece.data(), bytes);
    XXH3_64bits_update(state, piece.data(), static_cast<std::size_t>(bytes));
  }
}

}  // namespace
}  // namespace onnx

BuiltInModel onnx_model(const std::string& path, const OnnxOptions& options) {
  auto file = std::make_shared<onnx::FileModel>(path, options);
  BuiltInModel model{.name = path, .parameters = file->parameters(), .batch = file->batch()};
  for (const auto& [name, type] : file->network().inputs()) model.inputs.push_back(name);
  if (onnx::needs_target(file->loss())) model.inputs.emplace_back("target");
  model.loss = [file](const Values& v) -> Values { return {file->loss_of(v, true)}; };
  model.validation_loss = [file](const Values& v) -> Values { return {file->loss_of(v, false)}; };
  if (file->loss() == onnx::LossKind::cross_entropy)
    model.predict = [file, axis = onnx::class_axis(file->output_type().shape, file->target().shape)](
                        const Values& v) -> Values { return {onnx::classes_last(file->record(v, false), axis)}; };
  else if (onnx::needs_target(file->loss()))
    model.predict = [file](const Values& v) -> Values { return {file->record(v, false)}; };
  model.rule = optim::Adam{{.lr = 1e-4}}.rule();
  model.draw = [file](std::uint64_t seed, std::size_t i, const Tensor& place) { onnx::draw(*file, seed, i, place); };
  model.notes = file->notes();
  model.save = [file](const std::string& to) { file->save(to); };
  return model;
}

void save_onnx(const BuiltInModel& model, const std::string& path) {
  if (!model.save) fail("[onnx] {} is a built-in model: only those of ONNX files can be saved as such", model.name);
  model.save(path);
}

OnnxSummary onnx_summary(const std::string& path, std::int64_t budget) {
  onnx::Document document = onnx::read_document(path, budget);
  OnnxSummary summary{.producer = document.producer};
  if (auto own = document.opsets.find(""); own != document.opsets.end()) summary.opset = own->second;
  std::set<std::string> given = onnx::initializer_names(document);
  for (const onnx::Declared& d : document.inputs)
    if (!given.contains(d.name)) summary.inputs.push_back(onnx::summary_of(d));
  for (const onnx::Declared& d : document.outputs) summary.outputs.push_back(onnx::summary_of(d));
  for (const onnx::Node& node : document.nodes) ++summary.operators[node.op];
  return summary;
}

std::map<std::string, std::vector<std::int64_t>> onnx_shapes(const std::vector<std::string>& texts) {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const std::string& text : texts) {
    std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) fail("[onnx] '{}' is no shape: write it as x:8x3x224x224", text);
    std::vector<std::int64_t>& sizes = shapes[text.substr(0, colon)];
    const char *at = text.data() + colon + 1, *end = text.data() + text.size();
    while (at < end) {
      std::int64_t size = 0;
      auto [next, error] = std::from_chars(at, end, size);
      bool is_last = next == end, is_followed = next < end && *next == 'x' && next + 1 < end;
      if (error != std::errc() || size < 1 || (!is_last && !is_followed))
        fail("[onnx] '{}' is no shape: write it as x:8x3x224x224, sizes from 1 on", text);
      sizes.push_back(size);
      at = is_last ? end : next + 1;
    }
  }
  return shapes;
}

bool is_onnx_path(std::string_view word) {
  constexpr std::string_view ending = ".onnx";
  auto is_letter = [](char written, char letter) { return (written | 0x20) == (letter | 0x20); };
  return word.size() >= ending.size() &&
         std::ranges::equal(word.substr(word.size() - ending.size()), ending, is_letter);
}

std::string onnx_fingerprint(const std::string& path) {
  onnx::Document document = onnx::read_document(path);
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
  XXH3_64bits_reset(state.get());
  onnx::add_to_hash(state.get(), document.source->file());
  for (const std::string& data : onnx::external_files(document))
    onnx::add_to_hash(state.get(), io::InputFile("onnx", data));
  return fmt::format("{:016x}", XXH3_64bits_digest(state.get()));
}

}  // namespace reprise
