// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/common/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "collector/recorder/common/clock.h"
#include "collector/recorder/common/file_system.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kBeatInterval{5};
// Between two checks while waiting; whether the owner lives is checked less often.
constexpr milliseconds kFirstPause{10};
constexpr milliseconds kLongestPause{400};
constexpr seconds kOwnerInterval{2};

Failure refused(const fs::path& path) {
  return fail(Code::kIo, fmt::format("{}: {}", path.string(), std::strerror(errno)),
              errno == ENOSPC || errno == EDQUOT
                  ? "the disk is full: make room, or choose another folder with -o"
                  : "choose a folder that can be written with -o");
}

std::string content_of(int fd) {
  char text[64] = {};
  const ssize_t got = pread(fd, text, sizeof text, 0);
  return {text, static_cast<size_t>(std::max<ssize_t>(got, 0))};
}

// The file system's own time: clocks of several hosts can differ by more than kSilence.
std::optional<int64_t> now_there(const fs::path& folder) {
  std::random_device random;
  for (int i = 0; i < 4; ++i) wait_as_slow_file_system();
  const fs::path probe = folder / fmt::format(".dprof.now-{:08x}{:08x}", random(), random());
  const int fd = open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return std::nullopt;
  struct stat status {};
  const bool known = write(fd, "x", 1) == 1 && fstat(fd, &status) == 0;
  close(fd);
  unlink(probe.c_str());
  return known ? std::optional<int64_t>(status.st_mtim.tv_sec) : std::nullopt;
}

bool beats(int fd, const fs::path& path, std::optional<int64_t> now) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return true;
  if (!now) now = now_there(path.parent_path());
  return !now || *now - status.st_mtim.tv_sec < LockFile::kSilence.count();
}

bool is_same_file(int fd, const fs::path& path) {
  struct stat open_one {};
  struct stat there {};
  return fstat(fd, &open_one) == 0 && stat(path.c_str(), &there) == 0 &&
         open_one.st_ino == there.st_ino && open_one.st_dev == there.st_dev;
}

// Identifies one owner's file among successive owners.
struct Taking {
  ino_t inode;
  int64_t seconds, nanoseconds;
  bool operator==(const Taking&) const = default;
};

std::optional<Taking> taking_of(const fs::path& path) {
  wait_as_slow_file_system();
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return Taking{status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

// Whether the owner lives. If not, `fd` holds the kernel's lock on return, if supported.
bool owner_lives(int fd, const fs::path& path, std::optional<int64_t> now = {}) {
  wait_as_slow_file_system();
  // The owner locks before it writes: a file of this boot that can be locked has lost its owner.
  const std::string boot = content_of(fd);
  if (!boot.empty() && boot == boot_id()) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return false;
    if (errno == EWOULDBLOCK) return true;
  }
  return beats(fd, path, now);
}

}  // namespace

// Empty: the file exists.
Result<std::optional<LockFile>> LockFile::make(const fs::path& path) {
  wait_as_slow_file_system();
  const int made = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (made < 0 && errno == EEXIST) return std::optional<LockFile>();
  if (made < 0) return refused(path);
  flock(made, LOCK_EX | LOCK_NB);  // if that fails, the beats show that it lives
  const std::string boot = boot_id();
  if (write(made, boot.data(), boot.size()) == static_cast<ssize_t>(boot.size())) {
    return std::optional(LockFile(path, made));
  }
  const Failure failure = refused(path);
  close(made);
  unlink(path.c_str());
  return failure;
}

Result<std::optional<LockFile>> LockFile::take(const fs::path& path) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    Result<std::optional<LockFile>> made = make(path);
    if (!made.ok() || *made) return made;
    wait_as_slow_file_system();
    const int there = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (there < 0 && errno == ENOENT) continue;
    if (there < 0) return refused(path);
    const bool lives = owner_lives(there, path);
    if (!lives && is_same_file(there, path)) unlink(path.c_str());
    close(there);
    if (lives) return std::optional<LockFile>();
  }
  return std::optional<LockFile>();
}

Result<LockFile> LockFile::wait_for(const fs::path& path, milliseconds patience) {
  const steady_clock::time_point at_last = steady_clock::now() + 3 * patience;
  steady_clock::time_point give_up = steady_clock::now() + patience;
  steady_clock::time_point next_owner_look = steady_clock::now();
  std::optional<Taking> owner;
  milliseconds pause = kFirstPause;
  std::minstd_rand random(std::random_device{}());
  do {
    const bool looks = steady_clock::now() >= next_owner_look;
    Result<std::optional<LockFile>> taken = looks ? take(path) : make(path);
    if (!taken.ok()) return fail(taken.error());
    if (*taken) return **std::move(taken);
    if (looks) {
      next_owner_look = steady_clock::now() + kOwnerInterval;
      const std::optional<Taking> now_there = taking_of(path);
      if (now_there != owner) give_up = std::min(at_last, steady_clock::now() + patience);
      owner = now_there;
    }
    std::uniform_int_distribution<int64_t> around(pause.count() / 2, pause.count() * 3 / 2);
    std::this_thread::sleep_for(milliseconds(around(random)));
    pause = std::min(pause * 2, kLongestPause);
  } while (steady_clock::now() < give_up);
  return fail(Code::kIo, fmt::format("{}: another recorder holds this lock", path.string()),
              "if none is running on any host, remove that file");
}

bool LockFile::is_held(const fs::path& path, std::optional<int64_t> now_s) {
  wait_as_slow_file_system();
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  const bool lives = owner_lives(fd, path, now_s);
  close(fd);
  return lives;
}

std::optional<int64_t> LockFile::made_s() const {
  struct stat status {};
  return fstat(fd_, &status) == 0 ? std::optional<int64_t>(status.st_mtim.tv_sec) : std::nullopt;
}

LockFile::LockFile(LockFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      next_beat_(other.next_beat_) {}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(next_beat_, other.next_beat_);
  return *this;
}

LockFile::~LockFile() {
  if (fd_ < 0) return;
  if (is_same_file(fd_, path_)) unlink(path_.c_str());
  close(fd_);
}

void LockFile::beat() {
  const steady_clock::time_point now = steady_clock::now();
  if (now < next_beat_) return;
  next_beat_ = now + kBeatInterval;
  futimens(fd_, nullptr);
}

}  // namespace dprof::recorder
