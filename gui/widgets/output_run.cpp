// SPDX-License-Identifier: Apache-2.0
// untranslated file: what a command line and its log say is English
#include "gui/widgets/output_run.h"

#include <fmt/format.h>

#include <QApplication>
#include <algorithm>
#include <fstream>
#include <iostream>

#include "gui/widgets/picture.h"

namespace dprof::widgets {
namespace {

Status write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return Done{};
  return fail(Code::kIo, fmt::format("{} cannot be written", path.string()),
              "is the folder there, and writable?");
}

Status write_outputs(const Options& options, MainWindow& window) {
  if (options.screenshot) {
    Status written = write_picture(*options.screenshot, window);
    if (!written.ok()) return written;
  }
  if (options.state) {
    Status written = write_text(*options.state, window.state());
    if (!written.ok()) return written;
  }
  if (options.draw_list) return write_text(*options.draw_list, view::to_text(window.draw_list()));
  return Done{};
}

Status press_all(const std::string& keys, MainWindow& window) {
  const QStringList each = to_qstring(keys).split(u' ', Qt::SkipEmptyParts);
  for (const QString& one : each) {
    if (!window.press(one)) {
      return fail(Code::kUsage, fmt::format("no command has the key {}", one.toStdString()),
                  "? in the window lists them");
    }
  }
  return Done{};
}

Status show_view(const std::string& word, MainWindow& window) {
  if (const auto page = view::page_of(word)) window.show_page(*page);
  if (const auto dock = view::dock_of(word)) window.session().dock = *dock;
  window.refresh();
  return Done{};
}

// Names that the run does not have are errors; what it cannot answer is said on the page.
Status change(std::vector<std::string> changes, MainWindow& window) {
  view::Session& session = window.session();
  if (session.model().what_if) {
    const view::WhatIfAnswer answer = view::answer_of(*session.model().what_if, changes);
    if (answer.error) return fail(Code::kUsage, answer.error->what, answer.error->hint);
  }
  session.what_if.change(std::move(changes));
  window.refresh();
  return Done{};
}

Status explain(const std::string& step, MainWindow& window) {
  if (!step.empty()) {
    Status chosen = window.select("step:" + step, false);
    if (!chosen.ok()) return chosen;
  }
  Status shown = window.session().explain_step();
  window.refresh();
  return shown;
}

}  // namespace

void print_error(const Error& error) {
  std::cerr << "dprof-gui: " << error.what << '\n';
  if (!error.hint.empty()) std::cerr << "hint: " << error.hint << '\n';
}

Status apply_options(const Options& options, MainWindow& window) {
  if (!options.restore.empty()) {
    Status restored = window.restore_view(options.restore);
    if (!restored.ok()) return restored;
  }
  if (options.page) window.show_page(*options.page);
  if (options.dock) window.session().dock = *options.dock;
  if (!options.selectors.empty()) window.session().selecting.clear();
  if (options.path) window.session().path.show(true);
  if (!options.changes.empty()) {
    Status changed = change(options.changes, window);
    if (!changed.ok()) return changed;
  }
  bool keep = false;
  for (const std::string& selector : options.selectors) {
    Status selected = window.select(selector, keep);
    if (!selected.ok()) return selected;
    keep = true;
  }
  if (options.from || options.to) {
    const Interval whole = window.session().viewport.whole();
    const Interval range{options.from.value_or(whole.begin), options.to.value_or(whole.end)};
    if (range.empty())
      return fail(Code::kUsage, "--from is not before --to", "the range is half-open");
    window.session().viewport.show(range);
  }
  if (!options.compare.empty()) window.compare_with({options.compare}, options.analysis);
  window.refresh();
  return Done{};
}

OutputRun::OutputRun(const Options& options, MainWindow& window, const QElapsedTimer& started)
    : options_(options), window_(window) {
  connect(&window_, &MainWindow::settled, this, &OutputRun::on_settled);
  connect(&window_, &MainWindow::progressed, this, &OutputRun::on_progress);
  connect(&poll_, &QTimer::timeout, this, &OutputRun::on_poll);
  timeout_.setSingleShot(true);
  connect(&timeout_, &QTimer::timeout, this, &OutputRun::on_timeout);
  const std::chrono::milliseconds gone(started.elapsed());
  set_deadline(std::max(options_.timeout - gone, std::chrono::milliseconds(0)));
}

void OutputRun::set_deadline(std::chrono::milliseconds left) {
  timeout_.start(left);
  deadline_.setRemainingTime(left);
}

void OutputRun::on_progress() {
  if (!options_.timeout_given) set_deadline(options_.timeout);
}

void OutputRun::on_timeout() {
  const std::string limit = fmt::format("{} ms", options_.timeout.count());
  print_error({Code::kInternal,
               options_.timeout_given ? fmt::format("not finished within {}", limit)
                                      : fmt::format("no progress within {}", limit),
               "give it more time: --timeout 300s"});
  end(ExitCode::kInconclusive);
}

void OutputRun::on_settled() {
  if (window_.error()) {
    end(*window_.error());
    return;
  }
  const Status applied = apply_options(options_, window_);
  if (!applied.ok()) {
    end(applied.error());
    return;
  }
  waiting_.start();
  poll_.start(0);
}

void OutputRun::on_poll() {
  const bool has_line = next_line_ < options_.script.size();
  if (window_.pending() > 0) {
    const view::ScriptLine* line = has_line ? &options_.script[next_line_] : nullptr;
    if (line == nullptr || line->verb != view::ScriptVerb::kWaitIdle) return;
    const auto limit = read_time(line->argument);
    if (!limit || !waiting_.hasExpired(limit->count())) return;
    std::cerr << fmt::format("dprof-gui: line {}: not idle within {}\n", line->number,
                             line->argument);
    end(ExitCode::kInconclusive);
    return;
  }
  if (window_.compare_error()) {
    end(*window_.compare_error());
    return;
  }
  if (deadline_.hasExpired()) {
    on_timeout();
    return;
  }
  if (has_line) {
    run_line(options_.script[next_line_++]);
    waiting_.restart();
    on_progress();
    return;
  }
  poll_.stop();
  Status written = write_outputs(options_, window_);
  if (!written.ok()) {
    end(written.error());
    return;
  }
  end(window_.session().model().run.damaged ? ExitCode::kUnreadable : ExitCode::kGood);
}

void OutputRun::run_line(const view::ScriptLine& line) {
  Status done = Done{};
  switch (line.verb) {
    case view::ScriptVerb::kView:
      done = show_view(line.argument, window_);
      break;
    case view::ScriptVerb::kSelect:
      window_.session().selecting.clear();
      done = window_.select(line.argument, false);
      break;
    case view::ScriptVerb::kAdd:
      done = window_.select(line.argument, true);
      break;
    case view::ScriptVerb::kKey:
      done = press_all(line.argument, window_);
      break;
    case view::ScriptVerb::kSearch:
      if (!window_.search(line.argument, 1))
        done =
            fail(Code::kUsage, fmt::format("no further event's name contains {}", line.argument));
      break;
    case view::ScriptVerb::kSql:
      window_.run_sql(line.argument);
      break;
    case view::ScriptVerb::kNote:
      window_.session().notes.add(window_.session().selecting.range(), line.argument);
      window_.refresh();
      break;
    case view::ScriptVerb::kWhatIf: {
      std::vector<std::string> changes = window_.session().what_if.changes();
      changes.push_back(line.argument);
      done = change(std::move(changes), window_);
      break;
    }
    case view::ScriptVerb::kWhy:
      done = explain(line.argument, window_);
      break;
    case view::ScriptVerb::kWaitIdle:
      break;
    case view::ScriptVerb::kAssert:
      if (const std::string wrong = view::failed_assertion(window_.state(), line.argument);
          !wrong.empty()) {
        std::cerr << fmt::format("dprof-gui: line {}: {}\n", line.number, wrong);
        end(ExitCode::kCheckFailed);
      }
      break;
    case view::ScriptVerb::kScreenshot:
      done = write_picture(line.argument, window_);
      break;
    case view::ScriptVerb::kDumpState:
      done = write_text(line.argument, window_.state());
      break;
    case view::ScriptVerb::kDumpDrawList:
      done = write_text(line.argument, view::to_text(window_.draw_list()));
      break;
  }
  if (!done.ok()) {
    std::cerr << fmt::format("dprof-gui: line {}\n", line.number);
    end(done.error());
  }
}

void OutputRun::end(const Error& error) {
  print_error(error);
  end(exit_code_of(error.code));
}

void OutputRun::end(ExitCode code) {
  poll_.stop();
  timeout_.stop();
  QApplication::exit(static_cast<int>(code));
}

}  // namespace dprof::widgets
