// SPDX-License-Identifier: Apache-2.0
// Memory that was freed, back to the system: the allocator would go on holding it.
#pragma once

#include <cstddef>  // says which C library this is
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace reprise {

/// Takes a millisecond or so.
inline void give_back_free_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace reprise
