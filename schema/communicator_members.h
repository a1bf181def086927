// SPDX-License-Identifier: Apache-2.0
// The storage of the members of communicators: consecutive members whose ranks are equally far
// apart are one row of `_communicator_members`; the view `communicator_member` has a row for each.
// Every rank's trace lists everybody in its groups: of 10,000 ranks these were 100 million rows
// (docs/design/schema.md).
#pragma once

#include <cstdint>
#include <string>

#include "schema/generated/rows.h"

namespace dprof::schema {

// More than any job has ranks: a damaged count must not keep a reader busy.
inline constexpr int64_t kMostMembersOfARow = int64_t{1} << 24;

// CREATE VIEW communicator_member.
[[nodiscard]] std::string create_communicator_member_view();

// Adds `next` to the end of `row`; false if it does not belong there.
[[nodiscard]] bool extend(CommunicatorMembersRow& row, const CommunicatorMemberRow& next);

// A row with this member alone.
[[nodiscard]] CommunicatorMembersRow members_of(const CommunicatorMemberRow& first);

// Calls visit(const CommunicatorMemberRow&) for each member; false if the row is damaged.
template <typename Visit>
bool for_each_member(const CommunicatorMembersRow& row, Visit&& visit) {
  if (row.count < 1 || row.count > kMostMembersOfARow) return false;
  for (int64_t i = 0; i < row.count; ++i) {
    int64_t member = 0;
    int64_t rank = 0;
    if (__builtin_add_overflow(row.member, i, &member) ||
        __builtin_mul_overflow(row.stride, i, &rank) ||
        __builtin_add_overflow(row.rank, rank, &rank)) {
      return false;
    }
    visit(CommunicatorMemberRow{
        .communicator_id = row.communicator_id, .member = member, .rank = rank});
  }
  return true;
}

}  // namespace dprof::schema
