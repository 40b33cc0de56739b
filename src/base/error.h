// SPDX-License-Identifier: Apache-2.0
// How our own code throws: fail("[matmul] inner sizes differ: {} times {}", a, b).
#pragma once

#include <fmt/core.h>

#include "reprise/base.h"

namespace reprise {

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace reprise
