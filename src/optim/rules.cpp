// SPDX-License-Identifier: Apache-2.0
// Optimizers as rules over fused updates, and clipping.
#include <cmath>
#include <initializer_list>

#include "base/error.h"
#include "reprise/ops.h"
#include "reprise/optim.h"

namespace reprise::optim {
namespace {

std::int64_t flag(bool b) { return b ? 1 : 0; }

void require(bool ok, std::string_view who, std::string_view what) {
  if (!ok) fail("[{}] {}", who, what);
}

struct NamedNumber {
  std::string_view name;
  double number;
};

void require_not_negative(std::string_view who, std::initializer_list<NamedNumber> numbers) {
  for (auto [name, number] : numbers)
    if (!(number >= 0) || !std::isfinite(number))
      fail("[{}] {} is {}: it must be a number that is not negative", who, name, number);
}

void require_betas(std::string_view who, double beta1, double beta2) {
  require(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1, who, "the betas must be in [0, 1)");
}

Rule adam_rule(const AdamOptions& o, bool decoupled) {
  const std::string_view who = decoupled ? "AdamW" : "Adam";
  require_betas(who, o.beta1, o.beta2);
  require_not_negative(who, {{"eps", o.eps}, {"weight_decay", o.weight_decay}});
  return {"adam_update",
          {{"beta1", o.beta1},
           {"beta2", o.beta2},
           {"eps", o.eps},
           {"weight_decay", o.weight_decay},
           {"decoupled", flag(decoupled)}},
          2,
          0,
          o.lr,
          o.schedule};
}

}  // namespace

Rule Sgd::rule() const {
  require(!options.nesterov || (options.momentum > 0 && options.dampening == 0), "Sgd",
          "Nesterov's form needs momentum and no dampening");
  require_not_negative("Sgd", {{"momentum", options.momentum}, {"weight_decay", options.weight_decay}});
  require(std::isfinite(options.dampening), "Sgd", "the dampening must be a number");
  if (options.momentum == 0)
    return {"sgd_update", {{"weight_decay", options.weight_decay}}, 0, 0, options.lr, options.schedule};
  return {"momentum_update",
          {{"momentum", options.momentum},
           {"dampening", options.dampening},
           {"weight_decay", options.weight_decay},
           {"nesterov", flag(options.nesterov)}},
          1,
          0,
          options.lr,
          options.schedule};
}

Rule Adam::rule() const { return adam_rule(options, false); }
Rule AdamW::rule() const {
  const AdamWOptions& o = options;
  return adam_rule({o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.schedule}, true);
}

Rule RAdam::rule() const {
  require_betas("RAdam", options.beta1, options.beta2);
  require_not_negative("RAdam", {{"eps", options.eps}, {"weight_decay", options.weight_decay}});
  return {"radam_update",
          {{"beta1", options.beta1},
           {"beta2", options.beta2},
           {"eps", options.eps},
           {"weight_decay", options.weight_decay}},
          2,
          0,
          options.lr,
          options.schedule};
}

Rule Adagrad::rule() const {
  require_not_negative("Adagrad", {{"lr_decay", options.lr_decay},
                                   {"eps", options.eps},
                                   {"weight_decay", options.weight_decay},
                                   {"initial", options.initial}});
  return {"adagrad_update",
          {{"lr_decay", options.lr_decay}, {"eps", options.eps}, {"weight_decay", options.weight_decay}},
          1,
          options.initial,
          options.lr,
          options.schedule};
}

Rule RmsProp::rule() const {
  require(options.alpha >= 0 && options.alpha < 1, "RmsProp", "alpha must be in [0, 1)");
  require_not_negative("RmsProp",
                       {{"eps", options.eps}, {"momentum", options.momentum}, {"weight_decay", options.weight_decay}});
  if (options.momentum == 0 && !options.centered)
    return {"plain_rmsprop_update",
            {{"alpha", options.alpha}, {"eps", options.eps}, {"weight_decay", options.weight_decay}},
            1,
            0,
            options.lr,
            options.schedule};
  return {"rmsprop_update",
          {{"alpha", options.alpha},
           {"eps", options.eps},
           {"momentum", options.momentum},
           {"weight_decay", options.weight_decay},
           {"centered", flag(options.centered)}},
          3,
          0,
          options.lr,
          options.schedule};
}

Rule Lamb::rule() const {
  require_betas("Lamb", options.beta1, options.beta2);
  require_not_negative("Lamb", {{"eps", options.eps}, {"weight_decay", options.weight_decay}});
  return {"lamb_update",
          {{"beta1", options.beta1},
           {"beta2", options.beta2},
           {"eps", options.eps},
           {"weight_decay", options.weight_decay}},
          2,
          0,
          options.lr,
          options.schedule};
}

Rule Lars::rule() const {
  require_not_negative("Lars", {{"momentum", options.momentum},
                                {"weight_decay", options.weight_decay},
                                {"trust", options.trust},
                                {"eps", options.eps}});
  return {"lars_update",
          {{"momentum", options.momentum},
           {"weight_decay", options.weight_decay},
           {"trust", options.trust},
           {"eps", options.eps}},
          1,
          0,
          options.lr,
          options.schedule};
}

namespace {

struct NamedRule {
  std::string_view name;
  Rule (*make)();
};
constexpr NamedRule named_rules[] = {
    {"sgd", [] { return Sgd{}.rule(); }},         {"momentum", [] { return Sgd{{.momentum = 0.9}}.rule(); }},
    {"adam", [] { return Adam{}.rule(); }},       {"adamw", [] { return AdamW{}.rule(); }},
    {"adagrad", [] { return Adagrad{}.rule(); }}, {"rmsprop", [] { return RmsProp{}.rule(); }},
    {"radam", [] { return RAdam{}.rule(); }},     {"lamb", [] { return Lamb{}.rule(); }},
    {"lars", [] { return Lars{}.rule(); }},
};

}  // namespace

Rule rule_named(std::string_view name) {
  for (const NamedRule& known : named_rules)
    if (known.name == name) return known.make();
  fail("[optimizer] there is no optimizer '{}': choose from {}", name, rule_names());
}

std::string rule_names() {
  std::string names;
  for (const NamedRule& known : named_rules) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

double Rule::rate_at(std::int64_t step) const {
  const double factor = schedule ? schedule(step) : 1;
  if (!std::isfinite(rate * factor))
    fail("[optimizer] the schedule gives {} for step {}: it must give a number", factor, step);
  return rate * factor;
}

void Rule::check() const {
  if (!(rate >= 0) || !std::isfinite(rate))
    fail("[optimizer] the learning rate is {}: it must be a number that is not negative", rate);
  if (has_lookahead && lookahead_every < 1)
    fail("[lookahead] every {} steps: it returns to the slow weights every 1 step or more", lookahead_every);
  if (has_lookahead && !(lookahead_alpha >= 0 && lookahead_alpha <= 1))
    fail("[lookahead] alpha is {}: it is the share of the way to the fast weights, from 0 to 1", lookahead_alpha);
}

std::vector<nn::Parameter> Rule::start(const nn::Parameter& parameter) const {
  std::vector<nn::Parameter> states;
  if (!is_float(parameter.type().dtype)) return states;  // never trained: a key of dropout, say
  for (int i = 0; i < state_count; ++i) states.emplace_back(parameter.type(), initial_state, false);
  if (has_lookahead) states.emplace_back(parameter.value().clone(), false);
  return states;
}

Values Rule::apply(const Value& parameter, const Values& states, const Value& gradient, const Value& step_rate,
                   const Value& step) const {
  Values inputs = {parameter};
  inputs.insert(inputs.end(), states.begin(), states.begin() + state_count);
  inputs.insert(inputs.end(), {gradient, step_rate, step});
  Values next = record(*find_op(op), inputs, attributes);
  if (!has_lookahead) return next;
  Values ahead = record(*find_op("lookahead_update"), {parameter, states.back(), next[0], step_rate, step},
                        {{"every", lookahead_every}, {"alpha", lookahead_alpha}});
  next[0] = ahead[0];
  next.push_back(ahead[1]);
  return next;
}

Values clip_by_norm(const Values& gradients, double largest) {
  require(largest > 0, "clip_by_norm", "the largest norm must be positive");
  if (gradients.empty()) return {};
  // Squares are taken of shares of the largest element, which neither overflow nor vanish.
  Value most = Tensor::scalar(1e-30, gradients[0].dtype());
  for (const Value& g : gradients)
    if (g.type().elements() > 0) most = maximum(most, max(abs(g)));
  Value total;
  for (const Value& g : gradients) total = total ? total + sum(square(g / most)) : sum(square(g / most));
  Value norm = most * sqrt(total);
  Value finite = less(abs(norm), Value(Tensor::scalar(INFINITY, norm.dtype())));
  Value one = Tensor::scalar(1, norm.dtype());
  Value scale = where(finite, minimum(largest / (norm + 1e-6), one), one);
  Values clipped;
  for (const Value& g : gradients) clipped.push_back(g * scale);
  return clipped;
}

Values clip_by_value(const Values& gradients, double largest) {
  require(largest > 0, "clip_by_value", "the largest value must be positive");
  Values clipped;
  for (const Value& g : gradients) clipped.push_back(clamp(g, -largest, largest));
  return clipped;
}

}  // namespace reprise::optim
