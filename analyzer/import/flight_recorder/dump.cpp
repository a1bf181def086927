// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/flight_recorder/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "analyzer/import/kineto/groups.h"
#include "analyzer/import/kineto/words.h"
#include "schema/data_type.h"

namespace dprof::analyzer::flight_recorder {
namespace {

using schema::CollectiveState;
using schema::Function;
using Id = PlainData::Id;

constexpr int64_t kTimeLimit = int64_t{1} << 61;

std::optional<int64_t> number_at(std::string_view& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

class DumpReader {
 public:
  explicit DumpReader(const PlainData& data) : data_(data) {}

  Result<Dump> run() {
    const Id root = data_.root();
    const Id entries = data_.find(root, "entries");
    if (data_.kind(entries) != PlainData::Kind::kList)
      return fail(Code::kNotATrace, "not a flight-recorder dump: it has no `entries` list");
    dump_.version = text(root, "version");
    dump_.host = text(root, "host_name");
    for (const std::string_view key : {"rank", "global_rank"}) {
      const auto rank = data_.integer(data_.find(root, key));
      if (rank && *rank >= 0 && *rank <= INT32_MAX) dump_.rank = static_cast<int>(*rank);
    }
    read_groups(data_.find(root, "pg_config"));
    for (size_t i = 0; i < data_.size(entries); ++i) read_entry(data_.item(entries, i));
    return std::move(dump_);
  }

 private:
  std::string text(Id dict, std::string_view key) const {
    return std::string(data_.text(data_.find(dict, key)).value_or(""));
  }
  std::optional<int64_t> integer(Id dict, std::string_view key) const {
    return data_.integer(data_.find(dict, key));
  }
  std::optional<int64_t> time(Id dict, std::string_view key) const {
    const auto value = integer(dict, key);
    return value && *value > 0 && *value < kTimeLimit ? value : std::nullopt;
  }
  void skip(const std::string& why) { ++dump_.skipped[why]; }

  // {"35": {"name": "35", "desc": …, "ranks": "[0, 1]" or a list}}
  void read_groups(Id config) {
    for (size_t i = 0; i < data_.size(config); ++i) {
      const auto [key, group] = data_.entry(config, i);
      std::string name = text(group, "name");
      if (name.empty()) name = data_.text(key).value_or("");
      const size_t g = group_named(name, text(group, "desc"));
      const Id ranks = data_.find(group, "ranks");
      if (const auto list = data_.text(ranks)) {
        dump_.groups[g].members = kineto::rank_list(*list).value_or(std::vector<int>());
      } else {
        dump_.groups[g].members = members(ranks);
      }
    }
  }

  std::vector<int> members(Id list) const {
    std::vector<int> ranks;
    for (size_t i = 0; i < data_.size(list); ++i) {
      const auto rank = data_.integer(data_.item(list, i));
      if (!rank || *rank < 0 || *rank > INT32_MAX) return {};
      ranks.push_back(static_cast<int>(*rank));
    }
    return ranks;
  }

  size_t group_named(const std::string& name, std::string description) {
    const auto [entry, is_new] = group_of_.try_emplace(name, dump_.groups.size());
    if (is_new)
      dump_.groups.push_back({.name = name, .description = std::move(description), .members = {}});
    return entry->second;
  }

  void read_entry(Id entry) {
    const auto profiling_name = data_.text(data_.find(entry, "profiling_name"));
    if (!profiling_name) return skip("entries without a name");
    const EntryName name = entry_name(*profiling_name);
    const Id group = data_.find(entry, "process_group");
    const bool is_pair = data_.kind(group) == PlainData::Kind::kList;
    const auto group_name = data_.text(is_pair ? data_.item(group, 0) : group);
    if (!group_name) return skip("entries without a process group");
    DumpEntry row;
    row.group = group_named(std::string(*group_name),
                            std::string(data_.text(data_.item(group, 1)).value_or("")));
    const bool is_message =
        data_.boolean(data_.find(entry, "is_p2p"))
            .value_or(name.function == Function::kSend || name.function == Function::kRecv);
    row.sequence = integer(entry, is_message ? "p2p_seq_id" : "collective_seq_id");
    if (!row.sequence) row.sequence = integer(entry, "seq_id");
    row.state = state_of(entry);
    row.created_ns = time(entry, "time_created_ns");
    row.started_ns = time(entry, "time_discovered_started_ns");
    row.completed_ns = time(entry, "time_discovered_completed_ns");
    if (name.coalesced) return end_coalesced(row, is_message);
    if (!name.function) return skip(fmt::format("entries `{}`", *profiling_name));
    row.function = *name.function;
    row.peer = name.peer;
    row.own = name.own;
    read_sizes(entry, row);
    row.thread = text(entry, "thread_name");
    row.frame = innermost_frame(data_.find(entry, "frames"));
    dump_.entries.push_back(std::move(row));
  }

  CollectiveState state_of(Id entry) const {
    const std::string state = text(entry, "state");
    if (state == "completed") return CollectiveState::kComplete;
    if (state == "started") return CollectiveState::kRunning;
    // Retired: its work object is gone, and no failure was observed.
    if (data_.boolean(data_.find(entry, "retired")).value_or(false))
      return CollectiveState::kComplete;
    return CollectiveState::kEnqueued;
  }

  // The calls of such a group are not tracked one by one: the outcome of all of them is recorded at
  // its end.
  void end_coalesced(const DumpEntry& end, bool is_message) {
    for (auto entry = dump_.entries.rbegin(); entry != dump_.entries.rend(); ++entry) {
      const bool message = entry->function == Function::kSend || entry->function == Function::kRecv;
      if (entry->group != end.group) continue;
      if (message != is_message || entry->sequence != end.sequence) break;
      entry->state = end.state;
      entry->started_ns = end.started_ns;
      entry->completed_ns = end.completed_ns;
    }
    ++dump_.skipped["ends of coalesced groups"];
  }

  void read_sizes(Id entry, DumpEntry& row) const {
    const bool receives = row.function == Function::kRecv;
    const Id sizes = data_.find(entry, receives ? "output_sizes" : "input_sizes");
    const Id types = data_.find(entry, receives ? "output_dtypes" : "input_dtypes");
    const auto type =
        data_.text(data_.kind(types) == PlainData::Kind::kText ? types : data_.item(types, 0));
    if (type) row.dtype = kineto::data_type_of(*type);
    if (row.function == Function::kBarrier || data_.kind(sizes) != PlainData::Kind::kList) return;
    int64_t count = 0;
    for (size_t i = 0; i < data_.size(sizes); ++i) {
      const auto elements = product(data_.item(sizes, i));
      if (!elements || __builtin_add_overflow(count, *elements, &count)) return;
    }
    row.count = count;
    const auto width = schema::bytes_of(row.dtype);
    int64_t bytes = 0;
    if (width && !__builtin_mul_overflow(count, *width, &bytes)) row.bytes = bytes;
  }

  std::optional<int64_t> product(Id sizes) const {
    if (data_.kind(sizes) != PlainData::Kind::kList) return std::nullopt;
    int64_t elements = 1;
    for (size_t i = 0; i < data_.size(sizes); ++i) {
      const auto size = data_.integer(data_.item(sizes, i));
      if (!size || *size < 0 || __builtin_mul_overflow(elements, *size, &elements))
        return std::nullopt;
    }
    return elements;
  }

  // Frames come innermost first; frames of torch itself are not of interest.
  std::string innermost_frame(Id frames) const {
    std::string first;
    for (size_t i = 0; i < std::min<size_t>(64, data_.size(frames)); ++i) {
      const Id frame = data_.item(frames, i);
      const std::string file = text(frame, "filename");
      if (file.empty()) continue;
      std::string words = fmt::format("{}:{} {}", file.substr(file.find_last_of('/') + 1),
                                      integer(frame, "line").value_or(0), text(frame, "name"));
      if (file.find("/torch/") == std::string::npos) return words;
      if (first.empty()) first = std::move(words);
    }
    return first;
  }

  const PlainData& data_;
  Dump dump_;
  std::map<std::string, size_t> group_of_;
};

}  // namespace

EntryName entry_name(std::string_view name) {
  if (const size_t colon = name.find(':'); colon != std::string_view::npos)
    name.remove_prefix(colon + 1);
  EntryName found;
  if (name == "coalesced") {
    found.coalesced = true;
    return found;
  }
  std::string_view word = name.substr(0, name.find(' '));
  found.function = kineto::function_of(word);
  if (found.function != Function::kSend && found.function != Function::kRecv) return found;
  std::string_view route = name.substr(std::min(name.size(), word.size() + 1));
  found.own = number_at(route);
  const bool arrow = route.starts_with("->") || route.starts_with("<-");
  if (arrow) route.remove_prefix(2);
  if (arrow) found.peer = number_at(route);
  return found;
}

std::optional<int> rank_in_name(std::string_view file_name) {
  for (const std::string_view suffix : {".json", ".pickle", ".pkl"}) {
    if (file_name.ends_with(suffix)) file_name.remove_suffix(suffix.size());
  }
  size_t begin = file_name.size();
  while (begin > 0 && file_name[begin - 1] >= '0' && file_name[begin - 1] <= '9') --begin;
  int rank = 0;
  const auto [end, error] =
      std::from_chars(file_name.data() + begin, file_name.data() + file_name.size(), rank);
  if (begin == file_name.size() || error != std::errc()) return std::nullopt;
  return rank;
}

Result<Dump> dump_of(const PlainData& data) { return DumpReader(data).run(); }

}  // namespace dprof::analyzer::flight_recorder
