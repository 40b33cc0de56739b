// SPDX-License-Identifier: Apache-2.0
// Attributes: named data of a node, and how an op reads them.
#include <algorithm>

#include "base/error.h"
#include "reprise/graph.h"

namespace reprise {
namespace {

constexpr std::string_view kind_names[] = {"an integer",         "a real number",          "text",
                                           "a list of integers", "a list of real numbers", "a tensor"};

bool same(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const Tensor* t = std::get_if<Tensor>(&a)) return same_bits(*t, std::get<Tensor>(b));
  return std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, Tensor>)
          return false;
        else
          return x == std::get<T>(b);
      },
      a);
}

template <class T>
const T& read(const Signature& s, std::string_view name) {
  const Attribute* attribute = s.attributes.find(name);
  std::size_t wanted = Attribute(T{}).index();
  if (!attribute) fail("[{}] attribute '{}' is missing: give {}", s.name(), name, kind_names[wanted]);
  const T* value = std::get_if<T>(attribute);
  if (!value)
    fail("[{}] attribute '{}' is {}: give {}", s.name(), name, kind_names[attribute->index()], kind_names[wanted]);
  return *value;
}

}  // namespace

void Attributes::put(Items& items, std::string name, Attribute value) {
  auto at =
      std::ranges::lower_bound(items, name, {}, [](const auto& item) -> const std::string& { return item.first; });
  if (at != items.end() && at->first == name)
    at->second = std::move(value);
  else
    items.emplace(at, std::move(name), std::move(value));
}

Attributes::Attributes(std::initializer_list<std::pair<std::string, Attribute>> list) {
  if (list.size() == 0) return;
  auto items = std::make_shared<Items>();
  items->reserve(list.size());
  for (const auto& [name, value] : list) put(*items, name, value);
  items_ = std::move(items);
}

void Attributes::set(std::string name, Attribute value) {
  auto items = items_ ? std::make_shared<Items>(*items_) : std::make_shared<Items>();
  put(*items, std::move(name), std::move(value));
  items_ = std::move(items);
}

const Attribute* Attributes::find(std::string_view name) const {
  for (const auto& [key, value] : *this)
    if (key == name) return &value;
  return nullptr;
}

bool operator==(const Attributes& a, const Attributes& b) {
  return a.items_ == b.items_ || std::ranges::equal(a, b, [](const auto& x, const auto& y) {
           return x.first == y.first && same(x.second, y.second);
         });
}

std::string_view Signature::name() const { return op.name; }
std::int64_t Signature::integer(std::string_view name) const { return read<std::int64_t>(*this, name); }
double Signature::real(std::string_view name) const { return read<double>(*this, name); }
const std::string& Signature::text(std::string_view name) const { return read<std::string>(*this, name); }
const std::vector<std::int64_t>& Signature::integers(std::string_view name) const {
  return read<std::vector<std::int64_t>>(*this, name);
}
const std::vector<double>& Signature::reals(std::string_view name) const {
  return read<std::vector<double>>(*this, name);
}
const Tensor& Signature::tensor(std::string_view name) const { return read<Tensor>(*this, name); }

}  // namespace reprise
