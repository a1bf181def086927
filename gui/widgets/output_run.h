// SPDX-License-Identifier: Apache-2.0
// dprof-gui without a screen: opens a run, selects, does what a script says, writes outputs, ends.
#pragma once

#include <QDeadlineTimer>
#include <QElapsedTimer>
#include <QTimer>
#include <filesystem>

#include "gui/widgets/main_window.h"
#include "gui/widgets/options.h"

namespace dprof::widgets {

void print_error(const Error& error);

// Page, dock and selection as the options say. The selectors given are the whole selection; without
// any it is that of a run just opened.
Status apply_options(const Options& options, MainWindow& window);

// Ends the application with the exit code that fits. Each line of the script and each output waits
// until nothing is pending.
class OutputRun : public QObject {
  Q_OBJECT

 public:
  OutputRun(const Options& options, MainWindow& window, const QElapsedTimer& started);

 private:
  // The usual time is counted from the last progress, one that was given from the start.
  void on_progress();
  void set_deadline(std::chrono::milliseconds left);
  void on_timeout();
  void on_settled();
  void on_poll();
  // The next line of the script; an error ends the run, and so does an assertion that fails.
  void run_line(const view::ScriptLine& line);
  void end(const Error& error);
  void end(ExitCode code);

  const Options& options_;
  MainWindow& window_;
  QTimer poll_;
  QTimer timeout_;
  QDeadlineTimer deadline_;
  size_t next_line_ = 0;
  QElapsedTimer waiting_;  // since the last line ended
};

}  // namespace dprof::widgets
