// SPDX-License-Identifier: Apache-2.0
#include "ops/examples.h"

#include "base/error.h"
#include "base/random.h"
#include "graph/text.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

Example::Input read_input(Scanner& scan) {
  Example::Input input{scan.type(), -2, 2};
  if (scan.take("{")) {
    input.low = scan.real();
    scan.expect("..");
    input.high = scan.real();
    scan.expect("}");
  } else if (input.type.dtype == DType::i32 || input.type.dtype == DType::i64) {
    scan.reject("a range such as {0..4} after an integer type");
  }
  return input;
}

// "f32[" begins an input, "axis=" an attribute.
bool at_input(std::string_view rest) {
  auto mark = rest.find_first_of("[=");
  return mark != std::string_view::npos && rest[mark] == '[';
}

Example read_example(std::string_view text) {
  Example example;
  Scanner scan(text);
  std::string_view rest = text;
  while (!scan.at_end()) {
    if (at_input(rest)) {
      example.inputs.push_back(read_input(scan));
    } else {
      std::string name = scan.identifier();
      scan.expect("=");
      example.attributes.set(std::move(name), scan.attribute());
    }
    rest = scan.rest();
  }
  return example;
}

Tensor draw(const Example::Input& input, Random& random) {
  Tensor t = Tensor::empty(input.type);
  with_dtype(input.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T& x : t.span<T>()) {
      if constexpr (std::is_same_v<T, bool>)
        x = random.chance(0.5);
      else if constexpr (std::is_integral_v<T>)
        x = static_cast<T>(random.between(static_cast<std::int64_t>(input.low), static_cast<std::int64_t>(input.high)));
      else
        x = convert<T>(
            static_cast<float>(random.uniform(input.low, input.high)));  // rounded, so that f64 draws what f32 does
    }
  });
  return t;
}

}  // namespace

std::vector<Example> examples_of(const Op& op) {
  std::vector<Example> examples;
  std::string_view rest = op.examples;
  while (!rest.empty()) {
    auto end = std::min(rest.find(';'), rest.size());
    examples.push_back(read_example(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return examples;
}

std::vector<Tensor> draw(const Example& example, std::uint64_t seed) {
  Random random(seed);
  std::vector<Tensor> tensors;
  for (const Example::Input& input : example.inputs) tensors.push_back(draw(input, random));
  return tensors;
}

}  // namespace reprise
