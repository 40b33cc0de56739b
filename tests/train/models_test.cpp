// SPDX-License-Identifier: Apache-2.0
// Every built-in model, in its small form, gives the same bits however little memory it has.
#include "reprise/models.h"

#include "message.h"
#include "train/outcome.h"

namespace reprise {
namespace {

Subject subject_of(std::string_view name) {
  BuiltInModel model = built_in_model(name, {.small = true});
  return {model.loss, model.parameters, model.rule, model.random_batch(3)};
}

class BuiltIn : public testing::TestWithParam<ModelInfo> {};

TEST_P(BuiltIn, GivesTheSameBitsUnderEveryBudget) {
  expect_same_bits_under_budgets([] { return subject_of(GetParam().name); });
}

TEST_P(BuiltIn, LearnsABatchByHeart) {
  BuiltInModel model = built_in_model(GetParam().name, {.small = true});
  TrainStep step(model.loss, model.parameters, model.rule, {.measure = false});
  std::vector<Tensor> batch = model.random_batch(1);
  double first = step.run(batch), last = first;
  for (int i = 0; i < 10; ++i) last = step.run(batch);
  EXPECT_LT(last, first);
}

INSTANTIATE_TEST_SUITE_P(Model, BuiltIn, testing::ValuesIn(built_in_models()),
                         [](const auto& model) { return std::string(model.param.name); });

TEST(BuiltInModels, AnUnknownNameListsTheKnownOnes) {
  EXPECT_EQ(message_of([] { built_in_model("gpt5"); }),
            "[model] there is no model 'gpt5': choose from mlp16, gpt6, gpt4s, resnet18, resnet50, vgg16, unet, "
            "lstm512, rnn512");
}

// torchvision's and the usual figures.
TEST(BuiltInModels, HaveAsManyParametersAsTheirOriginals) {
  EXPECT_EQ(built_in_model("mlp16").parameter_count(), 16 * (1024 * 1024 + 1024));
  EXPECT_EQ(built_in_model("resnet18").parameter_count(), 11'689'512);
  EXPECT_EQ(built_in_model("resnet50").parameter_count(), 25'557'032);
  EXPECT_EQ(built_in_model("lstm512").parameter_count(), 4 * 256 * (64 + 256 + 2) + 64 * 257);
}

}  // namespace
}  // namespace reprise
