// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/tokens.h"

#include <map>
#include <tuple>

namespace dprof::analyzer {

Tokens tokens_of(const CollectiveRecords& collectives) {
  std::map<std::tuple<size_t, schema::Function, int64_t, schema::DataType>, uint32_t> known;
  Tokens tokens;
  for (size_t i = 0; i < collectives.size(); ++i) {
    const CollectiveRecord& record = collectives[i];
    const std::optional<TraceNs> at = record.arrival();
    if (!at) continue;
    const auto key =
        std::tuple(record.communicator, record.function, record.bytes.value_or(-1), record.dtype);
    tokens.kinds.push_back(
        known.try_emplace(key, static_cast<uint32_t>(known.size())).first->second);
    tokens.times.push_back(*at);
    tokens.origin.push_back(i);
  }
  return tokens;
}

Tokens tokens_of(std::span<const HostToken> given) {
  std::map<int64_t, uint32_t> known;
  Tokens tokens;
  for (size_t i = 0; i < given.size(); ++i) {
    tokens.kinds.push_back(
        known.try_emplace(given[i].name, static_cast<uint32_t>(known.size())).first->second);
    tokens.times.push_back(given[i].at);
    tokens.origin.push_back(i);
  }
  return tokens;
}

}  // namespace dprof::analyzer
