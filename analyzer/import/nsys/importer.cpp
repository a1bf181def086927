// SPDX-License-Identifier: Apache-2.0
// Nsight Systems' SQLite exports, schema 3.0 to 3.25: each process with CUDA or NVTX rows becomes a
// trace.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "analyzer/import/format.h"
#include "analyzer/import/input.h"
#include "analyzer/import/nsys/process.h"
#include "analyzer/import/nsys/skips.h"
#include "analyzer/import/nsys/words.h"
#include "schema/tables.h"

namespace dprof::analyzer::nsys {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostProcesses = 128;  // each has a trace open
constexpr int64_t kRowsBetweenReports = 1 << 14;

// Event tables that are not imported yet.
struct Unused {
  std::string_view table;
  Skip cause;
};
constexpr Unused kUnused[] = {
    {"OSRT_API", {"OS runtime calls"}},
    {"SCHED_EVENTS", {"context switches"}},
    {"COMPOSITE_EVENTS", {"CPU samples"}},
    {"GPU_METRICS", {"GPU metric samples"}},
    {"MPI_COLLECTIVES_EVENTS", {"MPI calls"}},
    {"MPI_P2P_EVENTS", {"MPI calls"}},
    {"MPI_OTHER_EVENTS", {"MPI calls"}},
    {"MPI_START_WAIT_EVENTS", {"MPI calls"}},
    {"CUDA_GRAPH_EVENTS", {"CUDA graph creation events"}},
    {"CUDA_GRAPH_NODE_EVENTS", {"CUDA graph creation events"}},
    {"CUDA_GRAPH_EXEC_EVENTS", {"CUDA graph creation events"}},
    {"CUBLAS_EVENTS", {"cuBLAS and cuDNN calls"}},
    {"CUDNN_EVENTS", {"cuBLAS and cuDNN calls"}},
};
constexpr Skip kOtherTables{"rows of other tables with times"};
// They have times, but are not events of the program.
constexpr std::string_view kNoEvents[] = {"DIAGNOSTIC_EVENT", "ANALYSIS_DETAILS"};

bool recognises(std::string_view head) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  constexpr size_t kApplicationIdAt = 68;
  if (!head.starts_with(kMagic) || head.size() < 100) return false;
  uint32_t id = 0;
  for (size_t i = 0; i < sizeof id; ++i)
    id = id << 8 | static_cast<unsigned char>(head[kApplicationIdAt + i]);
  return id != static_cast<uint32_t>(schema::kApplicationId);  // dprof's own
}

// A file in the run's hidden folder, deleted with this object.
class Unpacked {
 public:
  static Result<std::unique_ptr<Unpacked>> make(const fs::path& packed, FileSink& run) {
    std::string name = (run.folder() / "unpacked-XXXXXX").string();
    const int fd = ::mkstemp(name.data());
    if (fd < 0) return fail(Code::kIo, fmt::format("{}: {}", name, std::strerror(errno)));
    auto file = std::unique_ptr<Unpacked>(new Unpacked(fd, name));
    Result<Input> input = Input::open(packed);
    if (!input.ok()) return fail(input.error());
    for (std::string_view part = input->next(); !part.empty(); part = input->next()) {
      if (!run.progress(input->share() * kShare)) return fail(FileSink::cancelled().error());
      while (!part.empty()) {
        const ssize_t written = ::write(fd, part.data(), part.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fail(Code::kIo, fmt::format("{}: {}", name, std::strerror(errno)));
        part.remove_prefix(static_cast<size_t>(written));
      }
    }
    if (!input->failure().empty()) run.damaged(input->failure());
    return file;
  }
  ~Unpacked() {
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  static constexpr double kShare = 0.2;  // approximate share of an import's time

 private:
  Unpacked(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  std::string path_;
};

bool is_packed(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return file.get() == 0x1F && file.get() == 0x8B;
}

class Reader {
 public:
  Reader(FileSink& run, Tables tables, double share_before)
      : run_(run), tables_(std::move(tables)), share_(share_before) {}

  Status run() {
    if (const Status read = tables_.load_strings(); !read.ok()) damaged("StringIds", read);
    session_ = read_session(tables_);
    for (const std::string& damage : session_.damages) run_.damaged(damage);
    first_process_ = find_first_process();
    for (const TableReader& reader : table_readers())
      about_rows_ += tables_.about_rows(reader.table);
    for (const TableReader& reader : table_readers()) {
      if (const Status read = read_table(reader); !read.ok()) return read;
    }
    if (processes_.empty()) {
      if (const Status made = make_empty(); !made.ok()) return made;
    }
    if (const Status counted = count_unused(); !counted.ok()) return counted;
    for (auto& [id, process] : processes_) process->finish();
    settle_ranks();
    for (auto& [id, process] : processes_) give_facts(*process);
    repeat_warnings();
    return good();
  }

 private:
  void damaged(std::string_view table, const Status& status) {
    run_.damaged(fmt::format("table {}: {}", table, status.error().what));
  }

  // From tables without a process column, and rows with an empty one.
  int64_t find_first_process() {
    for (const TableReader& reader : table_readers()) {
      std::optional<int64_t> found;
      (void)tables_.each(reader.table, reader.columns.subspan(2, 1), [&](const Row& row) {
        found = row[0];
        return !found && tables_.has(reader.table, reader.columns[2]);
      });
      if (found) return process_of(*found);
    }
    return 0;
  }

  // nullptr: its rows are only counted, or stop() gives the reason.
  Process* process(std::optional<int64_t> global_id, bool make) {
    const int64_t id = process_of(global_id.value_or(first_process_));
    if (last_ != nullptr && last_->id() == id) return last_;
    auto known = processes_.find(id);
    if (known == processes_.end()) {
      if (!make || processes_.size() == kMostProcesses) return nullptr;
      const Result<TraceSink*> sink = run_.open_trace();
      if (!sink.ok()) {
        stopped_ = sink.error();
        return nullptr;
      }
      known =
          processes_.emplace(id, std::make_unique<Process>(**sink, tables_, session_, id)).first;
    }
    return last_ = known->second.get();
  }

  // Occasionally: false if the import is to end; good() has the reason.
  bool go_on() {
    if (++seen_ % kRowsBetweenReports != 0) return !stopped_;
    const double part = static_cast<double>(seen_) / static_cast<double>(about_rows_ + 1);
    const double share = share_ + (1 - share_) * std::min(1.0, part);
    if (!run_.progress(share)) stopped_ = FileSink::cancelled().error();
    return !stopped_ && good().ok();
  }

  [[nodiscard]] Status good() const {
    if (stopped_) return fail(*stopped_);
    for (const auto& [id, process] : processes_) {
      if (Status status = process->sink().status(); !status.ok()) return status;
    }
    return Done{};
  }

  Status read_table(const TableReader& reader) {
    constexpr int kProcessColumn = 2;
    const Status read = tables_.each(reader.table, reader.columns, [&](const Row& row) {
      Process* of = process(row[kProcessColumn], reader.makes_a_trace);
      if (of != nullptr) {
        (of->*reader.read)(row);
      } else {
        ++(reader.makes_a_trace ? beyond_ : others_);
      }
      return go_on();
    });
    if (!read.ok()) damaged(reader.table, read);
    return good();
  }

  // A recording without data of the program is reported, never skipped.
  Status make_empty() {
    Process* empty = process(std::nullopt, true);
    if (empty == nullptr) return good();
    empty->sink().remark("import_no_cuda",
                         "the file has neither CUDA nor NVTX rows; its own warnings follow");
    return Done{};
  }

  Status count_unused() {
    TraceSink& first = processes_.begin()->second->sink();
    for (const std::string& table : tables_.names()) {
      const bool is_read = std::ranges::any_of(
          table_readers(), [&](const TableReader& reader) { return reader.table == table; });
      const bool has_times = tables_.has(table, "start") || tables_.has(table, "timestamp");
      if (is_read || !has_times || std::ranges::find(kNoEvents, table) != std::end(kNoEvents))
        continue;
      const auto known = std::ranges::find(kUnused, table, &Unused::table);
      const Skip& cause = known == std::end(kUnused) ? kOtherTables : known->cause;
      const std::string_view by = tables_.has(table, "globalTid") ? "globalTid" : "globalPid";
      const bool has_process = tables_.has(table, by);
      std::map<Process*, int64_t> counts;
      const Status read = tables_.each(table, {&by, 1}, [&](const Row& row) {
        ++counts[has_process ? process(row[0], false) : processes_.begin()->second.get()];
        return go_on();
      });
      if (!read.ok()) damaged(table, read);
      for (const auto& [process, count] : counts) {
        if (process == nullptr) {
          others_ += count;
        } else {
          process->sink().skip(cause, std::nullopt, count);
        }
      }
    }
    if (others_ > 0) first.skip(kOtherProcesses, std::nullopt, others_);
    if (beyond_ > 0) first.skip(kTooManyProcesses, std::nullopt, beyond_);
    return good();
  }

  // Of several processes without a rank, the one with the lowest device comes first.
  void settle_ranks() {
    std::vector<Process*> workers;  // with a device
    for (auto& [id, process] : processes_) {
      const auto mpi = session_.mpi_ranks.find(id);
      const std::optional<int> rank =
          mpi != session_.mpi_ranks.end() ? std::optional(mpi->second) : process->nccl_rank();
      if (rank) process->sink().set_rank(*rank);
      if (process->nccl_world_size()) process->sink().set_world_size(*process->nccl_world_size());
      process->sink().set_place(process->first_device().value_or(INT32_MAX));
      if (process->first_device() || processes_.size() == 1) workers.push_back(process.get());
      if (rank) rank_found_ = true;
    }
    // The environment is that of the command started by Nsight: it shows the rank only of a single
    // process.
    if (workers.size() != 1) return;
    Process& only = *workers.front();
    const LaunchedAs& as = session_.launched;
    if (as.rank && !rank_found_) only.sink().set_rank(*as.rank);
    if (as.world_size.value_or(0) > 0 && !only.nccl_world_size())
      only.sink().set_world_size(*as.world_size);
    if (as.local_rank) only.sink().set_meta("local_rank", std::to_string(*as.local_rank));
    if (as.node_rank) only.sink().set_meta("node_rank", std::to_string(*as.node_rank));
  }

  void give_facts(const Process& process) {
    TraceSink& sink = process.sink();
    FileClock clock{.host = session_.host};
    // Two recordings of one host have no sufficiently accurate common clock.
    if (session_.realtime_at_zero_ns) {
      clock.session = std::to_string(*session_.realtime_at_zero_ns);
      clock.realtime_at_zero_ns = session_.realtime_at_zero_ns;
    } else {
      clock.session = "not dated";
    }
    sink.set_clock(std::move(clock));
    sink.set_meta("pid", std::to_string(pid_of(process.id())));
    sink.set_meta("imported_version", fmt::format("Nsight Systems {}, schema {}", session_.product,
                                                  session_.schema_version));
    if (!session_.cuda_driver.empty()) sink.set_meta("cuda_driver", session_.cuda_driver);
    if (!session_.command.empty()) sink.set_meta("command", session_.command);
    if (processes_.size() > 1) {
      sink.remark("import_several_ranks", fmt::format("the file holds {} processes; this is pid {}",
                                                      processes_.size(), pid_of(process.id())));
    }
  }

  void repeat_warnings() {
    for (const Warning& warning : session_.warnings) {
      const auto of = processes_.find(warning.process ? process_of(*warning.process) : 0);
      const Process& process = *(of == processes_.end() ? processes_.begin() : of)->second;
      process.sink().remark(warning.lost ? "import_loss" : "import_warning", warning.text);
    }
  }

  FileSink& run_;
  Tables tables_;
  Session session_;
  double share_;
  std::map<int64_t, std::unique_ptr<Process>> processes_;  // by global id
  Process* last_ = nullptr;
  int64_t first_process_ = 0;
  int64_t about_rows_ = 0;
  int64_t seen_ = 0;
  int64_t others_ = 0;  // rows of processes that have no trace
  int64_t beyond_ = 0;
  bool rank_found_ = false;  // a rank was found in the file's rows
  std::optional<Error> stopped_;
};

Status read(const fs::path& path, FileSink& run) {
  std::unique_ptr<Unpacked> unpacked;
  if (is_packed(path)) {
    Result<std::unique_ptr<Unpacked>> made = Unpacked::make(path, run);
    if (!made.ok()) return fail(made.error());
    unpacked = *std::move(made);
  }
  Result<Tables> tables = Tables::open(unpacked ? fs::path(unpacked->path()) : path);
  if (!tables.ok()) {
    // The name known to the user.
    Error error = tables.error();
    if (unpacked && error.what.starts_with(unpacked->path()))
      error.what.replace(0, unpacked->path().size(), path.string());
    return fail(error);
  }
  return Reader(run, *std::move(tables), unpacked ? Unpacked::kShare : 0).run();
}

}  // namespace

const Format kFormat = {.name = "nsys", .recognises = recognises, .read = read};

}  // namespace dprof::analyzer::nsys
