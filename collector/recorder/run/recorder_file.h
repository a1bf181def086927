// SPDX-License-Identifier: Apache-2.0
// `RUN/recorders/HOST-PID.json` (mode 0600): how to reach a recorder of the run, for the other
// recorders and for `dprof ctl`. It exists while the recorder lives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace dprof::recorder {

struct RecorderFile {
  std::string name;  // "HOST-PID": prefix of its files; "" = from host and pid
  std::string id;    // random, of the recorder
  std::string run_id;
  std::string host;
  int pid = 0;
  std::string clock_id;        // as in meta: recorders with equal ids share one clock
  std::string address;         // numeric; of the interface that others can reach
  int probe_port = 0;          // UDP, clock probes; 0 = none
  std::string control_socket;  // a path on its host, for `dprof ctl`; "" = none
  std::string token;           // 32 hexadecimal digits: knowing it allows probing
  bool first = false;          // of the run: the others probe its clock
  bool first_on_host = true;   // of its clock: it measures what belongs to the host
};

// Written to a temporary file and renamed; call it again after changes.
Result<std::filesystem::path> write_recorder_file(const std::filesystem::path& run,
                                                  const RecorderFile& file);
// Every readable one; damaged ones are left out.
std::vector<RecorderFile> read_recorder_files(const std::filesystem::path& run);

}  // namespace dprof::recorder
