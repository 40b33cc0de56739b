// SPDX-License-Identifier: Apache-2.0
// NumPy's rules. A float has the fewest digits that tell it from its neighbours, but at most 8 after the point. An
// array is scientific if it holds a magnitude of 1e8 or more, one below 1e-4, or a ratio of more than 1000.
#include "tensor/print_number.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tensor/dispatch.h"

namespace reprise {
namespace {

constexpr int precision = 8;

// x = d.ddd × 10^exponent, digits without the point.
struct Digits {
  std::string digits;
  int exponent = 0;
};

Digits parse_digits(std::string text) {
  std::size_t e = text.find('e');
  Digits result{text.substr(0, e), std::stoi(text.substr(e + 1))};
  std::erase_if(result.digits, [](char c) { return c == '.' || c == '-'; });
  std::size_t last = result.digits.find_last_not_of('0');
  result.digits.resize(std::max<std::size_t>(1, last == std::string::npos ? 1 : last + 1));
  return result;
}

template <class T>
Digits shortest_digits(T x) {
  char text[64];
  auto end = std::to_chars(text, text + sizeof text, x, std::chars_format::scientific).ptr;
  return parse_digits(std::string(text, end));
}

// Of 16-bit floats: the first precision that reads back as the same bits.
template <class Half>
Digits shortest_half(double x) {
  auto target = Half(static_cast<float>(x));
  for (int digits = 0; digits < 8; ++digits) {
    std::string text = fmt::format("{:.{}e}", x, digits);
    if (Half(std::stof(text)) == target) return parse_digits(text);
  }
  return shortest_digits(static_cast<float>(x));
}

Digits shortest(double x, DType dtype) {
  if (dtype == DType::f64) return shortest_digits(x);
  if (dtype == DType::f32) return shortest_digits(static_cast<float>(x));
  return dtype == DType::f16 ? shortest_half<f16>(x) : shortest_half<bf16>(x);
}

std::string without_zeros(std::string text) {
  text.resize(text.find_last_not_of('0') + 1);
  return text;
}

// The digits with a point where the exponent says; it always has one, at its end if need be.
std::string with_point(const Digits& d) {
  std::string digits = d.digits;
  if (d.exponent < 0) return "0." + std::string(static_cast<std::size_t>(-d.exponent - 1), '0') + digits;
  auto whole = static_cast<std::size_t>(d.exponent + 1);
  if (digits.size() < whole) digits.resize(whole, '0');
  return digits.insert(whole, 1, '.');
}

std::string sign_of(double x) { return std::signbit(x) ? "-" : ""; }

std::string positional(double x, DType dtype) {
  if (x == 0) return sign_of(x) + "0.";
  Digits d = shortest(std::abs(x), dtype);
  int after_point = static_cast<int>(d.digits.size()) - 1 - d.exponent;
  if (after_point > precision) return without_zeros(fmt::format("{:.{}f}", x, precision));
  if (after_point < 0) return fmt::format("{:.0f}.", x);
  return sign_of(x) + with_point(d);
}

struct Scientific {
  std::string mantissa, exponent;  // "-1.25", "+08"
};

Scientific split_scientific(const std::string& text) {
  std::size_t e = text.find('e');
  std::string mantissa = text.substr(0, e);
  return {mantissa.find('.') == std::string::npos ? mantissa + "." : mantissa, text.substr(e + 1)};
}

// With at least `least` digits after the point.
Scientific scientific(double x, DType dtype, int least) {
  Digits d = shortest(std::abs(x), dtype);
  int count = static_cast<int>(d.digits.size()) - 1;
  if (count > precision || count < least || x == 0) {
    Scientific s = split_scientific(fmt::format("{:.{}e}", x, count > precision ? precision : least));
    if (count > precision && least == 0) s.mantissa = without_zeros(s.mantissa);
    return s;
  }
  d.digits.insert(1, ".");
  return {sign_of(x) + d.digits, fmt::format("{}{:02}", d.exponent < 0 ? '-' : '+', std::abs(d.exponent))};
}

std::string special(double x) { return std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf"; }

double ratio_of(double largest, double smallest, DType dtype) {
  if (dtype == DType::f64) return largest / smallest;
  float ratio = static_cast<float>(largest) / static_cast<float>(smallest);
  return dtype == DType::f16 ? static_cast<float>(f16(ratio)) : ratio;
}

bool needs_exponent(const std::vector<double>& values, DType dtype) {
  double largest = 0, smallest = INFINITY;
  for (double x : values) {
    if (!std::isfinite(x) || x == 0) continue;
    largest = std::max(largest, std::abs(x));
    smallest = std::min(smallest, std::abs(x));
  }
  return largest > 0 && (largest >= 1e8 || smallest < 1e-4 || ratio_of(largest, smallest, dtype) > 1000);
}

}  // namespace

NumberFormat::NumberFormat(const Tensor& tensor, const std::vector<std::int64_t>& offsets) : tensor_(tensor) {
  if (is_float(tensor.dtype())) {
    floats_ = tensor.to_vector<double>();
    measure_floats(offsets);
  } else {
    for (std::int64_t offset : offsets) left_ = std::max(left_, word(offset).size());
  }
}

void NumberFormat::measure_floats(const std::vector<std::int64_t>& offsets) {
  std::vector<double> values;
  for (std::int64_t offset : offsets) values.push_back(floats_[static_cast<std::size_t>(offset)]);
  scientific_ = needs_exponent(values, tensor_.dtype());
  std::size_t widest_special = 0;
  for (double x : values) {
    if (!std::isfinite(x)) {
      widest_special = std::max(widest_special, special(x).size());
      continue;
    }
    Scientific s = scientific_ ? scientific(x, tensor_.dtype(), 0) : Scientific{positional(x, tensor_.dtype()), ""};
    std::size_t point = s.mantissa.find('.');
    left_ = std::max(left_, point);
    right_ = std::max(right_, s.mantissa.size() - point - 1);
    if (scientific_) exponent_digits_ = std::max(exponent_digits_, s.exponent.size() - 1);
  }
  std::size_t rest = right_ + 1 + (scientific_ ? exponent_digits_ + 2 : 0);
  if (left_ == 0 && widest_special > 0) rest = 0, right_ = 0;
  if (widest_special > left_ + rest) left_ = widest_special - rest;
}

std::string NumberFormat::word(std::int64_t offset) const {
  auto at = static_cast<std::size_t>(offset);
  if (!floats_.empty()) return float_word(floats_[at]);
  if (tensor_.dtype() == DType::boolean) return tensor_.span<bool>()[at] ? " True" : "False";
  return fmt::format(
      "{:>{}}", tensor_.dtype() == DType::i32 ? tensor_.span<std::int32_t>()[at] : tensor_.span<std::int64_t>()[at],
      left_);
}

std::string NumberFormat::float_word(double x) const {
  if (!std::isfinite(x)) {
    std::size_t rest = right_ + (scientific_ ? exponent_digits_ + 2 : 0);
    return fmt::format("{:>{}}", special(x), std::max(special(x).size(), left_ + rest + 1));
  }
  if (scientific_) {
    Scientific s = scientific(x, tensor_.dtype(), static_cast<int>(right_));
    s.exponent.insert(1, exponent_digits_ - (s.exponent.size() - 1), '0');
    return fmt::format("{:>{}}", s.mantissa + "e" + s.exponent, left_ + right_ + exponent_digits_ + 3);
  }
  std::string text = positional(x, tensor_.dtype());
  std::size_t point = text.find('.');
  text.append(right_ - (text.size() - point - 1), ' ');
  return fmt::format("{:>{}}", text, left_ + 1 + right_);
}

std::string print_scalar(const Tensor& tensor) {
  double x = tensor.item();
  if (tensor.dtype() == DType::boolean) return x != 0 ? "True" : "False";
  if (!is_float(tensor.dtype())) return std::to_string(tensor.to_vector<std::int64_t>()[0]);
  if (!std::isfinite(x)) return special(x);
  if (x == 0) return sign_of(x) + "0.0";
  Digits d = shortest(std::abs(x), tensor.dtype());
  if (std::abs(x) < 1e16 && std::abs(x) >= 1e-4) {
    std::string text = with_point(d);
    return sign_of(x) + (text.back() == '.' ? text + "0" : text);
  }
  if (d.digits.size() > 1) d.digits.insert(1, ".");
  return sign_of(x) + fmt::format("{}e{}{:02}", d.digits, d.exponent < 0 ? '-' : '+', std::abs(d.exponent));
}

}  // namespace reprise
