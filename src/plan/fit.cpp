// SPDX-License-Identifier: Apache-2.0
// A search over orders and layouts at once. Lives that have no place wait in a pool. In turns, one of them is placed
// where what lies in its way weighs least, which then waits in turn (see memory/ejection.cpp), and a run is shifted to
// where it makes no two lives meet that share bytes. Shifts are accepted by annealing at a low temperature: they prefer
// moments of less load, so that room appears where memory is tight.
#include "plan/fit.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/index.h"
#include "base/random.h"

namespace reprise::plan {
namespace {

constexpr std::int64_t nowhere = -1;

// Positions of the run that makes a value and of the last that reads it.
struct Span {
  int begin = 0, end = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

bool meet(Span a, Span b) { return a.begin <= b.end && b.begin <= a.end; }

class Fitter {
 public:
  Fitter(const Model& model, std::vector<int> runs, const FitLimits& limits)
      : model_(model),
        limits_(limits),
        capacity_((limits.budget - model.resident) & -limits.alignment),
        random_(limits.seed),
        nodes_(runs) {
    for (int run = 0; run < static_cast<int>(runs.size()); ++run) {
      sequence_.push_back(run);
      const Model::Node& node = model.node(runs[at(run)]);
      first_life_.push_back(static_cast<int>(bytes_.size()));
      for (int k = 0; k < node.value_count; ++k) bytes_.push_back(model.value(node.first_value + k).bytes);
      bytes_.push_back(node.scratch);
    }
    position_ = sequence_;
    spans_.resize(bytes_.size());
    tried_.resize(bytes_.size());
    latest_.resize(model.nodes.size());
    first_.resize(model.nodes.size());
    is_possible_ = trace(sequence_);
    spans_ = tried_;
    load_ = tried_load_;
    renumber();
    is_repeated_.assign(model.nodes.size(), 0);
    for (int run = 0; run < length(); ++run) is_repeated_[at(runs[at(run)])] |= first_[at(runs[at(run)])] != run;
  }

  // The life of a value, or of the scratch (value -1), that begins with a run.
  int life_of(int run, int value) const {
    const Model::Node& node = model_.node(nodes_[at(run)]);
    return first_life_[at(run)] + (value < 0 ? node.value_count : value - node.first_value);
  }

  bool run(std::vector<std::int64_t> offsets) {
    if (!is_possible_) return false;
    offsets_ = std::move(offsets);
    weigh();
    for (int life = 0; life < life_count(); ++life) {
      if (bytes_[at(life)] > capacity_) return false;
      if (offsets_[at(life)] + bytes_[at(life)] > capacity_) eject(life);
    }
    for (std::int64_t i = 0; i < limits_.iterations && !pool_.empty(); ++i) {
      if (i % 256 == 0 && limits_.should_stop && limits_.should_stop()) return false;
      if (i % shifts_per_placing == 0)
        place(take());
      else
        shift();
    }
    return pool_.empty();
  }

  int life_count() const { return static_cast<int>(bytes_.size()); }
  const std::vector<int>& sequence() const { return sequence_; }
  int node_at(int position) const { return nodes_[at(sequence_[at(position)])]; }
  std::int64_t offset(int life) const { return offsets_[at(life)]; }
  std::size_t waiting() const { return pool_.size(); }

 private:
  static constexpr int shifts_per_placing = 4;
  static constexpr double busy = 0.9;  // share of the capacity from which on load is to be avoided
  static constexpr double temperature = 2e-6;

  int length() const { return static_cast<int>(sequence_.size()); }

  // Lives of a sequence, and its load; false if a run does not find its inputs or the load does not fit.
  bool trace(const std::vector<int>& sequence) {
    std::fill(latest_.begin(), latest_.end(), -1);
    for (int p = 0; p < length(); ++p) {
      int run = sequence[at(p)], node = nodes_[at(run)];
      for (int v : model_.inputs[node]) {
        int maker = latest_[at(model_.value(v).node)];
        if (maker < 0) return false;
        tried_[at(life_of(maker, v))].end = p;
      }
      latest_[at(node)] = run;
      for (int k = 0, life = first_life_[at(run)]; k <= model_.node(node).value_count; ++k) tried_[at(life++)] = {p, p};
    }
    for (int v = 0; v < model_.value_count(); ++v) {
      if (model_.value(v).is_output) tried_[at(life_of(latest_[at(model_.value(v).node)], v))].end = length();
    }
    return sum_up();
  }

  bool sum_up() {
    change_.assign(at(length()) + 2, 0);
    for (int life = 0; life < life_count(); ++life) {
      change_[at(tried_[at(life)].begin)] += bytes_[at(life)];
      change_[at(tried_[at(life)].end) + 1] -= bytes_[at(life)];
    }
    std::int64_t live = 0, over = 0, free_from = static_cast<std::int64_t>(busy * static_cast<double>(capacity_));
    for (std::int64_t bytes : change_) {
      live += bytes;
      if (live > capacity_) return false;
      over += std::max<std::int64_t>(0, live - free_from);
    }
    tried_load_ = static_cast<double>(over) / static_cast<double>(capacity_) / length();
    return true;
  }

  // Large and long lives weigh more.
  void weigh() {
    for (int life = 0; life < life_count(); ++life) {
      double size = static_cast<double>(bytes_[at(life)]) / static_cast<double>(capacity_);
      double duration = static_cast<double>(spans_[at(life)].end - spans_[at(life)].begin + 1) / length();
      hardness_.push_back(1 + static_cast<std::int64_t>(1e6 * std::pow(size, 1.5) * duration));
    }
    weight_ = hardness_;
  }

  void eject(int life) {
    offsets_[at(life)] = nowhere;
    pool_.push_back(life);
  }

  int take() {
    std::swap(pool_[at(static_cast<int>(random_.below(static_cast<std::int64_t>(pool_.size()))))], pool_.back());
    int life = pool_.back();
    pool_.pop_back();
    return life;
  }

  bool shares_bytes(int a, std::int64_t offset, int b) const {
    std::int64_t other = offsets_[at(b)];
    return other != nowhere && offset < other + bytes_[at(b)] && other < offset + bytes_[at(a)];
  }

  void place(int life) {
    Spot spot = lightest(life);
    if (spot.weight > 0) {
      weight_[at(life)] += hardness_[at(life)];
      for (int other = 0; other < life_count(); ++other) {
        if (meet(spans_[at(life)], spans_[at(other)]) && shares_bytes(life, spot.offset, other)) eject(other);
      }
    }
    offsets_[at(life)] = spot.offset;
  }

  struct Spot {
    std::int64_t offset, weight;
  };
  // Where what is met weighs least; one of these at random.
  Spot lightest(int life) {
    std::int64_t size = bytes_[at(life)], top = capacity_ - size;
    edges_.clear();
    spots_.assign({0, top});
    for (int other = 0; other < life_count(); ++other) {
      std::int64_t offset = offsets_[at(other)];
      if (offset == nowhere || bytes_[at(other)] == 0 || !meet(spans_[at(life)], spans_[at(other)])) continue;
      edges_.push_back({offset - size + 1, weight_[at(other)]});
      edges_.push_back({offset + bytes_[at(other)], -weight_[at(other)]});
      if (offset >= size) spots_.push_back(offset - size);
      if (offset + bytes_[at(other)] <= top) spots_.push_back(offset + bytes_[at(other)]);
    }
    std::ranges::sort(edges_);
    std::ranges::sort(spots_);
    Spot best{0, std::numeric_limits<std::int64_t>::max()};
    std::int64_t weight = 0, ties = 0;
    auto edge = edges_.begin();
    for (std::int64_t spot : spots_) {
      for (; edge != edges_.end() && edge->first <= spot; ++edge) weight += edge->second;
      if (weight > best.weight) continue;
      ties = weight < best.weight ? 1 : ties + 1;
      if (ties == 1 || random_.below(ties) == 0) best = {spot, weight};
    }
    return best;
  }

  // Positions between which a run can be moved, as far as is known without tracing.
  Span range(int from) const {
    int run = sequence_[at(from)], node = nodes_[at(run)];
    Span range{0, length()};
    for (int v : model_.inputs[node])
      range.begin = std::max(range.begin, position_[at(first_[at(model_.value(v).node)])] + 1);
    if (run != first_[at(node)]) return range;
    for (int v = model_.node(node).first_value, k = 0; k < model_.node(node).value_count; ++k, ++v) {
      for (int reader : model_.readers[v]) range.end = std::min(range.end, position_[at(first_[at(reader)])]);
    }
    return range;
  }

  // A position, often where something begins or ends that waits for a place.
  int pick() {
    if (pool_.empty() || random_.chance(0.25)) return static_cast<int>(random_.below(length()));
    Span span = spans_[at(pool_[at(random_.below(static_cast<std::int64_t>(pool_.size())))])];
    int last = std::min(span.end, length() - 1);
    if (random_.chance(0.33)) return static_cast<int>(random_.between(span.begin, last));
    return random_.chance(0.5) ? span.begin : last;
  }

  void shift() {
    int from = pick();
    Span r = range(from);
    if (r.begin > r.end) return;
    int to = random_.chance(0.3) ? static_cast<int>(random_.between(r.begin, r.end))
                                 : std::clamp(from + static_cast<int>(random_.between(-8, 9)), r.begin, r.end);
    if (to == from || to == from + 1) return;
    Answer apart = stays_apart(from, to);
    if (apart == Answer::no) return;
    next_ = sequence_;
    auto begin = next_.begin();
    if (to < from)
      std::rotate(begin + to, begin + from, begin + from + 1);
    else
      std::rotate(begin + from, begin + from + 1, begin + to);
    if (!trace(next_) || !is_accepted(tried_load_)) return;
    if (apart == Answer::unknown && !stays_apart(sequence_[at(from)])) return;
    sequence_.swap(next_);
    spans_.swap(tried_);
    load_ = tried_load_;
    renumber();
  }

  bool is_accepted(double load) { return load <= load_ - temperature * std::log(std::max(random_.unit(), 1e-300)); }

  enum class Answer { no, yes, unknown };

  // Whether a shift makes no two lives meet that share bytes: known at once for a node that runs once and reads what is
  // made once.
  Answer stays_apart(int from, int to) const {
    int run = sequence_[at(from)], node = nodes_[at(run)];
    if (is_repeated_[at(node)]) return Answer::unknown;
    // Twice the positions of now, the moved run between two of them.
    int place = 2 * to - 1;
    int last_own = first_life_[at(run)] + model_.node(node).value_count;
    for (int life = first_life_[at(run)]; life <= last_own; ++life) {
      Span own = spans_[at(life)];
      Span grown = own.end == own.begin ? Span{place, place} : Span{place, 2 * own.end};
      if (place < 2 * own.begin || own.end == own.begin) {
        if (!has_room(life, grown)) return Answer::no;
      }
    }
    Answer answer = Answer::yes;
    for (int v : model_.inputs[node]) {
      int maker = model_.value(v).node;
      if (is_repeated_[at(maker)]) {
        answer = Answer::unknown;
        continue;
      }
      int life = life_of(first_[at(maker)], v);
      Span read = spans_[at(life)];
      if (2 * read.end < place && !has_room(life, {2 * read.begin, place})) return Answer::no;
    }
    return answer;
  }

  // Whether a life that grows to a span, in twice the positions, meets none of those it shares bytes with.
  bool has_room(int life, Span grown) const {
    std::int64_t offset = offsets_[at(life)], size = bytes_[at(life)];
    if (offset == nowhere || size == 0) return true;
    for (int other = 0; other < life_count(); ++other) {
      std::int64_t begin = offsets_[at(other)];
      if (begin >= offset + size || begin + bytes_[at(other)] <= offset || begin == nowhere || other == life) continue;
      if (2 * spans_[at(other)].begin <= grown.end && grown.begin <= 2 * spans_[at(other)].end) return false;
    }
    return true;
  }

  // Whether all that lives longer or at other moments can stay where it lies. The runs between the old place and the
  // new one move by one position, which makes none of their lives meet.
  bool stays_apart(int run) const {
    for (int life = 0; life < life_count(); ++life) {
      if (!may_have_grown(life, run) || offsets_[at(life)] == nowhere) continue;
      for (int other = 0; other < life_count(); ++other) {
        if (other == life || !shares_bytes(life, offsets_[at(life)], other)) continue;
        if (meet(tried_[at(life)], tried_[at(other)])) return false;
      }
    }
    return true;
  }

  bool may_have_grown(int life, int run) const {
    Span now = tried_[at(life)], before = spans_[at(life)];
    return now.end - now.begin != before.end - before.begin || std::abs(now.begin - before.begin) > 1 ||
           (life >= first_life_[at(run)] && life <= life_of(run, -1));
  }

  void renumber() {
    std::fill(first_.begin(), first_.end(), -1);
    for (int p = 0; p < length(); ++p) {
      int run = sequence_[at(p)], &first = first_[at(nodes_[at(run)])];
      position_[at(run)] = p;
      if (first < 0) first = run;
    }
  }

  const Model& model_;
  const FitLimits& limits_;
  std::int64_t capacity_;
  Random random_;
  std::vector<int> nodes_;                                 // of each run
  std::vector<int> first_life_;                            // of each run: its values, then its scratch
  std::vector<int> sequence_, next_;                       // runs in order
  std::vector<int> position_;                              // of each run
  std::vector<int> latest_, first_;                        // of each node: a run
  std::vector<char> is_repeated_;                          // of each node: it runs more than once
  std::vector<std::int64_t> bytes_;                        // of each life
  std::vector<Span> spans_, tried_;                        // of each life
  std::vector<std::int64_t> offsets_, hardness_, weight_;  // of each life; see weigh
  std::vector<int> pool_;
  bool is_possible_ = false;
  double load_ = 0, tried_load_ = 0;  // share of the capacity above `busy`, on average
  std::vector<std::int64_t> change_, spots_;
  std::vector<std::pair<std::int64_t, std::int64_t>> edges_;
};

bool is_plain(const Problem& problem, const Schedule& schedule) {
  for (const Problem::Node& node : problem.nodes()) {
    if (node.pinned || node.updates >= 0) return false;
  }
  for (const Problem::Value& value : problem.values()) {
    if (value.view_of >= 0 || value.in_place_of >= 0 || value.never_keep_across >= 0) return false;
  }
  return std::ranges::all_of(schedule.steps,
                             [](Step step) { return step.kind == Step::Kind::run || step.kind == Step::Kind::drop; });
}

// Between steps and rows of the problem and runs and lives of a fitter.
class Rows {
 public:
  Rows(const Model& model, const Schedule& schedule) : node_of_(model.nodes.size()), value_of_(model.values.size()) {
    for (int i = 0; i < model.node_count(); ++i) node_of_[at(model.node(i).original)] = i;
    for (int v = 0; v < model.value_count(); ++v) value_of_[at(model.value(v).original)] = v;
    for (Step step : schedule.steps) {
      position_of_.push_back(static_cast<int>(runs.size()));
      if (step.kind == Step::Kind::run) runs.push_back(node_of_[at(step.id)]);
    }
  }
  int position(const Placement& row) const { return position_of_[at(row.from)]; }
  int value(const Placement& row) const { return row.kind == Placement::Kind::scratch ? -1 : value_of_[at(row.id)]; }

  std::vector<int> runs;  // nodes of the model

 private:
  std::vector<int> node_of_, value_of_, position_of_;
};

Fitted write(const Problem& problem, const Model& model, const Fitter& fitter) {
  std::vector<Event> events;
  for (int p = 0; p < static_cast<int>(fitter.sequence().size()); ++p)
    events.push_back({Event::Kind::run, fitter.node_at(p)});
  Fitted fitted{.schedule = to_schedule(problem, model, events)};
  Rows rows(model, fitted.schedule);
  for (const Placement& row : lives(problem, fitted.schedule)) {
    std::int64_t offset = fitter.offset(fitter.life_of(fitter.sequence()[at(rows.position(row))], rows.value(row)));
    fitted.placed.offsets.push_back(offset);
    fitted.placed.bytes = std::max(fitted.placed.bytes, offset + row.bytes);
  }
  fitted.placed.bytes += problem.resident_bytes();
  return fitted;
}

}  // namespace

std::optional<Fitted> fit(const Problem& problem, const Model& model, const Schedule& schedule, const Placed& placed,
                          const FitLimits& limits) {
  if (!is_plain(problem, schedule)) return {};
  Rows rows(model, schedule);
  Fitter fitter(model, rows.runs, limits);
  std::vector<std::int64_t> offsets(at(fitter.life_count()), 0);
  for (const Placement& row : layout_of(problem, schedule, placed.offsets))
    offsets[at(fitter.life_of(rows.position(row), rows.value(row)))] = row.offset;
  if (!fitter.run(std::move(offsets))) return {};
  return write(problem, model, fitter);
}

}  // namespace reprise::plan
