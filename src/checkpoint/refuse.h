// SPDX-License-Identifier: Apache-2.0
// How this room throws its typed errors: refuse<BadRequest>("[chain] every: an interval of {}: give at least 1", n).
#pragma once

#include <fmt/core.h>

#include "reprise/checkpoint_errors.h"

namespace reprise {

template <class Kind, class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw Kind(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace reprise
