// SPDX-License-Identifier: Apache-2.0
// oneDNN primitives with their memory objects, ready to run. For this room's own .cpp files only: oneDNN's headers go
// no further.
#pragma once

#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <vector>

namespace reprise::kernels::onednn {

const dnnl::engine& engine();

/// Scratch memory is handed in, never allocated.
dnnl::primitive_attr user_scratchpad();

/// What a primitive reads or writes under one of oneDNN's DNNL_ARG_ numbers.
struct Argument {
  int number;
  dnnl::memory::desc desc;
};

/// A primitive whose memory objects exist already: a run sets their pointers. Several threads may run it at once.
class Primitive {
 public:
  Primitive(dnnl::primitive primitive, std::vector<Argument> arguments);
  ~Primitive();

  /// `data` holds one pointer per argument, in their order.
  void run(std::span<void* const> data) const;

 private:
  struct Memories;
  std::unique_ptr<Memories> take() const;
  void give_back(std::unique_ptr<Memories> memories) const;

  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Memories>> idle_;
};

}  // namespace reprise::kernels::onednn
