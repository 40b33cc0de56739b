// SPDX-License-Identifier: Apache-2.0
// The data that ship with the project: found, whole, and good to learn from.
#include <cstdlib>

#include "data/files.h"
#include "reprise/models.h"
#include "reprise/train.h"

namespace reprise::data {
namespace {

TEST(Shipped, DigitsAreTheUciSet) {
  Dataset digits = load(shipped("digits"));
  EXPECT_EQ(digits.size, 1797);
  EXPECT_EQ(digits.x, (Type{DType::f32, {1, 8, 8}}));
  EXPECT_EQ(digits.classes.size(), 10u);
  std::vector<int> counts(10);
  for (std::int64_t i = 0; i < digits.size; ++i) ++counts[static_cast<std::size_t>(sample(digits, i).label)];
  EXPECT_EQ(counts, (std::vector<int>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}));
  EXPECT_EQ(sample(digits, 0).x[2], 80 / 255.0f);  // 5 of 16 in the original
}

TEST(Shipped, TextHasAtMost65Characters) {
  Dataset text = load(shipped("text"), {.context = 256});
  EXPECT_LE(text.classes.size(), 65u);
  EXPECT_GT(text.size * 256, 600'000);
  EXPECT_TRUE(text.is_ordered);
}

TEST(Shipped, IsLookedForWhereTheEnvironmentSays) {
  setenv("REPRISE_DATA", "/nowhere", 1);
  std::string message = message_of([] { shipped("digits"); });
  unsetenv("REPRISE_DATA");
  EXPECT_EQ(message,
            "[data] there is no 'digits-images-idx3-ubyte.gz' in /nowhere: set REPRISE_DATA to the folder of the data "
            "that ship with the project (digits, text)");
  EXPECT_NE(message_of([] { shipped("cats"); }).find("share/reprise/data"), std::string::npos);
  EXPECT_TRUE(shipped("NOTICE").ends_with("share/reprise/data/NOTICE"));
}

double accuracy(const BuiltInModel& model, const Dataset& data) {
  Tensor x = Tensor::empty({DType::f32, {data.size, 1, 8, 8}});
  std::vector<std::int64_t> labels(static_cast<std::size_t>(data.size));
  for (std::int64_t i = 0; i < data.size; ++i)
    data.read(i, x.span<float>().data() + 64 * i, &labels[static_cast<std::size_t>(i)]);
  Tensor logits = Compiled(model.predict, {.measure = false}).run(std::vector<Tensor>{x})[0];
  double right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    auto row = logits.span<float>().subspan(10 * i, 10);
    right += std::ranges::max_element(row) - row.begin() == labels[i];
  }
  return right / static_cast<double>(labels.size());
}

TEST(Shipped, DigitsAreLearntToBetterThan97Percent) {
  BuiltInModel model = built_in_model("digits");
  auto [train, validation] = split(load(shipped(model.data)), 0.2, 1);
  Batches batches(train, 64, 1);
  model.rule.schedule = optim::cosine(10 * batches.per_epoch());
  TrainStep step(model.loss, model.parameters, model.rule, {.measure = false});
  step.compile(model.batch);
  std::vector<Tensor> batch = {Tensor::empty(model.batch[0]), Tensor::empty(model.batch[1])};
  for (std::int64_t i = 0; i < 10 * batches.per_epoch(); ++i) {
    batches.next(batch);
    step.run(batch);
  }
  double share = accuracy(model, validation);
  EXPECT_GT(share, 0.97);
  RecordProperty("accuracy", std::to_string(share));
}

}  // namespace
}  // namespace reprise::data
