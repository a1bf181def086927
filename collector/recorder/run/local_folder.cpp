// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/run/local_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/recorder/common/atomic_file.h"
#include "collector/recorder/common/file_system.h"
#include "collector/recorder/run/json_file.h"
#include "collector/recorder/run/run_folder.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

constexpr char kNoteSchema[] = "dprof.local/1";
constexpr char kNoteSuffix[] = ".local";
constexpr char kFolderPrefix[] = "dprof-";
constexpr size_t kChunk = size_t{4} << 20;

// A note can be from anyone with write access to the run folder: only a recorder's files are
// touched.
bool is_name_of_ours(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::string_view id =
      std::string_view(name).substr(std::min(name.size(), sizeof kFolderPrefix - 1));
  return path.is_absolute() && name.starts_with(kFolderPrefix) && id.size() == 32 &&
         id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<LocalFolder> read_note(const fs::path& note) {
  const nlohmann::ordered_json json = read_json(note);
  if (!json.is_object() || json.value("schema", nlohmann::ordered_json()) != kNoteSchema) {
    return std::nullopt;
  }
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  LocalFolder local{note, text("host"), text("folder")};
  if (!is_name_of_ours(local.path)) return std::nullopt;
  return local;
}

// "rank-00003.1.dprof" is of rank 3.
std::optional<int> rank_in_name(const std::string& name) {
  constexpr std::string_view kPrefix = "rank-";
  int rank = 0;
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const char* end = name.data() + name.size();
  const auto [after, error] = std::from_chars(name.data() + kPrefix.size(), end, rank);
  if (error != std::errc() || after == end || *after != '.') return std::nullopt;
  return rank;
}

bool have_same_bytes(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::file_size(a, error) != fs::file_size(b, error) || error) return false;
  std::ifstream one(a, std::ios::binary);
  std::ifstream other(b, std::ios::binary);
  std::vector<char> left(kChunk);
  std::vector<char> right(kChunk);
  while (one && other) {
    one.read(left.data(), kChunk);
    other.read(right.data(), kChunk);
    if (one.gcount() != other.gcount() ||
        !std::equal(left.begin(), left.begin() + one.gcount(), right.begin())) {
      return false;
    }
  }
  return one.eof() && other.eof();
}

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  // Network file systems report a full disk only now. Returns an errno.
  int finish() {
    int failed = fsync(fd_) != 0 ? errno : 0;
    if (close(std::exchange(fd_, -1)) != 0 && failed == 0) failed = errno;
    return failed;
  }

 private:
  int fd_;
};

// Returns an errno.
int copy(const fs::path& from, const fs::path& to, const std::function<bool()>& goes_on) {
  const OpenFile source(open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (source.get() < 0 || fstat(source.get(), &status) != 0) return errno;
  unlink(to.c_str());  // left by a killed copy
  OpenFile target(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       status.st_mode & 0777));
  if (target.get() < 0) return errno;
  std::vector<char> chunk(kChunk);
  for (;;) {
    wait_as_slow_file_system();
    if (!goes_on()) return EINTR;
    const ssize_t got = read(source.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return target.finish();
    const int failed =
        write_whole(target.get(), std::string_view(chunk.data(), static_cast<size_t>(got)));
    if (failed != 0) return failed;
  }
}

nlohmann::ordered_json json_of_note(const LocalFolder& local) {
  return {{"schema", kNoteSchema}, {"host", local.host}, {"folder", local.path.string()}};
}

Status write_note(const fs::path& note, const nlohmann::ordered_json& json) {
  return write_json(note, json, FileAccess::kOwnerOnly, "may the run folder be written?");
}

bool has_journal(const fs::path& trace) {
  std::error_code error;
  return std::ranges::any_of(
      std::initializer_list<const char*>{"-wal", "-journal"},
      [&](const char* rest) { return fs::exists(trace.string() + rest, error); });
}

}  // namespace

Result<LocalFolder> make_local_folder(const fs::path& run, const fs::path& disk,
                                      const RecorderFile& self) {
  std::error_code error;
  LocalFolder local{run / (self.name + kNoteSuffix), self.host,
                    fs::absolute(disk, error) / (kFolderPrefix + self.id)};
  if (!error) error = make_folder(local.path);
  if (error) {
    return fail(Code::kIo, fmt::format("{}: {}", disk.string(), error.message()),
                "choose a folder that can be written with --local");
  }
  const Status noted = write_note(local.note, json_of_note(local));
  if (noted.ok()) return local;
  fs::remove(local.path, error);
  return fail(noted.error());
}

std::vector<LocalFolder> find_local_folders(const fs::path& run) {
  std::vector<LocalFolder> all;
  for (const fs::path& file : files_in(run)) {
    if (file.extension() != kNoteSuffix) continue;
    if (const std::optional<LocalFolder> local = read_note(file)) all.push_back(*local);
  }
  return all;
}

bool is_here(const LocalFolder& local) {
  struct stat status {};
  return lstat(local.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid();
}

Result<fs::path> move_home(const LocalFolder& local, const fs::path& trace,
                           const std::function<bool()>& goes_on) {
  if (has_journal(trace)) {
    return fail(Code::kUnsupported,
                fmt::format("{}: is not finished, or somebody reads it", trace.string()));
  }
  const fs::path run = local.note.parent_path();
  const std::string own_name = trace.filename().string();
  const std::optional<int> rank = rank_in_name(own_name);
  const fs::path part = run / fmt::format(".{}-{}.part", local.note.stem().string(), own_name);
  const auto failed_by = [&](int failed) {
    unlink(part.c_str());
    return fail(Code::kIo, failed == EINTR
                               ? fmt::format("{}: was not waited for", trace.string())
                               : fmt::format("{}: cannot be moved into {}: {}", trace.string(),
                                             run.string(), std::strerror(failed)));
  };
  bool is_copied = false;
  for (int i = 0;; ++i) {
    const fs::path name = run / (rank ? rank_file_name(*rank, i) : own_name);
    if (have_same_bytes(trace, name)) {  // a kill came in between
      unlink(part.c_str());
      unlink(trace.c_str());
      return name;
    }
    if (std::error_code error; fs::exists(name, error)) {
      if (!rank) return failed_by(EEXIST);
      continue;
    }
    if (!std::exchange(is_copied, true)) {
      if (const int failed = copy(trace, part, goes_on); failed != 0) return failed_by(failed);
    }
    const int failed = move_to_free(part, name);
    if (failed == EEXIST && rank) continue;
    if (failed != 0) return failed_by(failed);
    unlink(trace.c_str());
    return name;
  }
}

void note_left(const LocalFolder& local, size_t traces, const std::string& why) {
  nlohmann::ordered_json json = json_of_note(local);
  json["traces"] = traces;
  json["why"] = why;
  static_cast<void>(write_note(local.note, json));
}

void remove_local_folder(const LocalFolder& local) {
  std::error_code error;
  if (fs::remove(local.path, error)) fs::remove(local.note, error);
}

}  // namespace dprof::recorder
