// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>

#include "analyzer/import/format.h"
#include "analyzer/import/input.h"
#include "analyzer/import/nccl_inspector/records.h"

namespace dprof::analyzer::nccl_inspector {
namespace {

namespace fs = std::filesystem;

constexpr Skip kNoCollective{.what = "records of something other than a collective"};
constexpr Skip kBroken{.what = "records that are not valid JSON"};
constexpr size_t kLongestRecord = size_t{64} << 20U;

bool recognises(std::string_view head) {
  const auto says = [&](std::string_view word) {
    return head.find(word) != std::string_view::npos;
  };
  return says("\"coll_perf\"") && says("\"header\"");
}

// One process of the file.
struct Process {
  TraceSink* trace = nullptr;
  std::map<uint64_t, int64_t> communicators;
  int64_t largest = 0;
  int64_t undated = 0;  // records without a begin time
};

class Reader {
 public:
  Reader(const fs::path& path, FileSink& sink) : path_(path), sink_(sink) {}

  Status run() {
    Result<Input> input = Input::open(path_);
    if (!input.ok()) return fail(input.error());
    std::string pending;
    for (std::string_view part = input->next(); !part.empty(); part = input->next()) {
      pending += part;
      if (const Status good = take(pending); !good.ok()) return good;
      if (pending.size() > kLongestRecord)
        return fail(Code::kDamaged, fmt::format("{}: a record has no end", path_.string()));
      if (!sink_.progress(input->share())) return FileSink::cancelled();
    }
    if (processes_.empty())
      return fail(Code::kNotATrace,
                  fmt::format("{}: not a record of a collective", path_.string()));
    if (!input->failure().empty()) {
      sink_.damaged(input->failure());
    } else if (pending.find('{') != std::string::npos) {
      sink_.damaged("its last record is cut off");
    }
    return finish();
  }

 private:
  // Consumes complete objects; an incomplete one remains.
  Status take(std::string& pending) {
    std::string_view rest = pending;
    size_t taken = 0;
    while (true) {
      const auto object = next_object(rest);
      if (!object || object->empty()) break;
      taken = pending.size() - rest.size();
      if (const Status good = add(*object); !good.ok()) return good;
    }
    pending.erase(0, taken);
    return Done{};
  }

  Status add(std::string_view object) {
    const Result<Record> record = record_of(object);
    if (!record.ok()) {
      ++(record.error().code == Code::kDamaged ? broken_ : others_);
      return Done{};
    }
    Process& process = processes_[{record->host, record->pid}];
    if (process.trace == nullptr) {
      Result<TraceSink*> trace = sink_.open_trace();
      if (!trace.ok()) return fail(trace.error());
      process.trace = *trace;
      process.trace->set_clock(
          {.host = record->host, .realtime_at_zero_ns = 0, .resolution_ns = 1000});
    }
    if (record->ranks > process.largest) {
      process.largest = record->ranks;
      process.trace->set_rank(static_cast<int>(record->rank));
      process.trace->set_world_size(static_cast<int>(record->ranks));
    }
    process.trace->add(row_of(*record, process));
    return Done{};
  }

  static schema::CollectiveRow row_of(const Record& record, Process& process) {
    schema::CollectiveRow row;
    row.communicator_id = communicator(record, process);
    row.function = record.function;
    row.sequence = record.sequence;
    row.bytes = input_bytes(record);
    // A record is written soon after its collective ends.
    if (!record.start_ns) ++process.undated;
    row.start_ns = record.start_ns.value_or(record.written_ns - record.duration_ns);
    row.end_ns = *row.start_ns + record.duration_ns;
    row.state = schema::CollectiveState::kComplete;
    row.source = schema::Source::kImport;
    return row;
  }

  static int64_t communicator(const Record& record, Process& process) {
    const auto known = process.communicators.find(record.communicator);
    if (known != process.communicators.end()) return known->second;
    schema::CommunicatorRow row;
    row.hash = static_cast<int64_t>(record.communicator);
    row.backend = schema::Backend::kNccl;
    row.size = record.ranks;
    row.own_rank = record.rank;
    const int64_t id = process.trace->add_communicator(row, {});
    process.communicators[record.communicator] = id;
    return id;
  }

  Status finish() {
    TraceSink& first = *processes_.begin()->second.trace;
    if (broken_ > 0) first.skip(kBroken, std::nullopt, broken_);
    if (others_ > 0) first.skip(kNoCollective, std::nullopt, others_);
    for (auto& [who, process] : processes_) {
      if (process.undated > 0) {
        process.trace->remark("collectives_undated",
                              fmt::format("{} collectives of pid {}", process.undated, who.second),
                              process.undated);
      }
      if (const Status good = process.trace->status(); !good.ok()) return good;
    }
    return Done{};
  }

  const fs::path& path_;
  FileSink& sink_;
  std::map<std::pair<std::string, int64_t>, Process> processes_;
  int64_t broken_ = 0;
  int64_t others_ = 0;
};

Status read(const fs::path& path, FileSink& sink) { return Reader(path, sink).run(); }

}  // namespace

const Format kFormat{.name = "nccl_inspector", .recognises = recognises, .read = read};

}  // namespace dprof::analyzer::nccl_inspector
