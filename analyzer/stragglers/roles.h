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
  std::string name;        // "stage 3 of 4", "server"; empty = as all others
  bool is_stage = false;   // of a pipeline
  bool is_server = false;  // its job is another one: nobody's peer, and compared with nobody
};

struct Roles {
  std::vector<Role> of;                   // by entry of Steps::ranks
  std::vector<std::vector<size_t>> sets;  // that are compared within themselves; they may overlap
  // The set that a rank is judged in; nullopt = in none.
  std::vector<std::optional<size_t>> set_of;
  // Ranks that are alone in their role are compared with all others but servers.
  [[nodiscard]] bool alone(size_t rank) const;
};

// A rank that has messages and computes no phases is a server; where there is none, the stage of a
// pipeline is a role (replay/pipelines.h). Otherwise all have the same role. `work` may be without
// kinds. O(messages log messages).
Roles roles_of(std::span<const RankDigest> digests, const Steps& steps, const Matching& matching,
               const OwnWork& work);

// All in one set.
Roles same_roles(size_t ranks);

}  // namespace dprof::analyzer
