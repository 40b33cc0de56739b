// SPDX-License-Identifier: Apache-2.0
#include "execute/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "graph/builtin.h"
#include "graph/hash.h"

namespace reprise {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::string name_of(const Node& node, std::int32_t index) {
  return node.name.empty() ? fmt::format("{}.{}", node.op->name, index) : node.name;
}

}  // namespace

Executor::Executor(std::shared_ptr<const Program> program, const ExecuteOptions& options)
    : program_(std::move(program)), options_(options), arena_(std::make_shared<Arena>(program_->arena_bytes)) {
  prepare_calls();
  if (program_->page_bytes > 0) page_file_ = std::make_unique<PageFile>(options_.page_folder, program_->page_bytes);
  place_constants();
  if (options_.verify_recompute) {
    hashes_.resize(at(program_->graph.size()));
    page_hashes_.resize(at(program_->page_bytes / page_size));
  }
  if (options_.timeline) begins_.resize(program_->instructions.size() + 1);
}

void Executor::place_constants() {
  for (std::int32_t i = 0; i < program_->graph.size(); ++i) {
    if (program_->graph.node(i).op != &constant_op) continue;
    const Tensor& value = std::get<Tensor>(*program_->graph.node(i).attributes.find("value"));
    Tensor place = pinned(i);
    if (value.bytes() > 0) std::memcpy(place.data(), value.data(), at(value.bytes()));
  }
}

void Executor::prepare_calls() {
  std::size_t most_places = 0;
  calls_.resize(at(program_->graph.size()), nullptr);
  for (const Instruction& i : program_->instructions) {
    if (i.kind == Instruction::Kind::run) calls_[at(i.node)] = &kernels_.of(program_->graph, i.node);
    most_places = std::max(most_places, at(i.inputs) + i.outputs);
  }
  places_.resize(most_places);
}

Buffers Executor::buffers(const Instruction& i) {
  std::size_t inputs = at(i.inputs), outputs = i.outputs;
  const std::int64_t* offsets = program_->offsets.data() + i.first;
  for (std::size_t k = 0; k < inputs + outputs; ++k) places_[k] = arena_->base() + offsets[k];
  return {{places_.data(), inputs}, {places_.data() + inputs, outputs}, arena_->base() + program_->scratch_of(i)};
}

void Executor::perform(const Instruction& i) {
  if (i.kind == Instruction::Kind::run) return calls_[at(i.node)]->run(buffers(i));
  if (i.kind == Instruction::Kind::drop || i.again) return;  // what is in the file already stays there
  std::byte* data = arena_->base() + program_->outputs_of(i)[0];
  if (i.kind == Instruction::Kind::page_out)
    page_file_->write(program_->page_of(i), data, i.bytes);
  else
    page_file_->read(program_->page_of(i), data, i.bytes);
}

Tensor Executor::pinned(std::int32_t node) const {
  return Tensor::over(arena_->base() + program_->pinned[at(node)], program_->graph.type({node, 0}), arena_);
}

Tensor Executor::output(std::size_t i) const {
  return Tensor::over(arena_->base() + program_->outputs[i], program_->graph.type(program_->graph.outputs[i]), arena_);
}

void Executor::give_back() {
  std::vector<std::pair<std::int64_t, std::int64_t>> used;
  for (std::int32_t i = 0; i < program_->graph.size(); ++i)
    if (program_->pinned[at(i)] >= 0)
      used.emplace_back(program_->pinned[at(i)], program_->pinned[at(i)] + program_->graph.type({i, 0}).bytes());
  std::ranges::sort(used);
  std::int64_t from = 0;
  for (const auto& [begin, end] : used) {
    arena_->give_back(from, begin);
    from = std::max(from, end);
  }
  arena_->give_back(from, arena_->bytes());
}

void Executor::run() {
  if (!is_touched_) arena_->touch();
  is_touched_ = true;
  if (options_.poison || options_.verify_recompute || options_.timeline) return run_watched();
  for (const Instruction& instruction : program_->instructions) perform(instruction);
}

void Executor::run_watched() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  done_ = 0;
  for (const Instruction& instruction : program_->instructions) {
    if (options_.timeline) begins_[done_] = seconds();
    perform(instruction);
    bool is_run = instruction.kind == Instruction::Kind::run;
    bool fills = is_run || instruction.kind == Instruction::Kind::page_in;
    if (options_.verify_recompute) verify(instruction);
    if (options_.poison && is_run) poison(program_->scratch_of(instruction), scratch_bytes(instruction));
    if (options_.poison && !fills) poison(program_->outputs_of(instruction)[0], instruction.bytes);
    if (options_.timeline) begins_[++done_] = seconds();
  }
}

// Written when it is asked for: a step should not need memory for it.
const std::vector<Moment>& Executor::timeline() {
  timeline_.clear();
  timeline_.reserve(done_);
  std::int64_t live = program_->pinned_bytes;
  for (std::size_t i = 0; i < done_; ++i) {
    const Instruction& instruction = program_->instructions[i];
    bool is_run = instruction.kind == Instruction::Kind::run;
    bool is_drop = instruction.kind == Instruction::Kind::drop;
    bool fills = is_run || instruction.kind == Instruction::Kind::page_in;
    if (fills) live += instruction.bytes;
    timeline_.push_back({doing(instruction), instruction.node, is_run && instruction.again, begins_[i], begins_[i + 1],
                         live + scratch_bytes(instruction), is_drop, !is_run && !is_drop});
    if (!fills) live -= instruction.bytes;
  }
  return timeline_;
}

std::int64_t Executor::scratch_bytes(const Instruction& instruction) const {
  return instruction.has_scratch ? program_->scratch_bytes[at(instruction.node)] : 0;
}

std::string_view Executor::doing(const Instruction& instruction) const {
  if (instruction.kind == Instruction::Kind::page_out) return "page_out";
  if (instruction.kind == Instruction::Kind::page_in) return "page_in";
  return program_->graph.node(instruction.node).op->name;
}

// All bits set is a NaN in every float format, and -1 in every integer one.
void Executor::poison(std::int64_t offset, std::int64_t bytes) {
  if (bytes > 0) std::memset(arena_->base() + offset, 0xff, at(bytes));
}

void Executor::verify(const Instruction& instruction) {
  if (instruction.kind == Instruction::Kind::run)
    verify_run(instruction);
  else if (instruction.kind != Instruction::Kind::drop)
    verify_move(instruction);
}

void Executor::verify_move(const Instruction& instruction) {
  std::uint64_t h = hash_bytes(arena_->base() + program_->outputs_of(instruction)[0], at(instruction.bytes), 0);
  std::uint64_t& left = page_hashes_[at(program_->page_of(instruction) / page_size)];
  if (instruction.kind == Instruction::Kind::page_out) {
    if (!instruction.again) left = h;
  } else if (h != left) {
    fail("[disk] '{}' came back with other bits than it left with: the disk is damaged",
         name_of(program_->graph.node(instruction.node), instruction.node));
  }
}

void Executor::verify_run(const Instruction& instruction) {
  const Node& node = program_->graph.node(instruction.node);
  std::uint64_t h = 0;
  for (std::size_t k = 0; k < node.outputs.size(); ++k)
    h = hash_bytes(arena_->base() + program_->outputs_of(instruction)[k], at(node.outputs[k].bytes()), h);
  std::uint64_t& first = hashes_[at(instruction.node)];
  if (!instruction.again) first = h;
  if (h != first)
    fail("[{}] recomputing '{}' gave other bits than the first time: the op is not deterministic", node.op->name,
         name_of(node, instruction.node));
}

}  // namespace reprise
