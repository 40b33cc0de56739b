// SPDX-License-Identifier: Apache-2.0
// What the conformance suite cannot know of shape ops: that each computes what its name says, and how it refuses.
#include <gtest/gtest.h>

#include <numeric>

#include "checkpoint/messages.h"
#include "reprise/autodiff.h"

namespace reprise::shape_tests {
namespace {

using Numbers = std::vector<double>;

Tensor counted(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::from(values, shape);
}

template <class F>
Tensor run(F f, const std::vector<Tensor>& inputs) {
  std::vector<Type> types;
  for (const Tensor& t : inputs) types.push_back(t.type());
  return evaluate(trace([&](const Values& v) -> Values { return {f(v)}; }, types), inputs)[0];
}

template <class F>
Numbers numbers(F f, const Tensor& x) {
  return run([&](const Values& v) { return f(v[0]); }, {x}).template to_vector<double>();
}

template <class F>
std::string refusal(F f, const Tensor& x) {
  return message([&] { numbers(f, x); });
}

Tensor ints(std::vector<std::int64_t> values) {
  auto n = static_cast<std::int64_t>(values.size());
  return Tensor::from(values, {n});
}

TEST(Views, CostNothingAndKeepTheOrder) {
  Graph graph = trace(
      [](const Values& v) -> Values {
        return {flatten(unsqueeze(squeeze(v[0], {1}), {0, -1}), 1, 2)};
      },
      std::vector<Type>{parse_type("f32[2,1,3]")});
  for (const Node& node : graph.nodes()) EXPECT_TRUE(node.op->view_of == 0 || node.inputs.empty());
  EXPECT_EQ(graph.type(graph.outputs[0]), parse_type("f32[1,6,1]"));
}

TEST(Views, RefuseWhatDoesNotFit) {
  Tensor x = counted({2, 3});
  EXPECT_EQ(refusal([](auto v) { return squeeze(v, {1}); }, x),
            "[squeeze] axis 1 of f32[2,3] has size 3, not 1: select or slice it");
  EXPECT_EQ(refusal([](auto v) { return unsqueeze(v, {5}); }, x),
            "[unsqueeze] axis 5 does not exist in 3 dimensions: axes go from -3 to 2");
  EXPECT_EQ(refusal([](auto v) { return flatten(v, 1, 0); }, x),
            "[flatten] axis 1 comes after axis 0: name the first one first");
  EXPECT_EQ(refusal(
                [](auto v) {
                  return reshape(v, {4, -1});
                },
                x),
            "[reshape] no size for -1 turns f32[2,3] into [4,-1]: the others must divide 6 elements");
  EXPECT_EQ(refusal(
                [](auto v) {
                  return reshape(v, std::vector<std::int64_t>{-2, 3});
                },
                x),
            "[reshape] size -2 is negative: sizes are 0 or more, one may be -1 to follow from the others");
  EXPECT_EQ(refusal(
                [](auto v) {
                  return split(v, std::vector<std::int64_t>{-1, 4}, 1)[0];
                },
                x),
            "[split] sizes [-1,4] hold -1: give each part 0 elements or more");
  EXPECT_EQ(refusal([](auto) { return concat({}, 0); }, x), "[concat] there is no part: give one or more");
}

TEST(Transpose, ReordersAndSwaps) {
  Tensor x = counted({2, 3});
  EXPECT_EQ(numbers([](auto v) { return transpose(v); }, x), (Numbers{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(numbers([](auto v) { return swap_axes(v, 0, -1); }, x), (Numbers{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(refusal(
                [](auto v) {
                  return transpose(v, {0, 0});
                },
                x),
            "[transpose] order [0,0] is not complete: name each of the 2 axes of f32[2,3] once");
}

TEST(Slice, FollowsPythonsRules) {
  Tensor x = counted({6});
  EXPECT_EQ(numbers([](auto v) { return slice(v, 0, 1, to_end, 2); }, x), (Numbers{1, 3, 5}));
  EXPECT_EQ(numbers([](auto v) { return slice(v, 0, -1, to_begin, -2); }, x), (Numbers{5, 3, 1}));
  EXPECT_EQ(numbers([](auto v) { return slice(v, 0, -3, -1); }, x), (Numbers{3, 4}));
  EXPECT_EQ(numbers([](auto v) { return slice(v, 0, 4, 100); }, x), (Numbers{4, 5}));
  EXPECT_EQ(numbers([](auto v) { return slice(v, 0, 4, 2); }, x), Numbers{});
  EXPECT_EQ(numbers([](auto v) { return slice(v, 0, 100, 1, -3); }, x), (Numbers{5, 2}));
  EXPECT_EQ(refusal([](auto v) { return slice(v, 0, 0, 3, 0); }, x),
            "[slice] step 0 goes nowhere: use a positive or negative one");
}

TEST(Slice, NarrowAndSelectRefuseWhatDoesNotExist) {
  Tensor x = counted({2, 3});
  EXPECT_EQ(numbers([](auto v) { return select(v, 1, -1); }, x), (Numbers{2, 5}));
  EXPECT_EQ(numbers([](auto v) { return narrow(v, 1, 1, 2); }, x), (Numbers{1, 2, 4, 5}));
  EXPECT_EQ(refusal([](auto v) { return select(v, 1, 3); }, x),
            "[select] index 3 does not exist along axis 1 of f32[2,3]: indices go from -3 to 2");
  EXPECT_EQ(refusal([](auto v) { return narrow(v, 0, 1, 2); }, x),
            "[narrow] 2 elements from 1 on do not exist along axis 0 of f32[2,3]: take fewer, or begin earlier");
}

TEST(Concat, JoinsAndSplitParts) {
  Tensor x = counted({2, 3});
  EXPECT_EQ(numbers([](auto v) { return concat({v, slice(v, 1, 0, 1)}, 1); }, x), (Numbers{0, 1, 2, 0, 3, 4, 5, 3}));
  EXPECT_EQ(numbers([](auto v) { return split(v, {1, 2}, 1)[1]; }, x), (Numbers{1, 2, 4, 5}));
  EXPECT_EQ(numbers([](auto v) { return stack({v, v}, 1); }, counted({2})), (Numbers{0, 0, 1, 1}));
  EXPECT_EQ(numbers([](auto v) { return roll(v, 1, 1); }, x), (Numbers{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(numbers([](auto v) { return roll(v, -4, 1); }, x), (Numbers{1, 2, 0, 4, 5, 3}));
}

TEST(Concat, RefusesWhatDoesNotFit) {
  Tensor x = counted({2, 3});
  EXPECT_EQ(refusal(
                [](auto v) {
                  return concat({v, transpose(v)}, 0);
                },
                x),
            "[concat] f32[2,3] and f32[3,2] differ in more than axis 0: all other sizes must be equal");
  EXPECT_EQ(refusal(
                [](auto v) {
                  return split(v, {1, 1}, 1)[0];
                },
                x),
            "[split] sizes [1,1] do not add up to axis 1 of f32[2,3]: they must make 3 together");
  EXPECT_EQ(refusal([](auto v) { return split(v, 2, 1)[0]; }, x),
            "[split] f32[2,3] does not part into 2 equal parts along axis 1: give their sizes");
  EXPECT_EQ(refusal(
                [](auto v) {
                  return stack({v, transpose(v)});
                },
                x),
            "[stack] f32[2,3] and f32[3,2] differ: all parts must have one shape");
}

TEST(Pad, FillsMirrorsAndRepeats) {
  Tensor x = counted({3});
  EXPECT_EQ(numbers([](auto v) { return pad(v, {1}, {2}, 9.0); }, x), (Numbers{9, 0, 1, 2, 9, 9}));
  EXPECT_EQ(numbers([](auto v) { return pad(v, {2}, {1}, "reflect"); }, x), (Numbers{2, 1, 0, 1, 2, 1}));
  EXPECT_EQ(numbers([](auto v) { return pad(v, {2}, {1}, "edge"); }, x), (Numbers{0, 0, 0, 1, 2, 2}));
}

TEST(Pad, RefusesWhatItCannotShow) {
  Tensor x = counted({3});
  EXPECT_EQ(refusal([](auto v) { return pad(v, {3}, {0}, "reflect"); }, x),
            "[pad] axis 0 of [3] is too short for reflect pads of 3 and 0: pad less, or with a constant");
  EXPECT_EQ(refusal([](auto v) { return pad(v, {1}, {0}, "wrap"); }, x),
            "[pad] there is no mode 'wrap': use constant, reflect or edge");
  EXPECT_EQ(refusal([](auto v) { return pad(v, {-1}, {0}, 0.0); }, x),
            "[pad] pad of -1 and 0 on axis 0 is negative: slice instead");
  EXPECT_EQ(refusal(
                [](auto v) {
                  return pad(v, {1, 1}, {0, 0}, 0.0);
                },
                x),
            "[pad] 2 and 2 pads for [3]: give two an axis");
}

TEST(Rearrange, TilesRepeatsFlipsAndShuffles) {
  Tensor x = counted({2, 2});
  EXPECT_EQ(numbers([](auto v) { return tile(v, {1, 2}); }, x), (Numbers{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(numbers([](auto v) { return tile(v, {2, 1, 1}); }, x), (Numbers{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(numbers([](auto v) { return repeat(v, 2, 1); }, x), (Numbers{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(numbers([](auto v) { return flip(v, {0, 1}); }, x), (Numbers{3, 2, 1, 0}));
  Tensor image = counted({1, 4, 1, 2});
  EXPECT_EQ(numbers([](auto v) { return pixel_shuffle(v, 2); }, image), (Numbers{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(numbers([](auto v) { return pixel_unshuffle(pixel_shuffle(v, 2), 2); }, counted({2, 8, 3, 2})),
            counted({2, 8, 3, 2}).to_vector<double>());
  EXPECT_EQ(numbers([](auto v) { return space_to_depth(depth_to_space(v, 2), 2); }, counted({2, 8, 3, 2})),
            counted({2, 8, 3, 2}).to_vector<double>());
  EXPECT_EQ(refusal([](auto v) { return pixel_shuffle(v, 3); }, image),
            "[pixel_shuffle] axis 1 of f32[1,4,1,2] is not a multiple of 9: pad it, or take another factor");
}

TEST(Diagonal, ReadsTracesAndTriangles) {
  Tensor x = counted({2, 3});
  EXPECT_EQ(numbers([](auto v) { return diagonal(v); }, x), (Numbers{0, 4}));
  EXPECT_EQ(numbers([](auto v) { return diagonal(v, 1); }, x), (Numbers{1, 5}));
  EXPECT_EQ(numbers([](auto v) { return trace(v, -1); }, x), (Numbers{3}));
  EXPECT_EQ(numbers([](auto v) { return tril(v); }, x), (Numbers{0, 0, 0, 3, 4, 0}));
  EXPECT_EQ(numbers([](auto v) { return triu(v, 1); }, x), (Numbers{0, 1, 2, 0, 0, 5}));
  EXPECT_EQ(refusal([](auto v) { return diagonal(v, 0, 1, 1); }, x),
            "[diagonal] both axes are axis 1 of [2,3]: name two");
}

TEST(Gather, TakesRowsElementsAndParts) {
  Tensor x = counted({3, 2});
  auto take = [&](auto f, const Tensor& indices) {
    return run([&](const Values& v) { return f(v[0], v[1]); }, {x, indices}).template to_vector<double>();
  };
  EXPECT_EQ(take([](auto v, auto i) { return gather(v, i, 0); }, ints({2, -3})), (Numbers{4, 5, 0, 1}));
  EXPECT_EQ(take([](auto v, auto i) { return gather_elements(v, i, 0); }, ints({2, -1}).reshape({1, 2})),
            (Numbers{4, 5}));
  EXPECT_EQ(take([](auto v, auto i) { return gather_nd(v, i); }, ints({2, 1, 0, -1}).reshape({2, 2})), (Numbers{5, 1}));
  EXPECT_EQ(take([](auto v, auto i) { return embedding(v, i); }, ints({1, 1})), (Numbers{2, 3, 2, 3}));
}

TEST(Gather, NamesTheIndexThatDoesNotExist) {
  Tensor x = counted({3, 2});
  auto says = [&](auto f, const Tensor& indices) {
    return message([&] { run([&](const Values& v) { return f(v[0], v[1]); }, {x, indices}); });
  };
  EXPECT_EQ(says([](auto v, auto i) { return gather(v, i, 0); }, ints({0, 3})),
            "[gather] index 3 at position 1 does not exist along axis 0 of [3,2]: indices go from -3 to 2");
  EXPECT_EQ(says([](auto v, auto i) { return gather_nd(v, i); }, ints({0, -3}).reshape({1, 2})),
            "[ravel_index] index -3 at position 0 does not exist along axis 1 of [3,2]: indices go from -2 to 1");
  EXPECT_EQ(says([](auto, auto i) { return one_hot(i, 2); }, ints({2})),
            "[one_hot] index 2 at position 0 does not exist at depth 2: indices go from -2 to 1");
  EXPECT_EQ(says([](auto v, auto i) { return gather(v, i, 0); }, Tensor{0}),
            "[gather] input 1 must be i32 or i64, it is f32[1]: cast it first");
}

TEST(Scatter, TheLastOfEqualIndicesWinsAndSumsKeepAll) {
  Tensor x = counted({3}), indices = ints({1, 1, -1}), updates{10, 20, 30};
  auto put = [&](auto f) {
    return run([&](const Values& v) { return f(v[0], v[1], v[2]); }, {x, indices, updates})
        .template to_vector<double>();
  };
  EXPECT_EQ(put([](auto v, auto i, auto u) { return scatter(v, i, u, 0); }), (Numbers{0, 20, 30}));
  EXPECT_EQ(put([](auto v, auto i, auto u) { return index_copy(v, i, u, 0); }), (Numbers{0, 20, 30}));
  EXPECT_EQ(put([](auto v, auto i, auto u) { return scatter_add(v, i, u, 0); }), (Numbers{0, 31, 32}));
  EXPECT_EQ(put([](auto v, auto i, auto u) { return index_add(v, i, u, 0); }), (Numbers{0, 31, 32}));
  EXPECT_EQ(put([](auto v, auto i, auto u) { return scatter_nd(v, unsqueeze(i, {-1}), u); }), (Numbers{0, 20, 30}));
  EXPECT_EQ(put([](auto v, auto i, auto u) { return scatter_nd_add(v, unsqueeze(i, {-1}), u); }), (Numbers{0, 31, 32}));
}

TEST(Scatter, RefusesUpdatesThatDoNotFit) {
  Tensor x = counted({3});
  EXPECT_EQ(message([&] {
              run([](const Values& v) { return scatter(v[0], v[1], v[0], 0); }, {x, ints({1})});
            }),
            "[scatter] updates f32[3] do not fit: indices i64[1] along axis 0 of f32[3] want f32[1]");
}

TEST(Embedding, GradientAddsUpRepeatedRows) {
  Tensor weight = counted({3, 2}), indices = ints({2, 0, 2});
  auto loss = [&](const Value& w) { return sum(embedding(w, indices)); };
  EXPECT_EQ(grad(loss)(weight).to_vector<double>(), (Numbers{1, 1, 0, 0, 2, 2}));
}

TEST(Indices, CountAndOneHot) {
  Tensor x = counted({2, 3});
  EXPECT_EQ(numbers([](auto v) { return iota_like(v, 1); }, x), (Numbers{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(run([](const Values& v) { return one_hot(v[0], 3); }, {ints({2, -3})}).to_vector<double>(),
            (Numbers{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(
      run([](const Values& v) { return v[0] + arange(0, 3, 1, DType::f32); }, {Tensor{1, 1, 1}}).to_vector<double>(),
      (Numbers{1, 2, 3}));
}

}  // namespace
}  // namespace reprise::shape_tests
