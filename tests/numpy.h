// SPDX-License-Identifier: Apache-2.0
// NumPy as an oracle: a script of the distribution's Python reads what a test wrote, and its answer is read back.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "reprise/tensor.h"

namespace reprise::testing_numpy {

inline bool is_installed() {
  static const bool found = std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") == 0;
  return found;
}

/// What `script` wrote to the file sys.argv[2], given `input` as the file sys.argv[1]. The script finds `np` imported
/// and `tensor(file)`, which reads what `append` wrote.
inline std::string ask(const std::string& script, const std::string& input) {
  static const std::string prelude =
      "import sys\n"
      "import numpy as np\n"
      "dtypes = dict(f32='f4', f64='f8', i32='i4', i64='i8', bool='?', f16='f2')\n"
      "def tensor(file):\n"
      "    dtype, *shape = file.readline().decode().split()\n"
      "    shape = [int(n) for n in shape]\n"
      "    dtype = np.dtype(dtypes[dtype])\n"
      "    count = int(np.prod(shape, dtype=int))\n"
      "    return np.frombuffer(file.read(count * dtype.itemsize), dtype).reshape(shape)\n";
  std::string pattern = (std::filesystem::temp_directory_path() / "reprise_numpy_XXXXXX").string();
  std::filesystem::path folder = mkdtemp(pattern.data());
  std::ofstream(folder / "script.py") << prelude << script;
  std::ofstream(folder / "in", std::ios::binary) << input;
  std::string command = "/usr/bin/python3 " + (folder / "script.py").string() + " " + (folder / "in").string() + " " +
                        (folder / "out").string();
  EXPECT_EQ(std::system(command.c_str()), 0) << script;
  std::ifstream answer(folder / "out", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(answer), {}};
  std::filesystem::remove_all(folder);
  return text;
}

/// A line with dtype and sizes, then the elements' bytes.
inline void append(std::string& input, const Tensor& t) {
  input += to_string(t.dtype());
  for (std::int64_t size : t.shape()) input += " " + std::to_string(size);
  input += "\n";
  input.append(static_cast<const char*>(t.data()), static_cast<std::size_t>(t.bytes()));
}

}  // namespace reprise::testing_numpy

/// At the head of a test that cannot judge without NumPy (`make test` installs it).
#define REPRISE_NEEDS_NUMPY() \
  if (!reprise::testing_numpy::is_installed()) GTEST_SKIP() << "NumPy is not installed: run scripts/install-packages"
