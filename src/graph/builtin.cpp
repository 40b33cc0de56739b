// SPDX-License-Identifier: Apache-2.0
#include "graph/builtin.h"

#include <cstring>

namespace reprise {

const Op input_op = {.name = "input",
                     .infer = [](const Signature& s) -> std::vector<Type> {
                       return {{parse_dtype(s.text("dtype")), Shape(s.integers("shape"))}};
                     },
                     .doc = "an input of the graph"};

const Op constant_op = {.name = "constant",
                        .infer = [](const Signature& s) -> std::vector<Type> { return {s.tensor("value").type()}; },
                        .forward = [](const Signature& s) -> Kernel {
                          return {[value = s.tensor("value")](const Buffers& b) {
                            if (value.bytes() > 0)
                              std::memcpy(b.out<std::byte>(), value.data(), static_cast<std::size_t>(value.bytes()));
                          }};
                        },
                        .gradient = [](const Call&, const Values&) -> Values { return {}; },
                        .doc = "a tensor known when the graph is recorded"};

}  // namespace reprise
