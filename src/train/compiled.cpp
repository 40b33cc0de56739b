// SPDX-License-Identifier: Apache-2.0
// A compiled function: a session whose results are handed out.
#include "reprise/compile.h"

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

std::vector<Tensor> Compiled::run(std::span<const Tensor> inputs) {
  impl_->choose(types_of(inputs));
  Executor& executor = impl_->session.executor();
  write_inputs(executor, inputs);
  executor.run();
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < executor.program().outputs.size(); ++i) results.push_back(executor.output(i).clone());
  return results;
}

void Compiled::prepare(std::span<const Type> inputs) { impl_->choose(inputs); }
const PlanResult& Compiled::plan() const { return impl_->session.plan("compile"); }
std::int64_t Compiled::arena_bytes() const { return impl_->session.arena_bytes("compile"); }
const std::vector<Moment>& Compiled::timeline() const { return impl_->session.timeline("compile"); }

}  // namespace reprise
