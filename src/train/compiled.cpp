// SPDX-License-Identifier: Apache-2.0
// A compiled function: a session whose results are handed out.
#include "reprise/compile.h"

#include "base/error.h"
#include "train/session.h"

namespace reprise {

struct Compiled::Impl {
  Function f;
  Session session;

  void choose(std::span<const Type> types) {
    session.choose(key_of(types), [&] { return build(ready_to_plan(trace(f, types)), session.options()); });
  }
};

Compiled::Compiled(Function f, CompileOptions options) : impl_(new Impl{std::move(f), Session(std::move(options))}) {}
Compiled::~Compiled() = default;
Compiled::Compiled(Compiled&&) noexcept = default;
Compiled& Compiled::operator=(Compiled&&) noexcept = default;

Compiled::Impl& Compiled::impl() const {
  if (!impl_) fail("[compile] this function was moved away: use the one it was moved to");
  return *impl_;
}

std::vector<Tensor> Compiled::run(std::span<const Tensor> inputs) {
  impl().choose(types_of(inputs));
  Executor& executor = impl().session.executor();
  write_inputs(executor, inputs);
  executor.run();
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < executor.program().outputs.size(); ++i) results.push_back(executor.output(i).clone());
  return results;
}

void Compiled::prepare(std::span<const Type> inputs) { impl().choose(inputs); }
const PlanResult& Compiled::plan() const { return impl().session.plan("compile"); }
std::int64_t Compiled::arena_bytes() const { return impl().session.arena_bytes("compile"); }
const std::vector<Moment>& Compiled::timeline() const { return impl().session.timeline("compile"); }

}  // namespace reprise
