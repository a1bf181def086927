// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/kineto/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "analyzer/import/kineto/decimal.h"

namespace dprof::analyzer::kineto {
namespace {

constexpr int64_t kMaxMembers = 1 << 20;

std::string text_of(const Value& value) {
  return value.escaped ? unescape(value.raw) : std::string(value.raw);
}

// FNV-1a, without the sign bit; never 0, which means none.
int64_t hash_of(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return std::max<int64_t>(1, static_cast<int64_t>(hash >> 1));
}

}  // namespace

GroupFields group_fields_of(const Event& event) {
  GroupFields fields;
  const Value name = event.has(Arg::kGroupName) ? event[Arg::kGroupName] : event[Arg::kGroupId];
  if (name.scalar()) fields.name = text_of(name);
  if (const Value ranks = event[Arg::kGroupRanks]; ranks.there()) fields.ranks = text_of(ranks);
  if (fields.ranks == "[]") fields.ranks.clear();
  fields.size = number_of(event, Arg::kGroupSize);
  fields.start = number_of(event, Arg::kGroupStart);
  fields.stride = number_of(event, Arg::kGroupStride);
  return fields;
}

std::optional<std::vector<int>> rank_list(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  std::vector<int> ranks;
  const char* at = text.data() + 1;
  const char* end = text.data() + text.size() - 1;
  while (at < end) {
    while (at < end && (*at == ' ' || *at == ',')) ++at;
    if (at == end) break;
    int rank = 0;
    const auto [stop, error] = std::from_chars(at, end, rank);
    if (error != std::errc() || rank < 0) return std::nullopt;
    ranks.push_back(rank);
    at = stop;
  }
  return ranks;
}

size_t Groups::number(GroupFields fields) {
  const auto [entry, is_new] = numbers_.try_emplace(std::move(fields), groups_.size());
  if (is_new) groups_.push_back(entry->first);
  return entry->second;
}

std::vector<int> Groups::members(size_t number) const {
  const GroupFields& fields = groups_[number];
  if (std::optional<std::vector<int>> ranks = rank_list(fields.ranks); ranks && !ranks->empty()) {
    return *std::move(ranks);
  }
  if (const auto known = members_.find(fields.name); known != members_.end()) return known->second;
  std::vector<int> members;
  const int64_t size = fields.size.value_or(0);
  const bool counted = fields.start.value_or(-1) >= 0 && fields.stride.value_or(0) > 0 &&
                       size > 0 && size <= kMaxMembers && *fields.start <= kMaxMembers &&
                       *fields.stride <= kMaxMembers / size;
  for (int64_t i = 0; counted && i < size; ++i) {
    members.push_back(static_cast<int>(*fields.start + i * *fields.stride));
  }
  return members;
}

int64_t Groups::communicator(TraceSink& sink, size_t number, schema::Backend backend,
                             std::optional<int> own_rank) {
  const auto [entry, is_new] = communicators_.try_emplace({number, backend}, 0);
  if (!is_new) return entry->second;
  const GroupFields& fields = groups_[number];
  const std::vector<int> all = members(number);
  const int64_t size = all.empty() ? fields.size.value_or(0) : static_cast<int64_t>(all.size());
  std::string identity = fmt::format("{}/{}/{}", fields.name, size, static_cast<int>(backend));
  for (const int member : all) identity += fmt::format(",{}", member);
  schema::CommunicatorRow row{.hash = hash_of(identity), .ordinal = 0, .backend = backend};
  if (size > 0) row.size = size;
  const auto own = std::ranges::find(all, own_rank.value_or(-1));
  if (own != all.end()) row.own_rank = own - all.begin();
  row.name_id = sink.text(is_unknown(number) ? "unknown group" : fields.name);
  entry->second = sink.add_communicator(row, all);
  return entry->second;
}

}  // namespace dprof::analyzer::kineto
