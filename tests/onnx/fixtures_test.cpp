// SPDX-License-Identifier: Apache-2.0
// Networks as PyTorch exports them, against the loss and gradients that PyTorch found: within all memory and within
// less.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "reprise/compile.h"
#include "reprise/io.h"
#include "reprise/onnx.h"

namespace reprise::onnx {
namespace {

struct Fixture {
  const char* name;
  const char* loss;
  int share;  // of an unlimited run's memory, in percent, as near to 40 as there is a schedule for networks this small
};
std::ostream& operator<<(std::ostream& out, const Fixture& f) { return out << f.name; }

const std::string fixture_folder = std::string(REPRISE_SOURCE_DIR) + "/tests/onnx/fixtures/";

Tensor named_in(const io::NamedTensors& tensors, const std::string& name) {
  for (const auto& [key, tensor] : tensors)
    if (key == name) return tensor;
  ADD_FAILURE() << "no " << name;
  return {};
}

struct Found {
  std::vector<std::string> names;  // of the gradients
  std::vector<Tensor> results;     // the loss, then the gradients
  PlanResult plan;
};

class ExportedNetwork : public testing::TestWithParam<Fixture> {
 protected:
  ExportedNetwork() {
    const std::string path = fixture_folder + GetParam().name;
    io::NamedTensors arrays = io::load_npz(path + ".npz");
    OnnxOptions options{.loss = GetParam().loss};
    Tensor target = named_in(arrays, "target");
    options.target = target.type();
    for (const auto& [name, tensor] : arrays)
      if (name != "target") options.shapes[name] = tensor.shape().sizes();
    model_ = onnx_model(path + ".onnx", options);
    for (const std::string& name : model_.inputs) batch_.push_back(named_in(arrays, name));
    expected_ = io::load_npz(path + ".expected.npz");
    omp_set_num_threads(2);  // the scratch memory of kernels, and so the least that fits, depends on it
  }
  ~ExportedNetwork() override { omp_set_num_threads(threads_); }

  Found gradients_within(std::int64_t budget) const {
    Found found;
    Compiled all(
        [&](const Values& v) -> Values {
          Value loss = model_.loss(v)[0];
          found.names.clear();
          Values wrt;
          for (const nn::Named& p : model_.parameters)
            if (p.parameter.trainable()) found.names.push_back(p.name), wrt.push_back(p.parameter.in(loss));
          Values results = gradients(loss, wrt);
          results.insert(results.begin(), loss);
          loss.graph()->updates.clear();
          return results;
        },
        {.budget = budget, .planning = {.iterations = 300}, .measure = false, .verify_recompute = true});
    found.results = all.run(batch_);
    found.plan = all.plan();
    return found;
  }

  int threads_ = omp_get_max_threads();
  BuiltInModel model_;
  std::vector<Tensor> batch_;
  io::NamedTensors expected_;
};

double largest_magnitude(const Tensor& t) {
  double largest = 0;
  for (float x : t.span<float>()) largest = std::max<double>(largest, std::abs(x));
  return largest;
}

double largest_distance(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.span<float>().size(); ++i)
    largest = std::max<double>(largest, std::abs(a.span<float>()[i] - b.span<float>()[i]));
  return largest;
}

TEST_P(ExportedNetwork, HasTheLossAndGradientsOfPyTorch) {
  Found found = gradients_within(std::numeric_limits<std::int64_t>::max());
  double loss = named_in(expected_, "loss").item();
  EXPECT_NEAR(found.results[0].item(), loss, 1e-5 * std::abs(loss));
  std::size_t parameters = expected_.size() - 1;
  bool is_tied = std::string(GetParam().name) == "gpt";  // both names of the tied weights are expected
  EXPECT_EQ(found.names.size(), parameters - (is_tied ? 1 : 0));
  double overall = 0;  // gradients that are zero but for rounding are compared with the largest of all
  for (const auto& [name, tensor] : expected_)
    if (name != "loss") overall = std::max(overall, largest_magnitude(tensor));
  for (std::size_t i = 0; i < found.names.size(); ++i) {
    Tensor theirs = named_in(expected_, found.names[i]), ours = found.results[i + 1];
    ASSERT_EQ(ours.type(), theirs.type()) << found.names[i];
    EXPECT_LE(largest_distance(ours, theirs), std::max(1e-3 * largest_magnitude(theirs), 1e-6 * overall))
        << found.names[i];
  }
}

TEST_P(ExportedNetwork, HasTheSameBitsWithinLessMemory) {
  Found whole = gradients_within(std::numeric_limits<std::int64_t>::max());
  Found within = gradients_within(whole.plan.layout_bytes * GetParam().share / 100);
  EXPECT_LT(within.plan.layout_bytes, whole.plan.layout_bytes);
  EXPECT_LE(within.plan.layout_bytes, whole.plan.layout_bytes * GetParam().share / 100);
  ASSERT_EQ(within.results.size(), whole.results.size());
  for (std::size_t i = 0; i < whole.results.size(); ++i)
    EXPECT_TRUE(same_bits(within.results[i], whole.results[i])) << i;
}

INSTANTIATE_TEST_SUITE_P(Fixtures, ExportedNetwork,
                         testing::Values(Fixture{"resnet", "cross_entropy", 70},
                                         Fixture{"mobilenet", "cross_entropy", 50}, Fixture{"vgg", "cross_entropy", 90},
                                         Fixture{"bert", "cross_entropy", 90}, Fixture{"gpt", "cross_entropy", 90},
                                         Fixture{"lstm", "cross_entropy", 70}, Fixture{"unet", "bce", 70}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace reprise::onnx
