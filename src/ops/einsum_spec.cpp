// SPDX-License-Identifier: Apache-2.0
#include "ops/einsum_spec.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"

namespace reprise {
namespace {

constexpr int dots =
    1000;  // "..." while its dimensions are not known; dots + 1 + i is its ith dimension from the right

// "ab...c" without blanks as labels; `dots` stands for the ellipsis.
Labels parse_labels(std::string_view spec, std::string_view text) {
  Labels labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == ' ') continue;
    if (text.substr(i, 3) == "..." && std::ranges::count(labels, dots) == 0) {
      labels.push_back(dots);
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
    } else if (c == '.') {
      fail("[einsum] \"{}\" has a '.' alone: write \"...\", once an operand", spec);
    } else {
      fail("[einsum] \"{}\" has a '{}': labels are letters, \",\" parts operands and \"->\" precedes the output", spec,
           c);
    }
  }
  return labels;
}

std::vector<Labels> parse_inputs(std::string_view spec, std::string_view text) {
  std::vector<Labels> operands;
  for (std::size_t begin = 0;;) {
    std::size_t end = std::min(text.find(',', begin), text.size());
    operands.push_back(parse_labels(spec, text.substr(begin, end - begin)));
    if (end == text.size()) return operands;
    begin = end + 1;
  }
}

// Replaces `dots` by `count` labels, rightmost first of all ellipses' dimensions last.
Labels open_dots(const Labels& labels, int count) {
  Labels opened;
  for (int label : labels) {
    if (label != dots) opened.push_back(label);
    for (int i = count; label == dots && i > 0; --i) opened.push_back(dots + i);
  }
  return opened;
}

// Without "->": the dimensions of "...", then every label that occurs once, in alphabetical order.
Labels implicit_output(const std::vector<Labels>& operands, int widest) {
  std::map<int, int> uses;
  for (const Labels& labels : operands)
    for (int label : labels) ++uses[label];
  Labels output = open_dots({dots}, widest);
  for (auto [label, count] : uses)
    if (label < dots && count == 1) output.push_back(label);
  return output;
}

std::string name_of(int label) {
  return label > dots ? fmt::format("dimension {} of \"...\", from the right", label - dots)
                      : fmt::format("label '{}'", static_cast<char>(label));
}

void check_output(std::string_view spec, const Labels& output, const std::vector<Labels>& operands) {
  for (int label : output) {
    if (std::ranges::count(output, label) > 1)
      fail("[einsum] \"{}\" has {} twice in its output: name each index once", spec, name_of(label));
    auto holds = [&](const Labels& labels) { return std::ranges::count(labels, label) > 0; };
    if (std::ranges::none_of(operands, holds))
      fail("[einsum] \"{}\" has {} in its output but in no operand: drop it, or name it in one", spec, name_of(label));
  }
}

class Sizes {
 public:
  Sizes(std::string_view spec, const std::vector<Shape>& shapes) : spec_(spec), shapes_(shapes) {}

  void add_operand(std::size_t i, const Labels& labels) {
    std::map<int, std::int64_t> own;
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      std::int64_t size = shapes_[i][static_cast<int>(axis)];
      auto [at, fresh] = own.emplace(labels[axis], size);
      if (!fresh && at->second != size)
        fail("[einsum] \"{}\": {} is {} and {} in operand {}, {}; repeated labels need equal sizes", spec_,
             name_of(labels[axis]), at->second, size, i, to_string(shapes_[i]));
    }
    for (auto [label, size] : own) add(label, size);
  }
  const std::map<int, std::int64_t>& all() const { return sizes_; }

 private:
  void add(int label, std::int64_t size) {
    auto [at, fresh] = sizes_.emplace(label, size);
    if (!fresh && at->second != size && at->second != 1 && size != 1) {
      std::string shapes;
      for (const Shape& s : shapes_) shapes += (shapes.empty() ? "" : ", ") + to_string(s);
      fail("[einsum] \"{}\": {} is {} in one operand and {} in another, of {}; sizes must be equal or 1", spec_,
           name_of(label), at->second, size, shapes);
    }
    if (at->second == 1) at->second = size;
  }

  std::string_view spec_;
  const std::vector<Shape>& shapes_;
  std::map<int, std::int64_t> sizes_;
};

// Labels as numbers from 0, which fit a mask.
EinsumSpec numbered(std::vector<Labels> operands, Labels output, const std::map<int, std::int64_t>& sizes) {
  EinsumSpec result;
  std::map<int, int> number;
  for (auto [label, size] : sizes) {
    number.emplace(label, static_cast<int>(number.size()));
    result.sizes.push_back(size);
  }
  auto renumber = [&](Labels& labels) {
    std::ranges::transform(labels, labels.begin(), [&](int l) { return number.at(l); });
  };
  std::ranges::for_each(operands, renumber);
  renumber(output);
  result.operands = std::move(operands);
  result.output = std::move(output);
  return result;
}

}  // namespace

EinsumSpec parse_einsum(std::string_view spec, const std::vector<Shape>& shapes) {
  std::size_t arrow = spec.find("->");
  std::vector<Labels> operands = parse_inputs(spec, spec.substr(0, arrow));
  std::optional<Labels> output;
  if (arrow != std::string_view::npos) output = parse_labels(spec, spec.substr(arrow + 2));
  if (operands.size() != shapes.size())
    fail("[einsum] \"{}\" names {} operands, {} were given: give one a term", spec, operands.size(), shapes.size());

  int widest = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    bool open = std::ranges::count(operands[i], dots) > 0;
    int named = static_cast<int>(operands[i].size()) - open, rank = shapes[i].rank();
    if (rank < named || (rank > named && !open))
      fail("[einsum] \"{}\" has {} labels for operand {}, {}: name every dimension, or use \"...\"", spec, named, i,
           to_string(shapes[i]));
    operands[i] = open_dots(operands[i], rank - named);
    if (open) widest = std::max(widest, rank - named);
  }
  if (output && widest > 0 && std::ranges::count(*output, dots) == 0)
    fail("[einsum] \"{}\" has dimensions of \"...\" but no \"...\" in its output: name them to sum over them", spec);
  Labels result = output ? open_dots(*output, widest) : implicit_output(operands, widest);
  check_output(spec, result, operands);

  Sizes sizes(spec, shapes);
  for (std::size_t i = 0; i < operands.size(); ++i) sizes.add_operand(i, operands[i]);
  return numbered(std::move(operands), std::move(result), sizes.all());
}

LabelSet set_of(const Labels& labels) {
  LabelSet set = 0;
  for (int label : labels) set |= LabelSet{1} << label;
  return set;
}

}  // namespace reprise
