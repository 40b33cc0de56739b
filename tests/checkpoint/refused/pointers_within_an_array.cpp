// SPDX-License-Identifier: Apache-2.0
// refused: this type does not say how it is stored: specialise reprise::Serial for it
#include "reprise/stores.h"

void keep(const std::array<char*, 1>& names) { reprise::EncodedStore<std::array<char*, 1>>({}).put(0, names); }
