// SPDX-License-Identifier: Apache-2.0
// The second half of docs/checkpointing.md, as it stands there, and run: stores, networks, layers and scans.
// test:
#include <reprise/checkpoint.h>

#include <cstring>
#include <iostream>
#include <vector>

using Floats = std::vector<float>;

void keep_in_fewer_bytes(const Floats& state) {
  reprise::EncodedStore<Floats> store({.encoding = reprise::Encoding::bf16});
  store.put(0, state);
  std::cout << store.bytes_held() << " bytes instead of " << reprise::stored_bytes(state) << ", off by at most "
            << store.largest_error() << "\n";
}

struct Grid {
  std::int64_t rows = 0;
  std::vector<double> cells;
};

template <>
struct reprise::Serial<Grid> {
  static std::vector<std::byte> save(const Grid& grid) {
    std::vector<std::byte> bytes(sizeof grid.rows + grid.cells.size() * sizeof(double));
    std::memcpy(bytes.data(), &grid.rows, sizeof grid.rows);
    std::memcpy(bytes.data() + sizeof grid.rows, grid.cells.data(), grid.cells.size() * sizeof(double));
    return bytes;
  }
  static Grid load(std::span<const std::byte> bytes) {
    Grid grid{0, std::vector<double>((bytes.size() - sizeof grid.rows) / sizeof(double))};
    std::memcpy(&grid.rows, bytes.data(), sizeof grid.rows);
    std::memcpy(grid.cells.data(), bytes.data() + sizeof grid.rows, grid.cells.size() * sizeof(double));
    return grid;
  }
};

struct Profile {  // no larger than its vector: needs nothing
  std::vector<double> values;
  const double* begin() const { return values.data(); }
  const double* end() const { return values.data() + values.size(); }
  double* begin() { return values.data(); }
  double* end() { return values.data() + values.size(); }
  void resize(std::size_t n) { values.resize(n); }
};

struct Samples : Profile {  // larger, by what need not be kept: needs a line
  bool is_plotted = false;
};

template <>
struct reprise::Serial<Samples> : reprise::SerialElements<Samples> {};

bool train_a_network() {
  std::vector<reprise::LinearSegment> segments;
  for (std::uint64_t i = 0; i < 16; ++i) segments.push_back(reprise::LinearSegment::random_init(8, 8, i));
  reprise::CheckpointedNetwork<reprise::LinearSegment> network(
      segments, {.strategy = reprise::CheckpointStrategy::sqrt(), .budget = reprise::CheckpointBudget(1024)});
  Floats y = network.forward(Floats(8, 1.f));
  auto gradients = network.backward(y);  // of half the squared output
  std::cout << network.memory_bytes() << " of " << network.full_memory_bytes() << " bytes kept, "
            << network.recomputed_segments() << " segments run again\n";
  return gradients.parameters.size() == segments.size();
}

Floats layer(std::int64_t index, const Floats& x) {
  Floats y;
  for (float v : x) y.push_back(v * 1.1f + static_cast<float>(index) * 0.01f);
  return y;
}
Floats layer_vjp(std::int64_t, const Floats& x, const Floats& dy) {
  Floats dx(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) dx[i] = dy[i] * 1.1f;
  return dx;
}

bool recompute_activations(const Floats& x) {
  std::vector<std::int64_t> layers{0, 1, 2, 3, 4, 5};
  reprise::ActivationCheckpointer checkpointer({.checkpoint_every_n_layers = 3});
  Floats y = checkpointer.checkpointed_forward(x, layers, layer);
  Floats fourth = checkpointer.recompute_from_checkpoint(4, layers, layer);
  Floats dx = checkpointer.checkpointed_backward(y, layers, layer, layer_vjp);
  std::cout << checkpointer.memory_stored_bytes() << " bytes stored, " << checkpointer.memory_saved_bytes()
            << " saved\n";
  return layer(5, fourth) == y && dx.size() == x.size();
}

bool scan_a_sequence(const Floats& x) {  // [steps, 4]
  reprise::CheckpointedScan<float> scan({.a = {.9f, .8f, .95f, .7f}, .b = {1, 1, 1, 1}, .segments = 3});
  Floats h = scan.forward(x);
  reprise::ScanGradients<float> gradients = scan.backward(x, Floats(h.size(), 1.f));  // of the sum of all states
  return gradients.x.size() == x.size();
}

bool mark_a_tape() {
  auto config = reprise::tape::CheckpointConfig::uniform(10, 2);  // nodes 0 to 4, and 5 to 9
  std::vector<bool> recomputed = reprise::tape::plan_recomputation(12, config);
  return recomputed[9] && !recomputed[10];
}

int main() {
  keep_in_fewer_bytes({0.1f, 0.2f, 0.3f});
  reprise::DiskStore<Grid> disk({.slots = 1, .slot_bytes = 100});
  disk.put(0, {2, {1, 2, 3, 4}});
  reprise::EncodedStore<Samples> samples({.encoding = reprise::Encoding::zstd});
  samples.put(0, {{{5, 6}}});
  reprise::EncodedStore<Profile> profiles({.encoding = reprise::Encoding::bf16});
  profiles.put(0, {{7, 8}});
  bool good = disk.get(0).cells[3] == 4 && samples.get(0).values[1] == 6 && profiles.get(0).values[1] == 8 &&
              train_a_network() && recompute_activations({1, -2, 0.5f}) && scan_a_sequence(Floats(36, 0.5f)) &&
              mark_a_tape();
  std::cout << (good ? "all as it should be\n" : "WRONG\n");
  return good ? 0 : 1;
}
