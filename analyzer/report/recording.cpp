// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace dprof::analyzer {
namespace {

void add_overhead(Overhead& overhead, const RankDigest& digest) {
  if (digest.recorder_cpu_ns)
    overhead.recorder_cpu_ns = overhead.recorder_cpu_ns.value_or(0) + *digest.recorder_cpu_ns;
  if (!digest.in_process_ns) return;
  overhead.in_process_ns = overhead.in_process_ns.value_or(0) + *digest.in_process_ns;
  if (digest.span.empty()) return;
  const double share =
      static_cast<double>(*digest.in_process_ns) / static_cast<double>(digest.span.length().ns);
  overhead.share = std::max(overhead.share.value_or(0), share);
}

void note_rank(const RankDigest& digest, const TraceFile& trace, std::vector<Diagnostic>& notes) {
  for (const Diagnostic& remark : digest.remarks) {
    notes.push_back(remark);
    notes.back().text = fmt::format("rank {}: {}", digest.rank, remark.text);
  }
  if (digest.open_ranges > 0) {
    notes.push_back(make_diagnostic(
        "open_ranges", fmt::format("rank {}: {} ranges", digest.rank, digest.open_ranges),
        digest.open_ranges));
  }
  const bool remarked = std::ranges::any_of(
      digest.remarks, [](const Diagnostic& remark) { return remark.code == "process_killed"; });
  if (trace.ended == "process_killed" && !remarked) {
    notes.push_back(make_diagnostic(
        "process_killed",
        fmt::format("rank {} was killed ({})", digest.rank,
                    trace.exit_status.empty() ? "unknown how" : trace.exit_status)));
  }
}

std::vector<std::pair<std::string, std::string>> environment_of(
    std::span<const TraceFile> traces, std::span<const RankDigest> digests) {
  std::map<std::string, std::set<std::string>> values;
  for (const TraceFile& trace : traces) {
    for (const auto& [key, value] : trace.environment) values[key].insert(value);
  }
  for (const RankDigest& digest : digests) {
    for (const DeviceFact& device : digest.facts.devices) {
      if (!device.model.empty()) values["gpu"].insert(device.model);
    }
  }
  std::vector<std::pair<std::string, std::string>> environment;
  for (const auto& [key, different] : values)
    environment.emplace_back(key, fmt::to_string(fmt::join(different, ", ")));
  return environment;
}

}  // namespace

RunInfo run_info_of(const Run& run, std::span<const TraceFile> traces,
                    std::span<const RankDigest> digests, const StepsInfo* steps) {
  RunInfo info;
  info.name = run.name;
  info.command = run.command;
  info.ranks = static_cast<int64_t>(traces.size());
  std::set<std::string> hosts;
  for (const TraceFile& trace : traces) hosts.insert(trace.clock_id);  // a host is a clock
  info.hosts = static_cast<int64_t>(hosts.size());
  if (run.world_size) info.world_size = *run.world_size;
  if (steps != nullptr) info.steps = *steps;
  info.environment = environment_of(traces, digests);
  return info;
}

Recording recording_of(std::span<const RankDigest> digests, std::span<const TraceFile> traces,
                       std::vector<Diagnostic> notes) {
  Recording recording;
  recording.diagnostics = std::move(notes);
  Overhead overhead;
  for (size_t d = 0; d < digests.size(); ++d) {
    const RankDigest& digest = digests[d];
    recording.events += digest.events;
    for (const LossRecord& loss : digest.losses)
      recording.lost.push_back({digest.rank, loss.source, loss.reason, loss.count});
    note_rank(digest, traces[d], recording.diagnostics);
    add_overhead(overhead, digest);
  }
  if (const int64_t lost = lost_records(recording); lost > 0) {
    recording.diagnostics.push_back(
        make_diagnostic("events_lost", fmt::format("{} records were lost", lost), lost));
  }
  if (overhead.in_process_ns || overhead.recorder_cpu_ns) {
    overhead.how =
        "in the process: "
        "records times the measured cost of writing one, excluding PyTorch's own callback cost; "
        "outside it: CPU time of the writers";
    recording.overhead = std::move(overhead);
  }
  return recording;
}

}  // namespace dprof::analyzer
