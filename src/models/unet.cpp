// SPDX-License-Identifier: Apache-2.0
// U-net (Ronneberger et al. 2015) with batch norm; skips are concatenated.
#include "models/models.h"

namespace reprise::models {
namespace {

// Two convolutions, each normalised and rectified.
struct Double {
  nn::Conv first;
  nn::BatchNorm first_norm;
  nn::Conv second;
  nn::BatchNorm second_norm;

  Double(std::int64_t in, std::int64_t out)
      : first(in, out, {3, 3}, {.pads = {1}}, false),
        first_norm(out),
        second(out, out, {3, 3}, {.pads = {1}}, false),
        second_norm(out) {}
  Value operator()(const Value& x) const { return relu(second_norm(second(relu(first_norm(first(x)))))); }
  void evaluate() { first_norm.training = second_norm.training = false; }
  nn::Fields fields() { return reprise::fields("0", first, "1", first_norm, "3", second, "4", second_norm); }
};

struct Up {
  nn::ConvTranspose up;
  Double c;

  Up(std::int64_t in, std::int64_t out) : up(in, out, {2, 2}, {.strides = {2}}), c(2 * out, out) {}
  Value operator()(const Value& x, const Value& skip) const { return c(concat({skip, up(x)}, 1)); }
  nn::Fields fields() { return reprise::fields("up", up, "c", c); }
};

struct Unet {
  std::vector<Double> enc;
  std::vector<Up> dec;
  nn::Conv head;

  Value operator()(Value x) const {
    Values skips;
    for (std::size_t i = 0; i < enc.size(); ++i) skips.push_back(x = enc[i](i == 0 ? x : max_pool(x, {2})));
    for (std::size_t i = 0; i < dec.size(); ++i) x = dec[i](x, skips[enc.size() - 2 - i]);
    return head(x);
  }
  Unet evaluation() const {
    Unet copy = *this;
    for (Double& part : copy.enc) part.evaluate();
    for (Up& part : copy.dec) part.c.evaluate();
    return copy;
  }
  nn::Fields fields() { return reprise::fields("enc", enc, "dec", dec, "head", head); }
};

}  // namespace

BuiltInModel unet(const ModelOptions& options) {
  std::int64_t images = batch_size(options, options.small ? 2 : 4),
               size = chosen(options.image, options.small ? 16 : 256, "image size");
  std::int64_t levels = options.small ? 3 : 5, width = options.small ? 4 : 32;
  expect_image("unet", size, std::int64_t{1} << (levels - 1), std::int64_t{1} << (levels - 1));
  Unet net{{}, {}, nn::Conv(width, 1, {1, 1})};
  for (std::int64_t i = 0; i < levels; ++i) net.enc.emplace_back(i == 0 ? 3 : width << (i - 1), width << i);
  for (std::int64_t i = levels - 2; i >= 0; --i) net.dec.emplace_back(width << (i + 1), width << i);
  BuiltInModel model =
      model_of(std::move(net), {{DType::f32, {images, 3, size, size}}, {DType::f32, {images, 1, size, size}}},
               [](const Unet& f, const Value& x, const Value& y) { return bce_with_logits(f(x), y); });
  model.rule = optim::Sgd{{.lr = 0.01}}.rule();
  model.draw = random_batches(0, 2);
  return model;
}

}  // namespace reprise::models
