// SPDX-License-Identifier: Apache-2.0
// What a user's program needs: one header and one library.
#include <reprise/reprise.h>

#include <iostream>

int main(int, char** argv) {
  using namespace reprise::literals;
  std::cout << argv[1] << ": reprise " << reprise::version() << ", " << reprise::format_bytes(256_MiB) << "\n";
}
