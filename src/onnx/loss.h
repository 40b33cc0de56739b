// SPDX-License-Identifier: Apache-2.0
// What a network's output is trained by.
#pragma once

#include <optional>
#include <string>

#include "reprise/graph.h"

namespace reprise::onnx {

enum class LossKind : std::uint8_t { own, cross_entropy, mse, bce, sum };
/// The loss of that name; an Error lists them. Empty: own for one number, else cross_entropy.
LossKind loss_named(const std::string& name, const Type& output);
std::string name_of(LossKind loss);
bool needs_target(LossKind loss);

/// The target that goes with an output of that type: classes, or numbers of its shape.
Type usual_target(LossKind loss, const Type& output);
/// The axis of an output along which its classes are, by the labels it is compared with; throws Error where they do not
/// go together. Labels may also be one long row, for classes along the last axis.
int class_axis(const Shape& output, const Shape& labels);

/// An Error where the loss cannot compare with it.
void check_target(LossKind loss, const Type& target);
/// The loss as one number. Labels of -100 count as nothing. Targets of as many elements take the output's shape.
Value loss_value(LossKind loss, const Value& output, const Value& target);
/// The output with its classes last, which are along this axis.
Value classes_last(const Value& output, int axis);

}  // namespace reprise::onnx
