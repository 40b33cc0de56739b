// SPDX-License-Identifier: Apache-2.0
// Samples to learn from: files of several formats, split, shuffled and handed out in batches.
//
//     data::Dataset digits = data::load(data::shipped("digits"));        // x f32[1,8,8], y one of 10 classes
//     auto [train, validation] = data::split(digits, 0.1, 1);
//     data::Batches batches(train, 64, 1);
//     std::vector<Tensor> xy = {Tensor::empty({DType::f32, {64, 1, 8, 8}}), Tensor::empty({DType::i64, {64}})};
//     batches.next(xy);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "reprise/tensor.h"

namespace reprise::data {

/// Samples to learn from: sample i has an x and a y. Copying a Dataset copies no sample.
struct Dataset {
  std::string name;                  // for messages, e.g. the path
  std::int64_t size = 0;             // samples
  Type x, y;                         // of one sample; y of a class is an i64 scalar
  std::vector<std::string> classes;  // names of the classes, where y is a class or made of them; else empty
  /// Writes sample i's bytes; safe to call from several threads.
  std::function<void(std::int64_t i, void* x, void* y)> read;
  bool is_ordered = false;  // samples follow on one another, as in a text
  std::int64_t bytes = 0;   // held in memory, those for reading a sample included
};

struct LoadOptions {
  std::string kind;                   // text, idx, csv, npz or images; empty: by the file's name, else by its content
  std::int64_t context = 64;          // text: characters of a sample
  std::vector<std::int64_t> x_shape;  // wanted of x; empty: as in the file. Images are resized to it
  std::string x_name;                 // npz: what x may be called instead, and y then target
};

/// The samples of one file or folder; files may be packed by gzip. What each format must look like is in docs/data.md.
/// Throws Error that names file and place for anything else.
REPRISE_API Dataset load(const std::string& path, const LoadOptions& options = {});

/// Sample i is x[i] and y[i]. Integers y, one a sample, are classes.
REPRISE_API Dataset from_tensors(std::string name, Tensor x, Tensor y, std::vector<std::string> classes = {});

/// The file of data that ship with the project: "digits", "text", or the name of a file there. Looks in the folder that
/// the environment variable REPRISE_DATA names or, without it, in share/reprise/data beside the program or the library.
REPRISE_API std::string shipped(const std::string& name);

struct Split {
  Dataset train, validation;
};
/// Parts with no sample in common: of ordered samples the last ones validate, of others ones drawn by the seed.
REPRISE_API Split split(const Dataset& data, double validation_fraction, std::uint64_t seed);

/// Batches in an order that depends on seed and epoch only. A thread prepares the next one while this one is in use.
class REPRISE_API Batches {
 public:
  Batches(Dataset data, std::int64_t batch_size, std::uint64_t seed);
  ~Batches();
  Batches(Batches&&) noexcept;
  Batches& operator=(Batches&&) noexcept;

  /// Full batches; the samples that are left wait for another epoch's order.
  std::int64_t per_epoch() const;
  /// Goes to a batch, counted from the beginning of training: its epoch is batch_number / per_epoch().
  void seek(std::int64_t batch_number);
  /// The number of the batch that next() gives.
  std::int64_t position() const;
  /// Waits for the batch and copies it to these tensors, x and y. Throws what reading a sample threw; the next call
  /// reads that batch again.
  void next(std::span<Tensor> xy);
  /// Of the buffers the next batch waits in.
  std::int64_t buffer_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reprise::data
