// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/json.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/fields.h"

namespace dprof::analyzer {
namespace {

using Json = nlohmann::ordered_json;

// Types not written field by field: declared before the general case, which uses them.
Json json_of(const CategoryNs& category_ns);
Json json_of(const MemoryUseBytes& bytes);
Json json_of(const std::vector<std::pair<std::string, int64_t>>& by_key);
Json json_of(const std::vector<std::pair<std::string, std::string>>& by_key);
Json json_of(const Breakdown& breakdown);
Json json_of(const Hang& hang);
Json json_of(const Finding& finding);
template <typename T>
Json json_of(const std::optional<T>& value);
template <typename T>
Json json_of(const std::vector<T>& list);
template <typename T>
Json json_of(const T& value);

template <typename T>
Json json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : Json(nullptr);
}

template <typename T>
Json json_of(const std::vector<T>& list) {
  Json array = Json::array();
  for (const T& item : list) array.push_back(json_of(item));
  return array;
}

// Texts that are null if empty, for these structs only.
template <typename T>
constexpr bool kEmptyIsNull = std::is_same_v<T, MemoryHolder> || std::is_same_v<T, LeakSite> ||
                              std::is_same_v<T, RankMemory> || std::is_same_v<T, Straggler> ||
                              std::is_same_v<T, WhatIf> || std::is_same_v<T, Replay>;

void put_field(Json& object, std::string_view name, bool empty_is_null, Json json) {
  if (empty_is_null && json.is_string() && json == "") json = nullptr;
  object[std::string(name)] = std::move(json);
}

template <typename T>
Json json_of(const T& value) {
  if constexpr (HasNamedFields<T>) {
    Json object = Json::object();
    for_each_named_field(value, [&](std::string_view name, const auto& field) {
      put_field(object, name, kEmptyIsNull<T>, json_of(field));
    });
    return object;
  } else if constexpr (std::is_same_v<T, MemoryUse>) {
    return key_of(value);
  } else if constexpr (std::is_enum_v<T>) {
    return word_of(value);
  } else {
    return value;
  }
}

Json json_of(const CategoryNs& category_ns) {
  Json object = Json::object();
  for (size_t c = 0; c < kCategories; ++c)
    object[std::string(key_of(static_cast<Category>(c)))] = category_ns[c];
  return object;
}

Json json_of(const MemoryUseBytes& bytes) {
  Json object = Json::object();
  for (size_t use = 0; use < kMemoryUses; ++use)
    object[std::string(key_of(static_cast<MemoryUse>(use)))] = bytes[use];
  return object;
}

Json json_of(const std::vector<std::pair<std::string, int64_t>>& by_key) {
  Json object = Json::object();
  for (const auto& [key, value] : by_key) object[key] = value;
  return object;
}

Json json_of(const std::vector<std::pair<std::string, std::string>>& by_key) {
  Json object = Json::object();
  for (const auto& [key, value] : by_key) object[key] = value;
  return object;
}

Json json_of(const Breakdown& breakdown) {
  Json keys = Json::array();
  for (size_t c = 0; c < kCategories; ++c) keys.push_back(key_of(static_cast<Category>(c)));
  return {{"categories", keys}, {"per_rank", json_of(breakdown.per_rank)}};
}

Json json_of(const Hang& hang) {
  return {{"state", hang.state},
          {"culprits", hang.culprits},
          {"waiting", hang.waiting},
          {"collective",
           {{"communicator", hang.communicator},
            {"function", word_of(hang.function)},
            {"sequence", json_of(hang.sequence)}}},
          {"reason", hang.reason},
          {"ranks", json_of(hang.ranks)}};
}

Json json_of(const Finding& finding) {
  return {{"rule", finding.rule},
          {"severity", word_of(finding.severity)},
          {"title", finding.title},
          {"detail", finding.detail},
          {"advice", finding.advice},
          {"ranks", finding.ranks},
          {"cost_ns", json_of(finding.cost_ns)},
          {"bound_ns", json_of(finding.bound_ns)},
          {"cause", finding.cause},
          {"confidence", finding.confidence},
          {"caused_by", json_of(finding.caused_by)},
          {"evidence", json_of(finding.evidence)},
          {"explain", {{"decided_by", finding.decided_by}, {"refuted_by", finding.refuted_by}}},
          {"removed_by", finding.removed_by.empty() ? Json(nullptr) : Json(finding.removed_by)}};
}

}  // namespace

std::string render_json(const Report& report) {
  Json json = {{"schema", "dprof.report/1"}};
  json.update(json_of(report));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace dprof::analyzer
