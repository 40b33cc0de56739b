// SPDX-License-Identifier: Apache-2.0
// refused: this type does not say how it is stored: specialise reprise::Serial for it
#include "reprise/activation_checkpointer.h"

using Words = std::vector<std::string>;
void keep(const Words& words) { reprise::ActivationCheckpointer<Words>({}).save(0, words); }
