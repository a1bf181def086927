// SPDX-License-Identifier: Apache-2.0
// The run to be generated. Everything has a default; the same Spec gives the same run.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dprof::synth {

enum class Shape : uint8_t { kCpu, kGpu };  // Gloo on threads, or NCCL on streams

enum class Technique : uint8_t {
  kDdp,
  kZero1,
  kZero2,
  kZero3,
  kPipeline,
  kParameterServer,
  kTensorData,
};

// The marks in a step; as in schema/marker_names.h.
enum class Marks : uint8_t {
  kMarker,     // ranges step, input, forward, backward, optimizer
  kOptimizer,  // the marks that PyTorch emits for an unmodified script
  kNone,       // operators, autograd nodes and collectives only
};

enum class Format : uint8_t { kDprof, kKineto };

// A fault or a hang by its name in faults/catalogue.h. Omitted values are the catalogue's defaults.
struct FaultSpec {
  std::string name;
  std::optional<int> rank;
  std::optional<int> host;
  std::optional<double> ms;           // length, if the fault has one
  std::optional<double> factor;       // or a factor on the length, or the remaining share
  std::optional<double> probability;  // of a step, or of a record
  std::optional<int64_t> from;        // first step
  std::optional<int64_t> to;          // exclusive
  std::optional<int64_t> every;       // each such step from `from` on
  std::optional<int64_t> count;       // times in a step
  std::optional<int> other;           // a second rank
  std::optional<std::string> shape;   // persistent, transient, periodic, rotating, growing
  std::optional<std::string> of;      // a group with `rank`: host, tensor, data, stage, replica
  std::optional<double> at;           // of backward: the share of its computation before it
};

// A factor on all ranks' lengths for a phase (forward, backward, optimizer), an operator or a
// kernel, by its name.
struct ScaleSpec {
  std::string name;
  double factor = 1;
};

// The difference of a host's clock from true time. Trace times follow CLOCK_MONOTONIC_RAW.
struct ClockSpec {
  int host = 0;
  double offset_ms = 0;  // of REALTIME; that of MONOTONIC_RAW is arbitrary on any host
  double ppm = 0;        // both clocks run faster by this
  double wander_ppm = 0;
  double wander_period_s = 300;
  double at_s = 0;     // when one of the following happens
  double step_ms = 0;  // MONOTONIC_RAW jumps and REALTIME does not
  double jump_ms = 0;  // both jump: a paused virtual machine
  double set_ms = 0;   // REALTIME is set; trace times do not notice
};

// Probes between the recorders.
struct ProbeSpec {
  bool enabled = true;
  int per_burst = 8;
  double interval_s = 1;
  double one_way_us = 15;
  double jitter_us = 1;
  double clean_share = 0.5;  // probes without queueing, per direction
  double queue_us = 5;       // mean of the exponential queueing delay of the others
  double asymmetry_us = 0;   // extra length of the way back
  double lost_share = 0;
};

// Cost of a collective: latency + bytes / bandwidth. NaN-free; <= 0 = the shape's default.
struct NetworkSpec {
  double latency_us = 0;
  double bandwidth_gb_s = 0;     // of a host's interface
  double inside_latency_us = 0;  // within a host
  double inside_bandwidth_gb_s = 0;
  double spread_us = 5;  // ends of one collective on its members
};

struct Spec {
  int ranks = 4;
  int hosts = 1;  // ranks are assigned in blocks
  int64_t steps = 30;
  Shape shape = Shape::kCpu;
  Technique technique = Technique::kDdp;
  Marks marks = Marks::kMarker;
  Format format = Format::kDprof;
  uint64_t seed = 1;

  double step_ms = 60;        // approximate; of computation
  double noise = 0.01;        // standard deviation of an operator's length, relative to it
  double rank_noise = 0.002;  // of a rank's speed
  double step_noise = 0;      // of all operators of a rank in one step together
  // How these are distributed.
  double noise_tail = 0;       // degrees of freedom of Student's t; 0 = normal
  double noise_memory = 0;     // correlation of step_noise between neighbouring steps
  double noise_decades = 0;    // hosts' noise differs by up to this many powers of ten
  double drift = 1;            // factor on forward and backward of all ranks in the last step
  int64_t rows_per_step = 80;  // approximate, per rank
  int buckets = 4;             // collectives per step, approximate
  double bytes_per_step = 0;   // 0 = the shape's default
  int micro_steps = 1;
  int tensor_ranks = 2;  // size of the tensor-parallel groups
  int replicas = 1;      // of each pipeline stage
  // DDP only.
  double bucket_cap_mb = 0;  // MiB; `buckets` are gathered by DDP's rule; 0 = each is one
  bool overlap = true;       // of reductions with backward; false: they are called after it
  int accumulate = 1;        // batches per update; gradients are reduced with the last
  // Factors while a collective of the rank runs, for operators (GPU: kernels), and, on GPUs, for
  // transfers while most members compute.
  double contention = 1;
  double transfer_contention = 1;
  int64_t sync_every = 1;    // GPU: `loss.item()` at the end of each such step; 0 = never
  double hang_watch_s = 30;  // how long a hung job is left running
  double dispatch_us = 3;    // GPU: the host's time per operator, before its launch and after it
  double gap_us = 40;        // Python between phases
  bool free_input = false;   // batches are always ready, and no fault delays them
  std::vector<ScaleSpec> scales;
  std::string healthy;  // an awkward kind of healthy run, see the catalogue; "" = a plain one

  std::vector<FaultSpec> faults;
  std::vector<ClockSpec> clocks;
  ProbeSpec probes;
  NetworkSpec network;
  int threads = 2;  // that write traces
  bool run_json = true;
};

inline constexpr std::string_view kPhaseWords[] = {"forward", "backward", "optimizer"};

[[nodiscard]] std::string_view word_of(Shape shape);
[[nodiscard]] std::string_view word_of(Technique technique);
[[nodiscard]] std::string_view word_of(Marks marks);

// Parses command-line words: "NAME:rank=3,ms=20", "host1:offset_ms=3000,ppm=20".
Result<FaultSpec> parse_fault(std::string_view text);
Result<ClockSpec> parse_clock(std::string_view text);
Result<ScaleSpec> parse_scale(std::string_view text);  // "NAME=FACTOR"
Result<Shape> parse_shape(std::string_view word);
Result<Technique> parse_technique(std::string_view word);
Result<Marks> parse_marks(std::string_view word);

// Reports specs that cannot make a run.
Status check(const Spec& spec);

}  // namespace dprof::synth
