// SPDX-License-Identifier: Apache-2.0
// What a tape and its handles share: the graph it records, the store that runs and holds its nodes, and gradients.
#pragma once

#include <map>
#include <unordered_map>

#include "execute/lazy_store.h"
#include "execute/tape_program.h"
#include "reprise/tape.h"

namespace reprise {

struct TypeHash {
  std::size_t operator()(const Type& type) const {
    std::size_t h = static_cast<std::size_t>(type.dtype);
    for (std::int64_t size : type.shape) h = h * 0x9e3779b97f4a7c15 + static_cast<std::size_t>(size);
    return h ^ (h >> 29);
  }
};

struct TapeState final : Recorder, std::enable_shared_from_this<TapeState> {
  struct NodeInfo {
    std::uint64_t serial = 0;
    bool carries_gradient = false;
    bool is_variable = false;
    bool is_detached = false;  // recorded where no_grad() held
    bool retains = false;
    bool has_hook = false;
  };
  struct HookEntry {
    Ref ref;
    Tape::Hook call;
  };

  explicit TapeState(const TapeOptions& options);
  ~TapeState();

  // Recording: tape_record.cpp.
  void recorded(std::int32_t node) override;
  Var add_leaf(const Tensor& tensor, std::string name, bool is_variable);
  void truncate(std::int32_t count);
  void assign(const Var& v, const Tensor& tensor);
  Ref check(const Var& v) const;
  /// The same for what is asked of a gradient; TapeError where the value has none.
  Ref check_carries(std::string_view who, const Var& v) const;
  Var var(Ref ref);
  Tensor value(Ref ref);
  void close();
  /// Runs nodes that were added to the graph without record().
  void synchronise();
  void remove_from(std::int32_t first);

  // Segments: tape_segments.cpp.
  void set_segments(const tape::CheckpointConfig& config);
  void restart_segments();
  void note_crossings(std::int32_t node);
  void leave_segments(std::int32_t node);
  void drop_segment(const tape::CheckpointSegment& segment);
  const tape::CheckpointSegment* segment_of(std::int32_t node) const;

  // Gradients: tape_backward.cpp.
  void backward(Ref target, const Tensor& seed);
  Values gradients(Ref target, const std::vector<Ref>& wrt);
  void run_segmented(Ref target);
  void require_scalar(Ref target) const;

  // Collected gradients: tape_grads.cpp.
  void zero_grads();
  void own_grads();
  void forget_grad(const Tensor& grad);
  std::int64_t grad_bytes() const;
  double clip_grad_norm(double most);
  std::int64_t clip_grad_value(double most);

  bool is_budgeted() const { return options.budget != LazyOptions::unlimited; }
  NodeInfo& info(std::int32_t i) { return infos[static_cast<std::size_t>(i)]; }
  const NodeInfo& info(std::int32_t i) const { return infos[static_cast<std::size_t>(i)]; }
  [[noreturn]] void fail_budget(std::string_view what, std::int64_t needed) const;

  TapeOptions options;
  LazyStore store;
  std::shared_ptr<Graph> graph;
  Table* table = nullptr;
  std::vector<NodeInfo> infos;
  std::uint64_t last_serial = 0;
  int no_grad_depth = 0;
  bool is_closed = false;
  bool walks_back = false;  // a backward pass is under way

  std::vector<tape::CheckpointSegment> segments;  // in order
  std::vector<bool> leaves_segment;               // per node: read from outside its segment, so kept
  std::size_t open_segment = 0;                   // the first that the program has not left

  std::map<Ref, Tensor> grads;
  std::map<std::int64_t, HookEntry> hooks;
  std::int64_t next_hook = 0;
  GradientCache programs;
  std::unordered_map<Type, Kernel, TypeHash> sums;
  std::vector<Tensor> spare_adjoints;  // empty ones, for the next backward pass
};

/// One walk back. It holds the gradients of values that are still to be visited.
class BackwardPass {
 public:
  BackwardPass(TapeState& tape, Ref target);
  ~BackwardPass();
  BackwardPass(const BackwardPass&) = delete;
  BackwardPass& operator=(const BackwardPass&) = delete;
  void run(const Tensor& seed);

 private:
  void start(const Tensor& seed);
  void walk(std::int32_t i);
  [[noreturn]] void fail_at(std::int32_t i, const NoRoom& d);
  void visit(std::int32_t i);
  void call_hooks(std::int32_t i);
  Tensor call_hook(const Tape::Hook& hook, const Tensor& gradient);
  void collect(std::int32_t i);
  Tensor own(const Tensor& gradient);
  void propagate(std::int32_t i);
  const GradientProgram& program_of(std::int32_t i);
  Ref used_ref(std::int32_t i, const GradientProgram& program, std::int32_t slot) const;
  void ensure_used(std::int32_t i, const GradientProgram& program);
  void unlock_all();
  void run_program(std::int32_t i, const GradientProgram& program);
  void run_step(const GradientProgram& program, const GradientProgram::Step& step);
  void run_with_scratch(const Kernel& kernel);
  void free_temporary(std::size_t k);
  Tensor result(std::int32_t i, const GradientProgram& program, const GradientProgram::Result& result);
  void distribute(std::int32_t i, const GradientProgram& program);

  bool has_adjoint(std::int32_t node) const;
  Tensor* adjoint(Ref r);  // nullptr: none
  void set_adjoint(Ref r, Tensor gradient);
  void forget_adjoints(std::int32_t i);
  void put_adjoint(Ref r, Tensor gradient);
  void add(Ref r, Tensor& gradient);
  Tensor sum(const Tensor& a, const Tensor& b);
  void run_sum(const Tensor& a, const Tensor& b, const Tensor& total);
  Tensor take(const Type& type);
  Tensor take_planned(const Type& type);
  void hold(const Tensor& t);
  void release(const Tensor& t);

  TapeState& tape_;
  Ref target_;
  std::vector<Tensor> adjoints_;  // of output 0 of each node
  std::vector<bool> has_adjoint_;
  std::map<Ref, Tensor> others_;           // of other outputs
  std::int32_t marked_ = 0;                // nodes before this one are marked as needed soon
  std::int64_t grads_before_, taken_ = 0;  // bytes: of gradients collected before, and that this pass took since
  const GradientProgram* program_ = nullptr;
  std::vector<Cell*> locked_;

  // Of the program that runs.
  std::vector<void*> slots_;
  std::vector<Tensor> temporaries_;
  std::size_t temporary_count_ = 0;  // of `temporaries_`, that are the program's
  std::vector<Tensor> results_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  Mask given_, wanted_;
};

}  // namespace reprise
