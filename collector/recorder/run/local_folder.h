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

// Of one recorder. RUN/HOST-PID.local says where its folder is, until the last trace has been
// moved: so whoever comes after a killed recorder finds them (`dprof recover`).
struct LocalFolder {
  std::filesystem::path note;  // RUN/HOST-PID.local
  std::string host;
  std::filesystem::path path;  // DIR/dprof-RECORDERID, absolute
};

// Makes the folder, for its owner alone, and the note.
Result<LocalFolder> make_local_folder(const std::filesystem::path& run,
                                      const std::filesystem::path& disk, const RecorderFile& self);
// All that notes of the run tell of, on this host and on others; what no recorder can have written
// is left out.
std::vector<LocalFolder> find_local_folders(const std::filesystem::path& run);
// Whether this process can move what lies there: the folder is here, and this user's own.
[[nodiscard]] bool is_here(const LocalFolder& local);
// Moves a finished trace into the run folder, and gives its new path: its name, or the next free
// one of its rank. No file is replaced, and the trace is removed only when all of it is on the
// other disk; one that was copied before a kill is not copied again. `goes_on` is asked now and
// then, and ends it by a no. kUnsupported for a trace that is not finished, or that somebody has
// open.
Result<std::filesystem::path> move_home(const LocalFolder& local,
                                        const std::filesystem::path& trace,
                                        const std::function<bool()>& goes_on);
// For whoever reads the run without them: how many finished traces stay there, and why. Where the
// run folder is full the note stays as it was.
void note_left(const LocalFolder& local, size_t traces, const std::string& why);
// Removes the folder and its note where no trace is left in it.
void remove_local_folder(const LocalFolder& local);

}  // namespace dprof::recorder
