// SPDX-License-Identifier: Apache-2.0
// A step allocates nothing once it is compiled: every operator new of the process is counted, but for those that the
// kernel library makes itself while it runs a primitive. AddressSanitizer has operators of its own.
#ifndef __SANITIZE_ADDRESS__
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "reprise/models.h"
#include "temporary.h"
#include "train/outcome.h"

namespace {

std::atomic<std::int64_t> allocations{0};

bool is_kernel_library(const void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname && std::strstr(info.dli_fname, "libdnnl");
}

void* counted(std::size_t size, std::size_t alignment, const void* caller) {
  if (!is_kernel_library(caller)) ++allocations;
  std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* block =
      alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, rounded) : std::malloc(size ? size : 1);
  if (!block) throw std::bad_alloc();
  return block;
}
// Not inlined, where the compiler would see memory of `new` given to `free`.
[[gnu::noinline]] void give_back(void* block) { std::free(block); }

}  // namespace

void* operator new(std::size_t size) { return counted(size, 1, __builtin_return_address(0)); }
void* operator new[](std::size_t size) { return counted(size, 1, __builtin_return_address(0)); }
void* operator new(std::size_t size, std::align_val_t a) {
  return counted(size, static_cast<std::size_t>(a), __builtin_return_address(0));
}
void* operator new[](std::size_t size, std::align_val_t a) {
  return counted(size, static_cast<std::size_t>(a), __builtin_return_address(0));
}
void operator delete(void* block) noexcept { give_back(block); }
void operator delete[](void* block) noexcept { give_back(block); }
void operator delete(void* block, std::size_t) noexcept { give_back(block); }
void operator delete[](void* block, std::size_t) noexcept { give_back(block); }
void operator delete(void* block, std::align_val_t) noexcept { give_back(block); }
void operator delete[](void* block, std::align_val_t) noexcept { give_back(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { give_back(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { give_back(block); }

namespace reprise {
namespace {

std::int64_t allocations_in_third_step(std::string_view name, const StepOptions& options = {.measure = false}) {
  BuiltInModel model = built_in_model(name, {.small = true});
  TrainStep step(model.loss, model.parameters, model.rule, options);
  step.compile(model.batch);
  std::vector<Tensor> batch = model.random_batch(1);
  step.run(batch);
  step.run(batch);
  std::int64_t before = allocations;
  step.run(batch);
  return allocations - before;
}

TEST(Steps, AllocateNothingOnceCompiled) {
  for (const ModelInfo& info : built_in_models()) EXPECT_EQ(allocations_in_third_step(info.name), 0) << info.name;
}

TEST(Steps, AllocateNothingWhileTheyMoveValuesToADisk) {
  TemporaryFolder folder;
  StepOptions options{.planning = {.iterations = 100}, .measure = false, .disk = {.folder = folder.path()}};
  BuiltInModel model = built_in_model("digits", {.small = true});
  options.budget = smallest_budget_of({model.loss, model.parameters, model.rule, model.random_batch(1)}, options);
  TrainStep tight(model.loss, model.parameters, model.rule, options);
  tight.compile(model.batch);
  ASSERT_GT(paged_bytes(tight.plan()), 0);
  EXPECT_EQ(allocations_in_third_step("digits", options), 0);
}

}  // namespace
}  // namespace reprise
#endif
