// SPDX-License-Identifier: Apache-2.0
// A training job: which rank is where, the communicators, what each rank does in each step, and the
// cost of a transfer. Programs are generated on every request, always the same.
#pragma once

#include <cstdint>
#include <vector>

#include "synth/engine/world.h"
#include "synth/faults/plan.h"
#include "synth/model/builder.h"
#include "synth/spec.h"

namespace dprof::synth {

// Lengths and sizes of a step, before noise and faults.
struct Sizes {
  double forward_ns = 0;
  double backward_ns = 0;
  double optimizer_ns = 0;
  int64_t forward_ops = 0;
  int64_t backward_ops = 0;
  int64_t optimizer_ops = 0;
  std::vector<int64_t> bucket_bytes;
  int64_t all_bytes = 0;
};

// Threading  immutable after construction.
class Model : public ProgramSource {
 public:
  static Result<Model> make(const Spec& spec);

  bool program(int rank, int64_t index, Program& out) const override;
  [[nodiscard]] double contention() const override { return spec_.contention; }
  [[nodiscard]] double transfer_contention() const override { return spec_.transfer_contention; }

  [[nodiscard]] const Spec& spec() const { return spec_; }
  [[nodiscard]] const FaultPlan& plan() const { return plan_; }
  [[nodiscard]] const Sizes& sizes() const { return sizes_; }
  [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }
  [[nodiscard]] MachineSetting setting(int rank) const;
  [[nodiscard]] WorldModel world() const;

  // Groups by purpose; -1: none.
  [[nodiscard]] int tensor_group(int rank) const;
  [[nodiscard]] int data_group(int rank) const;
  // Of a pipeline: the stages of one replica, and the replicas of one stage.
  [[nodiscard]] int pipe_group(int rank) const;
  [[nodiscard]] int stage_group(int rank) const;
  [[nodiscard]] int stages() const { return spec_.ranks / spec_.replicas; }
  [[nodiscard]] int stage(int rank) const { return rank / spec_.replicas; }
  [[nodiscard]] int pair_group() const { return pair_group_; }
  [[nodiscard]] int rest_group() const { return rest_group_; }
  [[nodiscard]] int half_group(int rank) const;
  // Factor on the length of a group's transfers in a step, from a network fault.
  [[nodiscard]] double slow(int group, int64_t step) const;
  // Likewise for a message between two ranks.
  [[nodiscard]] double slow_message(int from, int to, int64_t step) const;

 private:
  Model(const Spec& spec, FaultPlan plan);
  void make_groups();
  void make_sizes();
  int add_group(std::string name, std::vector<int> members);
  [[nodiscard]] TransferCost cost(const Instance& instance, const CollectiveCall& call) const;
  [[nodiscard]] double slow_between(const std::vector<int>& hosts, int64_t step) const;

  Spec spec_;
  FaultPlan plan_;
  Sizes sizes_;
  std::vector<Group> groups_;
  std::vector<std::vector<int>> group_hosts_;
  int first_tensor_group_ = -1, first_data_group_ = -1;
  int first_pipe_group_ = -1, first_stage_group_ = -1;
  int pair_group_ = -1, rest_group_ = -1, first_half_group_ = -1;
};

// The world: all ranks.
inline constexpr int kWorldGroup = 0;

// Memory blocks of a rank: its parameters, and what forward keeps.
inline constexpr int64_t kParameterBlock = 1;
[[nodiscard]] constexpr int64_t activation_block(int64_t micro_step, int64_t bucket) {
  return (micro_step + 1) * 4096 + bucket;
}

// The step of each technique (techniques/*.cpp); `b` is still empty.
void ddp_step(StepBuilder& b, const Model& model, int rank, int64_t step);
void zero_step(StepBuilder& b, const Model& model, int rank, int64_t step);
void pipeline_step(StepBuilder& b, const Model& model, int rank, int64_t step);
void parameter_server_step(StepBuilder& b, const Model& model, int rank, int64_t step);
void tensor_data_step(StepBuilder& b, const Model& model, int rank, int64_t step);

// Collectives in addition to the technique's own, which some hangs need.
void side_collectives(StepBuilder& b, const Model& model, int rank, int64_t step);

}  // namespace dprof::synth
