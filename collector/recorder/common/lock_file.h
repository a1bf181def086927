// SPDX-License-Identifier: Apache-2.0
// A file that says "I work here" and goes with its owner, on local and on network file systems.
#pragma once

#include <chrono>
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

  // Empty: somebody who lives has it. What a dead owner left is replaced.
  static Result<std::optional<LockFile>> take(const std::filesystem::path& path);
  // The same, but waits for a living owner: for locks that are held for moments. kUsage after 40 s.
  static Result<LockFile> wait_for(const std::filesystem::path& path);
  // Whether the owner of `path` lives; false where there is no such file.
  static bool is_held(const std::filesystem::path& path);

  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&& other) noexcept;
  ~LockFile();  // removes the file

  // Says that the owner lives; call each second. Touches the file each few seconds only.
  void beat();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  LockFile(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::filesystem::path path_;
  int fd_;
  std::chrono::steady_clock::time_point next_beat_{};
};

}  // namespace dprof::recorder
