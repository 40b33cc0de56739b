# SPDX-License-Identifier: Apache-2.0
# How our own targets are compiled. Nothing here reaches a user's build.
add_library(reprise_options INTERFACE)
target_compile_features(reprise_options INTERFACE cxx_std_20)
target_compile_options(reprise_options INTERFACE -Wall -Wextra -Wpedantic $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> -Wnon-virtual-dtor -Wno-missing-field-initializers
  # Of no meaning where the files of a room are compiled as one.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
if(REPRISE_DEV)
  target_compile_options(reprise_options INTERFACE -Werror)
  if(NOT REPRISE_SANITIZE)
    # The command line, tests and examples compile in less time; what they call is as fast as ever.
    target_compile_options(reprise_options INTERFACE -g1 $<IF:$<BOOL:$<TARGET_PROPERTY:REPRISE_COMPILES_FAST>>,-Og,-O2>)
  endif()
else()
  # At -O3 GCC 12 takes `"text" + string` of the standard library for an overflow (its bugs 105329 and 105651).
  target_compile_options(reprise_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-array-bounds;-Wno-restrict>)
endif()
if(REPRISE_SANITIZE)
  target_compile_options(reprise_options INTERFACE -Og -g1 -fno-omit-frame-pointer -fsanitize=${REPRISE_SANITIZE}
    -fno-sanitize-recover=all)
  target_link_options(reprise_options INTERFACE -fsanitize=${REPRISE_SANITIZE})
endif()
# ThreadSanitizer cannot see inside the OpenMP runtime, so that build runs our own loops on one thread.
if(REPRISE_SANITIZE MATCHES "thread")
  target_compile_options(reprise_options INTERFACE -Wno-unknown-pragmas)
else()
  target_link_libraries(reprise_options INTERFACE OpenMP::OpenMP_CXX)
endif()
