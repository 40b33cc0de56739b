// SPDX-License-Identifier: Apache-2.0
// test:
// Samples from files of every format, and a network that learns handwritten digits from those that ship with the
// project, within 3 MiB. Ends with status 1 below 97 % accuracy on the digits it has not seen.
//   data [EPOCHS]
#include <reprise/reprise.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace reprise;
using namespace reprise::literals;

namespace {

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void print(const data::Dataset& samples) {
  std::printf("%s: %lld samples of %s, y %s, %zu classes\n", std::filesystem::path(samples.name).filename().c_str(),
              static_cast<long long>(samples.size), to_string(samples.x).c_str(), to_string(samples.y).c_str(),
              samples.classes.size());
}

// Small files of one's own.
void show_formats(const std::filesystem::path& folder) {
  write(folder / "poem.txt", "Tyger Tyger, burning bright,\nIn the forests of the night;\n");
  write(folder / "iris.csv", "length,width,class\n5.1,3.5,setosa\n7.0,3.2,versicolor\n6.3,3.3,virginica\n");
  write(folder / "shapes/square/1.pgm", "P2 2 2 255\n255 255 255 255\n");
  write(folder / "shapes/line/1.pgm", "P2 2 2 255\n255 0 255 0\n");
  std::filesystem::current_path(folder);

  auto poem = data::load("poem.txt", {.context = 16});  // i64[16], the same one character further on
  auto iris = data::load("iris.csv");                   // f32[2], one of 3 classes
  auto shapes = data::load("shapes", {.x_shape = {3, 32, 32}});
  for (const auto& samples : {poem, iris, shapes}) print(samples);
}

double accuracy(const BuiltInModel& model, const data::Dataset& samples) {
  Tensor x = Tensor::empty({DType::f32, {samples.size, 1, 8, 8}}), y = Tensor::empty({DType::i64, {samples.size}});
  for (std::int64_t i = 0; i < samples.size; ++i)
    samples.read(i, &x.span<float>()[static_cast<std::size_t>(64 * i)],
                 &y.span<std::int64_t>()[static_cast<std::size_t>(i)]);
  Tensor logits = Compiled(model.predict, {}).run(std::vector{x})[0];
  std::int64_t right = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(samples.size); ++i) {
    auto row = logits.span<float>().subspan(10 * i, 10);
    right += std::max_element(row.begin(), row.end()) - row.begin() == y.span<std::int64_t>()[i];
  }
  return static_cast<double>(right) / static_cast<double>(samples.size);
}

double learn_digits(std::int64_t epochs) {
  BuiltInModel model = built_in_model("digits");
  auto [train, validation] = data::split(data::load(data::shipped("digits")), 0.2, 1);
  data::Batches batches(train, 64, 1);

  model.rule.schedule = optim::cosine(epochs * batches.per_epoch());
  TrainStep step(model.loss, model.parameters, model.rule, {.budget = 3_MiB - batches.buffer_bytes()});
  step.compile(model.batch);
  std::vector<Tensor> batch = {step.batch(0), step.batch(1)};
  for (std::int64_t i = 0; i < epochs * batches.per_epoch(); ++i) {
    batches.next(batch);
    step.run(batch);
  }
  return accuracy(model, validation);
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / "reprise_data_example";
  double share = learn_digits(argc > 1 ? std::atoll(argv[1]) : 10);
  show_formats(folder);
  std::filesystem::remove_all(folder);
  std::printf("digits: %.1f %% of those it has not seen are right\n", 100 * share);
  return share > 0.97 ? 0 : 1;
}
