// SPDX-License-Identifier: Apache-2.0
// npy and npz, with NumPy as the judge.
#include "io/samples.h"
#include "numpy.h"

namespace reprise::io {
namespace {

using testing_numpy::ask;

TEST(Npy, ReadsBackWhatItWrote) {
  TemporaryFolder folder;
  for (const auto& [name, tensor] : every_type()) {
    if (tensor.shape().rank() != 2 && tensor.dtype() != DType::f32) continue;  // forcing a file to disk takes its time
    save_npy(folder.path() + "/a.npy", tensor);
    EXPECT_TRUE(same_bits(load_npy(folder.path() + "/a.npy"), tensor)) << name;
  }
}

TEST(Npz, ReadsBackWhatItWroteStoredAndDeflated) {
  TemporaryFolder folder;
  for (bool compress : {false, true}) {
    save_npz(folder.path() + "/a.npz", every_type(), {.compress = compress});
    expect_equal(load_npz(folder.path() + "/a.npz"), every_type());
  }
  Tensor zeros = Tensor::zeros({DType::f32, {1000, 100}});
  save_npz(folder.path() + "/zeros.npz", {{"zeros", zeros}}, {.compress = true});
  EXPECT_LT(std::filesystem::file_size(folder.path() + "/zeros.npz"), 2000u);
  expect_equal(load_npz(folder.path() + "/zeros.npz"), {{"zeros", zeros}});
  save_npz(folder.path() + "/none.npz", {});
  EXPECT_TRUE(load_npz(folder.path() + "/none.npz").empty());
}

TEST(Npz, NumpyReadsWhatWeWrite) {
  REPRISE_NEEDS_NUMPY();
  TemporaryFolder folder;
  NamedTensors all;
  for (auto& [name, tensor] : every_type())
    if (tensor.dtype() != DType::bf16) all.emplace_back(name, tensor);
  std::string expected;
  for (const auto& [name, tensor] : all)
    expected.append(static_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes()));
  for (bool compress : {false, true}) {
    save_npz(folder.path() + "/a.npz", all, {.compress = compress});
    std::string script =
        "z = np.load(open(sys.argv[1]).read())\n"
        "kinds = dict(f32='<f4', f64='<f8', i32='<i4', i64='<i8', bool='|b1', f16='<f2')\n"
        "for name in z.files:\n"
        "    dtype, shape = name[:-1].split('[')\n"
        "    assert z[name].dtype.str == kinds[dtype] and z[name].shape == tuple(int(n) for n in shape.split(',') if "
        "n)\n"
        "open(sys.argv[2], 'wb').write(b''.join(z[n].tobytes() for n in z.files))\n";
    EXPECT_EQ(ask(script, folder.path() + "/a.npz"), expected);
  }
}

TEST(Npz, ReadsWhatNumpyWrites) {
  REPRISE_NEEDS_NUMPY();
  TemporaryFolder folder;
  ask("path = open(sys.argv[1]).read()\n"
      "a = np.arange(24.0).reshape(2, 3, 4)\n"
      "many = dict(plain=a, fortran=np.asfortranarray(a), big=a.astype('>f8'), u8=np.array([0, 255], 'u1'),\n"
      "            i8=np.array([-128, 127], 'i1'), u32=np.array([2**32 - 1], 'u4'), i16=np.array([-5], '>i2'),\n"
      "            u64=np.array([2**62], 'u8'), scalar=np.float32(3), flags=np.array([True, False]))\n"
      "np.savez(path + '/a.npz', **many)\n"
      "np.savez_compressed(path + '/b.npz', **many)\n"
      "np.save(path + '/c.npy', np.asfortranarray(a.astype('f4')))\n"
      "open(sys.argv[2], 'w')\n",
      folder.path());
  for (const char* name : {"/a.npz", "/b.npz"}) {
    std::map<std::string, Tensor> all;
    for (auto& [key, tensor] : load_npz(folder.path() + name)) all[key] = tensor;
    std::vector<double> numbers(24);
    for (std::size_t i = 0; i < 24; ++i) numbers[i] = static_cast<double>(i);
    for (const char* key : {"plain", "fortran", "big"})
      EXPECT_TRUE(same_bits(all[key], Tensor::from(numbers, {2, 3, 4}))) << key;
    EXPECT_TRUE(same_bits(all["u8"], Tensor{0, 255}.to(DType::i32)));
    EXPECT_TRUE(same_bits(all["i8"], Tensor{-128, 127}.to(DType::i32)));
    EXPECT_TRUE(same_bits(all["i16"], Tensor{-5}.to(DType::i32)));
    EXPECT_EQ(all["u32"].span<std::int64_t>()[0], (std::int64_t{1} << 32) - 1);
    EXPECT_EQ(all["u64"].span<std::int64_t>()[0], std::int64_t{1} << 62);
    EXPECT_EQ(all["scalar"].item(), 3);
    EXPECT_TRUE(same_bits(all["flags"], Tensor{1, 0}.to(DType::boolean)));
  }
  EXPECT_EQ(load_npy(folder.path() + "/c.npy").to_vector<double>()[5], 5);
}

TEST(Npy, SaysWhatIsWrongWithAFile) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/a.npy";
  auto message = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    return message_of([&] { load_npy(path); });
  };
  save_npy(path, Tensor{1, 2, 3});
  std::string whole = bytes_of(path);
  auto with = [&](const std::string& from, const std::string& to) {
    std::string bytes = whole;
    return bytes.replace(bytes.find(from), from.size(), to);
  };
  EXPECT_EQ(message("hello, this is no array"), "[npy] '" + path + "' is not a npy array: it begins otherwise");
  EXPECT_NE(message(whole.substr(0, whole.size() - 1)).find("has 11 bytes of elements, its shape [3] wants 12"),
            std::string::npos);
  EXPECT_NE(message(whole.substr(0, 9)).find("is cut short"), std::string::npos);
  EXPECT_NE(message(with("<f4", "<c8")).find("holds elements of type '<c8'"), std::string::npos);
  EXPECT_NE(message(with("(3,)", "(-3)")).find("has a shape that is not a tuple"), std::string::npos);
  EXPECT_NE(message(with("False", "Maybe")).find("neither True nor False"), std::string::npos);
  EXPECT_NE(message(with("'shape'", "'shops'")).find("has the key 'shops'"), std::string::npos);
  EXPECT_NE(message_of([] { load_npy("/nowhere/a.npy"); }).find("[npy] cannot open '/nowhere/a.npy'"),
            std::string::npos);
  EXPECT_NE(message_of([&] { load_npy(folder.path()); }).find("is not a file"), std::string::npos);
  EXPECT_NE(message_of([] { save_npy("/nowhere/a.npy", Tensor{1}); }).find("[npy] cannot write '/nowhere/a.npy'"),
            std::string::npos);
  EXPECT_NE(message_of([] { load_tensors("a.bin"); }).find("has none of the endings"), std::string::npos);
  EXPECT_NE(message_of([] { save_tensors("a.bin", {}); }).find("has none of the endings"), std::string::npos);
}

TEST(Npz, RefusesNamesThatStandTwice) {
  EXPECT_NE(message_of([] {
              save_npz("a.npz", {{"x", Tensor{1}}, {"x", Tensor{2}}});
            }).find("two arrays are named 'x'"),
            std::string::npos);
  EXPECT_NE(message_of([] { save_npz("a.npz", {{"", Tensor{1}}}); }).find("has no name"), std::string::npos);
}

TEST(Npz, SurvivesAnyDamage) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/a.npz";
  for (bool compress : {false, true}) {
    save_npz(path, every_type(), {.compress = compress});
    int errors = errors_of_damage(path, 3000, [](const std::string& p) { load_npz(p); });
    EXPECT_GT(errors, 2000) << "of 3000 damaged files";
    expect_equal(load_npz(path), every_type());
  }
  save_npy(folder.path() + "/a.npy", random_numbers({DType::boolean, {4, 5}}, 1));
  EXPECT_GT(errors_of_damage(folder.path() + "/a.npy", 1000, [](const std::string& p) { load_npy(p); }), 700);
}

}  // namespace
}  // namespace reprise::io
