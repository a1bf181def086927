// SPDX-License-Identifier: Apache-2.0
// A file that says "I work here" and goes with its owner, on local and on network file systems.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/result.h"

namespace dprof::recorder {

// The owner is known to live by a kernel lock where both are on one machine, else by the file's
// modification time, which the owner renews (beat()). So a recorder that was killed is noticed at
// once on its own host, and after kSilence elsewhere.
//
// Invariant  nobody else makes the same file while this lives.
// Threading  one thread.
class LockFile {
 public:
  static constexpr std::chrono::seconds kSilence{60};
  static constexpr std::chrono::seconds kPatience{40};

  // Empty: somebody who lives has it. What a dead owner left is replaced.
  static Result<std::optional<LockFile>> take(const std::filesystem::path& path);
  // The same, but waits for a living owner: for locks that are held for moments. Who waits looks
  // ever more seldom, so that hundreds do not keep the owner from its work. kIo after `patience`
  // without a change of owner, or after three times that.
  static Result<LockFile> wait_for(const std::filesystem::path& path,
                                   std::chrono::milliseconds patience = kPatience);
  // Whether the owner of `path` lives; false where there is no such file. `now_s` is the time
  // there, if the caller has it (made_s): asking for it takes four operations.
  static bool is_held(const std::filesystem::path& path, std::optional<int64_t> now_s = {});

  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&& other) noexcept;
  ~LockFile();  // removes the file

  // Says that the owner lives; call each second. Touches the file each few seconds only.
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
