// SPDX-License-Identifier: Apache-2.0
// How a trace stores collectives: what many of them share is stored once in `_collective_traits`,
// the rest in `_collective`, with times relative to the call; the view `collective` joins them
// again. This reduced 88 to 110 bytes a row to less than 64 (docs/design/schema.md).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "schema/generated/rows.h"

namespace dprof::schema {

// Both parts of a row; `traits_id` and the traits' `id` are still to be set.
struct PackedCollective {
  PackedCollectiveRow row;
  CollectiveTraitsRow traits;
};

// Exact for every row: one whose times cannot be made relative is stored unchanged.
[[nodiscard]] PackedCollective pack(const CollectiveRow& row);

// CREATE VIEW collective.
[[nodiscard]] std::string create_collective_view();

// Remembers the ids of traits that were written, within a limit.
//
// Threading  one thread.
// Cost       0.2 us; at most kMost entries of about 150 bytes.
class CollectiveTraits {
 public:
  explicit CollectiveTraits(int64_t first_id) : next_id_(first_id) {}

  // The id of these traits; true if they must be written. Their `id` is ignored.
  std::pair<int64_t, bool> id_of(const CollectiveTraitsRow& traits);

 private:
  // A program whose collectives are all different must not fill the memory.
  static constexpr size_t kMost = 4096;

  int64_t next_id_;
  std::unordered_map<std::string, int64_t> ids_;
};

}  // namespace dprof::schema
