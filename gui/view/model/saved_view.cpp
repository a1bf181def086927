// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/saved_view.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::string_view kSchemaName = "dprof.view/";
constexpr int kVersion = 1;
constexpr std::string_view kFileName = "dprofview.json";

Json interval_json(Interval interval) { return {interval.begin.ns, interval.end.ns}; }

// Nothing unless it is an ordered pair of numbers.
Interval interval_of(const Json& json) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_number_integer() ||
      !json[1].is_number_integer())
    return {};
  const Interval interval{{json[0].get<int64_t>()}, {json[1].get<int64_t>()}};
  return interval.end < interval.begin ? Interval{} : interval;
}

template <typename Value>
std::vector<Value> list_of(const Json& json, const char* key) {
  std::vector<Value> values;
  if (!json.contains(key) || !json[key].is_array()) return values;
  for (const Json& one : json[key]) {
    if constexpr (std::is_same_v<Value, std::string>) {
      if (one.is_string()) values.push_back(one.get<std::string>());
    } else {
      if (one.is_number_integer()) values.push_back(one.get<Value>());
    }
  }
  return values;
}

template <typename Value>
std::set<Value> set_of(const Json& json, const char* key) {
  const std::vector<Value> values = list_of<Value>(json, key);
  return {values.begin(), values.end()};
}

std::string text_of(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}

Failure no_view(std::string what) {
  return fail(Code::kNotATrace, std::move(what), say("without it the run opens afresh"));
}

}  // namespace

std::string to_json(const SavedView& view) {
  Json out;
  out["schema"] = fmt::format("{}{}", kSchemaName, kVersion);
  if (!view.range.empty()) out["range_ns"] = interval_json(view.range);
  if (!view.page.empty()) out["page"] = view.page;
  if (!view.dock.empty()) out["dock"] = view.dock;
  out["selectors"] = view.selectors;
  const Arrangement& tracks = view.arrangement;
  out["tracks"] = {{"filter", tracks.filter},
                   {"pinned", tracks.pinned},
                   {"hidden", tracks.hidden},
                   {"order", tracks.order},
                   {"unfolded_ranks", tracks.unfolded_ranks},
                   {"folded_hosts", tracks.folded_hosts}};
  out["notes"] = Json::array();
  for (const Note& note : view.notes)
    out["notes"].push_back({{"at_ns", interval_json(note.at)}, {"text", note.text}});
  out["sql"] = {{"query", view.query}, {"history", view.queries}};
  if (view.path) out["path"] = true;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<SavedView> view_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return no_view(say("it is no JSON object"));
  const std::string schema = text_of(json, "schema");
  if (schema != fmt::format("{}{}", kSchemaName, kVersion)) {
    return no_view(schema.starts_with(kSchemaName)
                       ? say("it was written by another dprof: {}", schema)
                       : say("it holds no saved view"));
  }
  SavedView view;
  if (json.contains("range_ns")) view.range = interval_of(json["range_ns"]);
  view.page = text_of(json, "page");
  view.dock = text_of(json, "dock");
  view.selectors = list_of<std::string>(json, "selectors");
  if (json.contains("tracks") && json["tracks"].is_object()) {
    const Json& tracks = json["tracks"];
    view.arrangement = {.folded_hosts = set_of<std::string>(tracks, "folded_hosts"),
                        .unfolded_ranks = set_of<int>(tracks, "unfolded_ranks"),
                        .filter = text_of(tracks, "filter"),
                        .pinned = list_of<std::string>(tracks, "pinned"),
                        .hidden = set_of<std::string>(tracks, "hidden"),
                        .order = list_of<int>(tracks, "order")};
  }
  if (json.contains("notes") && json["notes"].is_array()) {
    for (const Json& note : json["notes"]) {
      if (!note.is_object() || !note.contains("at_ns")) continue;
      view.notes.push_back({interval_of(note["at_ns"]), text_of(note, "text")});
    }
  }
  if (json.contains("sql") && json["sql"].is_object()) {
    view.query = text_of(json["sql"], "query");
    view.queries = list_of<std::string>(json["sql"], "history");
  }
  view.path = json.contains("path") && json["path"] == true;
  return view;
}

fs::path view_file_of(const std::vector<fs::path>& run) {
  if (run.size() != 1) return {};
  std::error_code ignored;
  if (fs::is_directory(run.front(), ignored)) return run.front() / kFileName;
  fs::path file = run.front();
  file += fmt::format(".{}", kFileName);
  return file;
}

fs::path own_view_file_of(const std::vector<fs::path>& run) {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if ((state == nullptr || *state == '\0') && (home == nullptr || *home == '\0')) return {};
  const fs::path folder =
      state != nullptr && *state != '\0' ? fs::path(state) : fs::path(home) / ".local" / "state";
  std::string all;
  std::error_code ignored;
  for (const fs::path& path : run) all += fs::weakly_canonical(path, ignored).string() + '\n';
  return folder / "dprof" / "views" / fmt::format("{:016x}.json", std::hash<std::string>()(all));
}

Result<SavedView> read_view(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail(Code::kNotFound, say("{}: there is no such file", file.string()));
  std::stringstream text;
  text << in.rdbuf();
  Result<SavedView> view = view_from_json(text.str());
  if (view.ok()) return view;
  return fail(view.error().code, fmt::format("{}: {}", file.string(), view.error().what),
              view.error().hint);
}

Status write_view(const fs::path& file, const SavedView& view) {
  const auto bad = [&] { return fail(Code::kIo, say("{} cannot be written", file.string())); };
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  fs::path beside = file;
  beside += fmt::format(".{}", getpid());
  {
    std::ofstream out(beside, std::ios::binary | std::ios::trunc);
    out << to_json(view);
    out.close();
    if (!out) {
      fs::remove(beside, error);
      return bad();
    }
  }
  fs::rename(beside, file, error);
  if (!error) return Done{};
  fs::remove(beside, error);
  return bad();
}

}  // namespace dprof::view
