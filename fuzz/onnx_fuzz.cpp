// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry: any bytes as an ONNX file. `make fuzz-onnx` runs it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "onnx/stranger.h"
#include "temporary.h"

// NOLINTNEXTLINE: the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reprise;
  static const TemporaryFolder folder(onnx::fast_folder());
  static const bool has_data = (onnx::write_bytes(folder.path() + "/data", std::string(64, 'x')), true);
  if (!has_data || size == 0) return 0;
  onnx::write_bytes(folder.path() + "/m.onnx", {reinterpret_cast<const char*>(data), size});
  onnx::try_stranger(folder.path() + "/m.onnx", folder.path() + "/copy.onnx");
  return 0;
}
