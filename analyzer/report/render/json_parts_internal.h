// SPDX-License-Identifier: Apache-2.0
// What the parts of the JSON report share.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "analyzer/report/report.h"

namespace dprof::analyzer {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <typename List, typename Convert>
Json array_of(const List& list, Convert&& convert) {
  Json array = Json::array();
  for (const auto& item : list) array.push_back(convert(item));
  return array;
}

// What converts an optional part: null where it was not computed.
template <typename T, typename Convert>
Json part(const std::optional<T>& value, Convert&& convert) {
  return value ? convert(*value) : Json(nullptr);
}

Json json_of_memory(const Memory& memory);

}  // namespace dprof::analyzer
