// SPDX-License-Identifier: Apache-2.0
// The stores that live in memory, and what every store does.
#include "reprise/stores.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>

#include "base/random.h"
#include "checkpoint/messages.h"
#include "reprise/half.h"

namespace reprise {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
using Floats = std::vector<float>;

struct Particle {  // trivially copyable, no trait needed
  double x, y;
  int charge;
  friend bool operator==(const Particle&, const Particle&) = default;
};

struct Mesh {  // two arrays: needs the trait
  std::vector<double> points, values;
  friend bool operator==(const Mesh&, const Mesh&) = default;
};

struct Tree {
  std::unique_ptr<Tree> child;
};

// Ranges of one's own that are nothing but their elements and need no trait: a vector by another name, one wrapped, and
// memory of one's own.
struct Samples : std::vector<double> {
  using std::vector<double>::vector;
};
struct Track {
  std::vector<Particle> particles;
  auto begin() const { return particles.begin(); }
  auto end() const { return particles.end(); }
  auto begin() { return particles.begin(); }
  auto end() { return particles.end(); }
  void resize(std::size_t n) { particles.resize(n); }
  friend bool operator==(const Track&, const Track&) = default;
};
template <class... Further>
class Array {
 public:
  Array() = default;
  Array(std::initializer_list<float> values) { resize(values.size()), std::ranges::copy(values, begin()); }
  Array(const Array& other) { resize(other.size_), std::ranges::copy(other, begin()); }
  Array& operator=(const Array& other) { return resize(other.size_), std::ranges::copy(other, begin()), *this; }
  void resize(std::size_t n) { values_ = std::make_unique<float[]>(n), size_ = n; }
  const float* begin() const { return values_.get(); }
  const float* end() const { return begin() + size_; }
  float* begin() { return values_.get(); }
  float* end() { return begin() + size_; }
  friend bool operator==(const Array& a, const Array& b) { return std::ranges::equal(a, b); }

 private:
  std::unique_ptr<float[]> values_;
  std::size_t size_ = 0;
  [[no_unique_address]] std::tuple<Further...> further_;
};

// Ranges that may be more than their elements, or less.
struct NamedTrack : Track {
  char name = 'x';
};
struct AbstractSamples : Samples {
  virtual ~AbstractSamples() = default;
};
struct Window {  // looks at what others own
  float* first = nullptr;
  std::size_t count = 0;
  float* begin() const { return first; }
  float* end() const { return first + count; }
  void resize(std::size_t n) { count = n; }
};
struct Stubborn : Samples {
  void resize(std::size_t) {}
};

// One of one length, which needs a line.
struct Point {
  double at[2] = {};
  const double* begin() const { return at; }
  const double* end() const { return at + 2; }
  double* begin() { return at; }
  double* end() { return at + 2; }
  friend bool operator==(const Point&, const Point&) = default;
};

// A matrix in the manner of Eigen; -1: of any size.
template <class T, int rows_, int cols_>
struct Matrix {
  using Scalar = T;
  using PlainObject = Matrix;
  static constexpr int RowsAtCompileTime = rows_, ColsAtCompileTime = cols_;
  std::int64_t rows() const { return shape[0]; }
  std::int64_t cols() const { return shape[1]; }
  const T* data() const { return values.data(); }
  T* data() { return values.data(); }
  void resize(std::int64_t r, std::int64_t c) { shape = {r, c}, values.resize(static_cast<std::size_t>(r * c)); }
  friend bool operator==(const Matrix&, const Matrix&) = default;

  std::array<std::int64_t, 2> shape = {0, 0};
  std::vector<T> values;
};

template <int rows, int cols>
Matrix<double, rows, cols> counted(std::int64_t r, std::int64_t c) {
  Matrix<double, rows, cols> m;
  m.resize(r, c);
  std::iota(m.values.begin(), m.values.end(), 1.0);
  return m;
}

struct NamedMatrix : Matrix<double, -1, -1> {
  std::string name;
};

}  // namespace

template <>
struct Serial<Point> : SerialElements<Point> {};

template <>
struct Serial<Mesh> {
  static constexpr Element element = Element::f64;
  static std::vector<std::byte> save(const Mesh& mesh) {
    std::vector<double> all{static_cast<double>(mesh.points.size())};
    all.insert(all.end(), mesh.points.begin(), mesh.points.end());
    all.insert(all.end(), mesh.values.begin(), mesh.values.end());
    auto bytes = std::as_bytes(std::span(all));
    return {bytes.begin(), bytes.end()};
  }
  static Mesh load(std::span<const std::byte> bytes) {
    auto all = Serial<std::vector<double>>::load(bytes);
    auto middle = all.begin() + 1 + static_cast<std::ptrdiff_t>(all[0]);
    return {{all.begin() + 1, middle}, {middle, all.end()}};
  }
};

namespace {

Floats random_floats(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  Floats values(static_cast<std::size_t>(count));
  for (float& v : values) v = static_cast<float>(random.uniform(-3, 3));
  return values;
}

template <class State>
void expect_back(const State& state) {
  MemoryStore<State> memory;
  EncodedStore<State> zstd({.encoding = Encoding::zstd});
  DiskStore<State> disk({.slots = 1, .slot_bytes = std::max<std::int64_t>(1, stored_bytes(state))});
  memory.put(7, state), zstd.put(7, state), disk.put(7, state);
  EXPECT_EQ(memory.get(7), state);
  EXPECT_EQ(zstd.get(7), state);
  EXPECT_EQ(disk.get(7), state);
}

TEST(Stores, HoldContiguousRangesOfOnesOwnOutOfTheBox) {
  expect_back(Samples{1, 2, 3});
  expect_back(Samples{});
  expect_back(Track{{{1, 2, 3}, {4, 5, 6}}});
  expect_back(Array<>{1, -2.5f});
  EncodedStore<Array<>> rounded({.encoding = Encoding::bf16});
  rounded.put(0, {1, 2, 3});
  EXPECT_EQ(rounded.bytes_held(), 6);
  EXPECT_EQ(rounded.get(0), (Array<>{1, 2, 3}));
}

TEST(Stores, RefuseRangesOfOnesOwnThatMayBeMoreThanTheirElements) {
  static_assert(Storable<Track> && !Storable<NamedTrack> && !Storable<AbstractSamples> && !Storable<Window>);
  static_assert(Storable<Array<>> && !Storable<Array<double>> && !Storable<Array<char>>);
  EncodedStore<Stubborn> store({});
  store.put(0, Stubborn{Samples{1, 2}});
  EXPECT_THROW(store.get(0), DimensionMismatch);
}

TEST(Stores, HoldContiguousRangesScalarsAndStructsOutOfTheBox) {
  expect_back(Floats{1, -2.5f, 1e-30f});
  expect_back(Floats{});
  expect_back(std::array<double, 3>{1, 2, 3});
  expect_back(std::vector<std::array<std::int16_t, 2>>{{1, 2}, {3, 4}});
  expect_back(std::string("any bytes"));
  expect_back(42);
  expect_back(Particle{1, 2, -1});
  expect_back(std::vector<Particle>{{1, 2, -1}, {3, 4, 1}});
  expect_back(std::vector<std::complex<float>>{{1, 2}, {3, 4}});
}

TEST(Stores, HoldATypeOfOnesOwnThroughOneSmallTrait) { expect_back(Mesh{{1, 2, 3}, {4, 5}}); }

TEST(Stores, RefuseAtCompileTimeWhatOnlyLooksAtItsData) {
  static_assert(Storable<Floats> && Storable<Mesh> && Storable<std::array<float, 3>>);
  static_assert(!Storable<std::span<float>> && !Storable<std::string_view> && !Storable<float*>);
  static_assert(!Storable<Tree> && !Storable<std::vector<std::string>> && !Storable<std::vector<float*>>);
  static_assert(!Storable<std::array<char*, 1>> && !Storable<std::vector<std::array<char*, 1>>>);
  static_assert(!Storable<std::optional<char*>> && !Storable<std::variant<int, char*>> && Storable<std::optional<int>>);
  static_assert(!Storable<std::initializer_list<float>> && !Storable<std::array<std::span<int>, 2>>);
  static_assert(!Storable<std::vector<bool>> && Storable<std::array<float[2], 2>> && Storable<std::wstring>);
}

struct Tagged {  // looks like a container, and holds more
  std::vector<double> values;
  int tag = 0;
  double* begin() { return values.data(); }
  double* end() { return values.data() + values.size(); }
  const double* begin() const { return values.data(); }
  const double* end() const { return values.data() + values.size(); }
  void resize(std::size_t n) { values.resize(n); }
};

TEST(Stores, RefuseAtCompileTimeARangeOfOnesOwnThatHasNoTrait) {
  static_assert(std::ranges::contiguous_range<Tagged> && !Storable<Tagged>);
  static_assert(!Storable<std::vector<Tagged>> && !Storable<NamedMatrix>);
}

TEST(Stores, HoldARangeOfOnesOwnThatIsItsElementsThroughOneLine) {
  expect_back(Samples{1, 2, 3});
  expect_back(Samples{});
  expect_back(Point{{4, 5}});
  EncodedStore<Samples> half({.encoding = Encoding::f16});
  EXPECT_EQ(half.put(0, Samples{1, 2, 3}), 6);
}

TEST(Stores, HoldMatricesInTheMannerOfEigenWithTheirShape) {
  expect_back(counted<-1, -1>(2, 3));
  expect_back(counted<-1, -1>(0, 3));
  expect_back(counted<-1, 1>(4, 1));
  expect_back(counted<1, -1>(1, 4));
  expect_back(counted<3, -1>(3, 2));
  expect_back(counted<2, 2>(2, 2));
}

TEST(Stores, RoundMatricesInTheMannerOfEigenWhereTheirShapeIsNoNumberAmongThem) {
  EncodedStore<Matrix<double, -1, 1>> half({.encoding = Encoding::f16});
  EXPECT_EQ(half.put(0, counted<-1, 1>(4, 1)), 8);
  EXPECT_EQ(half.get(0), (counted<-1, 1>(4, 1)));
  EXPECT_THROW((EncodedStore<Matrix<double, -1, -1>>({.encoding = Encoding::f16})), BadRequest);
}

TEST(Stores, ReplaceDropAndCountBytesExactly) {
  MemoryStore<Floats> memory;
  EncodedStore<Floats> half({.encoding = Encoding::f16});
  DiskStore<Floats> disk({.slots = 2, .slot_bytes = 40});
  auto check = [](auto& store, std::int64_t width) {
    store.put(5, Floats(10, 1.f));
    store.put(-3, Floats(4, 2.f));
    EXPECT_EQ(store.bytes_held(), 14 * width);
    store.put(5, Floats(1, 3.f));
    EXPECT_EQ(store.bytes_held(), 5 * width);
    EXPECT_EQ(store.get(5), Floats(1, 3.f));
    store.drop(5);
    store.drop(99);
    EXPECT_FALSE(store.holds(5));
    EXPECT_TRUE(store.holds(-3));
    EXPECT_EQ(store.bytes_held(), 4 * width);
    store.drop(-3);
    EXPECT_EQ(store.bytes_held(), 0);
  };
  check(memory, 4), check(half, 2), check(disk, 4);
}

TEST(Stores, SayThatNothingIsStored) {
  MemoryStore<Floats> memory;
  EncodedStore<Floats> half({.encoding = Encoding::f16});
  DiskStore<Floats> disk({.slots = 1, .slot_bytes = 4});
  EXPECT_THROW(memory.get(3), NothingStored);
  EXPECT_THROW(half.get(3), NothingStored);
  EXPECT_THROW(disk.get(3), NothingStored);
  EXPECT_EQ(message([&] { disk.get(3); }), "[disk store] nothing is stored for 3: put it there first");
}

TEST(Stores, AgreeWithAMapOverAnyMixOfCalls) {
  Random random(20);
  std::map<std::int64_t, Floats> expected;
  MemoryStore<Floats> memory;
  EncodedStore<Floats> zstd({.encoding = Encoding::zstd});
  DiskStore<Floats> disk({.slots = 12, .slot_bytes = 400, .read_ahead = 1});
  for (int i = 0; i < 3000; ++i) {
    std::int64_t slot = random.below(12);
    if (random.chance(0.4)) {
      Floats state = random_floats(random.below(100), random.bits());
      expected[slot] = state;
      memory.put(slot, state), zstd.put(slot, state), disk.put(slot, state);
    } else if (random.chance(0.4)) {
      expected.erase(slot);
      memory.drop(slot), zstd.drop(slot), disk.drop(slot);
    } else if (expected.contains(slot)) {
      ASSERT_EQ(memory.get(slot), expected[slot]);
      ASSERT_EQ(zstd.get(slot), expected[slot]);
      ASSERT_EQ(disk.get(slot), expected[slot]);
    }
    ASSERT_EQ(memory.bytes_held(), disk.bytes_held());
  }
}

template <class Half>
void expect_rounded_once(Encoding encoding) {
  Random random(21);
  std::vector<double> exact;
  for (int i = 0; i < 2000; ++i) exact.push_back((i % 2 ? 1 : -1) * std::exp2(random.uniform(-20, 14)));
  EncodedStore<std::vector<double>> store({.encoding = encoding});
  store.put(0, exact);
  EXPECT_EQ(store.bytes_held(), 4000);
  double largest = 0;
  std::vector<double> stored = store.get(0);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    Half below(static_cast<float>(exact[i])), above = below;
    below.bits--, above.bits++;
    double distance = std::abs(stored[i] - exact[i]);
    EXPECT_LE(distance, std::abs(static_cast<float>(below) - exact[i])) << exact[i];
    EXPECT_LE(distance, std::abs(static_cast<float>(above) - exact[i])) << exact[i];
    largest = std::max(largest, distance);
  }
  EXPECT_EQ(store.largest_error(), largest);
}

TEST(HalfStore, TakesTwoBytesAnElementAndReportsTheLargestError) {
  expect_rounded_once<f16>(Encoding::f16);
  expect_rounded_once<bf16>(Encoding::bf16);
}

TEST(HalfStore, RoundsDoublesOnceAndNotByWayOfFloat) {
  // Just above the middle of two neighbours by less than a float can tell: two roundings would go down, to even.
  for (auto [encoding, middle, up] :
       {std::tuple{Encoding::f16, 1 + 0x1p-11, 1 + 0x1p-10}, {Encoding::bf16, 1 + 0x1p-8, 1 + 0x1p-7}}) {
    EncodedStore<double> store({.encoding = encoding});
    store.put(0, middle + 0x1p-50);
    EXPECT_EQ(store.get(0), up);
    store.put(0, middle);
    EXPECT_EQ(store.get(0), 1);
    store.put(0, -middle - 0x1p-50);
    EXPECT_EQ(store.get(0), -up);
  }
}

TEST(HalfStore, KeepsInfinitiesNanSubnormalsAndOneTenThousandth) {
  Floats special{infinity, -infinity, nan, 0x1p-24f, -0x1p-20f, 1e-4f, -0.f};
  EncodedStore<Floats> store({.encoding = Encoding::f16});
  store.put(0, special);
  Floats back = store.get(0);
  EXPECT_EQ(back[0], infinity);
  EXPECT_EQ(back[1], -infinity);
  EXPECT_TRUE(std::isnan(back[2]));
  EXPECT_EQ(back[3], 0x1p-24f);
  EXPECT_EQ(back[4], -0x1p-20f);
  EXPECT_NEAR(back[5], 1e-4f, 3e-8);
  EXPECT_TRUE(std::signbit(back[6]));
  EXPECT_LE(store.largest_error(), 3e-8);
}

TEST(HalfStore, AnOverflowIsAnInfiniteErrorAndNotAHiddenOne) {
  EncodedStore<Floats> store({.encoding = Encoding::f16});
  store.put(0, {1e6f});
  EXPECT_EQ(store.get(0)[0], infinity);
  EXPECT_EQ(store.largest_error(), infinity);
  EncodedStore<double> wide({.encoding = Encoding::bf16});
  wide.put(0, 1e300);
  EXPECT_EQ(wide.get(0), infinity);
}

TEST(Int8Store, HoldsOneByteAnElementAndOneScaleABlock) {
  EncodedStore<Floats> store({.encoding = Encoding::int8, .int8_block = 16});
  store.put(0, random_floats(50, 22));
  EXPECT_EQ(store.bytes_held(), 50 + 4 * 4);
  EncodedStore<std::vector<double>> wide({.encoding = Encoding::int8, .int8_block = 16});
  wide.put(0, std::vector<double>(32, 1.));
  EXPECT_EQ(wide.bytes_held(), 32 + 2 * 8);
}

TEST(Int8Store, ErrsByHalfAScaleAtMostInEachBlock) {
  Floats exact = random_floats(1000, 23);
  for (std::size_t i = 0; i < 64; ++i) exact[i] *= 1e-6f;  // a block of small numbers keeps its own scale
  EncodedStore<Floats> store({.encoding = Encoding::int8, .int8_block = 64});
  store.put(0, exact);
  Floats back = store.get(0);
  double largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(back[i], exact[i], (i < 64 ? 3e-6 : 3.) / 127 / 2 * 1.0001) << i;
    largest = std::max<double>(largest, std::abs(static_cast<double>(back[i]) - exact[i]));
  }
  EXPECT_EQ(store.largest_error(), largest);
}

TEST(Int8Store, KeepsZeroBlocksAndRefusesWhatIsNotFinite) {
  EncodedStore<Floats> store({.encoding = Encoding::int8});
  store.put(0, Floats(100, 0.f));
  EXPECT_EQ(store.get(0), Floats(100, 0.f));
  EXPECT_EQ(message([&] {
              store.put(0, {1, infinity});
            }),
            "[int8 store] inf is not finite: keep such states in f16, bf16 or plain");
  EXPECT_EQ(store.get(0), Floats(100, 0.f));  // as before the refused put
}

TEST(ZstdStore, GivesEveryBitBackInFewerBytesWhereDataAreSmooth) {
  Floats wave(10000);
  for (std::size_t i = 0; i < wave.size(); ++i) wave[i] = std::sin(static_cast<float>(i) * 1e-3f);
  wave[17] = nan, wave[18] = -0.f;
  EncodedStore<Floats> store({.encoding = Encoding::zstd});
  store.put(0, wave);
  EXPECT_TRUE(detail::same_value(store.get(0), wave));
  EXPECT_LT(store.bytes_held(), 30000);
  EXPECT_EQ(store.largest_error(), 0);
}

TEST(EncodedStore, RefusesOptionsThatMakeNoSense) {
  EXPECT_EQ(message([] { EncodedStore<std::vector<int>>({.encoding = Encoding::f16}); }),
            "[store] f16, bf16 and int8 round float or double elements, and this state has others: use plain or zstd");
  EXPECT_EQ(message([] { EncodedStore<Floats>({.encoding = Encoding::int8, .int8_block = 0}); }),
            "[store] int8_block is 0: a block has at least 1 element");
  EXPECT_THROW(EncodedStore<Floats>({.encoding = Encoding::zstd, .zstd_level = 99}), Error);
}

TEST(EncodedStore, RoundsATypeOfOnesOwnThatNamesItsElements) {
  EncodedStore<Mesh> store({.encoding = Encoding::f16});
  store.put(0, {{1, 2}, {0.1}});
  EXPECT_EQ(store.bytes_held(), 8);
  EXPECT_EQ(store.get(0).points, (std::vector<double>{1, 2}));
  EXPECT_NEAR(store.get(0).values[0], 0.1, 1e-4);
}

}  // namespace
}  // namespace reprise
