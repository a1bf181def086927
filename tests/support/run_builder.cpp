// SPDX-License-Identifier: Apache-2.0
#include "tests/support/run_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "schema/trace_writer.h"
#include "tests/support/run_shape_internal.h"
#include "tests/support/trace_rows_internal.h"

namespace dprof::test_support {
namespace {

constexpr std::string_view kRunId = "5a17c0de-0000-4000-8000-000000000001";
constexpr int64_t kOriginRealtimeNs = 1'700'000'000'000'000'000;
constexpr int64_t kOriginMonotonicRawNs = 50'000'000'000'000;

int host_of(const RunSpec& spec, int rank) { return rank * spec.hosts / spec.ranks; }
std::string host_name(int host) { return fmt::format("node-{}", static_cast<char>('a' + host)); }

int ranks_on_host(const RunSpec& spec, int host) {
  int count = 0;
  for (int r = 0; r < spec.ranks; ++r) count += host_of(spec, r) == host ? 1 : 0;
  return count;
}

int local_rank(const RunSpec& spec, int rank) {
  int first = rank;
  while (first > 0 && host_of(spec, first - 1) == host_of(spec, rank)) --first;
  return rank - first;
}

std::string command_of(const RunSpec& spec) {
  return spec.marks == StepMarks::kMarker ? "dprof-trainer --model convnet" : "python3 train.py";
}

void write_meta(schema::TraceWriter& writer, const RunSpec& spec, int rank, const RankTimes& times,
                int64_t first_event_ns, int64_t offset_ns) {
  const int host = host_of(spec, rank);
  const bool killed = times.ended == "process_killed";
  const bool culprit = spec.kill && spec.kill->rank == rank;
  const auto set = [&](std::string_view key, const auto& value) {
    writer.set_meta(key, fmt::to_string(value));
  };
  set("dprof_version", "0.1.0");
  set("run_id", kRunId);
  set("host", host_name(host));
  set("boot_id", fmt::format("b007{:04}-0000-4000-8000-000000000000", host));
  set("clock_id", fmt::format("b007{:04}/4026531834/0", host));
  set("pid", 4000 + rank);
  set("rank", rank);
  set("local_rank", local_rank(spec, rank));
  set("world_size", spec.ranks);
  set("node_rank", host);
  set("launcher", spec.marks == StepMarks::kMarker ? "dprof" : "torchrun");
  set("restart_count", 0);
  set("command", command_of(spec));
  set("detail", spec.collectives ? "standard" : "light");
  set("clock_source", "tsc");
  set("ticks_per_second", 2'000'000'000);
  set("origin_realtime_ns", kOriginRealtimeNs);
  set("origin_monotonic_raw_ns", kOriginMonotonicRawNs);
  set("torch_version", "2.11.0");
  set("torch_source", "on");
  set("nvtx_source", "unused");
  set("first_event_ns", first_event_ns);
  set("last_event_ns", times.end_ns + offset_ns + (culprit ? spec.kill->outlives_ns : 0));
  const int64_t events = writer.rows();
  set("records", events * 2);
  set("in_process_ns", events * 120);
  set("recorder_cpu_ns", events * 800);
  const std::string status = !killed ? "exit:0" : culprit ? spec.kill->status : spec.kill->others;
  set("ended", status.starts_with("exit") ? "complete" : times.ended);
  set("exit_status", status);
  if (culprit && !spec.kill->exception.empty()) set("exception", spec.kill->exception);
  if (culprit && !spec.kill->output.empty()) set("output", spec.kill->output);
}

Status write_losses(schema::TraceWriter& writer, const RunSpec& spec, int rank,
                    const RankTimes& times) {
  for (const LossSpec& loss : spec.losses) {
    if (loss.rank != rank) continue;
    const Status written = writer.append(schema::LossRow{.source = loss.source,
                                                         .thread_id = kMainThread,
                                                         .reason = loss.reason,
                                                         .count = loss.count,
                                                         .first_ns = times.end_ns / 2,
                                                         .last_ns = times.end_ns});
    if (!written.ok()) return fail(written.error());
  }
  return Done{};
}

Status write_trace(const std::filesystem::path& path, const RunSpec& spec, int rank,
                   const RankTimes& times) {
  Result<std::unique_ptr<schema::TraceWriter>> created = schema::TraceWriter::create(path);
  if (!created.ok()) return fail(created.error());
  schema::TraceWriter& writer = **created;
  const auto host = static_cast<size_t>(host_of(spec, rank));
  const int64_t offset =
      host < spec.host_clock_offset_ns.size() ? spec.host_clock_offset_ns[host] : 0;

  TraceRows rows(writer, spec, rank, times, offset);
  const Status written = rows.write();
  if (!written.ok()) return fail(written.error());
  const Status losses = write_losses(writer, spec, rank, times);
  if (!losses.ok()) return fail(losses.error());
  write_meta(writer, spec, rank, times, rows.first_event_ns(), offset);
  const Result<bool> finished = writer.finish();
  return finished.ok() ? Status(Done{}) : fail(finished.error());
}

Status write_run_json(const std::filesystem::path& path, const RunSpec& spec,
                      const RunTimes& times) {
  nlohmann::ordered_json run = {{"schema", "dprof.run/1"},
                                {"id", kRunId},
                                {"command", command_of(spec)},
                                {"world_size", spec.ranks},
                                {"recorders", nlohmann::ordered_json::array()},
                                {"traces", nlohmann::ordered_json::array()}};
  for (int host = 0; host < spec.hosts; ++host) {
    run["recorders"].push_back({{"host", host_name(host)}, {"ranks", ranks_on_host(spec, host)}});
  }
  for (int rank = 0; rank < spec.ranks; ++rank) {
    if (std::ranges::count(spec.absent, rank) != 0) continue;
    run["traces"].push_back({{"file", trace_file_name(rank)},
                             {"rank", rank},
                             {"host", host_name(host_of(spec, rank))},
                             {"ended", times.ranks[static_cast<size_t>(rank)].ended}});
  }
  std::ofstream file(path / "run.json");
  file << run.dump(2) << '\n';
  if (!file) return fail(Code::kIo, fmt::format("{}: cannot write run.json", path.string()));
  return Done{};
}

Status check(const RunSpec& spec) {
  const auto between_ranks = [&](const MessageSpec& m) {
    return m.from >= 0 && m.to >= 0 && m.from < spec.ranks && m.to < spec.ranks && m.from != m.to;
  };
  const bool good =
      std::ranges::all_of(spec.messages, between_ranks) && spec.micro_steps > 0 && spec.ranks > 0 &&
      spec.hosts > 0 && spec.hosts <= spec.ranks && spec.steps >= 0 && spec.ops_per_phase > 0 &&
      spec.op_depth > 0 && !spec.bucket_bytes.empty() &&
      spec.transfer_ns.size() == spec.bucket_bytes.size() &&
      (!spec.kill ||
       (spec.micro_steps == 1 && spec.kill->rank < spec.ranks && spec.kill->step < spec.steps));
  if (!good) return fail(Code::kUsage, "this RunSpec makes no run");
  return Done{};
}

}  // namespace

std::string trace_file_name(int rank) { return fmt::format("rank-{:05}.dprof", rank); }

Result<RunTimes> write_run(const std::filesystem::path& path, const RunSpec& spec) {
  const Status good = check(spec);
  if (!good.ok()) return fail(good.error());
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fail(Code::kIo, fmt::format("{}: {}", path.string(), error.message()));

  RunTimes times = simulate(spec);
  for (int rank = 0; rank < spec.ranks; ++rank) {
    if (std::ranges::count(spec.absent, rank) != 0) continue;
    const Status written = write_trace(path / trace_file_name(rank), spec, rank,
                                       times.ranks[static_cast<size_t>(rank)]);
    if (!written.ok()) return fail(written.error());
  }
  if (spec.run_json) {
    const Status indexed = write_run_json(path, spec, times);
    if (!indexed.ok()) return fail(indexed.error());
  }
  return times;
}

RunSpec volume_spec(int64_t events_per_rank, int ranks) {
  RunSpec spec;
  spec.ranks = ranks;
  spec.ops_per_phase = 250;
  spec.op_depth = 4;
  const int64_t phases_with_ops = 3;  // forward, backward, optimizer
  spec.steps = std::max<int64_t>(
      1, events_per_rank / (spec.ops_per_phase * spec.op_depth * phases_with_ops) + 1);
  return spec;
}

}  // namespace dprof::test_support
