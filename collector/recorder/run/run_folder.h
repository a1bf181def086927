// SPDX-License-Identifier: Apache-2.0
// The folder of a run: its traces, its index `run.json`, and `recorders/`, through which the
// recorders of one job share it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/result.h"
#include "collector/recorder/common/lock_file.h"
#include "collector/recorder/ranks/job.h"
#include "collector/recorder/run/local_folder.h"
#include "collector/recorder/run/recorder_file.h"
#include "collector/recorder/run/run_index.h"
#include "collector/wire/layout.h"

namespace dprof::recorder {

// A recorder that wants to record into a folder.
struct Entrant {
  Job job;  // others of the same job can share the folder; id "" = no sharing
  std::string host;
  std::string clock_id;
  std::string run_id;             // of a run met elsewhere; "" = creates one
  wire::TickScale scale{};        // as measured here
  std::filesystem::path local{};  // where traces grow (local_folder.h); "" = in the run folder
};

// Every recorder holds `recorders/HOST-PID.lock` while it works here, and describes itself in
// `recorders/HOST-PID.json`. `recorders/meeting.json` identifies the run; it is removed with the
// last recorder, unless the recorders belong to a job: then a late recorder finds its run by it.
// Changes of the folder as a whole are made under `.dprof.entering`, which is held briefly; this
// works on network file systems too.
//
// Invariant  while it lives, only recorders of the same job (and no `recover`) work in this folder.
// Threading  one thread.
class RunFolder {
 public:
  // Creates the folder, takes an empty one, or joins the run of the same job. A folder with another
  // run is refused (kUsage) unless `overwrite`, which deletes only that run's files; a folder in
  // which another job's recorder works is always refused.
  static Result<RunFolder> create(const std::filesystem::path& path, bool overwrite,
                                  const Entrant& entrant = {});
  // For `recover`: takes an existing folder (kNotFound otherwise); refused while a recorder works
  // in it. Leaves nothing in `recorders/`.
  static Result<RunFolder> open(const std::filesystem::path& path);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // The folder in which traces grow: the same, except with --local.
  [[nodiscard]] const std::filesystem::path& work_path() const {
    return local_ ? local_->path : path_;
  }
  [[nodiscard]] const std::optional<LocalFolder>& local() const { return local_; }
  // The reason why traces grow in the run folder although --local was requested.
  [[nodiscard]] const std::optional<Error>& not_local() const { return not_local_; }
  // Every *.dprof file, sorted by name.
  [[nodiscard]] std::vector<std::filesystem::path> traces() const;
  [[nodiscard]] int64_t bytes() const;

  // This recorder, as far as the folder decides: id, run id, token, name, which is first.
  [[nodiscard]] const RecorderFile& self() const { return self_; }
  [[nodiscard]] bool joined() const { return joined_; }
  // The rate of the tick counter that the first recorder of this host uses.
  [[nodiscard]] const std::optional<wire::TickScale>& host_scale() const { return host_scale_; }
  // Call each second: shows recorders on other hosts that this one lives.
  void beat() { presence_->beat(); }

  // Renames a finished trace in place to rank_file_name(); returns its new path. Without a rank it
  // keeps its name. Never replaces a file.
  Result<std::filesystem::path> name_finished(const std::filesystem::path& trace,
                                              std::optional<int> rank) const;
  // Adds to the entries of other recorders; entries for the same files are replaced.
  Status write_index(const RunIndex& index) const;
  // Rewrites it completely.
  Status rewrite_index(const RunIndex& index) const;

  // Removes what create() made, if nothing was recorded.
  void discard();

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  Status enter(bool overwrite, const Entrant& entrant);
  Status be_present(const Entrant& entrant);

  std::filesystem::path path_;
  std::optional<LockFile> presence_;
  RecorderFile self_;
  std::optional<wire::TickScale> host_scale_;
  std::optional<LocalFolder> local_;
  std::optional<Error> not_local_;
  bool made_ = false;       // by create(): it did not exist before
  bool joined_ = false;     // a run created by another recorder
  bool has_job_ = false;    // others can join later
  bool discarded_ = false;  // nothing was recorded
};

// "rank-00000.dprof", and "rank-00000.1.dprof" of a second trace of that rank.
[[nodiscard]] std::string rank_file_name(int rank, int nth);
// Sorted; empty if it cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder);
// For its owner alone, if new; to share a run, create the folder first.
[[nodiscard]] std::error_code make_folder(const std::filesystem::path& path);
// "dprof-20260131-235959", in local time.
[[nodiscard]] std::string default_run_name();
// 32 random hexadecimal digits.
[[nodiscard]] std::string random_run_id();
[[nodiscard]] std::string host_name();

}  // namespace dprof::recorder
