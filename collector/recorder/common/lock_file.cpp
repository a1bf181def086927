// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/common/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "collector/recorder/common/clock.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kBeatInterval{5};
constexpr seconds kLongestWait{40};
constexpr milliseconds kLookAgain{10};

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

// The file system's own idea of now: clocks of several hosts may differ by more than kSilence.
std::optional<int64_t> now_there(const fs::path& folder) {
  std::random_device random;
  const fs::path probe = folder / fmt::format(".dprof.now-{:08x}{:08x}", random(), random());
  const int fd = open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return std::nullopt;
  struct stat status {};
  const bool known = write(fd, "x", 1) == 1 && fstat(fd, &status) == 0;
  close(fd);
  unlink(probe.c_str());
  return known ? std::optional<int64_t>(status.st_mtim.tv_sec) : std::nullopt;
}

bool beats(int fd, const fs::path& path) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return true;
  const std::optional<int64_t> now = now_there(path.parent_path());
  return !now || *now - status.st_mtim.tv_sec < LockFile::kSilence.count();
}

bool is_same_file(int fd, const fs::path& path) {
  struct stat open_one {};
  struct stat there {};
  return fstat(fd, &open_one) == 0 && stat(path.c_str(), &there) == 0 &&
         open_one.st_ino == there.st_ino && open_one.st_dev == there.st_dev;
}

// Whether the owner lives. If not, `fd` has the kernel's lock on return, where there is one.
bool owner_lives(int fd, const fs::path& path) {
  // The owner locks before it writes: a file of this boot that can be locked has no owner any more.
  const std::string boot = content_of(fd);
  if (!boot.empty() && boot == boot_id()) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return false;
    if (errno == EWOULDBLOCK) return true;
  }
  return beats(fd, path);
}

}  // namespace

Result<std::optional<LockFile>> LockFile::take(const fs::path& path) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int made = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (made >= 0) {
      flock(made, LOCK_EX | LOCK_NB);  // where it does not work, the beats tell
      const std::string boot = boot_id();
      if (write(made, boot.data(), boot.size()) == static_cast<ssize_t>(boot.size())) {
        return std::optional(LockFile(path, made));
      }
      const Failure failure = refused(path);
      close(made);
      unlink(path.c_str());
      return failure;
    }
    if (errno != EEXIST) return refused(path);
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

Result<LockFile> LockFile::wait_for(const fs::path& path) {
  const steady_clock::time_point give_up = steady_clock::now() + kLongestWait;
  do {
    Result<std::optional<LockFile>> taken = take(path);
    if (!taken.ok()) return fail(taken.error());
    if (*taken) return **std::move(taken);
    std::this_thread::sleep_for(kLookAgain);
  } while (steady_clock::now() < give_up);
  return fail(Code::kUsage,
              fmt::format("{}: another recorder does not let go of it", path.string()),
              "if none is running on any host, remove that file");
}

bool LockFile::is_held(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  const bool lives = owner_lives(fd, path);
  close(fd);
  return lives;
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
