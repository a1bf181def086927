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

// FNV-1a, without the sign; 0 would mean none.
int64_t hash_of(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return std::max<int64_t>(1, static_cast<int64_t>(hash >> 1));
}

}  // namespace

GroupTold group_told(const Event& event) {
  GroupTold told;
  const Value name = event.has(Arg::kGroupName) ? event[Arg::kGroupName] : event[Arg::kGroupId];
  if (name.scalar()) told.name = text_of(name);
  if (const Value ranks = event[Arg::kGroupRanks]; ranks.there()) told.ranks = text_of(ranks);
  if (told.ranks == "[]") told.ranks.clear();
  told.size = number_of(event, Arg::kGroupSize);
  told.start = number_of(event, Arg::kGroupStart);
  told.stride = number_of(event, Arg::kGroupStride);
  return told;
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

size_t Groups::number(GroupTold told) {
  const auto [entry, is_new] = numbers_.try_emplace(std::move(told), told_.size());
  if (is_new) told_.push_back(entry->first);
  return entry->second;
}

std::vector<int> Groups::members(size_t number) const {
  const GroupTold& told = told_[number];
  if (std::optional<std::vector<int>> ranks = rank_list(told.ranks); ranks && !ranks->empty()) {
    return *std::move(ranks);
  }
  if (const auto known = members_.find(told.name); known != members_.end()) return known->second;
  std::vector<int> members;
  const int64_t size = told.size.value_or(0);
  const bool counted = told.start.value_or(-1) >= 0 && told.stride.value_or(0) > 0 && size > 0 &&
                       size <= kMaxMembers && *told.start <= kMaxMembers &&
                       *told.stride <= kMaxMembers / size;
  for (int64_t i = 0; counted && i < size; ++i) {
    members.push_back(static_cast<int>(*told.start + i * *told.stride));
  }
  return members;
}

int64_t Groups::communicator(TraceSink& sink, size_t number, schema::Backend backend,
                             std::optional<int> own_rank) {
  const auto [entry, is_new] = communicators_.try_emplace({number, backend}, 0);
  if (!is_new) return entry->second;
  const GroupTold& told = told_[number];
  const std::vector<int> all = members(number);
  const int64_t size = all.empty() ? told.size.value_or(0) : static_cast<int64_t>(all.size());
  std::string identity = fmt::format("{}/{}/{}", told.name, size, static_cast<int>(backend));
  for (const int member : all) identity += fmt::format(",{}", member);
  schema::CommunicatorRow row{.hash = hash_of(identity), .ordinal = 0, .backend = backend};
  if (size > 0) row.size = size;
  const auto own = std::ranges::find(all, own_rank.value_or(-1));
  if (own != all.end()) row.own_rank = own - all.begin();
  row.name_id = sink.text(is_untold(number) ? "group not told" : told.name);
  entry->second = sink.add_communicator(row, all);
  return entry->second;
}

}  // namespace dprof::analyzer::kineto
