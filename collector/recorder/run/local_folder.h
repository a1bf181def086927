// SPDX-License-Identifier: Apache-2.0
// `dprof record --local DIR`: traces grow on a disk of this machine, and are moved into the run
// folder when they are finished.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collector/recorder/run/recorder_file.h"

namespace dprof::recorder {

// The folder of one recorder. RUN/HOST-PID.local gives its path until the last trace has been
// moved, so that `dprof recover` finds the traces of a killed recorder.
struct LocalFolder {
  std::filesystem::path note;  // RUN/HOST-PID.local
  std::string host;
  std::filesystem::path path;  // DIR/dprof-RECORDERID, absolute
};

// Creates the folder, for its owner alone, and the note.
Result<LocalFolder> make_local_folder(const std::filesystem::path& run,
                                      const std::filesystem::path& disk, const RecorderFile& self);
// All folders in the run's notes, on this host and on others; entries that no recorder can have
// written are left out.
std::vector<LocalFolder> find_local_folders(const std::filesystem::path& run);
// True if this process can move its contents: the folder is on this host, and this user's own.
[[nodiscard]] bool is_here(const LocalFolder& local);
// Moves a finished trace into the run folder, and returns its new path: its name, or the next free
// one of its rank. No file is replaced, and the trace is removed only when it is completely on the
// other disk; one that was copied before a kill is not copied again. `goes_on` is called now and
// then, and false stops the move. kUnsupported for a trace that is not finished, or that is open
// elsewhere.
Result<std::filesystem::path> move_home(const LocalFolder& local,
                                        const std::filesystem::path& trace,
                                        const std::function<bool()>& goes_on);
// For readers of the run without them: how many finished traces stay there, and why. If the run
// folder is full, the note stays unchanged.
void note_left(const LocalFolder& local, size_t traces, const std::string& why);
// Removes the folder and its note if no trace is left in it.
void remove_local_folder(const LocalFolder& local);

}  // namespace dprof::recorder
