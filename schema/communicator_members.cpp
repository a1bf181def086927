// SPDX-License-Identifier: Apache-2.0
#include "schema/communicator_members.h"

#include <fmt/format.h>

namespace dprof::schema {

std::string create_communicator_member_view() {
  return fmt::format(
      "CREATE VIEW \"communicator_member\" AS WITH RECURSIVE one(communicator_id, member, rank, stride, rest) AS ("
      "SELECT communicator_id, member, rank, stride, min(count, {}) - 1 FROM _communicator_members "
      "UNION ALL SELECT communicator_id, member + 1, rank + stride, stride, rest - 1 FROM one WHERE rest > 0) "
      "SELECT communicator_id, member, rank FROM one ORDER BY communicator_id, member;\n",
      kMostMembersOfARow);
}

bool extend(CommunicatorMembersRow& row, const CommunicatorMemberRow& next) {
  int64_t stride = 0;
  int64_t end = 0;
  int64_t rank = 0;
  if (next.communicator_id != row.communicator_id || row.count == kMostMembersOfARow ||
      __builtin_add_overflow(row.member, row.count, &end) || next.member != end ||
      __builtin_sub_overflow(next.rank, row.rank, &stride)) {
    return false;
  }
  if (row.count == 1) {
    row.stride = stride;
  } else if (__builtin_mul_overflow(row.stride, row.count, &rank) || rank != stride) {
    return false;
  }
  ++row.count;
  return true;
}

CommunicatorMembersRow members_of(const CommunicatorMemberRow& first) {
  return {.communicator_id = first.communicator_id,
          .member = first.member,
          .rank = first.rank,
          .count = 1,
          .stride = 0};
}

}  // namespace dprof::schema
