// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/run/run_index.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "collector/recorder/run/json_file.h"

namespace dprof::recorder {
namespace {

using nlohmann::ordered_json;

ordered_json number_or_null(const std::optional<int>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json json_of_index(const RunIndex& index) {
  ordered_json json;
  json["schema"] = "dprof.run/1";
  json["id"] = index.id;
  json["command"] = index.command;
  json["world_size"] = number_or_null(index.world_size);
  json["recorders"] = ordered_json::array();
  for (const std::string& host : index.recorders) {
    json["recorders"].push_back({{"host", host}, {"dprof_version", DPROF_VERSION}});
  }
  json["traces"] = ordered_json::array();
  for (const TraceEntry& trace : index.traces) {
    json["traces"].push_back({{"file", trace.file},
                              {"rank", number_or_null(trace.rank)},
                              {"host", trace.host},
                              {"ended", trace.ended}});
  }
  json["diagnostics"] = ordered_json::array();
  for (const RunDiagnostic& diagnostic : index.diagnostics) {
    json["diagnostics"].push_back({{"code", diagnostic.code}, {"text", diagnostic.text}});
  }
  return json;
}

// Adds the entries of `from`[`list`] whose `key` is new.
void add_missing(ordered_json& to, const ordered_json& from, const char* list, const char* key) {
  const auto entries = from.find(list);
  if (entries == from.end() || !entries->is_array()) return;
  for (const ordered_json& entry : *entries) {
    const bool known = std::ranges::any_of(to[list], [&](const ordered_json& other) {
      return entry.is_object() &&
             other.value(key, ordered_json()) == entry.value(key, ordered_json());
    });
    if (entry.is_object() && !known) to[list].push_back(entry);
  }
}

// The others' content, and our own part.
ordered_json merged(const ordered_json& theirs, ordered_json ours) {
  if (!theirs.is_object()) return ours;
  if (ours["world_size"].is_null()) ours["world_size"] = theirs.value("world_size", ordered_json());
  add_missing(ours, theirs, "recorders", "host");
  add_missing(ours, theirs, "traces", "file");
  add_missing(ours, theirs, "diagnostics", "text");
  const auto place = [](const ordered_json& trace) {
    const ordered_json rank = trace.value("rank", ordered_json());
    return std::pair(rank.is_number_integer() ? rank.get<int64_t>() : INT64_MAX,
                     trace.value("file", ordered_json()).dump());
  };
  ordered_json& traces = ours["traces"];
  std::sort(traces.begin(), traces.end(),
            [&](const ordered_json& a, const ordered_json& b) { return place(a) < place(b); });
  return ours;
}

Status write(const std::filesystem::path& folder, const ordered_json& json) {
  return write_json(folder / kIndexName, json, FileAccess::kAsUmask,
                    "is the disk full? the traces are readable without it");
}

}  // namespace

Status write_run_index(const std::filesystem::path& folder, const RunIndex& index) {
  return write(folder, json_of_index(index));
}

Status merge_run_index(const std::filesystem::path& folder, const RunIndex& index) {
  return write(folder, merged(read_json(folder / kIndexName), json_of_index(index)));
}

}  // namespace dprof::recorder
