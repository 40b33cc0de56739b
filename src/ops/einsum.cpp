// SPDX-License-Identifier: Apache-2.0
// einsum is recorded as what it means: diagonals for repeated labels, sums for labels nobody needs, and one product per
// pair of operands. A product is a batched matrix product whose operands are used as they lie, transposed by flag where
// that saves a copy, or an element-wise one where there is nothing to contract.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "ops/einsum_spec.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

// A value whose dimensions carry distinct labels, none of size 1: broadcasting is done by leaving them out.
struct Term {
  Value value;
  Labels labels;
};

bool has(LabelSet set, int label) { return set >> label & 1; }

Labels within(const Labels& labels, LabelSet set) {
  Labels result;
  std::ranges::copy_if(labels, std::back_inserter(result), [&](int l) { return has(set, l); });
  return result;
}

Labels joined(const Labels& a, const Labels& b, const Labels& c = {}) {
  Labels result = a;
  result.insert(result.end(), b.begin(), b.end());
  result.insert(result.end(), c.begin(), c.end());
  return result;
}

std::int64_t position(const Labels& labels, int label) { return std::ranges::find(labels, label) - labels.begin(); }

Term without_repeats(Term t) {
  for (std::size_t i = 0; i < t.labels.size(); ++i)
    for (std::size_t j = i + 1; j < t.labels.size(); ++j)
      if (t.labels[i] == t.labels[j]) {
        Labels rest = t.labels;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(j));
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
        rest.push_back(t.labels[i]);
        Value line = diagonal(t.value, 0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
        return without_repeats({line, rest});
      }
  return t;
}

Term without_ones(const Term& t) {
  Labels labels;
  for (int axis = 0; axis < t.value.rank(); ++axis)
    if (t.value.shape()[axis] != 1) labels.push_back(t.labels[static_cast<std::size_t>(axis)]);
  return {squeeze(t.value), labels};
}

Term summed_to(const Term& t, LabelSet kept) {
  Axes axes;
  for (std::size_t i = 0; i < t.labels.size(); ++i)
    if (!has(kept, t.labels[i])) axes.push_back(static_cast<std::int64_t>(i));
  return {axes.empty() ? t.value : sum(t.value, axes), within(t.labels, kept)};
}

Value in_order(const Term& t, const Labels& order) {
  std::vector<std::int64_t> axes;
  for (int label : order) axes.push_back(position(t.labels, label));
  return transpose(t.value, axes);
}

std::int64_t elements(const Labels& labels, const std::vector<std::int64_t>& sizes) {
  std::int64_t n = 1;
  for (int label : labels) n *= sizes[static_cast<std::size_t>(label)];
  return n;
}

Shape shape_of(const Labels& labels, const std::vector<std::int64_t>& sizes) {
  Shape shape;
  for (int label : labels) shape.push_back(sizes[static_cast<std::size_t>(label)]);
  return shape;
}

// a's dimensions lead; b's follow, in a's order where they are shared.
Term multiplied(const Term& a, const Term& b) {
  LabelSet in_a = set_of(a.labels), in_b = set_of(b.labels);
  Labels right = within(b.labels, ~in_a), all = joined(a.labels, right);
  Value y = in_order(b, joined(within(a.labels, in_b), right));
  Shape x_shape = a.value.shape(), y_shape;
  for (std::size_t i = 0; i < right.size(); ++i) x_shape.push_back(1);
  for (int axis = 0, at = 0; axis < std::ssize(all); ++axis)
    y_shape.push_back(has(in_b, all[static_cast<std::size_t>(axis)]) ? y.shape()[at++] : 1);
  return {reshape(a.value, x_shape) * reshape(y, y_shape), all};
}

// A matrix product of two terms: in which order each group of labels is walked, and which operand comes first.
struct Product {
  Labels batch, left, inner, right;
  bool swapped = false;

  Labels result() const { return swapped ? joined(batch, right, left) : joined(batch, left, right); }
};

enum class Lie { as_needed, transposed, otherwise };

Lie lies(const Labels& labels, const Labels& batch, const Labels& rows, const Labels& columns) {
  if (labels == joined(batch, rows, columns)) return Lie::as_needed;
  return labels == joined(batch, columns, rows) ? Lie::transposed : Lie::otherwise;
}

// Elements that have to be copied before or after the product.
double copied(const Product& p, const Term& a, const Term& b, const Labels& wanted,
              const std::vector<std::int64_t>& sizes) {
  double cost = 0;
  if (lies(a.labels, p.batch, p.left, p.inner) == Lie::otherwise)
    cost += static_cast<double>(elements(a.labels, sizes));
  if (lies(b.labels, p.batch, p.inner, p.right) == Lie::otherwise)
    cost += static_cast<double>(elements(b.labels, sizes));
  if (p.result() != wanted) cost += static_cast<double>(elements(wanted, sizes));
  return cost;
}

// Of all orders in which the operands or the result present their labels, the one that copies least.
Product cheapest(const Term& a, const Term& b, LabelSet kept, const Labels& wanted,
                 const std::vector<std::int64_t>& sizes) {
  LabelSet in_a = set_of(a.labels), in_b = set_of(b.labels);
  LabelSet batch = in_a & in_b & kept, inner = in_a & in_b & ~kept, left = in_a & ~in_b, right = in_b & ~in_a;
  Product best;
  double least = std::numeric_limits<double>::infinity();
  for (const Labels* batches : {&a.labels, &b.labels, &wanted})
    for (const Labels* inners : {&a.labels, &b.labels})
      for (const Labels* lefts : {&a.labels, &wanted})
        for (const Labels* rights : {&b.labels, &wanted})
          for (bool swapped : {false, true}) {
            Product p{within(*batches, batch), within(*lefts, left), within(*inners, inner), within(*rights, right),
                      swapped};
            double cost = copied(p, a, b, wanted, sizes);
            if (cost < least) least = cost, best = p;
          }
  return best;
}

// A term as [batch, rows, columns], or transposed by flag where it lies that way.
struct Matrix {
  Value value;
  bool transposed = false;
};

Matrix as_matrix(const Term& t, const Labels& batch, const Labels& rows, const Labels& columns,
                 const std::vector<std::int64_t>& sizes) {
  bool transposed = lies(t.labels, batch, rows, columns) == Lie::transposed;
  Shape shape;
  if (!batch.empty()) shape.push_back(elements(batch, sizes));
  shape.push_back(elements(transposed ? columns : rows, sizes));
  shape.push_back(elements(transposed ? rows : columns, sizes));
  return {reshape(transposed ? t.value : in_order(t, joined(batch, rows, columns)), shape), transposed};
}

Term matrix_product(const Product& p, const Term& a, const Term& b, const std::vector<std::int64_t>& sizes) {
  Matrix x = as_matrix(a, p.batch, p.left, p.inner, sizes), y = as_matrix(b, p.batch, p.inner, p.right, sizes);
  Value c = p.swapped ? matmul(y.value, x.value, !y.transposed, !x.transposed)
                      : matmul(x.value, y.value, x.transposed, y.transposed);
  return {reshape(c, shape_of(p.result(), sizes)), p.result()};
}

// Contracts two terms to the labels in `kept`; `wanted` is the order the result would best have.
Term contracted(Term a, Term b, LabelSet kept, Labels wanted, const std::vector<std::int64_t>& sizes) {
  LabelSet in_a = set_of(a.labels), in_b = set_of(b.labels);
  a = summed_to(a, kept | in_b);
  b = summed_to(b, kept | in_a);
  in_a = set_of(a.labels), in_b = set_of(b.labels);
  bool inner = in_a & in_b & ~kept, left = in_a & ~in_b, right = in_b & ~in_a;
  bool is_matrix_product =
      is_float(a.value.dtype()) && ((left && right) || (inner && (left || right)) || (inner && !(in_a & in_b & kept)));
  if (!is_matrix_product) return summed_to(right && !left ? multiplied(b, a) : multiplied(a, b), kept);
  LabelSet result = (in_a | in_b) & kept;
  wanted = within(wanted, result);
  for (int label : joined(a.labels, b.labels))
    if (has(result & ~set_of(wanted), label)) wanted.push_back(label);
  return matrix_product(cheapest(a, b, kept, wanted, sizes), a, b, sizes);
}

void check_dtypes(std::string_view spec, const Values& operands) {
  for (const Value& v : operands)
    if (v.dtype() != operands[0].dtype())
      fail("[einsum] \"{}\": the dtypes of {} and {} differ: cast one of them", spec, to_string(operands[0].type()),
           to_string(v.type()));
}

Value contracted_by(std::string_view spec, const Values& operands) {
  std::vector<Shape> shapes;
  for (const Value& v : operands) shapes.push_back(v.shape());
  EinsumSpec e = parse_einsum(spec, shapes);
  check_dtypes(spec, operands);

  std::vector<Term> terms;
  std::vector<LabelSet> sets;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    terms.push_back(without_ones(without_repeats({operands[i], e.operands[i]})));
    sets.push_back(set_of(terms.back().labels));
  }
  std::vector<bool> used(2 * terms.size(), false);
  for (auto [i, j] : contraction_order(sets, set_of(e.output), e.sizes)) {
    used[static_cast<std::size_t>(i)] = used[static_cast<std::size_t>(j)] = true;
    LabelSet kept = set_of(e.output);
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (!used[k]) kept |= set_of(terms[k].labels);
    terms.push_back(
        contracted(terms[static_cast<std::size_t>(i)], terms[static_cast<std::size_t>(j)], kept, e.output, e.sizes));
  }
  Term last = summed_to(terms.back(), set_of(e.output));
  return reshape(in_order(last, within(e.output, set_of(last.labels))), shape_of(e.output, e.sizes));
}

}  // namespace

Value einsum(std::string_view spec, const Values& operands) {
  return as_told_by("einsum", [&] { return contracted_by(spec, operands); });
}

}  // namespace reprise
