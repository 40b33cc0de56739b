// SPDX-License-Identifier: Apache-2.0
#include "plan/stage_form.h"

#include "base/index.h"

namespace reprise::plan {

std::optional<Items> items_of(const Model& model, const Schedule& schedule) {
  std::vector<int> node_of(model.nodes.size()), value_of(model.values.size());
  for (int i = 0; i < model.node_count(); ++i) node_of[at(model.node(i).original)] = i;
  for (int v = 0; v < model.value_count(); ++v) value_of[at(model.value(v).original)] = v;
  Items items;
  int next = 0;
  auto add_value = [&](Event::Kind kind, int id) {
    int value = value_of[at(id)];
    items.push_back({{kind, value, model.value(value).node}, next});
  };
  for (Step step : schedule.steps) {
    if (step.kind == Step::Kind::page_in) add_value(Event::Kind::page, step.id);
    if (step.kind == Step::Kind::expand) add_value(Event::Kind::compressed, step.id);
    if (step.kind != Step::Kind::run) continue;
    int node = node_of[at(step.id)];
    if (node > next) return {};
    if (node == next)
      ++next;
    else
      items.push_back({{Event::Kind::run, node, node}, next});
  }
  return items;
}

void fill(Timeline& timeline, const Items& items) {
  for (auto& [item, stage] : items) {
    if (!timeline.can_insert(item, stage)) continue;
    timeline.insert(item, stage);
    timeline.commit();  // at once, so that no list of all changes is held
  }
}

}  // namespace reprise::plan
