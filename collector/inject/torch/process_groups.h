// SPDX-License-Identifier: Apache-2.0
// The identity of a process group: a hash that is equal on all its ranks, reported to the recorder
// once per group.
//
// Threading  any; lock-free.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "collector/inject/core_api.h"

namespace dprof::inject::torch_source {

struct GroupInfo {
  uint64_t hash = 0;  // of name, size and, if known, members; 0 = not known
  int32_t size = -1;
  int32_t own_rank = -1;
  uint8_t backend = 0;
};

// Reads the group and, the first time that its hash is seen, writes a Communicator record and one
// for each member with a known global rank. Exceptions from torch pass through: the caller's
// wrapper catches them. A group that this thread used recently costs two loads: no text is copied
// and nothing is thrown.
[[nodiscard]] GroupInfo describe_group(const CoreApi& core, const c10d::ProcessGroup& group);

// torch was built with the pre-C++11 std::string, like PyPI's 2.6.
[[nodiscard]] bool has_old_strings() noexcept;

// torch exports the functions that name a group.
[[nodiscard]] bool groups_have_names() noexcept;

// The rank with which the group was created.
[[nodiscard]] int32_t rank_in_group(const c10d::ProcessGroup& group) noexcept;
[[nodiscard]] int32_t size_of_group(const c10d::ProcessGroup& group) noexcept;

}  // namespace dprof::inject::torch_source
