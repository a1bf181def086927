// SPDX-License-Identifier: Apache-2.0
// For tests: the trace of a rank that trains a small network, with every allocation, and the true
// use of each block.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/memory/memory.h"
#include "analyzer/memory/result.h"
#include "analyzer/steps/steps.h"
#include "schema/trace_writer.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {

struct TrainingSpec {
  int rank = 0;
  int device = -1;
  int64_t steps = 30;
  std::vector<int64_t> layers = {4'000'000, 9'000'000, 1'000'000};  // bytes of parameters
  int64_t activation_factor = 2;  // of a layer's bytes, kept for backward
  int64_t leak_per_step = 0;
  int64_t retained_every = 0;  // keeps the activations of each n-th step's first layer for 5 steps
  bool names = false;          // parameters, gradients and optimizer state are registered
  bool totals = false;         // rows carry allocated_bytes
  bool from_start = true;      // the parameters' allocations are recorded
  bool marks = true;           // phases and steps
  bool ops = true;
};

// Simulates and records the training. Counts the truth independently.
class Training {
 public:
  explicit Training(const TrainingSpec& spec) : spec_(spec) { run(); }

  std::vector<schema::MemoryEventRow> events;
  std::vector<schema::MemorySampleRow> samples;
  std::vector<schema::CaptureRow> captures;
  std::vector<schema::LossRow> losses;
  std::vector<schema::DeviceRow> devices;

  int64_t peak = 0;
  int64_t peak_step = -1;
  MemoryUseBytes at_peak{};

  TraceFile write(const std::filesystem::path& path) {
    auto writer = schema::TraceWriter::create(path);
    EXPECT_TRUE(writer.ok());
    schema::TraceWriter& out = **writer;
    out.set_meta("rank", std::to_string(spec_.rank));
    put(out, schema::ThreadRow{0, 100, {}, schema::ThreadRole::kMain});
    put(out, schema::ThreadRow{1, 101, {}, schema::ThreadRole::kLoader});
    std::ranges::stable_sort(
        ranges_, {}, [](const Named& a) { return std::pair(a.row.start_ns, -*a.row.duration_ns); });
    int64_t id = 0;
    for (Named& one : ranges_) {
      one.row.id = ++id;
      one.row.name_id = out.intern(one.name);
      put(out, one.row);
    }
    id = 0;
    for (schema::MemoryEventRow& row : events) row.id = ++id, put(out, row);
    id = 0;
    for (schema::MemorySampleRow& row : samples) row.id = ++id, put(out, row);
    id = 0;
    for (schema::CaptureRow& row : captures) row.id = ++id, put(out, row);
    for (const schema::LossRow& row : losses) put(out, row);
    for (const schema::DeviceRow& row : devices) EXPECT_TRUE(out.set_device(row).ok());
    for (const auto& [at, kind, subject, value] : system_) {
      put(out, schema::SystemSampleRow{++id, at, out.intern(kind), subject, value});
    }
    EXPECT_TRUE(out.finish().ok());
    return {.path = path, .rank = spec_.rank, .host = "host"};
  }

  RankDigest digest() {
    const test_support::TemporaryFolder folder;
    Result<RankDigest> digest = digest_rank(write(folder.path() / "rank-00000.dprof"));
    EXPECT_TRUE(digest.ok());
    return *std::move(digest);
  }

  void system(int64_t at, std::string kind, std::optional<int64_t> subject, int64_t value) {
    system_.push_back({at, std::move(kind), subject, value});
  }

  // The same rows, with the allocator's totals after each.
  [[nodiscard]] int64_t level() const { return level_; }
  [[nodiscard]] int64_t now() const { return time_; }

 private:
  struct Named {
    schema::HostRangeRow row;
    std::string name;
  };
  struct Sample {
    int64_t at;
    std::string kind;
    std::optional<int64_t> subject;
    int64_t value;
  };
  struct Block {
    int64_t bytes = 0;
    MemoryUse use{};
  };

  template <typename Row>
  static void put(schema::TraceWriter& out, const Row& row) {
    EXPECT_TRUE(out.append(row).ok());
  }

  void tick(int64_t ns = 1000) { time_ += ns; }

  void range(int64_t begin, std::string name, schema::RangeCategory category) {
    schema::HostRangeRow row;
    row.thread_id = 0;
    row.start_ns = begin;
    row.duration_ns = time_ - begin;
    row.category = category;
    ranges_.push_back({row, std::move(name)});
  }

  template <typename Body>
  void phase(std::string name, const Body& body) {
    const int64_t begin = time_;
    tick();
    body();
    tick(50'000);
    if (spec_.marks) range(begin, std::move(name), schema::RangeCategory::kUser);
    tick();
  }

  template <typename Body>
  void op(std::string name, const Body& body) {
    const int64_t begin = time_;
    tick();
    body();
    tick();
    if (spec_.ops) range(begin, std::move(name), schema::RangeCategory::kOp);
    tick();
  }

  int64_t allocate(int64_t bytes, MemoryUse use, bool recorded = true) {
    const int64_t address = next_;
    next_ += bytes + 4096;
    live_[address] = {bytes, use};
    level_ += bytes;
    if (level_ > peak) {
      peak = level_;
      peak_step = step_;
      at_peak = {};
      for (const auto& [at, block] : live_)
        at_peak.at(static_cast<size_t>(block.use)) += block.bytes;
    }
    if (recorded) note(schema::MemoryEventKind::kAlloc, address, bytes);
    if (spec_.names) name(address, bytes, use);
    return address;
  }
  void free(int64_t address) {
    const int64_t bytes = live_.at(address).bytes;
    level_ -= bytes;
    live_.erase(address);
    note(schema::MemoryEventKind::kFree, address, bytes);
  }
  void note(schema::MemoryEventKind kind, int64_t address, int64_t bytes) {
    schema::MemoryEventRow row;
    row.thread_id = 0;
    row.device_id = spec_.device;
    row.time_ns = time_;
    row.kind = kind;
    row.address = address;
    row.bytes = bytes;
    if (spec_.totals) row.allocated_bytes = level_;
    events.push_back(row);
    tick(100);
  }
  void name(int64_t address, int64_t bytes, MemoryUse use) {
    const auto category = use == MemoryUse::kParameter  ? schema::MemoryCategory::kParameter
                          : use == MemoryUse::kGradient ? schema::MemoryCategory::kGradient
                          : use == MemoryUse::kOptimizerState
                              ? schema::MemoryCategory::kOptimizerState
                              : schema::MemoryCategory::kUnknown;
    if (category == schema::MemoryCategory::kUnknown) return;
    note(schema::MemoryEventKind::kRegistered, address, bytes);
    events.back().category = category;
    events.back().allocated_bytes.reset();
  }

  void run() {
    for (const int64_t bytes : spec_.layers)
      parameters_.push_back(allocate(bytes, MemoryUse::kParameter, spec_.from_start));
    tick(100'000);
    for (step_ = 0; step_ < spec_.steps; ++step_) {
      const int64_t begin = time_;
      tick();
      train();
      if (spec_.leak_per_step > 0) (void)allocate(spec_.leak_per_step, MemoryUse::kUnknown);
      tick();
      if (spec_.marks) range(begin, "step", schema::RangeCategory::kUser);
      tick();
    }
  }

  void train() {
    for (const int64_t gradient : gradients_) free(gradient);
    gradients_.clear();
    int64_t batch = 0;
    phase("input", [&] { batch = allocate(300'000, MemoryUse::kInput); });
    std::vector<int64_t> kept;
    phase("forward", [&] {
      for (const int64_t bytes : spec_.layers) {
        op("aten::linear", [&] {
          const int64_t scratch = allocate(bytes / 8, MemoryUse::kTemporary);
          kept.push_back(allocate(bytes * spec_.activation_factor, MemoryUse::kActivation));
          free(scratch);
        });
      }
    });
    phase("backward", [&] { backward(kept); });
    free(batch);
    phase("optimizer", [&] {
      for (const int64_t bytes : spec_.layers) {
        op("aten::_foreach_add_", [&] {
          if (step_ == 0) {
            (void)allocate(bytes, MemoryUse::kOptimizerState);
            (void)allocate(bytes, MemoryUse::kOptimizerState);
          }
          free(allocate(bytes / 4, MemoryUse::kTemporary));
        });
      }
    });
  }

  void backward(std::vector<int64_t>& kept) {
    for (size_t i = spec_.layers.size(); i-- > 0;) {
      op("AddmmBackward0", [&] {
        const int64_t inner = allocate(spec_.layers[i] / 2, MemoryUse::kAutograd);
        gradients_.push_back(allocate(spec_.layers[i], MemoryUse::kGradient));
        const bool keeps = i == 0 && spec_.retained_every > 0 && step_ % spec_.retained_every == 0;
        if (!keeps) free(kept[i]);
        tick(5000);
        pending_.push_back(inner);
        if (keeps) retained_.push_back({step_, kept[i]});
      });
      // Autograd keeps what it made until the next node has run.
      free(pending_.back());
      pending_.pop_back();
    }
    std::erase_if(retained_, [&](const auto& one) {
      if (one.first + 5 > step_) return false;
      free(one.second);
      return true;
    });
  }

  TrainingSpec spec_;
  int64_t time_ = 1'000'000;
  int64_t next_ = 0x7000'0000;
  int64_t level_ = 0;
  int64_t step_ = -1;
  std::map<int64_t, Block> live_;
  std::vector<int64_t> parameters_;
  std::vector<int64_t> gradients_;
  std::vector<int64_t> pending_;
  std::vector<std::pair<int64_t, int64_t>> retained_;
  std::vector<Named> ranges_;
  std::vector<Sample> system_;
};

struct Analysed {
  std::optional<Memory> memory;
  std::vector<Diagnostic> notes;
};

inline Analysed analysed(std::vector<RankDigest> digests) {
  Analysed result;
  std::vector<Diagnostic> ignored;
  const std::optional<Steps> steps = align_steps(digests, {}, ignored);
  result.memory = memory_of(digests, steps ? &*steps : nullptr, result.notes);
  return result;
}

inline Analysed analysed(Training training) {
  std::vector<RankDigest> digests;
  digests.push_back(training.digest());
  return analysed(std::move(digests));
}

}  // namespace dprof::analyzer
