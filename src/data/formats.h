// SPDX-License-Identifier: Apache-2.0
// One function a format, and what they share. Messages begin with the file and the place in it.
#pragma once

#include <optional>
#include <string_view>

#include "base/error.h"
#include "reprise/data.h"

namespace reprise::data {

Dataset load_text(const std::string& path, const LoadOptions& options);
Dataset load_idx(const std::string& path, const LoadOptions& options);
Dataset load_csv(const std::string& path, const LoadOptions& options);
Dataset load_npz(const std::string& path, const LoadOptions& options);
Dataset load_images(const std::string& path, const LoadOptions& options);

/// The file, unpacked if it is gzip. Memory grows with what is really there, never with what a header promises.
std::string read_file(const std::string& path);
/// The same of the beginning only: at most `count` bytes.
std::string read_beginning(const std::string& path, std::size_t count);

/// No more than this can be in it.
std::int64_t most_bytes(const std::string& path);

/// Part of a file, fit to be shown in a message: short and without control characters.
std::string shown(std::string_view part);

/// More classes than this are a mistake in the labels.
constexpr std::int64_t most_classes = 1 << 16;
/// "0", "1", ... for data that only number their classes.
std::vector<std::string> numbered_classes(std::int64_t count);

/// The data with x in the shape wanted: another view of as many elements, or images resized. Any shape if it is empty.
Dataset shaped(Dataset data, const std::vector<std::int64_t>& wanted);
/// The shape, or an Error where a size is not positive or there are too many of them.
Shape checked_shape(const std::vector<std::int64_t>& sizes);

}  // namespace reprise::data
