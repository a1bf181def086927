// SPDX-License-Identifier: Apache-2.0
// Notices when the files of the run that is open change: it is still being recorded, or was written
// anew.
#pragma once

#include <QFileSystemWatcher>
#include <QObject>
#include <QTimer>
#include <chrono>
#include <filesystem>
#include <vector>

#include "analyzer/run/run.h"

namespace dprof::widgets {

// Notified by the operating system: costs nothing while nothing changes.
class RunWatch : public QObject {
  Q_OBJECT

 public:
  explicit RunWatch(QObject* parent = nullptr);

  // From now on this run's; its traces, and what SQLite keeps beside them while they are written.
  void watch(const analyzer::Run& run);
  // A trace of it has no end yet.
  [[nodiscard]] bool has_open_trace() const { return has_open_trace_; }
  // Changes closer together than this are reported as one: reading the run again has a cost, too.
  void set_pause(std::chrono::milliseconds pause) { pause_.setInterval(pause); }

 signals:
  void changed();

 private:
  void add_files();

  QFileSystemWatcher watcher_;
  QTimer pause_;
  std::vector<std::filesystem::path> files_;
  bool has_open_trace_ = false;
};

}  // namespace dprof::widgets
