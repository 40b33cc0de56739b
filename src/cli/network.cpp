// SPDX-License-Identifier: Apache-2.0
#include "cli/network.h"

#include <fmt/core.h>

#include <charconv>

#include "cli/cli.h"

namespace reprise::cli {

namespace {

Check is_loss() { return one_of("cross_entropy,mse,bce,sum,own"); }

Check is_shape() {
  return check(
      [](const std::string& text) -> std::string {
        try {
          onnx_shapes({text});
        } catch (const Error& e) {
          return e.what();
        }
        return {};
      },
      "SHAPE");
}

}  // namespace

Check is_parts() {
  return check(
      [](const std::string& text) -> std::string {
        int count = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
        bool is_count = error == std::errc() && end == text.data() + text.size() && count >= 1;
        return is_count || text == "auto" ? "" : fmt::format("'{}' is neither a number of parts nor auto", text);
      },
      "N|auto");
}

int parts_of(const std::string& text) { return text == "auto" ? 0 : std::stoi(text); }

void add_network_options(CLI::App& verb, NetworkWords& words) {
  add_option(verb, "--loss", words.loss,
             "ONNX: what its output is trained by: cross_entropy, mse, bce, sum, or own, where the output is the loss; "
             "if left out own for one number, else cross_entropy",
             {.check = is_loss()});
  add_option(verb, "--loss-output", words.output, "ONNX: the output that is trained; the first if left out",
             {.type = "VALUE"});
  add_option(verb, "--classes", words.classes, "ONNX: give it a new last layer of so many outputs",
             {.check = between(1, 100'000'000)});
  add_option(verb, "--shape", words.shapes, "ONNX: sizes of an input that the file leaves open, as in x:8x3x48x192",
             {.type = "NAME:SIZES", .check = is_shape()});
  add_option(verb, "--freeze", words.freeze, "Do not train parameters whose names begin so, or match it with * and ?",
             {.type = "PATTERN", .delimiter = ','});
  add_option(verb, "--train", words.train, "Train only parameters whose names begin so, or match it with * and ?",
             {.type = "PATTERN", .delimiter = ','});
}

void expect_words_for(const std::string& model, const NetworkWords& words) {
  bool has_any = !words.loss.empty() || !words.output.empty() || words.classes > 0 || !words.shapes.empty();
  if (has_any && !is_onnx_path(model))
    throw WrongCommand(
        fmt::format("--loss, --loss-output, --classes and --shape are for ONNX files, and '{}' is none", model));
}

OnnxOptions onnx_options(const NetworkWords& words, std::int64_t batch, std::uint64_t seed, std::int64_t budget) {
  return {.batch = batch,
          .shapes = onnx_shapes(words.shapes),
          .loss = words.loss,
          .output = words.output,
          .classes = words.classes,
          .seed = seed,
          .budget = budget};
}

}  // namespace reprise::cli
