// SPDX-License-Identifier: Apache-2.0
#include "plan/model.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/index.h"

namespace reprise::plan {
namespace {

class Builder {
 public:
  Builder(const Problem& problem, std::span<const int> order) : problem_(problem), order_(order.begin(), order.end()) {
    if (order_.empty()) {
      order_.resize(problem.nodes().size());
      std::iota(order_.begin(), order_.end(), 0);
    }
  }

  Model build() {
    number();
    for (int original : order_) add_node(original);
    for (int v = 0; v < problem_.value_count(); ++v) add_value(v);
    model_.resident += problem_.resident_bytes();
    connect();
    restrict_reruns();
    return std::move(model_);
  }

 private:
  void number() {
    model_.nodes.reserve(problem_.nodes().size());
    node_of_.resize(problem_.nodes().size());
    value_of_.resize(problem_.values().size());
    int values = 0;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const Problem::Node& node = problem_.node(order_[i]);
      node_of_[at(order_[i])] = static_cast<int>(i);
      for (int k = 0; k < node.value_count; ++k) value_of_[at(node.first_value + k)] = values++;
    }
    model_.values.resize(at(values));
  }

  void add_node(int original) {
    const Problem::Node& node = problem_.node(original);
    Model::Node added{.cost = node.cost, .scratch = node.scratch, .last_stage = problem_.node_count()};
    added.first_value = value_of_[at(node.first_value)];
    added.value_count = node.value_count;
    added.original = original;
    added.is_single = node.never_recompute || node.pinned;
    for (int k = 0; k < node.value_count; ++k) added.is_single |= problem_.value(node.first_value + k).keep;
    model_.base_cost += node.cost;
    model_.nodes.push_back(added);
  }

  void add_value(int original) {
    const Problem::Value& value = problem_.value(original);
    Model::Value& added = model_.values[at(value_of_[at(original)])];
    added.node = node_of_[at(value.node)];
    added.bytes = value.bytes;
    added.is_output = value.output;
    added.original = original;
    bool pinned = problem_.node(value.node).pinned;
    if (pinned) {
      model_.resident += value.bytes;
      added.bytes = 0;
    }
    if (value.never_keep_across >= 0 && !pinned) {
      added.excluded_at = node_of_[at(value.never_keep_across)];
      model_.nodes[at(added.excluded_at)].excludes = true;
    }
    int taken = value.in_place_of;
    if (taken >= 0 && !problem_.node(problem_.value(taken).node).pinned) added.takes_over = value_of_[at(taken)];
    const auto& compression = problem_.compression(original);
    const auto& paging = problem_.paging(original);
    if (value.keep || (!compression && !paging)) return;
    Model::Forms forms;
    if (compression) {
      forms.compressed_bytes = compression->bytes;
      forms.compress_cost = compression->encode_cost + compression->decode_cost;
    }
    if (paging) forms.page_cost = paging->out_cost + paging->in_cost;
    added.forms = static_cast<int>(model_.forms.size());
    model_.forms.push_back(forms);
  }

  void connect() {
    std::vector<std::vector<int>> readers(model_.values.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      std::vector<int> reads;
      for (int input : problem_.inputs(order_[i])) {
        reads.push_back(input);
        if (int root = problem_.value(input).view_of; root >= 0) reads.push_back(root);
      }
      std::erase_if(reads, [&](int v) { return problem_.node(problem_.value(v).node).pinned; });
      for (int& v : reads) v = value_of_[at(v)];
      std::sort(reads.begin(), reads.end());
      reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
      for (int v : reads) readers[at(v)].push_back(static_cast<int>(i));
      append(model_.inputs, reads);
    }
    for (const std::vector<int>& list : readers) append(model_.readers, list);
    for (Lists* lists : {&model_.inputs, &model_.readers})  // models are kept
      lists->begin.shrink_to_fit(), lists->items.shrink_to_fit();
    for (int v = 0; v < problem_.value_count(); ++v) {  // what an output views stays to the end as well
      int root = problem_.value(v).view_of;
      if (root >= 0 && problem_.value(v).output) model_.values[at(value_of_[at(root)])].is_output = true;
    }
  }

  static void append(Lists& lists, const std::vector<int>& list) {
    lists.items.insert(lists.items.end(), list.begin(), list.end());
    lists.begin.push_back(static_cast<int>(lists.items.size()));
  }

  // Readers of an overwritten value may not run after the update; the searches do not make a value again if a view of
  // it could not be renewed from it alone.
  void restrict_reruns() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      Model::Node& node = model_.nodes[i];
      for (int input : problem_.inputs(order_[i])) {
        int root = problem_.value(input).view_of;
        for (int read : {input, root}) {
          if (read < 0 || problem_.value(read).updated_by < 0) continue;
          node.last_stage = std::min(node.last_stage, node_of_[at(problem_.value(read).updated_by)]);
        }
      }
    }
    for (int v = 0; v < problem_.value_count(); ++v) {
      int root = problem_.value(v).view_of;
      if (root < 0) continue;
      const Problem::Node& viewer = problem_.node(problem_.value(v).node);
      bool& is_left_alone = model_.nodes[at(node_of_[at(problem_.value(root).node)])].is_left_alone;
      for (int input : problem_.inputs(viewer)) {
        bool same_memory = input == root || problem_.value(input).view_of == root;
        if (!same_memory) is_left_alone = true;
      }
      const Model::Node& run = model_.node(node_of_[at(problem_.value(v).node)]);
      bool runs_once = viewer.never_recompute || run.excludes || run.last_stage < problem_.node_count();
      if (!runs_once) continue;
      is_left_alone = true;
      model_.values[at(value_of_[at(root)])].has_lasting_view = true;
    }
  }

  const Problem& problem_;
  std::vector<int> order_;
  std::vector<int> node_of_, value_of_;  // numbers in the model
  Model model_;
};

// Writes the steps of a schedule: keeps track of which views are current, and leaves a value's plain form after its
// last use before it is brought back from another one.
class Writer {
 public:
  Writer(const Problem& problem, const Model& model, std::span<const Event> events)
      : problem_(problem),
        model_(model),
        events_(events),
        is_current_(problem.values().size(), 1),
        views_(problem.values().size()) {
    for (int v = 0; v < problem.value_count(); ++v) {
      if (problem.value(v).view_of >= 0) views_[at(problem.value(v).view_of)].push_back(v);
    }
    find_departures();
  }

  std::vector<Step> write() {
    steps_.reserve(events_.size());
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      if (event.kind == Event::Kind::run)
        run(model_.node(event.id).original);
      else
        come_back(event);
      if (auto found = departures_.find(i); found != departures_.end())
        steps_.insert(steps_.end(), found->second.begin(), found->second.end());
    }
    for (int v = 0; v < problem_.value_count(); ++v) {
      if (problem_.value(v).output) renew(v);
    }
    return std::move(steps_);
  }

 private:
  void find_departures() {
    std::vector<int> last_use(model_.values.size(), -1);
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      int now = static_cast<int>(i);
      if (event.kind != Event::Kind::run) {
        Step::Kind how = event.kind == Event::Kind::page ? Step::Kind::page_out : Step::Kind::compress;
        departures_[at(last_use[at(event.id)])].push_back({how, model_.value(event.id).original});
        last_use[at(event.id)] = now;
        continue;
      }
      const Model::Node& node = model_.node(event.id);
      for (int k = 0; k < node.value_count; ++k) last_use[at(node.first_value + k)] = now;
      for (int v : model_.inputs[event.id]) last_use[at(v)] = now;
    }
  }

  void come_back(const Event& event) {
    int value = model_.value(event.id).original;
    steps_.push_back({event.kind == Event::Kind::page ? Step::Kind::page_in : Step::Kind::expand, value});
    outdate_views(value);
  }

  void run(int original) {
    const Problem::Node& node = problem_.node(original);
    for (int input : problem_.inputs(node)) renew(input);
    steps_.push_back({Step::Kind::run, original});
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      is_current_[at(v)] = 1;
      outdate_views(v);
    }
  }

  void outdate_views(int value) {
    for (int view : views_[at(value)]) is_current_[at(view)] = 0;
  }

  void renew(int value) {
    if (problem_.value(value).view_of >= 0 && !is_current_[at(value)]) run(problem_.value(value).node);
  }

  const Problem& problem_;
  const Model& model_;
  std::span<const Event> events_;
  std::vector<char> is_current_;
  std::vector<std::vector<int>> views_;
  std::map<std::size_t, std::vector<Step>> departures_;  // by the event they follow; few have any
  std::vector<Step> steps_;
};

}  // namespace

Model make_model(const Problem& problem, std::span<const int> order) { return Builder(problem, order).build(); }

Schedule to_schedule(const Problem& problem, const Model& model, std::span<const Event> events) {
  return with_drops(problem, std::span<const Step>(Writer(problem, model, events).write()));
}

std::int64_t own_bytes(const Model& model, int node) {
  const Model::Node& run = model.node(node);
  std::int64_t bytes = model.resident + run.scratch;
  for (int v : model.inputs[node]) bytes += model.value(v).bytes;
  std::vector<int> taken;
  for (int v = run.first_value; v < run.first_value + run.value_count; ++v) {
    int over = model.value(v).takes_over;
    bool shares = over >= 0 && std::find(taken.begin(), taken.end(), over) == taken.end();
    if (shares)
      taken.push_back(over);
    else
      bytes += model.value(v).bytes;
  }
  return bytes;
}

}  // namespace reprise::plan
