// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/run/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <iterator>
#include <random>
#include <utility>

#include "collector/recorder/common/atomic_file.h"
#include "collector/recorder/common/file_system.h"
#include "collector/recorder/run/meeting.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

constexpr char kPresenceSuffix[] = ".lock";

bool is_trace_file(const fs::path& file) { return file.extension() == ".dprof"; }

bool belongs_to_run(const fs::path& file) {
  const std::string name = file.filename().string();
  return is_trace_file(file) || name == kIndexName || name == kEnteringName ||
         name.ends_with(".dprof-wal") || name.ends_with(".dprof-shm") ||
         name.ends_with(".dprof-journal") || name.ends_with(".dprof.part") ||
         name.ends_with(".local");
}

bool holds_run(const fs::path& folder) {
  return std::ranges::any_of(files_in(folder), [](const fs::path& file) {
    return is_trace_file(file) || file.filename() == kIndexName;
  });
}

// A recorder that works in this folder now; `now_s` is the file system's time. Stops at the first
// one: with hundreds of files on a distant server, that is one look.
std::optional<std::string> living_recorder(const fs::path& folder, std::optional<int64_t> now_s) {
  for (const fs::path& file : files_in(folder / kRecordersName)) {
    if (file.extension() != kPresenceSuffix) continue;
    if (LockFile::is_held(file, now_s)) return file.stem().string();
  }
  return std::nullopt;
}

// Only the files of a run.
void remove_run(const fs::path& folder, const fs::path& but) {
  std::error_code error;
  for (const fs::path& file : files_in(folder)) {
    if (belongs_to_run(file) && file != but) fs::remove(file, error);
  }
  fs::remove_all(folder / kRecordersName, error);
  fs::remove_all(folder / ".digest", error);  // the reports' cache
}

}  // namespace

std::vector<fs::path> files_in(const fs::path& folder) {
  wait_as_slow_file_system();
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::error_code make_folder(const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error) return error;
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return {errno, std::generic_category()};
}

std::string rank_file_name(int rank, int nth) {
  return nth == 0 ? fmt::format("rank-{:05}.dprof", rank)
                  : fmt::format("rank-{:05}.{}.dprof", rank, nth);
}

Result<RunFolder> RunFolder::create(const fs::path& path, bool overwrite, const Entrant& entrant) {
  std::error_code error;
  const bool there = fs::exists(path, error);
  if (there && !fs::is_directory(path, error)) {
    return fail(Code::kUsage, fmt::format("{}: a file, not a folder", path.string()),
                "choose another folder with -o");
  }
  if (!there) error = make_folder(path);
  if (error) {
    return fail(Code::kIo, fmt::format("{}: {}", path.string(), error.message()),
                "choose a folder that can be written with -o");
  }
  RunFolder folder(path);
  folder.made_ = !there;
  if (const Status entered = folder.enter(overwrite, entrant); !entered.ok()) {
    if (folder.made_) folder.discard();
    return fail(entered.error());
  }
  return folder;
}

// Joins, takes or refuses the folder, while holding the lock.
Status RunFolder::enter(bool overwrite, const Entrant& entrant) {
  const Result<LockFile> alone = LockFile::wait_for(path_ / kEnteringName);
  if (!alone.ok()) return fail(alone.error());
  Meeting meeting = read_meeting(path_).value_or(Meeting{});
  const bool ours = !entrant.job.id.empty() && meeting.job == entrant.job.id;
  const bool seat_taken = std::ranges::find(meeting.seats, entrant.job.seat) != meeting.seats.end();
  const bool welcome = ours && !seat_taken;
  std::optional<std::string> living;
  if (!welcome || !meeting.is_young) living = living_recorder(path_, alone->made_s());
  joined_ = welcome && (meeting.is_young || living);
  if (!joined_ && living) {
    return fail(
        Code::kUsage,
        ours ? fmt::format("{}: {} of this job is being recorded there already", path_.string(),
                           entrant.job.seat)
             : fmt::format("{}: a recorder works in this folder ({})", path_.string(), *living),
        "wait until it has ended, or choose another folder with -o");
  }
  if (!joined_ && holds_run(path_) && !overwrite) {
    return fail(Code::kUsage, fmt::format("{}: holds another run", path_.string()),
                "choose another folder with -o, or --overwrite");
  }
  if (!joined_) {
    remove_run(path_, alone->path());
    meeting = {entrant.run_id.empty() ? random_run_id() : entrant.run_id, entrant.job.id,
               random_run_id()};
  }
  has_job_ = !meeting.job.empty();
  if (!entrant.job.seat.empty()) meeting.seats.push_back(entrant.job.seat);
  const auto host = std::ranges::find(meeting.hosts, entrant.clock_id, &MeetingHost::clock_id);
  self_.first_on_host = host == meeting.hosts.end();
  if (self_.first_on_host) {
    meeting.hosts.push_back({entrant.clock_id, entrant.scale});
  } else {
    host_scale_ = host->scale;
  }
  self_.run_id = meeting.run_id;
  self_.token = meeting.token;
  self_.first = !joined_;
  if (const Status present = be_present(entrant); !present.ok()) return fail(present.error());
  if (const Status written = write_meeting(path_, meeting); !written.ok() || entrant.local.empty())
    return written;
  Result<LocalFolder> local = make_local_folder(path_, entrant.local, self_);
  if (local.ok()) {
    local_ = *std::move(local);
  } else {
    not_local_ = local.error();
  }
  return Done{};
}

Status RunFolder::be_present(const Entrant& entrant) {
  self_.id = random_run_id();
  self_.host = entrant.host.empty() ? host_name() : entrant.host;
  self_.pid = getpid();
  self_.clock_id = entrant.clock_id;
  self_.name = fmt::format("{}-{}", self_.host, self_.pid);
  const fs::path folder = path_ / kRecordersName;
  std::error_code error;
  fs::create_directories(folder, error);
  // Containers can have the same host name and process ids.
  for (const std::string& name : {self_.name, fmt::format("{}-{:.8}", self_.name, self_.id)}) {
    Result<std::optional<LockFile>> taken = LockFile::take(folder / (name + kPresenceSuffix));
    if (!taken.ok()) return fail(taken.error());
    if (!*taken) continue;
    self_.name = name;
    presence_ = *std::move(taken);
    return Done{};
  }
  return fail(Code::kInternal, fmt::format("{}: no free name for this recorder", folder.string()));
}

Result<RunFolder> RunFolder::open(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return fail(Code::kNotFound, fmt::format("{}: no such folder", path.string()),
                "give the run's folder, as `dprof record` printed it");
  }
  RunFolder folder(path);
  const Result<LockFile> alone = LockFile::wait_for(path / kEnteringName);
  if (!alone.ok()) return fail(alone.error());
  if (const auto living = living_recorder(path, alone->made_s())) {
    return fail(
        Code::kUsage,
        fmt::format("{}: a recorder works in this folder ({})", path.string(), *living),
        fmt::format(
            "wait until it has ended; one that was killed on another host counts as alive for {} s",
            LockFile::kSilence.count()));
  }
  if (const Status present = folder.be_present({}); !present.ok()) return fail(present.error());
  return folder;
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)),
      presence_(std::exchange(other.presence_, std::nullopt)),
      self_(std::move(other.self_)),
      host_scale_(other.host_scale_),
      local_(std::exchange(other.local_, std::nullopt)),
      not_local_(std::move(other.not_local_)),
      made_(other.made_),
      joined_(other.joined_),
      has_job_(other.has_job_),
      discarded_(other.discarded_) {}

// The last recorder to leave removes the files that only recorders need.
RunFolder::~RunFolder() {
  if (local_) remove_local_folder(*local_);
  if (!presence_) return;
  std::error_code error;
  const Result<LockFile> alone = LockFile::wait_for(path_ / kEnteringName);
  const fs::path folder = path_ / kRecordersName;
  fs::remove(folder / (self_.name + ".json"), error);
  presence_.reset();
  const bool cleans_up = alone.ok() && (!has_job_ || discarded_);
  const bool last = cleans_up && !living_recorder(path_, alone->made_s());
  if (last) fs::remove_all(folder, error);
  if (last && discarded_ && !joined_) fs::remove(path_ / kIndexName, error);
  if (!alone.ok()) return;
  fs::remove(alone->path(), error);
  if (last && discarded_ && made_) fs::remove(path_, error);  // only if it is empty
}

std::vector<fs::path> RunFolder::traces() const {
  std::vector<fs::path> files = files_in(path_);
  std::erase_if(files, [](const fs::path& file) { return !is_trace_file(file); });
  return files;
}

int64_t RunFolder::bytes() const {
  int64_t sum = 0;
  std::vector<fs::path> files = files_in(path_);
  if (local_) std::ranges::copy(files_in(local_->path), std::back_inserter(files));
  for (const fs::path& file : files) {
    std::error_code error;
    const uintmax_t size = fs::file_size(file, error);
    if (!error && belongs_to_run(file)) sum += static_cast<int64_t>(size);
  }
  return sum;
}

Result<fs::path> RunFolder::name_finished(const fs::path& trace, std::optional<int> rank) const {
  if (!rank) return trace;
  fs::path name = trace.parent_path() / rank_file_name(*rank, 0);
  for (int i = 1; name != trace; ++i) {
    const int failed = move_to_free(trace, name);
    if (failed == 0) break;
    if (failed != EEXIST) {
      return fail(Code::kIo,
                  fmt::format("{}: cannot be renamed: {}", trace.string(), std::strerror(failed)));
    }
    name = trace.parent_path() / rank_file_name(*rank, i);
  }
  return name;
}

Status RunFolder::write_index(const RunIndex& index) const {
  const Result<LockFile> alone = LockFile::wait_for(path_ / kEnteringName);
  if (!alone.ok()) return fail(alone.error());
  return joined_ || has_job_ ? merge_run_index(path_, index) : write_run_index(path_, index);
}

Status RunFolder::rewrite_index(const RunIndex& index) const {
  return write_run_index(path_, index);
}

void RunFolder::discard() {
  discarded_ = true;
  if (presence_) return;  // the destructor removes it
  std::error_code error;
  if (made_) fs::remove(path_, error);  // only if it is empty
}

std::string default_run_name() {
  return fmt::format("dprof-{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr)));
}

std::string random_run_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
  return id;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? std::string(name) : std::string("localhost");
}

}  // namespace dprof::recorder
