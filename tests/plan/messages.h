// SPDX-License-Identifier: Apache-2.0
// What an Error says.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "reprise/base.h"

namespace reprise {

inline std::string message(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

#define EXPECT_SAYS(expression, text) \
  EXPECT_NE(message([&] { expression; }).find(text), std::string::npos) << message([&] { expression; })

}  // namespace reprise
