// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/random.h"
#include "plan/messages.h"
#include "reprise/plan_io.h"

namespace reprise {
namespace {

// Every fact a problem can state.
Problem with_every_fact() {
  Problem p;
  auto w = p.add({"w", 40, 0, 0, true});
  auto x = p.add({"x", 8, 0, 0, true});
  auto split = p.add({"split", {10, 30}, 1.25, 7}, {x, w});
  auto flat = p.add({"flat", 30, 0}, {split[1]});
  p.view(flat, split[1]);
  auto half = p.add({"half", {12, 4}, 0.1}, {flat});
  p.view(half[1], flat);
  auto relu = p.add({"relu", 10, 2}, {split, half});
  p.in_place(relu, split);
  p.keep(half);
  p.never_recompute(relu);
  p.compressible(split[1], {9, 0.5, 0.25});
  p.pageable(relu, {3, 1e-3});
  auto sgd = p.add({"sgd", 40, 1}, {w, relu});
  p.view(sgd, w);
  p.update(sgd, w);
  p.output(sgd);
  p.output(half[1]);
  auto pair = p.add({"pair", {6, 5}, 1}, {x});
  p.never_keep(pair[1], sgd);
  p.resident(1000);
  return p;
}

SavedPlan some_plan() {
  SavedPlan plan{.problem = with_every_fact()};
  plan.schedule = keep_all(plan.problem);
  plan.schedule.steps.push_back({Step::Kind::page_out, 7});
  plan.layout = {{Placement::Kind::value, 2, 2, 6, 0, 10},
                 {Placement::Kind::compressed, 3, 3, 4, 16, 9},
                 {Placement::Kind::scratch, 2, 2, 3, 40, 7}};
  plan.budget_bytes = 2000;
  plan.peak_bytes = 1234;
  plan.cost = 4.35;
  plan.lower_bound = 0.1 + 0.2;
  return plan;
}

TEST(ProblemJson, ReadsTheDocumentedForm) {
  Problem p = problem_from_json(R"({
    "nodes": [{"name": "conv1", "cost": 3.1, "bytes": 4194304, "inputs": []},
              {"name": "relu1", "cost": 0.2, "bytes": [4194304, 8.0], "inputs": ["conv1"], "scratch": 5, "keep": false},
              {"name": "add", "cost": 1, "bytes": 1e3, "inputs": ["relu1:1", "relu1:0"], "note": "keys we do not know"}],
    "outputs": ["relu1:1"], "resident_bytes": 12})");
  Problem expected;
  auto conv = expected.add({"conv1", 4194304, 3.1});
  auto relu = expected.add({"relu1", {4194304, 8}, 0.2, 5}, {conv});
  expected.add({"add", 1000, 1}, {relu[1], relu});
  expected.output(relu[1]);
  expected.resident(12);
  EXPECT_EQ(p, expected);
}

TEST(ProblemJson, ReadsBackWhatItWrites) {
  Problem p = with_every_fact();
  EXPECT_EQ(problem_from_json(to_json(p)), p) << to_json(p);
  EXPECT_EQ(problem_from_json(to_json(Problem())), Problem());
}

TEST(ProblemJson, LetsNodesHaveColonsInTheirNames) {
  Problem p;
  auto a = p.add({"a:0", {1, 2}, 1});
  p.add({"b:7", 1, 1}, {a, a[1]});
  EXPECT_EQ(problem_from_json(to_json(p)), p);
  p.add({"a:0:1", 1, 1});
  EXPECT_SAYS(to_json(p), "'a:0:1' names both a node and an output of another");
}

TEST(ProblemJson, SaysWhereTheTextIsNotJson) {
  EXPECT_SAYS(problem_from_json("{\"nodes\": [\n  {\"name\" \"a\"}]}"), "line 2, column 13");
  EXPECT_SAYS(problem_from_json(""), "[problem] not JSON");
  EXPECT_SAYS(problem_from_json("{\"nodes\": []} x"), "column 15");
  EXPECT_SAYS(problem_from_json(std::string(1'000'000, '[')), "nested more than 32 deep");
  EXPECT_SAYS(problem_from_json("{\"nodes\": [1e999]}"), "not JSON");
  EXPECT_SAYS(problem_from_json("\"\xff\""), "not JSON");
}

TEST(ProblemJson, SaysWhichKeyIsWrongAndWhatToGive) {
  auto node = [](const std::string& rest) { return "{\"nodes\": [{\"name\": \"a\", " + rest + "}]}"; };
  EXPECT_SAYS(problem_from_json("[]"), "the problem is []: give an object");
  EXPECT_SAYS(problem_from_json("{}"), "the problem has no \"nodes\": add it");
  EXPECT_SAYS(problem_from_json(node("\"cost\": 1")), "the problem.nodes[0] has no \"bytes\"");
  EXPECT_SAYS(problem_from_json(node("\"bytes\": 1")), "has no \"cost\"");
  EXPECT_SAYS(problem_from_json(node("\"bytes\": 1.5, \"cost\": 1")), "bytes is 1.5: give a whole number");
  EXPECT_SAYS(problem_from_json(node("\"bytes\": 1e300, \"cost\": 1")), "give a whole number");
  EXPECT_SAYS(problem_from_json(node("\"bytes\": 18446744073709551615, \"cost\": 1")), "below 2^63");
  EXPECT_SAYS(problem_from_json(node("\"bytes\": 9223372036854775807, \"cost\": 1")), "more than 2^60");
  EXPECT_SAYS(problem_from_json(node("\"bytes\": -1, \"cost\": 1")), "'a' has a size of -1 bytes");
  EXPECT_SAYS(problem_from_json(node("\"bytes\": 1, \"cost\": \"x\"")), "cost is \"x\": give a number");
  EXPECT_SAYS(problem_from_json(node("\"bytes\": 1, \"cost\": -2")), "cost of 'a' is -2");
  EXPECT_SAYS(problem_from_json(node("\"bytes\": 1, \"cost\": 1, \"kep\": true")), "did you mean \"keep\"?");
  EXPECT_SAYS(problem_from_json(node("\"bytes\": [1, 2], \"cost\": 1, \"keep\": [true]")), "each of the 2 outputs");
  EXPECT_SAYS(problem_from_json(node("\"bytes\": 1, \"cost\": 1, \"updates\": \"b\"")), "the name of a node");
}

TEST(ProblemJson, TellsCyclesFromOrderFromUnknownNames) {
  auto problem = [](const std::string& a, const std::string& b) {
    return "{\"nodes\": [{\"name\": \"a\", \"cost\": 1, \"bytes\": 1, \"inputs\": [" + a +
           "]}, {\"name\": \"b\", \"cost\": 1, \"bytes\": 1, \"inputs\": [" + b + "]}]}";
  };
  EXPECT_SAYS(problem_from_json(problem("\"b\"", "\"a\"")), "closes a cycle, 'a' -> 'b' -> 'a'");
  EXPECT_SAYS(problem_from_json(problem("\"a\"", "")), "closes a cycle, 'a' -> 'a'");
  EXPECT_SAYS(problem_from_json(problem("\"b\"", "")), "'b', which comes later: list every node after its inputs");
  EXPECT_SAYS(problem_from_json(problem("", "\"c\"")), "nodes[1].inputs[0] is 'c', which no node makes");
  EXPECT_SAYS(problem_from_json(problem("", "\"a:1\"")), "is 'a:1', which no node makes");
}

TEST(ProblemJson, NamesTheFileThatIsWrong) {
  EXPECT_SAYS(load_problem("/no/such/file.json"), "cannot read '/no/such/file.json'");
}

TEST(PlanJson, ReadsBackWhatItWrites) {
  SavedPlan plan = some_plan();
  EXPECT_EQ(plan_from_json(to_json(plan)), plan) << to_json(plan);
  EXPECT_EQ(plan_from_json(to_json(plan), plan.problem), plan);
}

TEST(PlanJson, HasTheDocumentedForm) {
  std::string text = to_json(some_plan());
  for (const char* part : {R"(["run","split"])", R"(["drop","pair:1"])", R"("cost": 4.35)", R"("budget_bytes": 2000)",
                           R"({"value":"split","from":2,"to":6,"offset":0,"bytes":10})"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

TEST(PlanJson, SaysWhatIsWrong) {
  Problem p;
  p.add({"a", 1, 1});
  auto read = [&](const std::string& steps, const std::string& layout = "[]") {
    return plan_from_json("{\"steps\": " + steps + ", \"layout\": " + layout +
                              ", \"budget_bytes\": 1, \"peak_bytes\": 1, \"cost\": 1, \"lower_bound\": 1}",
                          p);
  };
  EXPECT_EQ(read("[[\"run\", \"a\"]]").schedule.steps.size(), 1u);
  EXPECT_SAYS(read("[[\"run\", \"b\"]]"), "steps[0][1] is \"b\": give the name of a node of the problem");
  EXPECT_SAYS(read("[[\"walk\", \"a\"]]"), "give run, drop, page_out");
  EXPECT_SAYS(read("[[\"run\"]]"), "a word and a name");
  EXPECT_SAYS(read("[]", R"([{"value": "a", "from": 0, "to": 5, "offset": 0, "bytes": 1}])"), "the number of a step");
  EXPECT_SAYS(plan_from_json("{\"steps\": []}"), "does not carry its problem");
  EXPECT_SAYS(plan_from_json("{\"steps\": []}", p), "has no \"budget_bytes\"");
}

// ------------------------------------------------------------------------------------------- text that went wrong

// Changes, removes, repeats or inserts a few bytes, whole words among them.
std::string mutated(std::string text, Random& random) {
  constexpr const char* words[] = {"null", "-1",          "1e400",   "9223372036854775808",
                                   "[",    "{",           "\"",      "true",
                                   "0.5",  "\"a\"",       "\\u0000", "\xff",
                                   "[[[[", "]",           "}",       ",",
                                   ":",    "\"view_of\":"};
  for (int edits = static_cast<int>(random.between(1, 4)); edits > 0; --edits) {
    auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(text.size())));
    auto length = static_cast<std::size_t>(random.between(1, 12));
    switch (random.below(5)) {
      case 0: text[at] = static_cast<char>(random.below(256)); break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(at, text.substr(at, length * 4)); break;
      case 3: text.insert(at, words[random.below(std::size(words))]); break;
      default: text.replace(at, length, words[random.below(std::size(words))]);
    }
    if (text.empty()) text = "{";
  }
  return text;
}

// Reads 10,000 mutations; returns how many were refused. What is accepted must survive being written and read again.
template <class Read>
int refused_mutations(const std::string& text, const Read& read) {
  Random random(20240501);
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string wrong = mutated(text, random);
    try {
      auto value = read(wrong);
      EXPECT_EQ(read(to_json(value)), value) << wrong;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find('['), std::string::npos) << e.what();
      ++refused;
    }
  }
  return refused;
}

TEST(ProblemJson, AnswersTenThousandMutationsWithAnErrorOrAProblem) {
  int refused = refused_mutations(to_json(with_every_fact()), [](const std::string& text) {
    Problem p = problem_from_json(text);
    validate(p, keep_all(p));
    return p;
  });
  EXPECT_GT(refused, 5'000);
  EXPECT_LT(refused, 10'000);
}

TEST(PlanJson, AnswersTenThousandMutationsWithAnErrorOrAPlan) {
  int refused = refused_mutations(to_json(some_plan()), [](const std::string& text) {
    SavedPlan plan = plan_from_json(text);
    validate(plan.problem, plan.schedule);
    return plan;
  });
  EXPECT_GT(refused, 5'000);
  EXPECT_LT(refused, 10'000);
}

}  // namespace
}  // namespace reprise
