// SPDX-License-Identifier: Apache-2.0
// What may be said of a model on every command line: what of it trains and, of an ONNX file, how it becomes a model.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "reprise/onnx.h"

namespace reprise::cli {

struct NetworkWords {
  std::string loss, output;
  std::int64_t classes = 0;
  std::vector<std::string> shapes, freeze, train;
};

/// Adds --loss, --output, --classes, --shape, --freeze and --train.
void add_network_options(CLI::App& verb, NetworkWords& words);
/// A number of parts to work through a batch in, or auto, which is 0.
Check is_parts();
int parts_of(const std::string& text);
/// WrongCommand where a built-in model is told what only ONNX files can be.
void expect_words_for(const std::string& model, const NetworkWords& words);

OnnxOptions onnx_options(const NetworkWords& words, std::int64_t batch, std::uint64_t seed, std::int64_t budget);

}  // namespace reprise::cli
