// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/run_watch.h"

#include <algorithm>

namespace dprof::widgets {
namespace {

constexpr std::chrono::milliseconds kPause{1000};
constexpr size_t kMostWatched = 500;  // the system's watches are for all programs

}  // namespace

RunWatch::RunWatch(QObject* parent) : QObject(parent) {
  pause_.setSingleShot(true);
  pause_.setInterval(kPause);
  const auto begin_pause = [this] {
    if (!pause_.isActive()) pause_.start();
  };
  connect(&watcher_, &QFileSystemWatcher::fileChanged, this, begin_pause);
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, this, begin_pause);
  connect(&pause_, &QTimer::timeout, this, [this] {
    add_files();  // one that was replaced, or has come, is not watched yet
    emit changed();
  });
}

void RunWatch::watch(const analyzer::Run& run) {
  const QStringList old = watcher_.files() + watcher_.directories();
  if (!old.isEmpty()) watcher_.removePaths(old);
  pause_.stop();
  files_.clear();
  has_open_trace_ = false;
  for (const analyzer::TraceFile& trace : run.traces) {
    has_open_trace_ = has_open_trace_ || trace.ended.empty();
    if (files_.size() >= 2 * kMostWatched) continue;
    files_.push_back(trace.path);
    std::filesystem::path beside = trace.path;
    beside += "-wal";
    if (trace.ended.empty()) files_.push_back(beside);
  }
  add_files();
}

void RunWatch::add_files() {
  const QStringList known = watcher_.files();
  for (const std::filesystem::path& file : files_) {
    const QString path = QString::fromStdString(file.string());
    std::error_code ignored;
    if (!known.contains(path) && std::filesystem::exists(file, ignored)) watcher_.addPath(path);
  }
}

}  // namespace dprof::widgets
