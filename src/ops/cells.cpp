// SPDX-License-Identifier: Apache-2.0
// Recurrent cells: what remains of one time step when the matrix products are done, fused, with fused gradients. The
// gradients' own derivatives follow from the plain expressions written here.
#include "kernels/cells.h"

#include "base/error.h"
#include "graph/backpropagate.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

// Inputs 0 and 1 are [batch, gates·hidden]; the others, and the state, [batch, hidden].
kernels::CellSize cell_size(const Signature& s, int arity, int gates) {
  expect_arity(s, arity);
  expect_float(s);
  expect_same_dtype(s);
  for (int i = 0; i < arity; ++i) expect_rank(s, i, 2);
  Shape state = s.in(2).shape, gate{state[0], gates * state[1]};
  for (int i = 0; i < arity; ++i)
    if (s.in(i).shape != (i < 2 ? gate : state))
      fail("[{}] input {} is {}, not {}: gates are [batch, {}·hidden], states [batch, hidden]", s.name(), i,
           to_string(s.in(i)), to_string(i < 2 ? gate : state), gates);
  return {state[0], state[1]};
}

template <int flops>
Cost cell_cost(const Signature& s) {
  Cost cost = moved_bytes(s);
  cost.flops = flops * static_cast<double>(s.in(2).elements());
  return cost;
}

struct Lstm {
  Value i, f, g, o;
};
Lstm lstm_gates(const Call& c) {
  Values parts = split(c.in(0) + c.in(1), 4, 1);
  return {sigmoid(parts[0]), sigmoid(parts[1]), tanh(parts[2]), sigmoid(parts[3])};
}

// What lstm_cell_grad computes, as single ops.
Values lstm_grad_expression(const Call& call) {
  auto [i, f, g, o] = lstm_gates(call);
  Value c = call.in(2), dh = call.in(3);
  Value t = tanh(f * c + i * g), d = call.in(4) + dh * o * (1 - square(t));
  Value gates = concat({d * g * i * (1 - i), d * c * f * (1 - f), d * i * (1 - square(g)), dh * t * o * (1 - o)}, 1);
  return {gates, d * f};
}

// What gru_cell_grad computes, as single ops.
Values gru_grad_expression(const Call& call) {
  Values x = split(call.in(0), 3, 1), h = split(call.in(1), 3, 1);
  Value state = call.in(2), d = call.in(3);
  Value r = sigmoid(x[0] + h[0]), z = sigmoid(x[1] + h[1]), n = tanh(x[2] + r * h[2]);
  Value dn = d * (1 - z) * (1 - square(n)), dr = dn * h[2] * r * (1 - r), dz = d * (state - n) * z * (1 - z);
  return {concat({dr, dz, dn}, 1), concat({dr, dz, dn * r}, 1), d * z};
}

const Op cell_table[] = {
    {.name = "lstm_cell",
     .infer = [](const Signature& s) -> std::vector<Type> {
       cell_size(s, 3, 4);
       return {s.in(2), s.in(2)};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[n = cell_size(s, 3, 4)](const Buffers& b) {
           kernels::lstm_cell(n, b.in<T>(0), b.in<T>(1), b.in<T>(2), b.out<T>(0), b.out<T>(1));
         }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       Values d = record(*find_op("lstm_cell_grad"), {c.in(0), c.in(1), c.in(2), dy[0], dy[1]});
       return {d[0], d[0], d[1]};
     },
     .cost = cell_cost<70>,
     .examples = "f32[2,12] f32[2,12] f32[2,3]; f32[1,4] f32[1,4] f32[1,1]; f32[0,8] f32[0,8] f32[0,2]; "
                 "f32[3,68] f32[3,68] f32[3,17]; f64[2,8] f64[2,8] f64[2,2]",
     .doc = "one LSTM step after its matrix products: gates i, f, g, o and c to h and c"},
    {.name = "lstm_cell_grad",
     .infer = [](const Signature& s) -> std::vector<Type> {
       cell_size(s, 5, 4);
       return {s.in(0), s.in(2)};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[n = cell_size(s, 5, 4)](const Buffers& b) {
           kernels::lstm_cell_grad(n, b.in<T>(0), b.in<T>(1), b.in<T>(2), b.in<T>(3), b.in<T>(4), b.out<T>(0),
                                   b.out<T>(1));
         }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return gradient_of_expression(c, dy, lstm_grad_expression);
     },
     .cost = cell_cost<90>,
     .examples = "f32[2,12] f32[2,12] f32[2,3] f32[2,3] f32[2,3]; f32[1,4] f32[1,4] f32[1,1] f32[1,1] f32[1,1]; "
                 "f32[0,8] f32[0,8] f32[0,2] f32[0,2] f32[0,2]; f32[2,68] f32[2,68] f32[2,17] f32[2,17] f32[2,17]",
     .doc = "the gradient of lstm_cell: of its gates and of c"},
    {.name = "gru_cell",
     .infer = [](const Signature& s) -> std::vector<Type> {
       cell_size(s, 3, 3);
       return {s.in(2)};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[n = cell_size(s, 3, 3)](const Buffers& b) {
           kernels::gru_cell(n, b.in<T>(0), b.in<T>(1), b.in<T>(2), b.out<T>());
         }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return record(*find_op("gru_cell_grad"), {c.in(0), c.in(1), c.in(2), dy[0]});
     },
     .cost = cell_cost<50>,
     .may_overwrite = 4,
     .examples = "f32[2,9] f32[2,9] f32[2,3]; f32[1,3] f32[1,3] f32[1,1]; f32[0,6] f32[0,6] f32[0,2]; "
                 "f32[3,51] f32[3,51] f32[3,17]; f64[2,6] f64[2,6] f64[2,2]",
     .doc = "one GRU step after its matrix products: gates r, z, n and h to h"},
    {.name = "gru_cell_grad",
     .infer = [](const Signature& s) -> std::vector<Type> {
       cell_size(s, 4, 3);
       return {s.in(0), s.in(1), s.in(2)};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[n = cell_size(s, 4, 3)](const Buffers& b) {
           kernels::gru_cell_grad(n, b.in<T>(0), b.in<T>(1), b.in<T>(2), b.in<T>(3), b.out<T>(0), b.out<T>(1),
                                  b.out<T>(2));
         }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return gradient_of_expression(c, dy, gru_grad_expression);
     },
     .cost = cell_cost<60>,
     .examples = "f32[2,9] f32[2,9] f32[2,3] f32[2,3]; f32[1,3] f32[1,3] f32[1,1] f32[1,1]; "
                 "f32[0,6] f32[0,6] f32[0,2] f32[0,2]; f32[2,51] f32[2,51] f32[2,17] f32[2,17]",
     .doc = "the gradient of gru_cell: of its gates and of h"},
};

}  // namespace

std::span<const Op> cell_ops() { return cell_table; }

}  // namespace reprise
