// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <map>

#include "analyzer/import/flight_recorder/dump.h"
#include "analyzer/import/format.h"
#include "analyzer/import/input.h"

namespace dprof::analyzer::flight_recorder {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestFile = size_t{1} << 30U;  // of dumps; 2,000 entries with stacks are 10 MB

bool says(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

bool recognises(std::string_view head) {
  const bool pickle =
      head.size() > 2 && static_cast<uint8_t>(head[0]) == 0x80 && head[1] >= 2 && head[1] <= 5;
  const std::string_view mark = head.substr(0, 4096);
  const bool json = !pickle && !head.empty() && says(head.substr(0, 64), "{");
  if (pickle) return says(mark, "pg_config") || says(mark, "entries") || says(mark, "nccl_version");
  return json && (says(head, "\"pg_config\"") || says(head, "\"pg_status\"")) &&
         !says(head, "\"traceEvents\"");
}

// Fills one trace from one dump.
class TraceFiller {
 public:
  TraceFiller(const Dump& dump, TraceSink& sink) : dump_(dump), sink_(sink) {}

  Status run() {
    for (const DumpGroup& group : dump_.groups) {
      if (group.description == "default_pg") world_ = group.members.size();
    }
    if (world_ > 0) sink_.set_world_size(static_cast<int>(world_));
    for (const DumpEntry& entry : dump_.entries) add(entry);
    for (const auto& [why, count] : dump_.skipped) {
      const bool is_end = why == "ends of coalesced groups";
      sink_.skip({.what = why, .repeats = is_end}, std::nullopt, count);
    }
    add_pending_frame();
    sink_.remark("flight_recorder_dump",
                 fmt::format("{} entries, version {}", dump_.entries.size(),
                             dump_.version.empty() ? "unknown" : dump_.version));
    return sink_.status();
  }

 private:
  void add(const DumpEntry& entry) {
    const bool message =
        entry.function == schema::Function::kSend || entry.function == schema::Function::kRecv;
    schema::CollectiveRow row;
    row.communicator_id = communicator(entry);
    row.function = entry.function;
    if (message) row.sequence = entry.sequence;
    if (!message) row.group_sequence = entry.sequence;
    row.bytes = entry.bytes;
    row.count = entry.count;
    row.dtype = entry.dtype;
    row.peer = entry.peer;
    row.enqueue_ns = entry.created_ns;
    row.start_ns = entry.started_ns;
    row.end_ns = entry.completed_ns;
    if (row.start_ns && row.end_ns && *row.end_ns < *row.start_ns) row.end_ns.reset();
    row.state = entry.state;
    if (!entry.thread.empty()) row.enqueue_thread_id = thread(entry.thread);
    row.source = schema::Source::kImport;
    sink_.add(row);
  }

  // The hash of a group must be the same in the files of all ranks.
  int64_t communicator(const DumpEntry& entry) {
    const auto known = communicators_.find(entry.group);
    if (known != communicators_.end()) return known->second;
    const DumpGroup& group = dump_.groups[entry.group];
    std::string identity = group.name + '\n' + group.description;
    for (const int rank : group.members) identity += fmt::format(" {}", rank);
    schema::CommunicatorRow row;
    const uint64_t hash = XXH3_64bits(identity.data(), identity.size());
    row.hash = static_cast<int64_t>(hash | 1U);  // 0 means none
    row.backend = schema::Backend::kNccl;
    if (!group.members.empty()) row.size = static_cast<int64_t>(group.members.size());
    row.own_rank = own_number(group, entry);
    const bool described = !group.description.empty() && group.description != "undefined";
    row.name_id =
        sink_.text(described ? fmt::format("{} ({})", group.description, group.name) : group.name);
    const int64_t id = sink_.add_communicator(row, group.members);
    communicators_[entry.group] = id;
    return id;
  }

  std::optional<int64_t> own_number(const DumpGroup& group, const DumpEntry& entry) const {
    if (entry.own) return entry.own;
    if (!dump_.rank) return std::nullopt;
    const auto found = std::ranges::find(group.members, *dump_.rank);
    if (found == group.members.end()) return std::nullopt;
    return found - group.members.begin();
  }

  int64_t thread(const std::string& name) {
    const auto [entry, is_new] = threads_.try_emplace(name, 0);
    if (is_new) {
      schema::ThreadRow row;
      row.name_id = sink_.text(name);
      if (name.find("autograd") != std::string::npos) row.role = schema::ThreadRole::kAutograd;
      entry->second = sink_.add_thread(row);
    }
    return entry->second;
  }

  // Where the program called the first unfinished operation: an open range.
  void add_pending_frame() {
    for (const DumpEntry& entry : dump_.entries) {
      if (entry.state == schema::CollectiveState::kComplete || entry.frame.empty() ||
          !entry.created_ns)
        continue;
      schema::HostRangeRow row;
      row.thread_id = thread(entry.thread.empty() ? "unknown" : entry.thread);
      row.start_ns = *entry.created_ns;
      row.name_id = sink_.text(entry.frame);
      row.category = schema::RangeCategory::kPython;
      sink_.add(row);
      return;
    }
  }

  const Dump& dump_;
  TraceSink& sink_;
  std::map<size_t, int64_t> communicators_;  // by group
  std::map<std::string, int64_t> threads_;
  size_t world_ = 0;
};

Status read(const fs::path& path, FileSink& sink) {
  const Result<std::string> content = read_whole(path, kLargestFile);
  if (!content.ok()) return fail(content.error());
  const bool is_pickle = !content->empty() && static_cast<uint8_t>((*content)[0]) == 0x80;
  const Result<PlainData> data = is_pickle ? read_pickle(*content) : read_json(*content);
  if (!data.ok())
    return fail(data.error().code, fmt::format("{}: {}", path.string(), data.error().what));
  Result<Dump> dump = dump_of(*data);
  if (!dump.ok())
    return fail(dump.error().code, fmt::format("{}: {}", path.string(), dump.error().what));
  if (!dump->rank) {
    fs::path name = path.filename();
    if (name.extension() == ".gz") name = name.stem();
    dump->rank = rank_in_name(name.string());
  }
  Result<TraceSink*> trace = sink.open_trace();
  if (!trace.ok()) return fail(trace.error());
  if (dump->rank) (*trace)->set_rank(*dump->rank);
  (*trace)->set_clock({.host = dump->host, .realtime_at_zero_ns = 0, .resolution_ns = 1});
  return TraceFiller(*dump, **trace).run();
}

}  // namespace

const Format kFormat{.name = "flight_recorder", .recognises = recognises, .read = read};

}  // namespace dprof::analyzer::flight_recorder
