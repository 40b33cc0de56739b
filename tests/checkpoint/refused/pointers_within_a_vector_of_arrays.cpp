// SPDX-License-Identifier: Apache-2.0
// refused: this type does not say how it is stored: specialise reprise::Serial for it
#include "reprise/stores.h"

using Names = std::vector<std::array<char*, 1>>;
void keep(const Names& names) { reprise::DiskStore<Names>({.slots = 1, .slot_bytes = 8}).put(0, names); }
