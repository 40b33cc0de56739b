// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reprise/base.h"

namespace reprise {

/// The sentence of the Error that `f` throws.
template <class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "(no error)";
}

}  // namespace reprise
