// SPDX-License-Identifier: Apache-2.0
// Groups ranks by role: only ranks that do the same job can be compared directly
// (docs/analysis/stragglers.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/steps/steps.h"
#include "analyzer/stragglers/own_work.h"

namespace dprof::analyzer {

struct Role {
  std::string name;        // "stage 3 of 4", "server"; empty = same as the others
  bool is_stage = false;   // of a pipeline
  bool is_server = false;  // does a different job: not compared with any rank
};

struct Roles {
  std::vector<Role> of;                   // by entry of Steps::ranks
  std::vector<std::vector<size_t>> sets;  // compared within themselves; they can overlap
  // The set in which a rank is judged; nullopt = none.
  std::vector<std::optional<size_t>> set_of;
  // Ranks of each pipeline, where several share the data.
  std::vector<std::vector<size_t>> pipelines;
  // Ranks that are alone in their role are compared with all others but servers.
  [[nodiscard]] bool alone(size_t rank) const;
};

// A rank with messages but without phases is a server; without servers, each pipeline stage is a
// role (replay/pipelines.h). Otherwise all ranks have the same role. `work` can lack kinds.
// O(messages log messages).
Roles roles_of(std::span<const RankDigest> digests, const Steps& steps, const Matching& matching,
               const OwnWork& work);

// One stage of a pipeline reads the input, and copies it to its device, for all of them. Where its
// ranks are compared with other stages, `work` is left without as much of that as the stage's other
// ranks do; of a stage of one rank, without all of it, if it is little. O(ranks * steps).
void leave_out_reading(const Roles& roles, OwnWork& work);

// What ranks are compared by.
struct ComparedWork {
  OwnWork work;  // without what belongs to roles
  Roles roles;
};
[[nodiscard]] ComparedWork compared_work(std::span<const RankDigest> digests, const Steps& steps,
                                         const Matching& matching, std::span<const Lattice> pieces);

// All in one set.
Roles same_roles(size_t ranks);

}  // namespace dprof::analyzer
