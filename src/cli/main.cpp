// SPDX-License-Identifier: Apache-2.0
// The `reprise` command.
#include <malloc.h>

#include "cli/cli.h"

int main(int argc, char** argv) {
  // Large blocks go back to the system as soon as they are free, so that the process has no more memory than is in use.
  // Matrix products pack what they read into blocks of half a megabyte, which would pile up in their threads' heaps.
  mallopt(M_MMAP_THRESHOLD, 1 << 18);
  return reprise::cli::run(argc, argv);
}
