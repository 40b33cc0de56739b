// SPDX-License-Identifier: Apache-2.0
// Optimizer steps, fused: one pass over parameter, state and gradient. Inputs are what changes (the parameter, then its
// state), then the gradient, the learning rate f32[] or f64[] and the number of steps done before, i64[]; outputs are
// the new values of what changes, written over the old ones where the caller allows it. Formulas follow the papers as
// PyTorch reads them. They are not differentiable.
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "kernels/parallel.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

constexpr std::int64_t grain = 1 << 14;

// What every rule is told about the step.
struct Step {
  double rate;
  std::int64_t done;  // steps before this one
  double t() const { return static_cast<double>(done + 1); }
};

// `changing` values of one type, the gradient of that type, the rate, the step.
template <int changing>
std::vector<Type> update_types(const Signature& s) {
  expect_arity(s, changing + 3);
  expect_float(s, 0);
  for (int i = 1; i <= changing; ++i)
    if (s.in(i) != s.in(0))
      fail("[{}] input {} is {}, the parameter is {}: they must be of one type", s.name(), i, to_string(s.in(i)),
           to_string(s.in(0)));
  const Type& rate = s.in(changing + 1);
  if (rate.shape.rank() != 0 || (rate.dtype != DType::f32 && rate.dtype != DType::f64))
    fail("[{}] the learning rate does not fit: it must be f32[] or f64[], it is {}", s.name(), to_string(rate));
  if (s.in(changing + 2) != Type{DType::i64, {}})
    fail("[{}] the step does not fit: it must be i64[], it is {}", s.name(), to_string(s.in(changing + 2)));
  return std::vector<Type>(changing, s.in(0));
}

// Copies what changes to the outputs where they are not the same memory, then calls rule(values, g, n, step) with
// values[k] pointing at output k. Rules are written in place, so that both cases have the same bits.
template <class T, int changing, class Rule>
Kernel in_place(const Signature& s, Rule rule) {
  bool is_double = s.in(changing + 1).dtype == DType::f64;
  return {[n = s.out().elements(), is_double, rule](const Buffers& b) {
    T* values[changing];
    for (int k = 0; k < changing; ++k) {
      values[k] = b.out<T>(k);
      if (b.in<T>(k) != values[k]) std::copy_n(b.in<T>(k), n, values[k]);
    }
    double rate = is_double ? *b.in<double>(changing + 1) : *b.in<float>(changing + 1);
    rule(values, b.in<T>(changing), n, Step{rate, *b.in<std::int64_t>(changing + 2)});
  }};
}

template <class F>
void each(std::int64_t n, const F& f) {
  kernels::parallel_ranges(n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

// The Euclidean norm of f(i), summed in fixed blocks so that the number of threads does not matter.
template <class F>
double norm(std::int64_t n, const F& f) {
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += 4096) {
    double part = 0;
    for (std::int64_t i = begin; i < std::min(n, begin + 4096); ++i) part += f(i) * f(i);
    total += part;
  }
  return std::sqrt(total);
}

Kernel sgd(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    double mu = s.real("momentum"), damp = s.real("dampening"), decay = s.real("weight_decay");
    bool nesterov = s.flag("nesterov");
    return in_place<T, 2>(s, [=](T* const* v, const T* g, std::int64_t n, Step step) {
      T *p = v[0], *m = v[1];
      T rate = static_cast<T>(step.rate), keep = static_cast<T>(step.done ? mu : 0),
        take = static_cast<T>(step.done ? 1 - damp : 1);
      each(n, [=](std::int64_t i) {
        T d = g[i] + static_cast<T>(decay) * p[i];
        m[i] = keep * m[i] + take * d;
        p[i] -= rate * (nesterov ? d + static_cast<T>(mu) * m[i] : m[i]);
      });
    });
  });
}

Kernel plain_sgd(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    double decay = s.real("weight_decay");
    return in_place<T, 1>(s, [=](T* const* v, const T* g, std::int64_t n, Step step) {
      T* p = v[0];
      T rate = static_cast<T>(step.rate);
      each(n, [=](std::int64_t i) { p[i] -= rate * (g[i] + static_cast<T>(decay) * p[i]); });
    });
  });
}

Kernel adam(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    double beta1 = s.real("beta1"), beta2 = s.real("beta2"), eps = s.real("eps"), decay = s.real("weight_decay");
    bool decoupled = s.flag("decoupled");
    return in_place<T, 3>(s, [=](T* const* v, const T* g, std::int64_t n, Step step) {
      T *p = v[0], *m = v[1], *q = v[2];
      T size = static_cast<T>(step.rate / (1 - std::pow(beta1, step.t())));
      T root = static_cast<T>(1 / std::sqrt(1 - std::pow(beta2, step.t())));
      T shrink = static_cast<T>(decoupled ? 1 - step.rate * decay : 1), pull = static_cast<T>(decoupled ? 0 : decay);
      T b1 = static_cast<T>(beta1), b2 = static_cast<T>(beta2), e = static_cast<T>(eps);
      each(n, [=](std::int64_t i) {
        T d = g[i] + pull * p[i];
        m[i] = b1 * m[i] + (1 - b1) * d;
        q[i] = b2 * q[i] + (1 - b2) * d * d;
        p[i] = shrink * p[i] - size * m[i] / (std::sqrt(q[i]) * root + e);
      });
    });
  });
}

Kernel adagrad(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    double rate_decay = s.real("lr_decay"), eps = s.real("eps"), decay = s.real("weight_decay");
    return in_place<T, 2>(s, [=](T* const* v, const T* g, std::int64_t n, Step step) {
      T *p = v[0], *q = v[1];
      T rate = static_cast<T>(step.rate / (1 + static_cast<double>(step.done) * rate_decay));
      each(n, [=](std::int64_t i) {
        T d = g[i] + static_cast<T>(decay) * p[i];
        q[i] += d * d;
        p[i] -= rate * d / (std::sqrt(q[i]) + static_cast<T>(eps));
      });
    });
  });
}

Kernel plain_rmsprop(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    T alpha = static_cast<T>(s.real("alpha")), eps = static_cast<T>(s.real("eps"));
    T decay = static_cast<T>(s.real("weight_decay"));
    return in_place<T, 2>(s, [=](T* const* v, const T* g, std::int64_t n, Step step) {
      T *p = v[0], *q = v[1];
      T rate = static_cast<T>(step.rate);
      each(n, [=](std::int64_t i) {
        T d = g[i] + decay * p[i];
        q[i] = alpha * q[i] + (1 - alpha) * d * d;
        p[i] -= rate * (d / (std::sqrt(q[i]) + eps));
      });
    });
  });
}

Kernel rmsprop(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    T alpha = static_cast<T>(s.real("alpha")), eps = static_cast<T>(s.real("eps")),
      mu = static_cast<T>(s.real("momentum"));
    T decay = static_cast<T>(s.real("weight_decay"));
    bool centered = s.flag("centered");
    return in_place<T, 4>(s, [=](T* const* v, const T* g, std::int64_t n, Step step) {
      T *p = v[0], *q = v[1], *mean = v[2], *m = v[3];
      T rate = static_cast<T>(step.rate);
      each(n, [=](std::int64_t i) {
        T d = g[i] + decay * p[i];
        q[i] = alpha * q[i] + (1 - alpha) * d * d;
        if (centered) mean[i] = alpha * mean[i] + (1 - alpha) * d;
        T variance = centered ? q[i] - mean[i] * mean[i] : q[i];
        m[i] = mu * m[i] + d / (std::sqrt(variance) + eps);
        p[i] -= rate * m[i];
      });
    });
  });
}

// Liu et al. 2020.
Kernel radam(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    double beta1 = s.real("beta1"), beta2 = s.real("beta2"), eps = s.real("eps"), decay = s.real("weight_decay");
    return in_place<T, 3>(s, [=](T* const* v, const T* g, std::int64_t n, Step step) {
      T *p = v[0], *m = v[1], *q = v[2];
      double correct1 = 1 - std::pow(beta1, step.t()), correct2 = 1 - std::pow(beta2, step.t());
      double longest = 2 / (1 - beta2) - 1, length = longest - 2 * step.t() * std::pow(beta2, step.t()) / correct2;
      bool rectified = length > 5;
      double r =
          rectified ? std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) : 1;
      T size = static_cast<T>(step.rate * r / correct1 * (rectified ? std::sqrt(correct2) : 1));
      T b1 = static_cast<T>(beta1), b2 = static_cast<T>(beta2), e = static_cast<T>(eps);
      each(n, [=](std::int64_t i) {
        T d = g[i] + static_cast<T>(decay) * p[i];
        m[i] = b1 * m[i] + (1 - b1) * d;
        q[i] = b2 * q[i] + (1 - b2) * d * d;
        p[i] -= size * m[i] / (rectified ? std::sqrt(q[i]) + e : T(1));
      });
    });
  });
}

// You et al. 2020: Adam's direction, scaled to the size of the parameter.
Kernel lamb(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    double beta1 = s.real("beta1"), beta2 = s.real("beta2"), eps = s.real("eps"), decay = s.real("weight_decay");
    return in_place<T, 3>(s, [=](T* const* v, const T* g, std::int64_t n, Step step) {
      T *p = v[0], *m = v[1], *q = v[2];
      T b1 = static_cast<T>(beta1), b2 = static_cast<T>(beta2);
      each(n, [=](std::int64_t i) {
        m[i] = b1 * m[i] + (1 - b1) * g[i];
        q[i] = b2 * q[i] + (1 - b2) * g[i] * g[i];
      });
      double correct1 = 1 - std::pow(beta1, step.t()), correct2 = 1 - std::pow(beta2, step.t());
      auto direction = [=](std::int64_t i) {
        return m[i] / correct1 / (std::sqrt(q[i] / correct2) + eps) + decay * p[i];
      };
      double size = norm(n, [=](std::int64_t i) { return static_cast<double>(p[i]); }), length = norm(n, direction);
      double trust = size > 0 && length > 0 ? size / length : 1;
      each(n, [=](std::int64_t i) { p[i] = static_cast<T>(p[i] - step.rate * trust * direction(i)); });
    });
  });
}

// You, Gitman & Ginsburg 2017.
Kernel lars(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    double mu = s.real("momentum"), decay = s.real("weight_decay"), trust = s.real("trust"), eps = s.real("eps");
    return in_place<T, 2>(s, [=](T* const* v, const T* g, std::int64_t n, Step step) {
      T *p = v[0], *m = v[1];
      double size = norm(n, [=](std::int64_t i) { return static_cast<double>(p[i]); });
      double slope = norm(n, [=](std::int64_t i) { return static_cast<double>(g[i]); });
      double local = size > 0 && slope > 0 ? trust * size / (slope + decay * size + eps) : 1;
      each(n, [=](std::int64_t i) {
        m[i] = static_cast<T>(mu * m[i] + step.rate * local * (g[i] + decay * p[i]));
        p[i] -= m[i];
      });
    });
  });
}

// Zhang et al. 2019: every k steps the slow weights move a part of the way to the fast ones, which restart from them.
// The "gradient" is the fast weights as the inner optimizer left them; what changes are fast and slow.
Kernel lookahead(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    std::int64_t every = s.integer("every");
    T alpha = static_cast<T>(s.real("alpha"));
    return in_place<T, 2>(s, [=](T* const* v, const T* fast, std::int64_t n, Step step) {
      T *p = v[0], *slow = v[1];
      bool meet = (step.done + 1) % every == 0;
      each(n, [=](std::int64_t i) {
        if (meet) slow[i] += alpha * (fast[i] - slow[i]);
        p[i] = meet ? slow[i] : fast[i];
      });
    });
  });
}

const Op update_table[] = {
    {.name = "assign",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 2);
       if (s.in(0) != s.in(1))
         fail("[assign] {} cannot take over {}: they must be of one type", to_string(s.in(0)), to_string(s.in(1)));
       return {s.in(0)};
     },
     .forward = [](const Signature& s) -> Kernel {
       return {[bytes = static_cast<std::size_t>(s.out().bytes())](const Buffers& b) {
         if (bytes > 0) std::memmove(b.out<std::byte>(), b.in<std::byte>(1), bytes);
       }};
     },
     .updates = 1,
     .examples = "f32[5] f32[5]; i64[2]{0..9} i64[2]{0..9}; f32[0] f32[0]",
     .doc = "the second input, written over the first: state takes over a value"},
    {.name = "sgd_update",
     .infer = update_types<1>,
     .forward = plain_sgd,
     .cost = per_element<4>,
     .updates = 1,
     .examples =
         "f32[5] f32[5] f32[]{0.1..0.2} i64[]{0..0} weight_decay=0.1; f32[0] f32[0] f32[] i64[]{3..3} weight_decay=0.0",
     .doc = "stochastic gradient descent with weight decay"},
    {.name = "momentum_update",
     .infer = update_types<2>,
     .forward = sgd,
     .cost = per_element<6>,
     .updates = 2,
     .examples =
         "f32[5] f32[5] f32[5] f32[]{0.1..0.2} i64[]{0..0} momentum=0.9 dampening=0.1 weight_decay=0.1 nesterov=0;"
         "f32[5] f32[5] f32[5] f32[]{0.1..0.2} i64[]{4..4} momentum=0.9 dampening=0.0 weight_decay=0.1 nesterov=1",
     .onnx = "Momentum",
     .doc = "SGD with momentum, dampening, weight decay, Nesterov's form"},
    {.name = "adam_update",
     .infer = update_types<3>,
     .forward = adam,
     .cost = per_element<14>,
     .updates = 3,
     .examples = "f32[5] f32[5] f32[5]{0..1} f32[5] f32[]{0.1..0.2} i64[]{0..0} beta1=0.9 beta2=0.999 eps=1e-8 "
                 "weight_decay=0.1 decoupled=0;"
                 "f32[5] f32[5] f32[5]{0..1} f32[5] f32[]{0.1..0.2} i64[]{7..7} beta1=0.9 beta2=0.999 eps=1e-8 "
                 "weight_decay=0.1 decoupled=1",
     .onnx = "Adam",
     .doc = "Adam, and AdamW where decay is decoupled"},
    {.name = "adagrad_update",
     .infer = update_types<2>,
     .forward = adagrad,
     .cost = per_element<8>,
     .updates = 2,
     .examples = "f32[5] f32[5]{0..1} f32[5] f32[]{0.1..0.2} i64[]{3..3} lr_decay=0.1 eps=1e-10 weight_decay=0.1",
     .onnx = "Adagrad",
     .doc = "Adagrad"},
    {.name = "plain_rmsprop_update",
     .infer = update_types<2>,
     .forward = plain_rmsprop,
     .cost = per_element<10>,
     .updates = 2,
     .examples = "f32[5] f32[5]{1..2} f32[5] f32[]{0.1..0.2} i64[]{3..3} alpha=0.99 eps=1e-8 weight_decay=0.1",
     .doc = "RMSProp"},
    {.name = "rmsprop_update",
     .infer = update_types<4>,
     .forward = rmsprop,
     .cost = per_element<14>,
     .updates = 4,
     .examples = "f32[5] f32[5]{1..2} f32[5]{-0.5..0.5} f32[5] f32[5] f32[]{0.1..0.2} i64[]{3..3} alpha=0.99 eps=1e-8 "
                 "momentum=0.9 weight_decay=0.1 centered=1;"
                 "f32[5] f32[5]{1..2} f32[5] f32[5] f32[5] f32[]{0.1..0.2} i64[]{3..3} alpha=0.9 eps=1e-8 momentum=0.0 "
                 "weight_decay=0.0 centered=0",
     .doc = "RMSProp with momentum, centred if asked"},
    {.name = "radam_update",
     .infer = update_types<3>,
     .forward = radam,
     .cost = per_element<14>,
     .updates = 3,
     .examples = "f32[5] f32[5] f32[5]{0..1} f32[5] f32[]{0.1..0.2} i64[]{0..0} beta1=0.9 beta2=0.999 eps=1e-8 "
                 "weight_decay=0.1;"
                 "f32[5] f32[5] f32[5]{0..1} f32[5] f32[]{0.1..0.2} i64[]{9..9} beta1=0.9 beta2=0.999 eps=1e-8 "
                 "weight_decay=0.1",
     .doc = "rectified Adam"},
    {.name = "lamb_update",
     .infer = update_types<3>,
     .forward = lamb,
     .cost = per_element<30>,
     .updates = 3,
     .examples = "f32[5] f32[5] f32[5]{0..1} f32[5] f32[]{0.1..0.2} i64[]{2..2} beta1=0.9 beta2=0.999 eps=1e-6 "
                 "weight_decay=0.1",
     .doc = "LAMB"},
    {.name = "lars_update",
     .infer = update_types<2>,
     .forward = lars,
     .cost = per_element<12>,
     .updates = 2,
     .examples = "f32[5] f32[5] f32[5] f32[]{0.1..0.2} i64[]{2..2} momentum=0.9 weight_decay=0.1 trust=0.001 eps=1e-8",
     .doc = "LARS"},
    {.name = "lookahead_update",
     .infer = update_types<2>,
     .forward = lookahead,
     .cost = per_element<3>,
     .updates = 2,
     .examples = "f32[5] f32[5] f32[5] f32[] i64[]{4..4} every=5 alpha=0.5; f32[5] f32[5] f32[5] f32[] i64[]{3..3} "
                 "every=5 alpha=0.5",
     .doc = "Lookahead's slow weights around another optimizer"},
};

}  // namespace

std::span<const Op> update_ops() { return update_table; }

}  // namespace reprise
