// SPDX-License-Identifier: Apache-2.0
// Every built-in model, in its small form unless all of it is asked for, gives the same bits however little memory it
// has.
#include "reprise/models.h"

#include <fstream>

#include "message.h"
#include "temporary.h"
#include "train/outcome.h"

namespace reprise {
namespace {

// `make test-full` sets this: the models as they are, which takes an hour and gigabytes.
bool is_small() { return std::getenv("REPRISE_FULL_MODELS") == nullptr; }

Subject subject_of(std::string_view name) {
  BuiltInModel model = built_in_model(name, {.small = is_small()});
  return {model.loss, model.parameters, model.rule, model.random_batch(3)};
}

class BuiltIn : public testing::TestWithParam<ModelInfo> {};

TEST_P(BuiltIn, GivesTheSameBitsUnderEveryBudget) {
  expect_same_bits_under_budgets([] { return subject_of(GetParam().name); });
}

// With what was found for less memory at hand, more memory never costs more: what a curve of budgets promises.
TEST_P(BuiltIn, PeakGrowsAndTimeFallsWithTheBudget) {
  BuiltInModel model = built_in_model(GetParam().name, {.small = true});
  TrainStep step(model.loss, model.parameters, model.rule, {.measure = false});
  Problem problem = problem_of(step.graph(model.batch), {.measure = false});
  std::int64_t whole = peak(problem, keep_all(problem));
  PlanResult before;
  for (double share : {0.4, 0.5, 0.7, 1.0}) {
    auto budget = static_cast<std::int64_t>(share * static_cast<double>(whole));
    PlanResult now = solve(problem, {.budget = budget, .alignment = 64, .iterations = 50});
    if (before && now) {
      EXPECT_GE(now.peak, before.peak) << "at " << share;
      EXPECT_LE(now.cost, before.cost) << "at " << share;
    }
    EXPECT_TRUE(now || !before) << "fits less memory, but not " << share;
    before = std::move(now);
  }
  EXPECT_TRUE(before);
}

TEST_P(BuiltIn, DrawsTheSameBatchIntoAPlace) {
  BuiltInModel model = built_in_model(GetParam().name, {.small = true});
  std::vector<Tensor> batch = model.random_batch(3);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(batch[i].type(), model.batch[i]);
    Tensor place = Tensor::empty(model.batch[i]);
    model.draw(3, i, place);
    EXPECT_TRUE(same_bits(place, batch[i]));
  }
}

TEST_P(BuiltIn, LearnsABatchByHeart) {
  BuiltInModel model = built_in_model(GetParam().name, {.small = true});
  TrainStep step(model.loss, model.parameters, model.rule, {.measure = false});
  std::vector<Tensor> batch = model.random_batch(1);
  double first = step.run(batch), last = first;
  for (int i = 0; i < 10; ++i) last = step.run(batch);
  EXPECT_LT(last, first);
}

std::vector<Tensor> values_of(const nn::Fields& parameters) {
  std::vector<Tensor> all;
  for (const nn::Named& p : parameters) all.push_back(p.parameter.value().clone());
  return all;
}

TEST_P(BuiltIn, PredictsWithoutChangingAnything) {
  BuiltInModel model = built_in_model(GetParam().name, {.small = true});
  std::vector<Tensor> batch = model.random_batch(1), before = values_of(model.parameters);
  Tensor output = Compiled(model.predict, {.measure = false}).run(std::span(batch).first(1))[0];
  EXPECT_EQ(output.shape()[0], batch[0].shape()[0]);
  Tensor loss = Compiled(model.validation_loss, {.measure = false}).run(batch)[0];
  EXPECT_TRUE(std::isfinite(loss.item()));
  std::vector<Tensor> after = values_of(model.parameters);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_TRUE(same_bits(before[i], after[i])) << model.parameters[i].name;
}

INSTANTIATE_TEST_SUITE_P(Model, BuiltIn, testing::ValuesIn(built_in_models()),
                         [](const auto& model) { return std::string(model.param.name); });

TEST(BuiltInModels, AnUnknownNameListsTheKnownOnes) {
  EXPECT_EQ(message_of([] { built_in_model("gpt5"); }),
            "[model] there is no model 'gpt5': choose from mlp16, gpt6, gpt4s, digits, resnet18, resnet50, vgg16, "
            "unet, lstm512, rnn512");
}

// torchvision's and the usual figures.
TEST(BuiltInModels, HaveAsManyParametersAsTheirOriginals) {
  EXPECT_EQ(built_in_model("mlp16").parameter_count(), 16 * (1024 * 1024 + 1024));
  EXPECT_EQ(built_in_model("resnet18").parameter_count(), 11'689'512);
  EXPECT_EQ(built_in_model("resnet50").parameter_count(), 25'557'032);
  EXPECT_EQ(built_in_model("lstm512").parameter_count(), 4 * 256 * (64 + 256 + 2) + 64 * 257);
}

Type output_type(std::string_view name, ModelOptions options) {
  options.small = true;
  BuiltInModel model = built_in_model(name, options);
  std::vector<Tensor> batch = model.random_batch(1);
  return Compiled(model.predict, {.measure = false}).run(std::span(batch).first(1))[0].type();
}

TEST(BuiltInModels, HaveAsManyOutputsAndAsLargeImagesAsAsked) {
  EXPECT_EQ(output_type("digits", {.batch = 3, .classes = 26, .image = 28}), (Type{DType::f32, {3, 26}}));
  EXPECT_EQ(output_type("resnet18", {.batch = 2, .classes = 5, .image = 48}), (Type{DType::f32, {2, 5}}));
  EXPECT_EQ(output_type("vgg16", {.batch = 2, .classes = 5, .image = 64}), (Type{DType::f32, {2, 5}}));
  EXPECT_EQ(output_type("unet", {.batch = 2, .image = 32}), (Type{DType::f32, {2, 1, 32, 32}}));
  EXPECT_EQ(output_type("gpt4s", {.batch = 2, .classes = 100}).shape.back(), 100);
  EXPECT_EQ(message_of([] { built_in_model("unet", {.image = 100}); }),
            "[model] unet cannot work on images of 100x100: it needs at least 16 pixels a side, in multiples of 16");
  EXPECT_EQ(message_of([] { built_in_model("digits", {.classes = -1}); }),
            "[model] number of classes -1: it must be positive");
}

TEST(BuiltInModels, PredictByRunningStatistics) {
  BuiltInModel model = built_in_model("resnet18", {.small = true});
  std::vector<Tensor> batch = model.random_batch(1);
  double training = Compiled(model.validation_loss, {.measure = false}).run(batch)[0].item();
  TrainStep step(model.loss, model.parameters, model.rule, {.measure = false});
  EXPECT_NE(step.run(batch), training);  // the batch's own statistics are others
}

void write(const std::string& path, const void* data, std::int64_t bytes) {
  std::ofstream(path, std::ios::binary).write(static_cast<const char*>(data), bytes);
}

TEST(BuiltInModels, TakeOverWeightsAndABatchFromAFolder) {
  BuiltInModel model = built_in_model("mlp16", {.small = true}),
               other = built_in_model("mlp16", {.small = true, .seed = 9});
  TemporaryFolder folder;
  std::string manifest = "[";
  auto add = [&](const std::string& kind, const std::string& name, const Tensor& t) {
    std::string shape;
    for (std::int64_t size : t.shape().sizes()) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    write(folder.path() + "/" + kind + name, t.data(), t.bytes());
    manifest += (manifest.size() > 1 ? "," : "") + std::string("{\"kind\":\"") + kind + "\",\"name\":\"" + name +
                "\",\"shape\":[" + shape + "],\"dtype\":\"float32\",\"file\":\"" + kind + name + "\"}";
  };
  for (const nn::Named& p : other.parameters) add("param", p.name, p.parameter.value());
  for (const nn::Named& p : model.parameters) add("gradient", p.name, p.parameter.value());  // not weights
  std::vector<Tensor> batch = other.random_batch(4);
  add("data", "x", batch[0]);
  add("data", "y", batch[1]);
  manifest += "]";
  write(folder.path() + "/manifest.json", manifest.data(), static_cast<std::int64_t>(manifest.size()));
  std::vector<Tensor> loaded = load_weights(model, folder.path());
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(loaded[i], batch[i]));
  for (std::size_t i = 0; i < model.parameters.size(); ++i)
    EXPECT_TRUE(same_bits(model.parameters[i].parameter.value(), other.parameters[i].parameter.value()));
  BuiltInModel wrong = built_in_model("gpt4s", {.small = true});
  EXPECT_NE(message_of([&] { load_weights(wrong, folder.path()); }).find("has no 'tok.weight', which gpt4s needs"),
            std::string::npos);
  EXPECT_NE(message_of([&] { load_weights(model, folder.path() + "/none"); }).find("manifest.json' cannot be read"),
            std::string::npos);
}

}  // namespace
}  // namespace reprise
