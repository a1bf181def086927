// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/communicators.h"

namespace dprof::recorder {

using schema::Backend;
using schema::CommunicatorRow;

CommunicatorRow& Communicators::new_row() {
  const auto id = static_cast<int64_t>(rows_.size()) + 1;
  CommunicatorRow& row = rows_[id];
  row.id = id;
  return row;
}

void Communicators::announce(const wire::Communicator& body, int64_t name_id, std::string_view name,
                             TraceOutput& output) {
  const int64_t id = find(body.group, static_cast<Backend>(body.backend), output);
  if (name_id != 0) names_[id] = name;
  CommunicatorRow row = rows_.at(id);
  if (!has_nccl_.contains(id)) {
    row.backend = static_cast<Backend>(body.backend);
    if (body.size >= 0) row.size = body.size;
    if (body.own_rank >= 0) row.own_rank = body.own_rank;
  }
  if (name_id != 0) row.name_id = name_id;
  if (row == rows_.at(id)) return;
  rows_.at(id) = row;
  output.set_communicator(row);
}

int64_t Communicators::find(uint64_t hash, Backend backend, TraceOutput& output) {
  if (rows_.size() >= kMost && !by_hash_.contains(hash)) hash = 0;
  const auto [at, is_new] = by_hash_.try_emplace(hash);
  if (!is_new) return at->second;
  CommunicatorRow& row = new_row();
  at->second = row.id;
  row.hash = static_cast<int64_t>(hash);
  row.backend = backend;
  output.append(row);
  return row.id;
}

int64_t Communicators::add_nccl(const NcclCommunicatorFacts& facts, std::optional<int64_t> carries,
                                TraceOutput& output) {
  const CommunicatorRow* group = nullptr;
  if (carries && rows_.contains(*carries)) group = &rows_.at(*carries);
  const bool same_size =
      group != nullptr && (!group->size || !facts.size || *group->size == *facts.size);
  if (same_size && !has_nccl_.contains(group->id)) {
    CommunicatorRow& row = rows_.at(group->id);
    has_nccl_.insert(row.id);
    row.hash = static_cast<int64_t>(facts.hash);
    row.ordinal = facts.ordinal;
    row.backend = Backend::kNccl;
    if (facts.size) row.size = facts.size;
    if (facts.own_rank) row.own_rank = facts.own_rank;
    if (!row.name_id) row.name_id = facts.name_id;
    output.set_communicator(row);
    return row.id;
  }
  if (rows_.size() >= kMost) return find(0, Backend::kNccl, output);
  const std::optional<int64_t> name_id = group != nullptr ? group->name_id : facts.name_id;
  CommunicatorRow& row = new_row();
  has_nccl_.insert(row.id);
  row.hash = static_cast<int64_t>(facts.hash);
  row.ordinal = facts.ordinal;
  row.backend = Backend::kNccl;
  row.size = facts.size;
  row.own_rank = facts.own_rank;
  row.name_id = name_id;
  output.append(row);
  return row.id;
}

void Communicators::complete_nccl(int64_t id, const NcclCommunicatorFacts& facts,
                                  TraceOutput& output) {
  CommunicatorRow& row = rows_.at(id);
  const CommunicatorRow before = row;
  if (!row.size) row.size = facts.size;
  if (!row.own_rank) row.own_rank = facts.own_rank;
  if (!row.name_id) row.name_id = facts.name_id;
  if (row != before) output.set_communicator(row);
}

std::optional<int64_t> Communicators::size_of(int64_t id) const {
  const auto found = rows_.find(id);
  return found != rows_.end() ? found->second.size : std::nullopt;
}

uint64_t Communicators::hash_of(int64_t id) const {
  const auto found = rows_.find(id);
  return found != rows_.end() ? static_cast<uint64_t>(found->second.hash) : 0;
}

std::string Communicators::name_of(int64_t id) const {
  const auto found = names_.find(id);
  return found != names_.end() ? found->second : std::string();
}

}  // namespace dprof::recorder
