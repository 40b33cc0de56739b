// SPDX-License-Identifier: Apache-2.0
// Tests read the messages that users read.
#pragma once

#include <string>

#include "reprise/base.h"

namespace reprise {

/// The message of the Error that f throws; "no error" where it throws none.
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace reprise
