// SPDX-License-Identifier: Apache-2.0
// One table of ops per file; registry.cpp lists the tables.
#pragma once

#include <span>

#include "reprise/graph.h"

namespace reprise {

std::span<const Op> constant_ops();
std::span<const Op> unary_ops();
std::span<const Op> activation_ops();
std::span<const Op> binary_ops();
std::span<const Op> compare_ops();
std::span<const Op> reduce_ops();
std::span<const Op> along_axis_ops();
std::span<const Op> softmax_ops();
std::span<const Op> norm_ops();
std::span<const Op> batch_norm_ops();
std::span<const Op> cross_entropy_ops();
std::span<const Op> ctc_ops();
std::span<const Op> view_ops();
std::span<const Op> matmul_ops();
std::span<const Op> convolution_ops();
std::span<const Op> pooling_ops();
std::span<const Op> resize_ops();
std::span<const Op> move_ops();
std::span<const Op> slice_ops();
std::span<const Op> concat_ops();
std::span<const Op> pad_ops();
std::span<const Op> triangle_ops();
std::span<const Op> gather_ops();
std::span<const Op> index_ops();
std::span<const Op> deformable_ops();
std::span<const Op> attention_ops();
std::span<const Op> random_ops();
std::span<const Op> cell_ops();
std::span<const Op> update_ops();
std::span<const Op> guard_ops();

}  // namespace reprise
