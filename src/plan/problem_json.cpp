// SPDX-License-Identifier: Apache-2.0
// PROBLEM.json. Facts about values (keep, never_keep_across, view_of, in_place_of, compression, paging) are given once,
// or as a list with one element (null: nothing) for each output of the node.
#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/index.h"
#include "plan/json.h"
#include "reprise/plan_io.h"

namespace reprise {
namespace plan {
namespace {

using Positions = std::unordered_map<std::string, std::size_t>;

// The nodes of the file by name, to tell a name that comes later from one that does not exist.
Positions positions_of(const Field& nodes) {
  Positions positions;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    positions.emplace(nodes.at(i).must_be_object().at("name").text(), i);
  }
  return positions;
}

std::string node_part(const Positions& positions, const std::string& name) {
  if (positions.contains(name)) return name;
  return name.substr(0, name.rfind(':'));
}

// The names from `from` to `to` along inputs, or empty: a cycle if `to` reads `from`.
std::vector<std::string> path_between(const Field& nodes, const Positions& positions, std::size_t from,
                                      std::size_t to) {
  std::vector<std::size_t> reached_by(nodes.size(), nodes.size()), stack{from};
  reached_by[from] = from;
  while (!stack.empty() && reached_by[to] == nodes.size()) {
    std::size_t node = stack.back();
    stack.pop_back();
    const Json& spec = nodes.json()[node];
    if (!spec.contains("inputs") || !spec["inputs"].is_array()) continue;
    for (const Json& input : spec["inputs"]) {
      if (!input.is_string()) continue;
      auto next = positions.find(node_part(positions, input.get<std::string>()));
      if (next == positions.end() || reached_by[next->second] != nodes.size()) continue;
      reached_by[next->second] = node;
      stack.push_back(next->second);
    }
  }
  std::vector<std::string> path;
  if (reached_by[to] == nodes.size()) return path;
  for (std::size_t node = to; node != from; node = reached_by[node]) path.push_back(nodes.json()[node]["name"]);
  path.push_back(nodes.json()[from]["name"]);
  return path;
}

[[noreturn]] void fail_for_order(const Field& nodes, const Positions& positions, std::size_t reader,
                                 const Field& input) {
  std::string name = input.text();
  auto found = positions.find(node_part(positions, name));
  if (found == positions.end() || found->second < reader) {
    fail("[problem] {} is '{}', which no node makes: check the name (\"node:1\" is the second output of \"node\")",
         input.where(), name);
  }
  std::vector<std::string> cycle = path_between(nodes, positions, found->second, reader);
  if (cycle.empty()) {
    fail("[problem] {} is '{}', which comes later: list every node after its inputs", input.where(), name);
  }
  std::string words;
  for (const std::string& node : cycle) words += fmt::format("'{}' -> ", node);
  fail("[problem] {} closes a cycle, {}'{}': a node cannot wait for itself", input.where(), words, cycle.front());
}

// Calls `tell(output, field)` for each output that the key says something about.
template <class Tell>
void for_each_output(const Field& node, const char* key, int count, const Tell& tell) {
  if (!node.has(key)) return;
  Field told = node.at(key);
  if (!told.json().is_array()) {
    for (int output = 0; output < count; ++output) tell(output, told);
    return;
  }
  if (told.size() != at(count)) told.wrong(fmt::format("one element for each of the {} outputs", count));
  for (int output = 0; output < count; ++output) {
    if (!told.at(at(output)).json().is_null()) tell(output, told.at(at(output)));
  }
}

Sizes sizes_of(const Field& bytes) {
  if (!bytes.json().is_array()) return bytes.whole_number();
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < bytes.size(); ++i) sizes.push_back(bytes.at(i).whole_number());
  return Sizes(std::move(sizes));
}

NodeSpec spec_of(const Field& node) {
  NodeSpec spec{.name = node.at("name").text(), .bytes = sizes_of(node.at("bytes"))};
  if (node.has("pinned")) spec.pinned = node.at("pinned").truth();
  if (node.has("cost") || !spec.pinned) spec.cost = node.at("cost").number();
  if (node.has("scratch")) spec.scratch = node.at("scratch").whole_number();
  if (node.has("group")) spec.group = node.at("group").text();
  return spec;
}

ValueRef ref(const Problem& problem, int value) {
  int node = problem.value(value).node;
  return {node, value - problem.node(node).first_value};
}

class Reader {
 public:
  explicit Reader(const Field& nodes) : nodes_(nodes), positions_(positions_of(nodes)) {}

  Problem read() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) add(nodes_.at(i), i);
    for (std::size_t i = 0; i < nodes_.size(); ++i) tell_of_later_nodes(nodes_.at(i), static_cast<int>(i));
    return std::move(problem_);
  }

 private:
  void add(const Field& node, std::size_t index) {
    node.check_spelling({"name", "cost", "bytes", "inputs", "scratch", "pinned", "keep", "never_keep_across",
                         "never_recompute", "view_of", "in_place_of", "updates", "compression", "paging", "group"});
    ValueRef added = problem_.add(spec_of(node), inputs_of(node, index));
    int count = problem_.node(added.node).value_count;
    for_each_output(node, "keep", count, [&](int output, const Field& keep) {
      if (keep.truth()) problem_.keep(added[output]);
    });
    for_each_output(node, "view_of", count, [&](int output, const Field& of) {
      problem_.view(added[output], ref(problem_, value_named(problem_, of)));
    });
    for_each_output(node, "in_place_of", count, [&](int output, const Field& of) {
      problem_.in_place(added[output], ref(problem_, value_named(problem_, of)));
    });
    for_each_output(node, "compression", count, [&](int output, const Field& how) {
      how.must_be_object();
      problem_.compressible(added[output], {.bytes = how.at("bytes").whole_number(),
                                            .encode_cost = how.at("encode_cost").number(),
                                            .decode_cost = how.at("decode_cost").number()});
    });
    for_each_output(node, "paging", count, [&](int output, const Field& how) {
      how.must_be_object();
      problem_.pageable(added[output],
                        {.out_cost = how.at("out_cost").number(), .in_cost = how.at("in_cost").number()});
    });
    if (node.has("never_recompute") && node.at("never_recompute").truth()) problem_.never_recompute(added);
    if (node.has("updates")) problem_.update(added, ref(problem_, value_named(problem_, node.at("updates"))));
  }

  std::vector<ValueRef> inputs_of(const Field& node, std::size_t index) {
    std::vector<ValueRef> inputs;
    if (!node.has("inputs")) return inputs;
    Field names = node.at("inputs");
    names.must_be_list();
    for (std::size_t i = 0; i < names.size(); ++i) {
      int value = find_value(problem_, names.at(i).text());
      if (value < 0) fail_for_order(nodes_, positions_, index, names.at(i));
      inputs.push_back(ref(problem_, value));
    }
    return inputs;
  }

  void tell_of_later_nodes(const Field& node, int index) {
    for_each_output(node, "never_keep_across", problem_.node(index).value_count, [&](int output, const Field& across) {
      problem_.never_keep({index, output}, ref(problem_, value_named(problem_, across)));
    });
  }

  const Field& nodes_;
  Positions positions_;
  Problem problem_;
};

// `of(value)` for each output of the node: one element if all are alike, a list otherwise, nothing if all are null.
template <class Of>
void write_outputs(Json& json, const char* key, const Problem::Node& node, const Of& of) {
  Json list = Json::array();
  for (int v = node.first_value; v < node.first_value + node.value_count; ++v) list.push_back(of(v));
  if (std::all_of(list.begin(), list.end(), [](const Json& element) { return element.is_null(); })) return;
  json[key] = list.size() == 1 ? list[0] : list;
}

// An input of the node that is the memory of `root`: what view_of and in_place_of name in files.
Json input_with_memory_of(const Problem& problem, const Problem::Node& node, int root) {
  for (int input : problem.inputs(node)) {
    if (input == root || problem.value(input).view_of == root) return file_name(problem, input);
  }
  fail("[internal] '{}' has no input with the memory of '{}'", node.name, problem.value_name(root));
}

void write_values(Json& json, const Problem& problem, const Problem::Node& node) {
  write_outputs(json, "keep", node, [&](int v) { return problem.value(v).keep ? Json(true) : Json(); });
  write_outputs(json, "never_keep_across", node, [&](int v) {
    int across = problem.value(v).never_keep_across;
    return across < 0 ? Json() : Json(problem.node(across).name);
  });
  write_outputs(json, "view_of", node, [&](int v) {
    int root = problem.value(v).view_of;
    return root < 0 ? Json() : input_with_memory_of(problem, node, root);
  });
  write_outputs(json, "in_place_of", node, [&](int v) {
    int root = problem.value(v).in_place_of;
    return root < 0 ? Json() : input_with_memory_of(problem, node, root);
  });
  write_outputs(json, "compression", node, [&](int v) {
    const std::optional<Compression>& form = problem.compression(v);
    if (!form) return Json();
    return Json{{"bytes", form->bytes}, {"encode_cost", form->encode_cost}, {"decode_cost", form->decode_cost}};
  });
  write_outputs(json, "paging", node, [&](int v) {
    const std::optional<Paging>& paging = problem.paging(v);
    return paging ? Json{{"out_cost", paging->out_cost}, {"in_cost", paging->in_cost}} : Json();
  });
}

Json node_json(const Problem& problem, const Problem::Node& node) {
  Json sizes = Json::array();
  for (int v = node.first_value; v < node.first_value + node.value_count; ++v) sizes.push_back(problem.value(v).bytes);
  Json json = {{"name", node.name}, {"cost", node.cost}, {"bytes", node.value_count == 1 ? sizes[0] : sizes}};
  json["inputs"] = Json::array();
  for (int input : problem.inputs(node)) json["inputs"].push_back(file_name(problem, input));
  if (node.scratch > 0) json["scratch"] = node.scratch;
  if (node.pinned) json["pinned"] = true;
  if (!problem.group(node).empty()) json["group"] = problem.group(node);
  if (node.updates >= 0) json["updates"] = file_name(problem, node.updates);
  if (node.never_recompute && !node.pinned && node.updates < 0) json["never_recompute"] = true;
  write_values(json, problem, node);
  return json;
}

}  // namespace

Problem read_problem(const Field& file) {
  file.must_be_object().check_spelling({"nodes", "outputs", "resident_bytes"});
  Field nodes = file.at("nodes");
  nodes.must_be_list();
  Problem problem = Reader(nodes).read();
  if (file.has("outputs")) {
    Field outputs = file.at("outputs");
    outputs.must_be_list();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      problem.output(ref(problem, value_named(problem, outputs.at(i))));
    }
  }
  if (file.has("resident_bytes")) problem.resident(file.at("resident_bytes").whole_number());
  return problem;
}

}  // namespace plan

Problem problem_from_json(std::string_view text) {
  plan::Json json = plan::parse_json("problem", text);
  return plan::read_problem({json, "the problem"});
}

Problem load_problem(const std::string& path) {
  std::string text = plan::read_file(path);
  try {
    return problem_from_json(text);
  } catch (const Error& e) {
    fail("{}: {}", path, e.what());
  }
}

std::string to_json(const Problem& problem) {
  std::string text = "{\"nodes\": [";
  for (int n = 0; n < problem.node_count(); ++n) {
    text += (n == 0 ? "\n  " : ",\n  ") + plan::dump(plan::node_json(problem, problem.node(n)));
  }
  plan::Json outputs = plan::Json::array();
  for (int v = 0; v < problem.value_count(); ++v) {
    if (problem.value(v).output) outputs.push_back(plan::file_name(problem, v));
  }
  return text +
         fmt::format("],\n \"outputs\": {}, \"resident_bytes\": {}}}\n", plan::dump(outputs), problem.resident_bytes());
}

}  // namespace reprise
