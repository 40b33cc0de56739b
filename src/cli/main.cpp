// SPDX-License-Identifier: Apache-2.0
// The `reprise` command.
#include "cli/cli.h"

int main(int argc, char** argv) { return reprise::cli::run(argc, argv); }
