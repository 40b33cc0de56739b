// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/random.h"
#include "checkpoint/messages.h"
#include "numpy.h"
#include "ops/einsum_spec.h"
#include "reprise/autodiff.h"

namespace reprise::einsum_tests {
namespace {

struct Case {
  std::string spec;
  std::vector<Tensor> operands;
};

Tensor random_tensor(Random& random, const Shape& shape, DType dtype = DType::f64) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) values.push_back(random.uniform(-1, 1));
  Tensor t = Tensor::from(values, shape);
  return dtype == DType::f64 ? t : t.to(dtype);
}

// A random specification: labels with sizes, some repeated, some broadcast, "..." of different widths, outputs explicit
// and implicit, blanks.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Case next() {
    sizes_.clear();
    for (int i = 0; i < 6; ++i) sizes_.push_back(random_.chance(0.03) ? 0 : random_.between(1, 4));
    broad_.clear();
    for (int i = 0; i < 3; ++i) broad_.push_back(random_.between(1, 3));
    Case c;
    std::string used;
    std::int64_t count = random_.chance(0.1) ? random_.between(5, 10) : random_.between(1, 4);
    bool dots = false;
    for (std::int64_t i = 0; i < count; ++i) add_operand(c, used, dots);
    if (random_.chance(0.6)) c.spec += blank() + "->" + output(used, dots);
    return c;
  }

 private:
  std::string blank() { return random_.chance(0.1) ? " " : ""; }
  char letter(std::int64_t i) { return "abKxYz"[i]; }

  void add_operand(Case& c, std::string& used, bool& dots) {
    std::string labels;
    Shape shape;
    std::int64_t rank = random_.between(0, 3), open = random_.chance(0.3) ? random_.between(0, rank) : -1;
    for (std::int64_t i = 0; i <= rank; ++i) {
      if (i == open) {
        labels += "...";
        dots = true;
        for (std::int64_t k = random_.between(0, 2); k > 0; --k)
          shape.push_back(random_.chance(0.3) ? 1 : broad_[static_cast<std::size_t>(k - 1)]);
      }
      if (i == rank) break;
      std::int64_t label = random_.below(6);
      std::size_t again = labels.find(letter(label));
      std::int64_t size = sizes_[static_cast<std::size_t>(label)];
      bool one = random_.chance(0.12) && again == std::string::npos;
      if (again != std::string::npos) size = repeated_size(labels, shape, letter(label));
      labels += letter(label);
      labels += blank();
      shape.push_back(one ? 1 : size);
      if (used.find(letter(label)) == std::string::npos) used += letter(label);
    }
    if (!c.operands.empty()) c.spec += ",";
    c.spec += labels;
    c.operands.push_back(random_tensor(random_, shape));
  }

  // The size this operand already has under the label: dimensions of one operand must agree.
  static std::int64_t repeated_size(const std::string& labels, const Shape& shape, char label) {
    std::size_t dims_before = 0, at = labels.find(label), dots = labels.find("...");
    std::size_t letters = 0, letters_before = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (!std::isalpha(labels[i])) continue;
      ++letters;
      if (i < at) ++letters_before;
    }
    std::size_t open = static_cast<std::size_t>(shape.rank()) - letters;  // dimensions of "..."
    dims_before = letters_before + (dots != std::string::npos && dots < at ? open : 0);
    return shape[static_cast<int>(dims_before)];
  }

  std::string output(std::string used, bool dots) {
    std::string labels;
    while (!used.empty()) {
      std::size_t i = static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(used.size())));
      if (random_.chance(0.55)) labels += used[i] + blank();
      used.erase(i, 1);
    }
    if (dots) labels.insert(random_.chance(0.5) ? 0 : labels.size(), "...");
    return blank() + labels;
  }

  Random random_;
  std::vector<std::int64_t> sizes_, broad_;
};

Tensor run(const std::string& spec, const std::vector<Tensor>& operands) {
  std::vector<Type> types;
  for (const Tensor& t : operands) types.push_back(t.type());
  return evaluate(trace([&](const Values& v) -> Values { return {einsum(spec, v)}; }, types), operands)[0];
}

constexpr int case_count = 900;

// NumPy's answers: a line with the shape and the numbers, or "error".
std::vector<std::string> ask_numpy(const std::vector<Case>& cases) {
  std::string input;
  for (const Case& c : cases) {
    input += std::to_string(c.operands.size()) + "|" + c.spec + "\n";
    for (const Tensor& t : c.operands) testing_numpy::append(input, t);
  }
  std::istringstream answer(testing_numpy::ask(
      "with open(sys.argv[1], 'rb') as f, open(sys.argv[2], 'w') as out:\n"
      "    while head := f.readline().decode():\n"
      "        count, spec = head.rstrip('\\n').split('|')\n"
      "        operands = [tensor(f) for i in range(int(count))]\n"
      "        try:\n"
      "            y = np.einsum(spec, *operands)\n"
      "            out.write(' '.join(map(str, y.shape)) + '|' + ' '.join(map(repr, y.ravel().tolist())) + '\\n')\n"
      "        except ValueError: out.write('error\\n')\n",
      input));
  std::vector<std::string> lines;
  for (std::string line; std::getline(answer, line);) lines.push_back(line);
  return lines;
}

void expect_answer(const Case& c, const Tensor& y, const std::string& line) {
  std::istringstream shape_text(line.substr(0, line.find('|'))), numbers(line.substr(line.find('|') + 1));
  Shape shape;
  for (std::int64_t size; shape_text >> size;) shape.push_back(size);
  ASSERT_EQ(to_string(y.shape()), to_string(shape)) << c.spec;
  for (double mine : y.to_vector<double>()) {
    double numpy = NAN;
    numbers >> numpy;
    ASSERT_NEAR(mine, numpy, 1e-10 * (1 + std::abs(numpy))) << c.spec;
  }
}

TEST(Einsum, AgreesWithNumPyOnRandomSpecs) {
  REPRISE_NEEDS_NUMPY();
  Generator generator(7);
  std::vector<Case> cases;
  for (int i = 0; i < case_count; ++i) cases.push_back(generator.next());
  std::vector<std::string> answers = ask_numpy(cases);
  ASSERT_EQ(answers.size(), cases.size());
  int agreed = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    if (answers[i] == "error") {
      EXPECT_THROW(run(c.spec, c.operands), Error) << c.spec;
      continue;
    }
    try {
      expect_answer(c, run(c.spec, c.operands), answers[i]);
    } catch (const Error& e) {
      ADD_FAILURE() << "\"" << c.spec << "\": " << e.what();
    }
    if (HasFatalFailure()) return;
    ++agreed;
  }
  EXPECT_GE(agreed, 500) << "too few of the random specs were valid";
}

TEST(Einsum, TakesIntegersToo) {
  Tensor a = Tensor{{1, 2}, {3, 4}}.to(DType::i64), b = Tensor{{5, 6}, {7, 8}}.to(DType::i64);
  EXPECT_EQ(run("ij,jk->ik", {a, b}).to_vector<double>(), (std::vector<double>{19, 22, 43, 50}));
}

// The nodes of an einsum of f32 operands of these shapes, by op, views left out.
std::vector<std::string> ops_of(const std::string& spec, const std::vector<Shape>& shapes) {
  std::vector<Type> types;
  for (const Shape& s : shapes) types.push_back({DType::f32, s});
  Graph graph = trace([&](const Values& v) -> Values { return {einsum(spec, v)}; }, types);
  std::vector<std::string> names;
  for (const Node& node : graph.nodes())
    if (node.op->view_of < 0 && node.op->name != "input") names.emplace_back(node.op->name);
  return names;
}

TEST(Einsum, AMatrixProductInAnyLayoutIsOneGemm) {
  for (const char* spec : {"ij,jk->ik", "ji,jk->ik", "ij,kj->ik", "ji,kj->ik", "ij,jk->ki", "ji,kj->ki", "bij,jk->bik",
                           "abij,jk->abik", "ij,ij->", "ij,kj", "i,ij->j", "ij,j->i", "i,j->ij", "bij,bjk->bik",
                           "bij,bkj->bik", "bji,bjk->bki", "bhtd,bhsd->bhts", "abij,ijk->abk"}) {
    std::vector<Shape> shapes;
    std::string text = std::string(spec).substr(0, std::string(spec).find("->")) + ",";
    for (Shape shape; char c : text) {
      if (c == ',')
        shapes.push_back(shape), shape = Shape{};
      else
        shape.push_back(2 + c % 7);
    }
    EXPECT_EQ(ops_of(spec, shapes), std::vector<std::string>{"matmul"}) << spec;
  }
}

TEST(Einsum, SumsBeforeItMultiplies) {
  EXPECT_EQ(ops_of("ij,kl->", {{2, 3}, {4, 5}}), (std::vector<std::string>{"sum", "sum", "multiply"}));
}

// Every order there is, by trying all pairs.
double best_cost(std::vector<LabelSet> terms, std::vector<int> alive, LabelSet output,
                 const std::vector<std::int64_t>& sizes) {
  if (alive.size() == 1) return 0;
  double best = INFINITY;
  for (std::size_t i = 0; i < alive.size(); ++i)
    for (std::size_t j = i + 1; j < alive.size(); ++j) {
      LabelSet both = terms[static_cast<std::size_t>(alive[i])] | terms[static_cast<std::size_t>(alive[j])],
               kept = output;
      std::vector<int> rest;
      for (std::size_t k = 0; k < alive.size(); ++k)
        if (k != i && k != j) rest.push_back(alive[k]), kept |= terms[static_cast<std::size_t>(alive[k])];
      double volume = 1;
      for (std::size_t l = 0; l < sizes.size(); ++l) volume *= both >> l & 1 ? static_cast<double>(sizes[l]) : 1;
      std::vector<LabelSet> next = terms;
      next.push_back(both & kept);
      rest.push_back(static_cast<int>(next.size()) - 1);
      best = std::min(best, volume + best_cost(next, rest, output, sizes));
    }
  return best;
}

TEST(Einsum, FewOperandsAreContractedInTheBestOrder) {
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::int64_t> sizes;
    for (int l = 0; l < 6; ++l) sizes.push_back(random.between(2, 9));
    std::vector<LabelSet> operands;
    std::vector<int> alive;
    for (std::int64_t k = random.between(2, 5); k > 0; --k) {
      alive.push_back(static_cast<int>(operands.size()));
      operands.push_back(static_cast<LabelSet>(random.between(1, 63)));
    }
    LabelSet output = static_cast<LabelSet>(random.below(64)), all = 0;
    for (LabelSet s : operands) all |= s;
    output &= all;
    double cost = contraction_cost(operands, output, sizes, contraction_order(operands, output, sizes));
    EXPECT_DOUBLE_EQ(cost, best_cost(operands, alive, output, sizes)) << "case " << i;
  }
}

TEST(Einsum, AChainOfManyMatricesIsNotContractedLeftToRight) {
  // A long chain that ends in a vector: from the right every product is matrix times vector.
  std::vector<LabelSet> chain;
  std::vector<std::int64_t> sizes(21, 10);
  for (int i = 0; i < 20; ++i) chain.push_back(LabelSet{3} << i);
  chain.push_back(LabelSet{1} << 20);
  EXPECT_LE(contraction_cost(chain, 1, sizes, contraction_order(chain, 1, sizes)), 20 * 100.0);
}

TEST(Einsum, GradientsAgreeWithFiniteDifferences) {
  Random random(5);
  auto check = [&](const std::string& spec, const std::vector<Shape>& shapes) {
    std::vector<Tensor> inputs;
    for (const Shape& s : shapes) inputs.push_back(random_tensor(random, s));
    auto f = [&](const Values& v) -> Values { return {einsum(spec, v)}; };
    GradientCheck first = check_gradient(f, inputs);
    EXPECT_TRUE(first.ok) << spec << ": " << first.why;
    auto squared = [&](const Values& v) -> Values {
      Value y = einsum(spec, v);
      return gradients(sum(y * y * y), v);
    };
    GradientCheck second = check_gradient(squared, inputs, {.relative = 1e-4, .absolute = 1e-6});
    EXPECT_TRUE(second.ok) << spec << ", second order: " << second.why;
  };
  check("ij,jk->ik", {{2, 3}, {3, 4}});
  check("ij->i", {{2, 3}});
  check("ii->i", {{3, 3}});
  check("ii->", {{3, 3}});
  check("ij,jk,kl->il", {{2, 3}, {3, 2}, {2, 3}});
  check("...ij,jk->...ik", {{2, 1, 2, 3}, {3, 2}});
  check("bij,bjk->bki", {{2, 2, 3}, {2, 3, 2}});
  check("i,i,i->i", {{3}, {3}, {3}});
  check("iij,j->i", {{2, 2, 3}, {3}});
}

TEST(Einsum, RepeatedOperandsSumTheirGradients) {
  Random random(6);
  Tensor x = random_tensor(random, {3, 3});
  for (const char* spec : {"ij,jk->ik", "ij,ij->", "ij,ji->i"}) {
    auto f = [&](const Values& v) -> Values { return {einsum(spec, {v[0], v[0]})}; };
    GradientCheck check = check_gradient(f, {x});
    EXPECT_TRUE(check.ok) << spec << ": " << check.why;
  }
}

TEST(Einsum, KnownGradients) {
  Tensor a{{1, 2}, {3, 4}}, b{{5, 6}, {7, 8}};
  auto loss = [](const Value& x, const Value& y) { return sum(einsum("ij,jk->ik", {x, y})); };
  auto g = grad(loss, {0, 1})(a, b);
  EXPECT_EQ(g[0].to_vector<double>(), (std::vector<double>{11, 15, 11, 15}));
  EXPECT_EQ(g[1].to_vector<double>(), (std::vector<double>{4, 4, 6, 6}));
  auto trace_gradient = grad([](const Value& x) { return einsum("ii->", {x}); })(a);
  EXPECT_EQ(trace_gradient.to_vector<double>(), (std::vector<double>{1, 0, 0, 1}));
}

TEST(Einsum, RefusesWithAReason) {
  Tensor m{{1, 2, 3}, {4, 5, 6}}, v{1, 2, 3};
  auto says = [](const std::string& spec, const std::vector<Tensor>& operands) {
    return message([&] { run(spec, operands); });
  };
  EXPECT_EQ(says("ij,jk", {m}), "[einsum] \"ij,jk\" names 2 operands, 1 were given: give one a term");
  EXPECT_EQ(says("i", {m}), "[einsum] \"i\" has 1 labels for operand 0, [2,3]: name every dimension, or use \"...\"");
  EXPECT_EQ(says("ij->ik", {m}),
            "[einsum] \"ij->ik\" has label 'k' in its output but in no operand: drop it, or name it in one");
  EXPECT_EQ(says("ij->ii", {m}), "[einsum] \"ij->ii\" has label 'i' twice in its output: name each index once");
  EXPECT_EQ(says("i.j", {m}), "[einsum] \"i.j\" has a '.' alone: write \"...\", once an operand");
  EXPECT_EQ(says("i1", {m}),
            "[einsum] \"i1\" has a '1': labels are letters, \",\" parts operands and \"->\" precedes the output");
  EXPECT_EQ(says("ii", {m}),
            "[einsum] \"ii\": label 'i' is 2 and 3 in operand 0, [2,3]; repeated labels need equal sizes");
  EXPECT_EQ(
      says("ij,i", {m, v}),
      "[einsum] \"ij,i\": label 'i' is 2 in one operand and 3 in another, of [2,3], [3]; sizes must be equal or 1");
  EXPECT_EQ(says("...i->i", {m}),
            "[einsum] \"...i->i\" has dimensions of \"...\" but no \"...\" in its output: name them to sum over them");
  EXPECT_EQ(says("i,i", {v, v.to(DType::f64)}),
            "[einsum] \"i,i\": the dtypes of f32[3] and f64[3] differ: cast one of them");
}

}  // namespace
}  // namespace reprise::einsum_tests
