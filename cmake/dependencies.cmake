# SPDX-License-Identifier: Apache-2.0
# The libraries we stand on. All are private: a user's build sees none of them.
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)

# Finds a library and its header by name and makes an imported target of them.
function(reprise_find target library header)
  string(MAKE_C_IDENTIFIER ${target} id)
  find_library(${id}_LIBRARY NAMES ${library} PATH_SUFFIXES ${ARGN})
  find_path(${id}_INCLUDE ${header} PATH_SUFFIXES ${ARGN})
  if(NOT ${id}_LIBRARY OR NOT ${id}_INCLUDE)
    message(FATAL_ERROR "${library} or its header ${header} was not found: run scripts/install-packages")
  endif()
  add_library(${target} UNKNOWN IMPORTED)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${id}_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${${id}_INCLUDE})
endfunction()

# oneDNN's own CMake package insists on OpenCL headers, so its library and header are found by name.
reprise_find(reprise_dnnl dnnl oneapi/dnnl/dnnl.hpp)
# The OpenMP build of OpenBLAS: its pthread build would fight oneDNN's OpenMP threads for the cores.
reprise_find(reprise_openblas openblas cblas.h openblas-openmp ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp)
reprise_find(reprise_zstd zstd zstd.h)
reprise_find(reprise_xxhash xxhash xxhash.h)
# Only the reader of its wire format is used: no generated classes, so no compiler for them.
reprise_find(reprise_protobuf protobuf-lite google/protobuf/io/coded_stream.h)
