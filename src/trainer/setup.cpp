// SPDX-License-Identifier: Apache-2.0
#include "trainer/setup.h"

#include "base/error.h"

namespace reprise {
namespace {

Type without_batch(const Type& type) {
  Type sample{type.dtype, {}};
  for (int axis = 1; axis < type.shape.rank(); ++axis) sample.shape.push_back(type.shape[axis]);
  return sample;
}

void check_sample(const Recipe& recipe, const char* which, const Type& has, const Type& wants) {
  if (has == wants) return;
  fail("[train] the {} of a sample is {}, {} takes {}: choose other data or another model", which, to_string(has),
       recipe.model, to_string(wants));
}

void freeze(const BuiltInModel& model, const std::string& prefix) {
  bool found = false;
  for (const nn::Named& p : model.parameters) {
    if (!p.name.starts_with(prefix)) continue;
    nn::Parameter(p.parameter).train(false);
    found = true;
  }
  if (!found)
    fail("[train] no parameter's name begins with '{}': {} has '{}' to '{}'", prefix, model.name,
         model.parameters.front().name, model.parameters.back().name);
}

}  // namespace

data::Dataset load_data(const Recipe& recipe) {
  BuiltInModel model = built_in_model(recipe.model, {.batch = 1, .seed = recipe.seed});
  if (recipe.data.empty() && model.data.empty())
    fail("[train] no data that suit {} ship with the project: name some with --data", recipe.model);
  Type x = without_batch(model.batch[0]);
  data::LoadOptions options;
  options.kind = recipe.data_kind;
  if (is_float(x.dtype))
    options.x_shape = x.shape.sizes();
  else if (x.shape.rank() == 1)
    options.context = x.shape[0];
  return data::load(recipe.data.empty() ? data::shipped(model.data) : recipe.data, options);
}

BuiltInModel model_for(const Recipe& recipe, const data::Dataset& data) {
  BuiltInModel model = built_in_model(
      recipe.model,
      {.batch = recipe.batch, .seed = recipe.seed, .classes = static_cast<std::int64_t>(data.classes.size())});
  check_sample(recipe, "x", data.x, without_batch(model.batch[0]));
  check_sample(recipe, "y", data.y, without_batch(model.batch[1]));
  if (!recipe.optimizer.empty()) model.rule = optim::rule_named(recipe.optimizer);
  if (recipe.lr > 0) model.rule.rate = recipe.lr;
  for (const std::string& prefix : recipe.freeze) freeze(model, prefix);
  return model;
}

}  // namespace reprise
