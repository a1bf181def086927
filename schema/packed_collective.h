// SPDX-License-Identifier: Apache-2.0
// How a trace stores collectives: what is the same for many of them lies once in
// `_collective_traits`, the rest in `_collective`, times relative to the call; the view
// `collective` puts them together again. 88 to 110 bytes a row became less than 64
// (docs/design/schema.md).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "schema/generated/rows.h"

namespace dprof::schema {

// Both parts of a row; `traits_id` and the traits' `id` are still to be given.
struct PackedCollective {
  PackedCollectiveRow row;
  CollectiveTraitsRow traits;
};

// Exact for every row: one whose times do not go together with relative ones is stored as it is.
[[nodiscard]] PackedCollective pack(const CollectiveRow& row);

// CREATE VIEW collective.
[[nodiscard]] std::string create_collective_view();

// The ids of traits that were written, as far as they are remembered.
//
// Threading  one thread.
// Cost       0.2 us; at most kMost entries of about 150 bytes.
class CollectiveTraits {
 public:
  explicit CollectiveTraits(int64_t first_id) : next_id_(first_id) {}

  // The id of these traits; true where they must be written. `id` of them does not count.
  std::pair<int64_t, bool> id_of(const CollectiveTraitsRow& traits);

 private:
  // A program whose every collective is of another kind must not fill the memory.
  static constexpr size_t kMost = 4096;

  int64_t next_id_;
  std::unordered_map<std::string, int64_t> ids_;
};

}  // namespace dprof::schema
