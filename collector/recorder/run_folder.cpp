// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/run_folder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr char kIndexName[] = "run.json";
constexpr char kLockName[] = ".dprof.lock";

bool is_trace_file(const fs::path& file) { return file.extension() == ".dprof"; }

bool belongs_to_run(const fs::path& file) {
  const std::string name = file.filename().string();
  return is_trace_file(file) || name == kIndexName || name == kLockName ||
         name.ends_with(".dprof-wal") || name.ends_with(".dprof-shm") ||
         name.ends_with(".dprof-journal");
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

bool holds_run(const fs::path& folder) {
  return std::ranges::any_of(files_in(folder), [](const fs::path& file) {
    return is_trace_file(file) || file.filename() == kIndexName;
  });
}

// The lock goes with its descriptor, so it never outlives the recorder.
Result<int> lock(const fs::path& folder) {
  const fs::path file = folder / kLockName;
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return fail(Code::kIo, fmt::format("{}: {}", file.string(), std::strerror(errno)),
                "may the folder be written?");
  }
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  ::close(fd);
  return fail(Code::kUsage, fmt::format("{}: a recorder works in this folder", folder.string()),
              "wait until it has ended, or choose another folder with -o");
}

ordered_json number_or_null(const std::optional<int>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

}  // namespace

Result<RunFolder> RunFolder::create(const fs::path& path, bool overwrite) {
  std::error_code error;
  const bool there = fs::exists(path, error);
  if (there && !fs::is_directory(path, error)) {
    return fail(Code::kUsage, fmt::format("{}: is a file, not a folder", path.string()),
                "choose another folder with -o");
  }
  if (there && holds_run(path) && !overwrite) {
    return fail(Code::kUsage, fmt::format("{}: holds another run", path.string()),
                "choose another folder with -o, or --overwrite");
  }
  fs::create_directories(path, error);
  if (error) {
    return fail(Code::kIo, fmt::format("{}: {}", path.string(), error.message()),
                "choose a folder that can be written with -o");
  }
  const Result<int> fd = lock(path);
  if (!fd.ok()) return fail(fd.error());
  if (there && overwrite) {
    for (const fs::path& file : files_in(path)) {
      if (belongs_to_run(file) && file.filename() != kLockName) fs::remove(file, error);
    }
  }
  return RunFolder(path, *fd, !there);
}

Result<RunFolder> RunFolder::open(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return fail(Code::kNotFound, fmt::format("{}: no such folder", path.string()),
                "give the run's folder, as `dprof record` printed it");
  }
  const Result<int> fd = lock(path);
  if (!fd.ok()) return fail(fd.error());
  return RunFolder(path, *fd, false);
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)),
      lock_fd_(std::exchange(other.lock_fd_, -1)),
      made_(other.made_) {}

RunFolder::~RunFolder() {
  if (lock_fd_ < 0) return;
  unlink((path_ / kLockName).c_str());
  ::close(lock_fd_);
}

std::vector<fs::path> RunFolder::traces() const {
  std::vector<fs::path> files = files_in(path_);
  std::erase_if(files, [](const fs::path& file) { return !is_trace_file(file); });
  return files;
}

int64_t RunFolder::bytes() const {
  int64_t sum = 0;
  for (const fs::path& file : files_in(path_)) {
    std::error_code error;
    const uintmax_t size = fs::file_size(file, error);
    if (!error && belongs_to_run(file)) sum += static_cast<int64_t>(size);
  }
  return sum;
}

Result<fs::path> RunFolder::name_finished(const fs::path& trace, std::optional<int> rank) const {
  if (!rank) return trace;
  std::error_code error;
  fs::path name = path_ / fmt::format("rank-{:05}.dprof", *rank);
  for (int i = 1; name != trace && fs::exists(name, error); ++i) {
    name = path_ / fmt::format("rank-{:05}.{}.dprof", *rank, i);
  }
  fs::rename(trace, name, error);
  if (error) {
    return fail(Code::kIo,
                fmt::format("{}: cannot be renamed: {}", trace.string(), error.message()));
  }
  return name;
}

Status RunFolder::write_index(const RunIndex& index) const {
  ordered_json json;
  json["schema"] = "dprof.run/1";
  json["id"] = index.id;
  json["command"] = index.command;
  json["world_size"] = number_or_null(index.world_size);
  json["recorders"] = ordered_json::array();
  for (const std::string& host : index.recorders) {
    json["recorders"].push_back({{"host", host}, {"dprof_version", DPROF_VERSION}});
  }
  json["traces"] = ordered_json::array();
  for (const TraceEntry& trace : index.traces) {
    json["traces"].push_back({{"file", trace.file},
                              {"rank", number_or_null(trace.rank)},
                              {"host", trace.host},
                              {"ended", trace.ended}});
  }
  json["diagnostics"] = ordered_json::array();
  for (const RunDiagnostic& diagnostic : index.diagnostics) {
    json["diagnostics"].push_back({{"code", diagnostic.code}, {"text", diagnostic.text}});
  }
  // Written beside and renamed, so that a reader never sees half of it.
  const fs::path whole = path_ / kIndexName;
  const fs::path part = path_ / fmt::format(".{}.part", kIndexName);
  std::ofstream file(part, std::ios::trunc);
  file << json.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
  file.close();
  std::error_code error;
  if (file) fs::rename(part, whole, error);
  if (!file || error) {
    fs::remove(part, error);
    return fail(Code::kIo, fmt::format("{}: cannot be written", whole.string()),
                "is the disk full? the traces are readable without it");
  }
  return Done{};
}

void RunFolder::discard() {
  std::error_code error;
  fs::remove(path_ / kIndexName, error);
  fs::remove(path_ / kLockName, error);
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
