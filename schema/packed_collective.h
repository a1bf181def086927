// SPDX-License-Identifier: Apache-2.0
// The storage of collectives: what many of them share is stored once in `_collective_traits`,
// the rest in `_collective`, with times relative to the call; the view `collective` joins them
// again. This reduced 88 to 110 bytes a row to less than 48 (docs/design/schema.md).
#pragma once

#include <string>

#include "schema/generated/rows.h"

namespace dprof::schema {

// Both parts of a row; `traits_id` and the traits' `id` are still to be set.
struct PackedCollective {
  PackedCollectiveRow row;
  CollectiveTraitsRow traits;
};

// Exact for every row: what cannot be stored in a shorter way is stored unchanged. In files before
// version 7, the bytes always are.
[[nodiscard]] PackedCollective pack(const CollectiveRow& row, int64_t version);

// The row again. False: the two do not belong together, which only damage explains.
[[nodiscard]] bool unpack(const PackedCollectiveRow& packed, const CollectiveTraitsRow& traits,
                          CollectiveRow& row);

// CREATE VIEW collective.
[[nodiscard]] std::string create_collective_view();

}  // namespace dprof::schema
