// SPDX-License-Identifier: Apache-2.0
#include "analyzer/run/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "analyzer/run/left_traces.h"
#include "analyzer/run/trace_files.h"
#include "base/in_threads.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;

// What a comparison of two runs needs.
constexpr std::string_view kEnvironment[] = {"cpu_model",    "cpus",          "cuda_driver",
                                             "detail",       "dprof_version", "host",
                                             "nccl_version", "torch_version"};

// A trace that could be opened, with what decides which trace of a rank counts.
struct Candidate {
  TraceFile file;
  std::string command;
  bool has_rank = true;
  bool has_steps = false;
  bool has_work = false;  // without a rank: steps, collectives or something on a device
  int64_t restart_count = 0;
  std::optional<int64_t> origin_realtime_ns;
  std::optional<int64_t> origin_monotonic_raw_ns;
  int64_t first_event_ns = 0;
};

// A time that can be added to another without overflow; damaged files can hold any value.
std::optional<int64_t> as_time(const std::optional<int64_t>& value) {
  constexpr int64_t kLimit = int64_t{1} << 61;
  if (!value || *value < -kLimit || *value > kLimit) return std::nullopt;
  return value;
}

std::optional<int> as_int(const std::optional<int64_t>& value) {
  if (!value || *value < 0 || *value > 100'000'000) return std::nullopt;
  return static_cast<int>(*value);
}

Result<Candidate> read_candidate(const fs::path& path) {
  const Result<schema::TraceReader> reader = schema::TraceReader::open(path);
  if (!reader.ok()) return fail(reader.error());
  const auto text = [&](std::string_view key) { return reader->meta(key).value_or(""); };
  Candidate candidate;
  TraceFile& file = candidate.file;
  file.path = path;
  const std::optional<int> rank = as_int(reader->meta_int("rank"));
  candidate.has_rank = rank.has_value();
  file.rank = rank.value_or(0);
  file.local_rank = as_int(reader->meta_int("local_rank"));
  file.world_size = as_int(reader->meta_int("world_size"));
  file.host = text("host");
  file.clock_id = text("clock_id");
  file.ended = text("ended");
  file.run_id = text("run_id");
  file.exit_status = text("exit_status");
  file.exit_declared = as_int(reader->meta_int("exit_declared"));
  file.exception = text("exception");
  file.output = text("output");
  file.imported_format = text("imported_format");
  file.detail = text("detail");
  for (const std::string_view key : kEnvironment) {
    if (std::string value = text(key); !value.empty())
      file.environment.emplace_back(key, std::move(value));
  }
  candidate.command = text("command");
  candidate.restart_count = reader->meta_int("restart_count").value_or(0);
  candidate.origin_realtime_ns = as_time(reader->meta_int("origin_realtime_ns"));
  candidate.origin_monotonic_raw_ns = as_time(reader->meta_int("origin_monotonic_raw_ns"));
  candidate.first_event_ns = as_time(reader->meta_int("first_event_ns")).value_or(0);
  const Result<int64_t> steps = reader->count("step");
  if (!steps.ok()) return fail(steps.error());
  candidate.has_steps = *steps > 0;
  candidate.has_work = candidate.has_steps;
  if (candidate.has_rank) return candidate;
  for (const std::string_view table : {"collective", "gpu_activity"}) {
    const Result<int64_t> rows = reader->count(table);
    if (!rows.ok()) return fail(rows.error());
    candidate.has_work = candidate.has_work || *rows > 0;
  }
  return candidate;
}

// Known only to recorders, not from traces: why processes have none, where others went.
constexpr std::string_view kOnlyInIndex[] = {"memory_limit", "missing_rank", "no_descriptors",
                                             "no_peers",     "not_local",    "other_clock",
                                             "turned_away",  "wire_version"};

// One diagnostic per code, for all recorders: the first text, and the number of occurrences.
void note_recorders(const nlohmann::json& index, Run& run) {
  const auto diagnostics = index.find("diagnostics");
  if (diagnostics == index.end() || !diagnostics->is_array()) return;
  for (const std::string_view code : kOnlyInIndex) {
    std::string first;
    int64_t count = 0;
    for (const nlohmann::json& one : *diagnostics) {
      if (!one.is_object() || one.value("code", nlohmann::json()) != code) continue;
      const auto text = one.find("text");
      if (count++ == 0 && text != one.end() && text->is_string()) first = text->get<std::string>();
    }
    if (count == 0) continue;
    if (count > 1) first += fmt::format(" (and {} more)", count - 1);
    first += fmt::format("; hint: {}", schema::diagnostic_kind(code).hint);
    run.diagnostics.push_back(make_diagnostic(code, std::move(first), count));
  }
}

// run.json is an index that can be rebuilt: the traces do not depend on it, but a missing or
// damaged one is reported.
void check_index(const fs::path& folder, Run& run) {
  const fs::path path = folder / "run.json";
  std::error_code error;
  if (!fs::exists(path, error)) {
    run.diagnostics.push_back(make_diagnostic(
        "no_run_json",
        fmt::format("{}: no run.json; the traces' own meta was used", folder.string())));
    return;
  }
  std::ifstream file(path);
  const nlohmann::json index = nlohmann::json::parse(file, nullptr, false);
  if (index.is_discarded() || !index.is_object()) {
    run.diagnostics.push_back(make_diagnostic(
        "no_run_json",
        fmt::format("{}: not readable as JSON; the traces' own meta was used", path.string())));
    return;
  }
  note_recorders(index, run);
}

// Expands folders; a path that does not exist is a separate error.
Result<std::vector<fs::path>> files_of(const std::vector<fs::path>& paths, Run& run) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      return fail(Code::kNotFound, fmt::format("{}: no such file or folder", path.string()),
                  "give a run folder, or traces of one run");
    }
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const Result<std::vector<fs::path>> found = trace_files(path);
    if (!found.ok()) return fail(found.error());
    check_index(path, run);
    for (const LeftTraces& left : find_left_traces(path))
      run.diagnostics.push_back(diagnostic_of(left));
    files.insert(files.end(), found->begin(), found->end());
  }
  return files;
}

std::string name_of(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(path, error);
  fs::path used = error ? path : whole;
  if (fs::is_regular_file(used, error)) used = used.parent_path();
  return used.has_filename() ? used.filename().string() : used.parent_path().filename().string();
}

// Launchers and helpers are left out silently, but not processes that trained or used a device.
void note_left_out(const std::vector<Candidate>& left, Run& run) {
  const auto count = std::ranges::count_if(left, &Candidate::has_work);
  if (count == 0) return;
  const fs::path& first = std::ranges::find_if(left, &Candidate::has_work)->file.path;
  run.diagnostics.push_back(make_diagnostic(
      "left_out",
      fmt::format("{}{}: no rank of the job; hint: {}", first.filename().string(),
                  count == 1 ? std::string() : fmt::format(" and {} more", count - 1),
                  schema::diagnostic_kind("left_out").hint),
      count));
}

// A process without a rank (a launcher, a single process) is not a rank of a job that has ranks. If
// none has a rank, processes without a step are left out when others have steps (torch.compile's
// workers).
void settle_rankless(std::vector<Candidate>& candidates, std::vector<Candidate>& others, Run& run) {
  const auto keep = [&](auto is_rank) {
    const auto left = std::stable_partition(candidates.begin(), candidates.end(), is_rank);
    others.assign(std::make_move_iterator(left), std::make_move_iterator(candidates.end()));
    candidates.erase(left, candidates.end());
    note_left_out(others, run);
  };
  const auto has_rank = [](const Candidate& c) { return c.has_rank; };
  const auto trained = [](const Candidate& c) { return c.has_steps; };
  if (std::ranges::any_of(candidates, has_rank)) return keep(has_rank);
  if (std::ranges::any_of(candidates, trained)) keep(trained);
  int next = 0;
  for (Candidate& candidate : candidates) candidate.file.rank = next++;
}

// Which of one rank's traces counts: the last one that trained.
auto seniority(const Candidate& c) {
  return std::make_tuple(c.has_steps, c.restart_count,
                         c.origin_realtime_ns.value_or(0) + c.first_event_ns, c.file.path);
}

std::vector<Candidate> one_per_rank(std::vector<Candidate> candidates,
                                    std::vector<Candidate>& others, Run& run) {
  std::map<int, std::vector<Candidate>> by_rank;
  for (Candidate& candidate : candidates) {
    const int rank = candidate.file.rank;
    by_rank[rank].push_back(std::move(candidate));
  }
  std::vector<Candidate> chosen;
  for (auto& [rank, traces] : by_rank) {
    const auto last = std::ranges::max_element(traces, {}, seniority);
    if (traces.size() > 1) {
      run.diagnostics.push_back(
          make_diagnostic("several_traces",
                          fmt::format("rank {} has {} traces; {} is used", rank, traces.size(),
                                      last->file.path.filename().string()),
                          static_cast<int64_t>(traces.size())));
    }
    chosen.push_back(std::move(*last));
    traces.erase(last);
    std::ranges::move(traces, std::back_inserter(others));
  }
  return chosen;
}

// Time 0 of a trace is its recorder's start. Recorders that share a clock are placed by their start
// on it; the first one of each other clock is placed by the realtime clock, as accurately as
// possible.
void place_on_axis(const Candidate& reference, std::vector<Candidate>& candidates,
                   std::map<std::string, Candidate>& firsts) {
  for (Candidate& candidate : candidates) {
    const auto [entry, is_new] = firsts.try_emplace(candidate.file.clock_id, candidate);
    Candidate& first = entry->second;
    if (is_new && candidate.origin_realtime_ns && reference.origin_realtime_ns)
      first.file.shift_ns = *candidate.origin_realtime_ns - *reference.origin_realtime_ns;
    candidate.file.shift_ns = first.file.shift_ns;
    if (candidate.origin_monotonic_raw_ns && first.origin_monotonic_raw_ns)
      candidate.file.shift_ns +=
          *candidate.origin_monotonic_raw_ns - *first.origin_monotonic_raw_ns;
  }
}

std::string list_of(const std::vector<int>& ranks) {
  constexpr size_t kShown = 8;
  const std::vector<int> head(
      ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(std::min(ranks.size(), kShown)));
  return fmt::format("{}{}", fmt::join(head, ", "), ranks.size() > kShown ? ", …" : "");
}

void note_absent_ranks(Run& run) {
  if (!run.world_size) return;
  std::set<int> present;
  for (const TraceFile& trace : run.traces) present.insert(trace.rank);
  std::vector<int> absent;
  for (int rank = 0; rank < *run.world_size; ++rank) {
    if (!present.contains(rank)) absent.push_back(rank);
  }
  if (absent.empty()) return;
  run.diagnostics.push_back(make_diagnostic(
      "absent_rank",
      fmt::format(
          "no trace of rank {} (world size {}); hint: give the folders of all nodes together",
          list_of(absent), *run.world_size),
      static_cast<int64_t>(absent.size())));
}

void note_unfinished(Run& run) {
  for (const TraceFile& trace : run.traces) {
    if (!trace.ended.empty()) continue;
    run.diagnostics.push_back(make_diagnostic(
        "unfinished_trace",
        fmt::format("{}: rank {} has no end; hint: still being recorded, or `dprof recover` it",
                    trace.path.filename().string(), trace.rank)));
  }
}

// A trace created a moment ago does not yet say to which run it belongs.
bool has_just_begun(const Candidate& candidate) {
  return candidate.file.run_id.empty() && candidate.file.ended.empty();
}

Status check_one_run(const std::vector<Candidate>& candidates) {
  const auto first = std::ranges::find_if_not(candidates, has_just_begun);
  for (const Candidate& candidate : candidates) {
    if (has_just_begun(candidate) || candidate.file.run_id == first->file.run_id) continue;
    return fail(Code::kUsage,
                fmt::format("{} and {} are of different runs", first->file.path.string(),
                            candidate.file.path.string()),
                "give the folders or traces of one run; `dprof diff A B` compares two runs");
  }
  return Done{};
}

}  // namespace

Result<Run> open_run(const std::vector<fs::path>& paths) {
  if (paths.empty()) return fail(Code::kUsage, "no run was given", "give a run folder");
  Run run;
  run.paths = paths;
  run.name = name_of(paths.front());
  const Result<std::vector<fs::path>> files = files_of(paths, run);
  if (!files.ok()) return fail(files.error());

  std::vector<Candidate> candidates;
  std::optional<Error> first_error;
  std::vector<std::optional<Result<Candidate>>> read(files->size());
  in_threads(read.size(), 0, [&](size_t i) { read[i] = read_candidate((*files)[i]); });
  for (std::optional<Result<Candidate>>& one : read) {
    Result<Candidate>& candidate = *one;
    if (candidate.ok()) {
      candidates.push_back(*std::move(candidate));
      continue;
    }
    const Error& error = candidate.error();
    run.damaged = true;
    run.diagnostics.push_back(make_diagnostic(
        "unreadable_trace",
        error.hint.empty() ? error.what : fmt::format("{}; hint: {}", error.what, error.hint)));
    if (!first_error) first_error = error;
  }
  if (candidates.empty()) return fail(*first_error);
  if (const Status one = check_one_run(candidates); !one.ok()) return fail(one.error());

  std::vector<Candidate> others;
  settle_rankless(candidates, others, run);
  std::vector<Candidate> chosen = one_per_rank(std::move(candidates), others, run);
  std::map<std::string, Candidate> first_of_clock;
  const Candidate reference = chosen.front();
  place_on_axis(reference, chosen, first_of_clock);
  place_on_axis(reference, others, first_of_clock);
  for (Candidate& other : others) run.others.push_back(std::move(other.file));
  for (Candidate& candidate : chosen) {
    if (run.command.empty()) run.command = candidate.command;
    if (!run.world_size) run.world_size = candidate.file.world_size;
    run.traces.push_back(std::move(candidate.file));
  }
  note_absent_ranks(run);
  note_unfinished(run);
  return run;
}

}  // namespace dprof::analyzer
