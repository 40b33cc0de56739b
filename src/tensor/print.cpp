// SPDX-License-Identifier: Apache-2.0
// Tensors as text, the way NumPy prints arrays: numbers aligned, at most 8 digits after the point, scientific where
// sizes differ too much, lines of 75 characters, and only the edges of arrays past 1000 elements.
#include <algorithm>
#include <ostream>

#include "tensor/dispatch.h"
#include "tensor/print_number.h"

namespace reprise {
namespace {

constexpr std::int64_t threshold = 1000;  // elements beyond which only edges are shown
constexpr std::int64_t edge = 3;
constexpr std::size_t line_width = 75;

bool is_cut(const Shape& shape) { return shape.elements() > threshold; }

// The positions that are shown, along every axis; -1 stands for "...".
std::vector<std::int64_t> shown(std::int64_t size, bool cut) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < size; ++i) {
    if (cut && size > 2 * edge && i >= edge && i < size - edge) {
      if (i == edge) positions.push_back(-1);
    } else {
      positions.push_back(i);
    }
  }
  return positions;
}

// Lays out the words in nested brackets. As deep as there are dimensions; `offset` is row-major over those before.
class Layout {
 public:
  Layout(const Shape& shape, const NumberFormat& format) : shape_(shape), format_(format) {}

  std::string text() const { return part(0, 0, " ", line_width); }

 private:
  std::string part(int axis, std::int64_t offset, const std::string& indent, std::size_t width) const {
    std::vector<std::int64_t> positions = shown(shape_[axis], is_cut(shape_));
    bool rows = axis + 1 == shape_.rank();
    return rows ? row(positions, offset, indent, width) : blocks(axis, positions, offset, indent, width);
  }

  std::string blocks(int axis, const std::vector<std::int64_t>& positions, std::int64_t offset,
                     const std::string& indent, std::size_t width) const {
    std::string text = "[", newlines(static_cast<std::size_t>(shape_.rank() - axis - 1), '\n');
    for (std::int64_t i : positions) {
      if (text.size() > 1) text += newlines + indent;
      text += i < 0 ? "..." : part(axis + 1, offset * shape_[axis] + i, indent + " ", width - 1);
    }
    return text + "]";
  }

  std::string row(const std::vector<std::int64_t>& positions, std::int64_t offset, const std::string& indent,
                  std::size_t width) const {
    std::string text, line = indent;
    for (std::int64_t i : positions) {
      std::string word = i < 0 ? "..." : format_.word(offset * shape_.back() + i);
      if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
        line = indent;
      }
      line += word;
      if (i != positions.back()) line += " ";
    }
    return "[" + (text + line).substr(indent.size()) + "]";
  }

  const Shape& shape_;
  const NumberFormat& format_;
};

// The offsets that are shown, for the widths they need.
void collect(const Shape& shape, int axis, std::int64_t offset, std::vector<std::int64_t>& offsets) {
  if (axis == shape.rank()) return offsets.push_back(offset);
  for (std::int64_t i : shown(shape[axis], is_cut(shape)))
    if (i >= 0) collect(shape, axis + 1, offset * shape[axis] + i, offsets);
}

}  // namespace

std::string to_string(const Tensor& tensor) {
  if (tensor.elements() == 0) return "[]";
  if (tensor.shape().rank() == 0) return print_scalar(tensor);
  std::vector<std::int64_t> offsets;
  collect(tensor.shape(), 0, 0, offsets);
  NumberFormat format(tensor, offsets);
  return Layout(tensor.shape(), format).text();
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_string(tensor); }

}  // namespace reprise
