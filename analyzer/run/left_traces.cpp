// SPDX-License-Identifier: Apache-2.0
#include "analyzer/run/left_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kLargestNote = 1 << 16;  // in bytes; a recorder's has a few hundred

// nullopt: the folder is not on this host, or is another user's.
std::optional<int64_t> count_traces(const fs::path& folder) {
  int64_t traces = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    traces += entry->path().extension() == ".dprof" ? 1 : 0;
  }
  return error ? std::nullopt : std::optional(traces);
}

std::optional<LeftTraces> read_left_traces(const fs::path& note) {
  std::error_code error;
  if (!fs::is_regular_file(note, error) || fs::file_size(note, error) > kLargestNote || error)
    return std::nullopt;
  std::ifstream file(note);
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object() || json.value("schema", nlohmann::json()) != "dprof.local/1")
    return std::nullopt;
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  LeftTraces left{text("host"), text("folder"), std::nullopt, text("why")};
  if (!fs::path(left.folder).is_absolute()) return std::nullopt;
  left.traces = count_traces(left.folder);
  const auto noted = json.find("traces");
  if (!left.traces && noted != json.end() && noted->is_number_unsigned())
    left.traces = static_cast<int64_t>(std::min<uint64_t>(noted->get<uint64_t>(), INT32_MAX));
  return left.traces == 0 ? std::nullopt : std::optional(std::move(left));
}

}  // namespace

std::vector<LeftTraces> find_left_traces(const fs::path& run) {
  std::vector<fs::path> notes;
  std::error_code error;
  for (fs::directory_iterator entry(run, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".local") notes.push_back(entry->path());
  }
  std::ranges::sort(notes);
  std::vector<LeftTraces> all;
  for (const fs::path& note : notes) {
    if (std::optional<LeftTraces> left = read_left_traces(note)) all.push_back(*std::move(left));
  }
  return all;
}

Diagnostic diagnostic_of(const LeftTraces& left) {
  const std::string traces = !left.traces        ? "traces"
                             : *left.traces == 1 ? "1 trace"
                                                 : fmt::format("{} traces", *left.traces);
  return make_diagnostic("traces_left",
                         fmt::format("{} on {}, in {}{}{}; hint: {}", traces, left.host,
                                     left.folder, left.why.empty() ? "" : ": ", left.why,
                                     schema::diagnostic_kind("traces_left").hint),
                         left.traces.value_or(1));
}

}  // namespace dprof::analyzer
