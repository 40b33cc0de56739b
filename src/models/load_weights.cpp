// SPDX-License-Identifier: Apache-2.0
// Weights and a batch from a folder of raw files.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "reprise/models.h"

namespace reprise {
namespace {

using Json = nlohmann::json;

Type type_of(const Json& entry) {
  static const std::map<std::string, DType> dtypes = {{"float32", DType::f32},
                                                      {"float64", DType::f64},
                                                      {"int32", DType::i32},
                                                      {"int64", DType::i64},
                                                      {"bool", DType::boolean}};
  auto name = entry.at("dtype").get<std::string>();
  auto found = dtypes.find(name);
  if (found == dtypes.end())
    fail("[load] '{}' is of dtype {}, which cannot be loaded", entry.at("name").get<std::string>(), name);
  for (const Json& size : entry.at("shape"))
    if (!size.is_number_integer())
      fail("[load] '{}' has a shape of {}, which are not whole numbers", entry.at("name").get<std::string>(),
           entry.at("shape").dump());
  return {found->second, Shape(entry.at("shape").get<std::vector<std::int64_t>>())};
}

Tensor read(const std::string& path, const Type& type) {
  Tensor t = Tensor::empty(type);
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("[load] '{}', which manifest.json names, cannot be read", path);
  file.read(static_cast<char*>(t.data()), t.bytes());
  if (file.gcount() != t.bytes() || file.peek() != std::ifstream::traits_type::eof())
    fail("[load] '{}' does not hold the {} bytes of {}", path, t.bytes(), to_string(type));
  return t;
}

Json manifest_of(const std::string& folder) {
  std::ifstream file(folder + "/manifest.json");
  if (!file) fail("[load] '{}/manifest.json' cannot be read: name a folder that holds one", folder);
  Json manifest = Json::parse(file, nullptr, false);
  if (!manifest.is_array()) fail("[load] '{}/manifest.json' is no list of files", folder);
  return manifest;
}

}  // namespace

std::vector<Tensor> load_weights(const BuiltInModel& model, const std::string& folder) try {
  std::map<std::string, Json> weights, data;
  for (const Json& entry : manifest_of(folder)) {
    const Json& kind = entry.at("kind");
    if (kind == "data") data[entry.at("name").get<std::string>()] = entry;
    if (kind == "param" || kind == "buffer") weights[entry.at("name").get<std::string>()] = entry;
  }
  auto load = [&](const Json& entry, const Type& wanted) {
    if (type_of(entry) != wanted)
      fail("[load] '{}' is {}, the model wants {}", entry.at("name").get<std::string>(), to_string(type_of(entry)),
           to_string(wanted));
    return read(folder + "/" + entry.at("file").get<std::string>(), wanted);
  };
  for (const nn::Named& p : model.parameters) {
    if (!weights.contains(p.name)) fail("[load] '{}' has no '{}', which {} needs", folder, p.name, model.name);
    nn::Parameter(p.parameter).set(load(weights.at(p.name), p.parameter.type()));
  }
  if (data.contains("x") != data.contains("y"))
    fail("[load] '{}' has x or y of a batch, but not both: add the other, or leave out both for a random batch",
         folder);
  if (!data.contains("x")) return {};
  if (model.batch.size() != 2)
    fail("[load] '{}' has a batch of x and y, {} wants {} tensors", folder, model.name, model.batch.size());
  return {load(data.at("x"), model.batch[0]), load(data.at("y"), model.batch[1])};
} catch (const Json::exception& e) {
  fail("[load] '{}/manifest.json' lacks what a list of files needs: {}", folder, e.what());
}

}  // namespace reprise
