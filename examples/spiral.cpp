// SPDX-License-Identifier: Apache-2.0
#include <reprise/reprise.h>

int main() {}
