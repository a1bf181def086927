// SPDX-License-Identifier: Apache-2.0
// Writes the program of a step in the terms of a training loop: phases, operators, buckets. The
// same terms produce host operators (CPU shape) or launches and kernels (GPU shape).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>

#include "schema/generated/rows.h"
#include "synth/engine/program.h"
#include "synth/faults/plan.h"
#include "synth/model/names.h"
#include "synth/spec.h"

namespace dprof::synth {

inline constexpr int32_t kMainThread = 0;
inline constexpr int32_t kAutogradThread = 1;
inline constexpr int kQueues = 4;  // of each rank

struct PhaseNames {
  int32_t marker = -1;
  int32_t by_torch = -1;
};
inline constexpr PhaseNames kInputPhase{
    name("input"), name("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")};
inline constexpr PhaseNames kForwardPhase{name("forward"), name("DistributedDataParallel.forward")};
inline constexpr PhaseNames kBackwardPhase{name("backward"), -1};
inline constexpr PhaseNames kOptimizerPhase{name("optimizer"), name("Optimizer.step#SGD.step")};

class StepBuilder {
 public:
  // step -1: everything before the first step.
  StepBuilder(const Spec& spec, const FaultPlan& plan, int rank, int64_t step, Program& out);

  [[nodiscard]] const Effects& effects() const { return effects_; }
  [[nodiscard]] bool gpu() const { return spec_.shape == Shape::kGpu; }

  void begin_step();
  void end_step();
  void begin(PhaseNames names);
  void begin(int32_t marker) { begin(PhaseNames{marker, -1}); }
  void end(PhaseNames names);
  void end(int32_t marker) { end(PhaseNames{marker, -1}); }
  void gap();  // Python between phases

  // `count` operators of a phase that compute for ns in total.
  void ops(Busy phase, double ns, int64_t count) { ops(phase, ns, count, {}); }
  // Likewise of backward: the part-th of `parts`, with the faults that are inside it.
  void backward_ops(double ns, int64_t count, int64_t part, int64_t parts);
  void host(Busy busy, int64_t ns);
  void range(int32_t what, schema::RangeCategory category, Busy busy, int64_t ns);
  void load(int64_t ns);
  void copy(schema::GpuActivityKind kind, int64_t bytes);

  void ready(int note) { add({.what = Do::kReady, .a = note}); }  // of gradients reduced later
  // Asynchronous; returns the number of the call within this program.
  int64_t collective(CollectiveCall call);
  void wait(int64_t call);  // of the host on CPUs, of the compute stream on GPUs
  // The host continues when it is over.
  void blocking(CollectiveCall call);
  void item();  // the host waits for the compute stream
  void thread(int32_t number) { add({.what = Do::kThread, .a = number}); }
  void add(const Instruction& instruction) { out_.instructions.push_back(instruction); }

  // Parts common to all techniques.
  void input();
  void forward(double ns, int64_t count);
  void before_backward();  // effect of the faults there
  void optimizer(double ns, int64_t count);
  void after_step();  // checkpoint, rank 0's work, hangs at the end of a step

  void memory(bool allocate, int64_t block, int64_t bytes, schema::MemoryCategory category);

 private:
  // Something before the nth operator.
  struct Stop {
    int64_t nth = 0;
    Inside delay;
  };
  void ops(Busy phase, double ns, int64_t count, std::span<const Stop> stops);
  void distort(CollectiveCall& call) const;
  [[nodiscard]] double noise(uint64_t key) const;
  [[nodiscard]] double step_noise() const;
  [[nodiscard]] double factor(Busy phase, uint64_t which) const;
  [[nodiscard]] double scale(int32_t named) const;
  void fault_ops(Busy phase, int64_t ns);
  void host_op(Busy phase, int32_t outer, int32_t inner, double ns);
  void device_op(Busy phase, int32_t outer, int32_t kernel, double ns);

  const Spec& spec_;
  const FaultPlan& plan_;
  int rank_;
  int64_t step_;
  Program& out_;
  Effects effects_;
  std::array<double, 3> phase_scales_{1, 1, 1};
  std::map<int32_t, double> scales_;  // by name
  double loudness_;                   // factor on noise
  double speed_;                      // in this step
  uint64_t key_;
  uint64_t drawn_ = 0;
  int64_t autograd_ = 0;
};

}  // namespace dprof::synth
