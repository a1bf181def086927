// SPDX-License-Identifier: Apache-2.0
// The folder of a run: its traces, its index `run.json`, and the lock of the recorder that writes
// it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace dprof::recorder {

struct TraceEntry {
  std::string file;
  std::optional<int> rank;
  std::string host;
  std::string ended;
};

struct RunDiagnostic {
  std::string code;
  std::string text;
};

// What run.json holds. It is an index: the traces themselves say the same.
struct RunIndex {
  std::string id;
  std::string command;
  std::optional<int> world_size;
  std::vector<std::string> recorders;  // hosts
  std::vector<TraceEntry> traces;
  std::vector<RunDiagnostic> diagnostics;  // of what has no trace: ranks never seen, …
};

// Invariant  while it lives, no other recorder (nor `recover`) works in this folder.
// Threading  one thread.
class RunFolder {
 public:
  // Makes the folder, or takes an empty one. A folder that holds another run is refused (kUsage)
  // unless `overwrite`, which deletes that run's files and no others.
  static Result<RunFolder> create(const std::filesystem::path& path, bool overwrite);
  // Takes a folder that is there (kNotFound otherwise); refused while a recorder works in it.
  static Result<RunFolder> open(const std::filesystem::path& path);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Every *.dprof file, sorted by name.
  [[nodiscard]] std::vector<std::filesystem::path> traces() const;
  [[nodiscard]] int64_t bytes() const;

  // Renames a finished trace to rank-00000.dprof (a second one of that rank to rank-00000.1.dprof);
  // returns its new path. Without a rank it keeps its name.
  Result<std::filesystem::path> name_finished(const std::filesystem::path& trace,
                                              std::optional<int> rank) const;
  Status write_index(const RunIndex& index) const;

  // Removes what create() made, where nothing was recorded.
  void discard();

 private:
  RunFolder(std::filesystem::path path, int lock_fd, bool made)
      : path_(std::move(path)), lock_fd_(lock_fd), made_(made) {}

  std::filesystem::path path_;
  int lock_fd_;
  bool made_;  // by create(): it was not there before
};

// "dprof-20260131-235959", in local time.
[[nodiscard]] std::string default_run_name();
// 32 random hexadecimal digits.
[[nodiscard]] std::string random_run_id();
[[nodiscard]] std::string host_name();

}  // namespace dprof::recorder
