// SPDX-License-Identifier: Apache-2.0
#include "kernels/onednn.h"

#include <utility>

#include "base/error.h"

namespace reprise::kernels::onednn {
namespace {

void check(dnnl_status_t status, const char* what) {
  if (status != dnnl_success) fail("[internal] oneDNN fails to {}: status {}", what, static_cast<int>(status));
}

const dnnl::stream& stream() {
  thread_local const dnnl::stream instance(engine());
  return instance;
}

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// One set serves one run at a time.
struct Primitive::Memories {
  std::vector<dnnl::memory> owned;
  std::vector<dnnl_exec_arg_t> arguments;
};

Primitive::Primitive(dnnl::primitive primitive, std::vector<Argument> arguments)
    : primitive_(std::move(primitive)), arguments_(std::move(arguments)) {
  give_back(take());
}

Primitive::~Primitive() = default;

std::unique_ptr<Primitive::Memories> Primitive::take() const {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto memories = std::move(idle_.back());
      idle_.pop_back();
      return memories;
    }
  }
  auto memories = std::make_unique<Memories>();
  for (const Argument& a : arguments_) {
    memories->owned.emplace_back(a.desc, engine(), static_cast<void*>(DNNL_MEMORY_NONE));
    memories->arguments.push_back({a.number, memories->owned.back().get()});
  }
  return memories;
}

void Primitive::give_back(std::unique_ptr<Memories> memories) const {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(memories));
}

void Primitive::run(std::span<void* const> data) const {
  auto memories = take();
  for (std::size_t i = 0; i < data.size(); ++i)
    check(dnnl_memory_set_data_handle_v2(memories->arguments[i].memory, data[i], stream().get()), "take a pointer");
  check(dnnl_primitive_execute(primitive_.get(), stream().get(), static_cast<int>(data.size()),
                               memories->arguments.data()),
        "run a primitive");
  give_back(std::move(memories));
}

}  // namespace reprise::kernels::onednn
