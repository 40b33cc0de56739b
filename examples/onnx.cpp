// SPDX-License-Identifier: Apache-2.0
// test: @source@/tests/onnx/fixtures/resnet.onnx 8.
// A network from an ONNX file learns something new with its last layer alone, and goes back into a file. Ends with
// status 1 if the loss did not fall.
//   onnx NET.onnx LAYER
#include <reprise/reprise.h>

#include <cstdio>

using namespace reprise;
using namespace reprise::literals;

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "onnx NET.onnx LAYER\n"), 2;
  const char *file = argv[1], *layer = argv[2];
  BuiltInModel model = onnx_model(file, {.batch = 16, .classes = 3});
  choose_trained(model, {.train = {layer}});
  model.rule = optim::Adam{{.lr = 0.1}}.rule();
  TrainStep step(model.loss, model.parameters, model.rule, {.budget = 600_MiB});
  std::vector<Tensor> batch = model.random_batch(1);
  double first = step.run(batch), last = first;
  for (int i = 0; i < 50; ++i) last = step.run(batch);
  save_onnx(model, "tuned.onnx");
  std::printf("%lld parameters trained: loss %.3f, then %.3f\n%s\n", static_cast<long long>(model.parameter_count()),
              first, last, step.plan().summary().c_str());
  return last < 0.5 * first ? 0 : 1;
}
