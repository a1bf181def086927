// SPDX-License-Identifier: Apache-2.0
// The communicators of a process: LibTorch's process groups and NCCL's own, each as one row.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "collector/recorder/rows/trace_output.h"
#include "collector/wire/record.h"
#include "schema/generated/rows.h"

namespace dprof::recorder {

// NCCL's facts about one of its communicators.
struct NcclCommunicatorFacts {
  uint64_t hash = 0;
  int64_t ordinal = 0;
  std::optional<int64_t> size, own_rank;
  std::optional<int64_t> name_id;
};

// A process group of LibTorch on NCCL and the NCCL communicator that carries it are one row: it
// starts with the group's hash and gets NCCL's when the first call shows the link, so that the
// group's recorded members stay with it. A group's second communicator (after an abort, or for
// another device) has its own row with the group's name.
//
// Invariant  ids are 1, 2, …, one per row; at most kMost rows, the rest share the one of hash 0.
// Threading  one thread.
class Communicators {
 public:
  static constexpr size_t kMost = 16384;

  // LibTorch's facts about a process group; can be repeated, with more.
  void announce(const wire::Communicator& body, int64_t name_id, std::string_view name,
                TraceOutput& output);
  // The id of the process group of that hash; creates an entry if it was not announced yet.
  int64_t find(uint64_t hash, schema::Backend backend, TraceOutput& output);

  // A row for one of NCCL's communicators: that of the group `carries` if possible.
  int64_t add_nccl(const NcclCommunicatorFacts& facts, std::optional<int64_t> carries,
                   TraceOutput& output);
  // NCCL reported more: fills in missing fields.
  void complete_nccl(int64_t id, const NcclCommunicatorFacts& facts, TraceOutput& output);
  // Members of a communicator, if known.
  [[nodiscard]] std::optional<int64_t> size_of(int64_t id) const;
  // Equal on all members; 0 = no such row.
  [[nodiscard]] uint64_t hash_of(int64_t id) const;
  // "" = it has none.
  [[nodiscard]] std::string name_of(int64_t id) const;
  [[nodiscard]] int64_t count() const { return static_cast<int64_t>(rows_.size()); }

 private:
  schema::CommunicatorRow& new_row();

  std::map<uint64_t, int64_t> by_hash_;  // process groups
  std::map<int64_t, schema::CommunicatorRow> rows_;
  std::map<int64_t, std::string> names_;
  std::set<int64_t> has_nccl_;
};

}  // namespace dprof::recorder
