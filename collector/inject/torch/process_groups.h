// SPDX-License-Identifier: Apache-2.0
// The identity of a process group: a hash that is equal on all of its ranks, told to the recorder
// once per group.
//
// Threading  any; lock-free.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "collector/inject/core_api.h"

namespace dprof::inject::torch_source {

struct GroupInfo {
  uint64_t hash = 0;  // of name, size and, where they are known, members; 0 = not known
  int32_t size = -1;
  int32_t own_rank = -1;
  uint8_t backend = 0;
};

// Reads the group and, the first time that its hash is seen, writes a Communicator record and one
// for each member whose global rank is known. What torch raises passes through: the caller's
// wrapper catches it. A group that this thread used lately costs two loads: no text is copied and
// nothing is thrown.
[[nodiscard]] GroupInfo describe_group(const CoreApi& core, const c10d::ProcessGroup& group);

// torch was built with the std::string from before C++11, as PyPI's 2.6 is.
[[nodiscard]] bool has_old_strings() noexcept;

// torch exports what names a group.
[[nodiscard]] bool groups_have_names() noexcept;

// As the group was made.
[[nodiscard]] int32_t rank_in_group(const c10d::ProcessGroup& group) noexcept;
[[nodiscard]] int32_t size_of_group(const c10d::ProcessGroup& group) noexcept;

}  // namespace dprof::inject::torch_source
