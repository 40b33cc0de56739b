// SPDX-License-Identifier: Apache-2.0
// Residual networks (He et al. 2016), with the stride in the middle of a bottleneck.
#include "models/models.h"

namespace reprise::models {
namespace {

nn::Conv convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  nn::Conv conv(in, out, {kernel, kernel}, {.strides = {stride}, .pads = {kernel / 2}}, false);
  start_for_relu(conv.weight, nn::next_seed());
  return conv;
}

struct Shortcut {
  nn::Conv conv;
  nn::BatchNorm bn;
  bool is_plain = true;
  Value operator()(const Value& x) const { return is_plain ? x : bn(conv(x)); }
  nn::Fields fields() { return is_plain ? nn::Fields{} : reprise::fields("0", conv, "1", bn); }
};

// Convolutions, each normalised, with rectifiers between; then the shortcut is added.
struct ResBlock {
  std::vector<nn::Conv> convs;
  std::vector<nn::BatchNorm> norms;
  Shortcut downsample;

  Value operator()(const Value& x) const {
    Value y = x;
    for (std::size_t i = 0; i < convs.size(); ++i) {
      y = norms[i](convs[i](y));
      if (i + 1 < convs.size()) y = relu(y);
    }
    return relu(y + downsample(x));
  }
  nn::Fields fields() {
    nn::Fields all;
    for (std::size_t i = 0; i < convs.size(); ++i) {
      std::string number = std::to_string(i + 1);
      for (auto part :
           {reprise::fields(("conv" + number).c_str(), convs[i]), reprise::fields(("bn" + number).c_str(), norms[i]),
            i + 1 == convs.size() ? reprise::fields("downsample", downsample) : nn::Fields{}})
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  void add(nn::Conv conv, std::int64_t channels) {
    convs.push_back(std::move(conv));
    norms.emplace_back(channels);
  }
};

struct Stem {
  nn::Conv conv;
  nn::BatchNorm bn;
  Value operator()(const Value& x) const { return max_pool(relu(bn(conv(x))), {3}, {.strides = {2}, .pads = {1}}); }
  nn::Fields fields() { return reprise::fields("0", conv, "1", bn); }
};

struct ResNet {
  Stem stem;
  std::vector<ResBlock> blocks;
  nn::Linear fc;

  Value operator()(const Value& x) const {
    Value y = stem(x);
    for (const ResBlock& block : blocks) y = block(y);
    return fc(flatten(global_avg_pool(y), 1));
  }
  ResNet evaluation() const {
    ResNet copy = *this;
    copy.stem.bn.training = false;
    for (ResBlock& block : copy.blocks) {
      for (nn::BatchNorm& norm : block.norms) norm.training = false;
      block.downsample.bn.training = false;
    }
    return copy;
  }
  nn::Fields fields() {
    nn::Fields all = reprise::fields("units.0", stem);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      for (nn::Named& p : reprise::fields(("units." + std::to_string(i + 1)).c_str(), blocks[i]))
        all.push_back(std::move(p));
    for (nn::Named& p : reprise::fields("head.2", fc)) all.push_back(std::move(p));
    return all;
  }
};

ResBlock make_block(std::int64_t in, std::int64_t width, std::int64_t out, std::int64_t stride, bool bottleneck) {
  ResBlock block;
  if (bottleneck) {
    block.add(convolution(in, width, 1, 1), width);
    block.add(convolution(width, width, 3, stride), width);
    block.add(convolution(width, out, 1, 1), out);
  } else {
    block.add(convolution(in, width, 3, stride), width);
    block.add(convolution(width, out, 3, 1), out);
  }
  if (stride != 1 || in != out) block.downsample = {convolution(in, out, 1, stride), nn::BatchNorm(out), false};
  return block;
}

BuiltInModel resnet(const ModelOptions& options, std::vector<int> depths, bool bottleneck, std::int64_t usual_batch) {
  std::int64_t width = options.small ? 8 : 64, size = chosen(options.image, options.small ? 32 : 224, "image size");
  std::int64_t classes = chosen(options.classes, options.small ? 10 : 1000, "number of classes");
  if (options.small) depths = {1, 2, 1, 1};
  ResNet net{{convolution(3, width, 7, 2), nn::BatchNorm(width)}, {}, {}};
  std::int64_t in = width, growth = bottleneck ? 4 : 1;
  for (std::size_t level = 0; level < depths.size(); ++level, width *= 2)
    for (int i = 0; i < depths[level]; ++i, in = width * growth)
      net.blocks.push_back(make_block(in, width, width * growth, i == 0 && level > 0 ? 2 : 1, bottleneck));
  net.fc = nn::Linear(in, classes);
  std::int64_t images = batch_size(options, options.small ? 6 : usual_batch);
  BuiltInModel model = model_of(std::move(net), {{DType::f32, {images, 3, size, size}}, {DType::i64, {images}}},
                                [](const ResNet& f, const Value& x, const Value& y) { return cross_entropy(f(x), y); });
  model.rule = optim::Sgd{{.lr = 0.01}}.rule();
  model.draw = random_batches(0, classes);
  return model;
}

}  // namespace

BuiltInModel resnet18(const ModelOptions& options) { return resnet(options, {2, 2, 2, 2}, false, 8); }
BuiltInModel resnet50(const ModelOptions& options) { return resnet(options, {3, 4, 6, 3}, true, 4); }

}  // namespace reprise::models
