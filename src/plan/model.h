// SPDX-License-Identifier: Apache-2.0
// A Problem as searches and bounds like it: flat arrays, nodes renumbered in a chosen order of first runs, pinned
// values folded into what is resident, and readers of a view made readers of what it views.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reprise/plan.h"

namespace reprise::plan {

/// Lists of integers stored one after the other.
struct Lists {
  std::vector<int> begin = {0};
  std::vector<int> items;
  std::span<const int> operator[](int i) const {
    auto first = static_cast<std::size_t>(begin[static_cast<std::size_t>(i)]);
    auto last = static_cast<std::size_t>(begin[static_cast<std::size_t>(i) + 1]);
    return {items.data() + first, last - first};
  }
};

constexpr double forbidden = 1e100;  // a cost nobody pays

struct Model {
  /// Other forms in which a value can be out of the way.
  struct Forms {
    std::int64_t compressed_bytes = 0;
    double compress_cost = forbidden;  // encode + decode
    double page_cost = forbidden;      // out + in
  };
  struct Value {
    std::int64_t bytes = 0;
    int node = 0;
    int excluded_at = -1;  // node during whose first run it must not be in memory
    int takes_over = -1;   // value whose memory it uses if that dies in the run
    int forms = 0;         // in Model::forms; most values share the first, which has none
    int original = 0;
    bool is_output = false;
    bool has_lasting_view = false;  // a view of it may not run again, so searches do not bring it back
  };
  struct Node {
    double cost = 0;
    std::int64_t scratch = 0;
    int last_stage = 0;  // it may not run again after the first run of this node
    int first_value = 0, value_count = 0;
    int original = 0;
    bool excludes = false;       // values must not be in memory while it runs; searches run it only once
    bool is_single = false;      // the problem forbids that it runs again
    bool is_left_alone = false;  // searches cannot run it again
    /// `forbidden` where the searches cannot or may not run it again.
    double rerun_cost() const { return is_single || is_left_alone ? forbidden : cost; }
    /// `forbidden` only where the problem forbids it: what a bound may count on.
    double least_rerun_cost() const { return is_single ? forbidden : cost; }
  };

  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<Forms> forms = {{}};
  Lists inputs;   // of each node: values that must be in memory when it runs; pinned ones are left out
  Lists readers;  // of each value: nodes, ascending
  std::int64_t resident = 0;
  double base_cost = 0;

  int node_count() const { return static_cast<int>(nodes.size()); }
  int value_count() const { return static_cast<int>(values.size()); }
  const Node& node(int i) const { return nodes[static_cast<std::size_t>(i)]; }
  const Value& value(int i) const { return values[static_cast<std::size_t>(i)]; }
  const Forms& forms_of(int i) const { return forms[static_cast<std::size_t>(value(i).forms)]; }
};

/// Nodes are first run in `order` (node numbers of the problem); in base order if it is empty.
Model make_model(const Problem& problem, std::span<const int> order = {});

/// One thing in a sequence over a model. `id` is a node for `run` and a value for `page` and `compressed`, which bring
/// a value back that was paged out or compressed after its last use before.
struct Event {
  enum class Kind : std::uint8_t { run, page, compressed };
  Kind kind = Kind::run;
  int id = 0;
};

/// The schedule that does these events: drops, page-outs, encodings and runs of views are put where they belong.
Schedule to_schedule(const Problem& problem, const Model& model, std::span<const Event> events);

/// Bytes in memory while the node runs that belong to it: inputs, outputs, scratch, all that is resident; less what its
/// outputs can take over from its inputs.
std::int64_t own_bytes(const Model& model, int node);

}  // namespace reprise::plan
