// SPDX-License-Identifier: Apache-2.0
// A file that marks work in progress and disappears with its owner, on local and network file
// systems.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/result.h"

namespace dprof::recorder {

// The owner is known to live by a kernel lock if both are on one machine, else by the file's
// modification time, which the owner renews (beat()). So a killed recorder is noticed at once on
// its own host, and after kSilence elsewhere.
//
// Invariant  no other process creates the same file during this object's lifetime.
// Threading  one thread.
class LockFile {
 public:
  static constexpr std::chrono::seconds kSilence{60};
  static constexpr std::chrono::seconds kPatience{40};

  // Empty: a living owner has it. A dead owner's file is replaced.
  static Result<std::optional<LockFile>> take(const std::filesystem::path& path);
  // The same, but waits for a living owner: for locks that are held briefly. A waiter checks ever
  // less often, so that hundreds do not keep the owner from its work. kIo after `patience` without
  // a change of owner, or after three times that.
  static Result<LockFile> wait_for(const std::filesystem::path& path,
                                   std::chrono::milliseconds patience = kPatience);
  // True if the owner of `path` lives; false without such a file. `now_s` is the file system's
  // time, if the caller has it (made_s): getting it takes four operations.
  static bool is_held(const std::filesystem::path& path, std::optional<int64_t> now_s = {});

  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&& other) noexcept;
  ~LockFile();  // removes the file

  // Shows that the owner lives; call each second. Touches the file only every few seconds.
  void beat();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // When it was taken, by the clock of its file system.
  [[nodiscard]] std::optional<int64_t> made_s() const;

 private:
  LockFile(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  static Result<std::optional<LockFile>> make(const std::filesystem::path& path);

  std::filesystem::path path_;
  int fd_;
  std::chrono::steady_clock::time_point next_beat_{};
};

}  // namespace dprof::recorder
