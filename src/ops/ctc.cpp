// SPDX-License-Identifier: Apache-2.0
// The CTC loss. Its gradient is fused and has no gradient of its own.
#include "kernels/ctc.h"

#include "base/error.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

void expect_sequences(const Signature& s) {
  expect_float(s);
  expect_rank(s, 0, 3);
  expect_rank(s, 1, 2);
  for (int i : {1, 2, 3}) expect_dtype(s, i, DType::i64);
  std::int64_t batch = s.in().shape[1], blank = s.integer("blank");
  if (s.in(1).shape[0] != batch || s.in(2).shape != Shape{batch} || s.in(3).shape != Shape{batch})
    fail("[{}] {} has {} sequences: labels {}, steps {} and lengths {} must have as many", s.name(), to_string(s.in()),
         batch, to_string(s.in(1)), to_string(s.in(2)), to_string(s.in(3)));
  if (blank < 0 || blank >= s.in().shape[2])
    fail("[{}] blank {} is not a class of {}: count from 0 along the last axis", s.name(), blank, to_string(s.in()));
}

kernels::Ctc plan_of(const Signature& s) {
  const Shape& x = s.in().shape;
  return {x[0], x[1], x[2], s.in(1).shape[1], s.integer("blank")};
}

// Numbers that only running can see.
void check_sequences(const kernels::Ctc& p, const std::int64_t* labels, const std::int64_t* steps,
                     const std::int64_t* lengths) {
  for (std::int64_t n = 0; n < p.batch; ++n) {
    if (steps[n] < 0 || steps[n] > p.steps) fail("[ctc] sequence {} has {} steps: there are {}", n, steps[n], p.steps);
    if (lengths[n] < 0 || lengths[n] > p.labels)
      fail("[ctc] sequence {} has {} labels: there is room for {}", n, lengths[n], p.labels);
    for (std::int64_t i = 0; i < lengths[n]; ++i)
      if (std::int64_t label = labels[n * p.labels + i]; label < 0 || label >= p.classes || label == p.blank)
        fail("[ctc] label {} of sequence {} is {}: it must be a class other than the blank, {}", i, n, label, p.blank);
  }
}

Cost cost(const Signature& s) {
  Cost cost = moved_bytes(s);
  kernels::Ctc p = plan_of(s);
  cost.flops = 60 * static_cast<double>(p.steps * p.batch * p.states());
  return cost;
}

std::int64_t scratch_bytes(const kernels::Ctc& p) {
  return p.batch * p.workspace() * static_cast<std::int64_t>(sizeof(double));
}

const Op ctc_table[] = {
    {.name = "ctc",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 4);
       expect_sequences(s);
       return {{s.in().dtype, {s.in().shape[1]}}};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.in().dtype, [plan = plan_of(s)](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         using I = std::int64_t;
         return {[plan](const Buffers& b) {
                   check_sequences(plan, b.in<I>(1), b.in<I>(2), b.in<I>(3));
                   kernels::ctc_loss(plan, b.in<T>(0), b.in<I>(1), b.in<I>(2), b.in<I>(3), b.out<T>(),
                                     static_cast<double*>(b.scratch));
                 },
                 scratch_bytes(plan)};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("ctc_grad", {c.in(0), c.in(1), c.in(2), c.in(3), dy[0]}, c.attributes()), Value{}, Value{},
               Value{}};
     },
     .cost = cost,
     .examples =
         "f32[5,2,4]{-3..-0.5} i64[2,2]{1..3} i64[2]{5..5} i64[2]{1..2} blank=0; f32[6,1,3]{-3..-0.5} i64[1,2]{0..1} "
         "i64[1]{5..6} i64[1]{2..2} blank=2; f32[4,0,3] i64[0,2]{1..2} i64[0]{4..4} i64[0]{1..1} blank=0",
     .doc = "CTC loss a sequence, from log probabilities [steps, batch, classes], labels, steps and lengths"},
    {.name = "ctc_grad",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 5);
       expect_sequences(s);
       if (Type wanted{s.in().dtype, {s.in().shape[1]}}; s.in(4) != wanted)
         fail("[ctc_grad] dloss does not fit: it must be {}, it is {}", to_string(wanted), to_string(s.in(4)));
       return {s.in()};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.in().dtype, [plan = plan_of(s)](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         using I = std::int64_t;
         return {[plan](const Buffers& b) {
                   check_sequences(plan, b.in<I>(1), b.in<I>(2), b.in<I>(3));
                   kernels::ctc_loss_grad(plan, b.in<T>(0), b.in<I>(1), b.in<I>(2), b.in<I>(3), b.in<T>(4), b.out<T>(),
                                          static_cast<double*>(b.scratch));
                 },
                 scratch_bytes(plan)};
       });
     },
     .cost = cost,
     .examples = "f32[5,2,4]{-3..-0.5} i64[2,2]{1..3} i64[2]{5..5} i64[2]{1..2} f32[2] blank=0",
     .doc = "gradient of ctc; it has no gradient of its own"},
};

}  // namespace

std::span<const Op> ctc_ops() { return ctc_table; }

Value ctc(const Value& log_probabilities, const Value& labels, const Value& steps, const Value& lengths,
          std::int64_t blank, Reduction reduction) {
  return reduced(record("ctc", {log_probabilities, labels, steps, lengths}, {{"blank", blank}}), reduction);
}

}  // namespace reprise
