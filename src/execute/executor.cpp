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
  if (program_->page_bytes > 0) prepare_moves();
  place_constants();
  if (options_.verify_recompute) {
    hashes_.resize(at(program_->graph.size()));
    page_hashes_.resize(at(program_->page_bytes / page_size));
  }
  if (options_.timeline) times_.resize(program_->instructions.size());
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
  calls_.reserve(program_->instructions.size());
  for (const Instruction& i : program_->instructions) {
    calls_.push_back(i.kind == Instruction::Kind::run ? &kernels_.of(program_->graph, i.node) : nullptr);
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

void Executor::prepare_moves() {
  page_file_ = std::make_unique<PageFile>(options_.page_folder, program_->page_bytes);
  moves_.resize(calls_.size());
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Instruction& instruction = program_->instructions[i];
    bool is_out = instruction.kind == Instruction::Kind::page_out,
         is_in = instruction.kind == Instruction::Kind::page_in;
    if ((!is_out && !is_in) || instruction.again) continue;
    std::byte* data = arena_->base() + program_->outputs_of(instruction)[0];
    moves_[i].run = [file = page_file_.get(), data, page = program_->page_of(instruction), bytes = instruction.bytes,
                     is_out](const Buffers&) {
      if (is_out)
        file->write(page, data, bytes);
      else
        file->read(page, data, bytes);
    };
    calls_[i] = &moves_[i];
  }
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
  for (std::size_t i = 0; i < calls_.size(); ++i)
    if (calls_[i]) calls_[i]->run(buffers(program_->instructions[i]));
}

void Executor::run_watched() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Instruction& instruction = program_->instructions[i];
    double begin = seconds();
    if (calls_[i]) calls_[i]->run(buffers(instruction));
    if (options_.timeline) times_[i] = {begin, seconds()};
    bool is_run = instruction.kind == Instruction::Kind::run;
    bool fills = is_run || instruction.kind == Instruction::Kind::page_in;
    if (options_.verify_recompute) verify(instruction);
    if (options_.poison && is_run) poison(program_->scratch_of(instruction), scratch_bytes(instruction));
    if (options_.poison && !fills) poison(program_->outputs_of(instruction)[0], instruction.bytes);
  }
}

// Written when it is asked for: a step should not need memory for it.
const std::vector<Moment>& Executor::timeline() {
  timeline_.clear();
  timeline_.reserve(times_.size());
  std::int64_t live = program_->pinned_bytes;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const Instruction& instruction = program_->instructions[i];
    bool is_run = instruction.kind == Instruction::Kind::run;
    bool is_drop = instruction.kind == Instruction::Kind::drop;
    bool fills = is_run || instruction.kind == Instruction::Kind::page_in;
    if (fills) live += instruction.bytes;
    timeline_.push_back({doing(instruction), instruction.node, is_run && instruction.again, times_[i].begin,
                         times_[i].end, live + scratch_bytes(instruction), is_drop, !is_run && !is_drop});
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
