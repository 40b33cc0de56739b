// SPDX-License-Identifier: Apache-2.0
// Damaged networks are refused by a sentence too: every operator meets inputs and attributes that do not fit.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "message.h"
#include "onnx/draft.h"
#include "onnx/operators.h"
#include "plan/test_factor.h"

namespace reprise::onnx {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> foreign_models() {
  std::vector<std::string> all;
  for (const char* part : {"node", "pytorch-operator", "pytorch-converted", "simple"})
    for (const auto& entry : fs::directory_iterator(fs::path("/usr/share/libonnx-testdata/data") / part)) {
      std::string bytes = bytes_of((entry.path() / "model.onnx").string());
      if (bytes.size() < 3000) all.push_back(bytes);
    }
  std::ranges::sort(all);
  return all;
}

// Numbers and letters, mostly inside of what they stand for: lengths stay right, so that the file is read.
std::string with_other_bytes(std::string bytes, Random& random) {
  for (std::int64_t i = random.between(1, 3); i > 0; --i) {
    auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bytes.size())));
    bytes[at] = random.below(2) ? static_cast<char>(bytes[at] ^ (1 << random.below(8)))
                                : "\x00\x01\x02\x7f\x80\xff"[random.below(6)];
  }
  return bytes;
}

// Whether it was accepted; an Error is a refusal, anything else is our bug.
bool is_accepted(const std::string& path) {
  try {
    Network network(std::make_shared<const Document>(read_document(path)));
    return true;
  } catch (const Error& e) {
    EXPECT_TRUE(std::string_view(e.what()).starts_with("[onnx] '")) << e.what();
    return false;
  }
}

TEST(OnnxStranger, DamagedNetworksAreRefusedOrUnderstood) {
  TemporaryFolder folder(fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path());
  std::string path = folder.path() + "/m.onnx";
  std::vector<std::string> models = foreign_models();
  ASSERT_GT(models.size(), 900u) << "install libonnx-testdata: scripts/install-packages test";
  Random random(8);
  int accepted = 0, refused = 0;
  for (const std::string& model : models)
    for (std::uint64_t i = 0; i < problem_count(12); ++i) {
      write_bytes(path, with_other_bytes(model, random));
      MemoryScope scope;
      ++(is_accepted(path) ? accepted : refused);
      ASSERT_LT(scope.use().peak_bytes, std::int64_t{80} << 20);
    }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

std::vector<Operator> every_operator() {
  std::vector<Operator> all;
  for (auto table : {math_operators(), activation_operators(), compare_operators(), reduce_operators(),
                     shape_operators(), index_operators(), constant_operators(), linear_operators(), pool_operators(),
                     norm_operators(), resize_operators(), recurrent_operators(), loss_operators()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

// No attributes, and any number of inputs that were meant for something else.
TEST(OnnxStranger, OperatorsRefuseInputsThatWereNotMeantForThem) {
  struct Given {
    std::vector<std::int64_t> dims;
    int type;
  };
  std::vector<Given> kinds{{{}, 1}, {{2}, 7}, {{3, 0}, 1}, {{1, 2, 3, 4}, 1}, {{2, 2, 2}, 9}, {{1, 1, 1, 1, 1, 1}, 10}};
  int accepted = 0, refused = 0;
  for (const Operator& op : every_operator())
    for (const Given& kind : kinds)
      for (std::size_t count = 0; count < 6; ++count) {
        Draft d(op.last);
        d.input("x", kind.dims, kind.type).integers("n", {1, -1, 7});
        for (std::string last : {"x", "n", ""}) {
          Draft one = d;
          std::vector<std::string> inputs(count, "x");
          if (count < 2 && last != "x") continue;
          if (count > 1) inputs.back() = last;
          one.node(std::string(op.name), inputs, {"a", "b", "c"}).output("a").output("c");
          std::string text = message_of([&] { Network network(one.document()); });
          ++(text == "no error" ? accepted : refused);
        }
      }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(accepted, 10);
}

}  // namespace
}  // namespace reprise::onnx
