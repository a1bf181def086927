// SPDX-License-Identifier: Apache-2.0
// Work off the user interface's thread: opening a run, describing a row, asking traces,
// writing the run for another tool.
#pragma once

#include <QObject>
#include <QThreadPool>
#include <atomic>
#include <functional>
#include <memory>
#include <set>

#include "analyzer/analysis.h"
#include "analyzer/exporting.h"
#include "analyzer/sql/sql_query.h"
#include "gui/view/model/model.h"
#include "gui/view/panels.h"
#include "gui/view/session/counted_figures.h"

namespace dprof::widgets {

// Runs one job after the other; beside them, counts. Each kind of job has a generation: a result
// that has been asked for anew meanwhile, or of a run that is no longer open, is dropped.
//
// Threading  called on the user interface's thread, which gets the signals too. The destructor
//            cancels and waits.
class Worker : public QObject {
  Q_OBJECT

 public:
  explicit Worker(QObject* parent = nullptr);
  ~Worker() override;

  // With the events of these ranks; the others' come with load_events().
  void open(std::vector<std::filesystem::path> paths, analyzer::AnalysisOptions options,
            std::set<int> with_events);
  void load_events(std::shared_ptr<const view::Model> run, size_t rank_index);
  // Loads another run and compares it with one that is open, whose missing events are loaded, too.
  void compare(std::shared_ptr<const view::Model> run, std::vector<std::filesystem::path> paths,
               analyzer::AnalysisOptions options);
  void describe(analyzer::TraceFile trace, analyzer::ClockMap clock, std::string table,
                int64_t row);
  // Finds the events that the row led to or came from.
  void relate(analyzer::TraceFile trace, view::SlicePlace place, std::string table, int64_t row);
  // Computes what a dock shows. Beside the other jobs: it does not wait for events to be loaded.
  void count(view::CountedFigures::Count job);
  // One statement of these traces; another one that is still running ends.
  void ask(std::vector<analyzer::TraceFile> traces, std::string statement);
  void cancel_ask() { ++*ask_generation_; }
  // As `dprof export` does it. What it says of its end comes in any case.
  void export_run(std::vector<std::filesystem::path> paths, analyzer::ExportOptions options,
                  std::filesystem::path out);
  void cancel_export() { *export_cancelled_ = true; }
  [[nodiscard]] bool is_export_cancelled() const { return *export_cancelled_; }
  // Results of describe() and relate() that are still to come are not wanted.
  void forget_description() { ++describe_generation_; }

  // Jobs begun and not finished, dropped ones included.
  [[nodiscard]] int pending() const { return pending_; }

 signals:
  void found(const QString& about);  // the run that is being opened, before it is read
  void looked(const dprof::analyzer::FirstLook& look);  // at it, before the whole analysis
  void progressed(const QString& stage, double share);
  void opened(std::shared_ptr<const dprof::view::Model> model);
  void failed(const dprof::Error& error);
  void events_loaded(std::shared_ptr<const dprof::view::Model> run, size_t rank_index,
                     const dprof::Result<dprof::view::SharedEvents>& events);
  void compared(std::shared_ptr<const dprof::view::ComparedRuns> runs);
  void compare_failed(const dprof::Error& error);
  void described(const dprof::view::Fields& fields);
  void related(const dprof::view::SlicePlace& place,
               const std::vector<dprof::analyzer::RelatedRow>& rows);
  void counted(const std::function<void(dprof::view::CountedFigures&)>& take);
  // Of ask(): which rank is read, and the result.
  void asking(const QString& stage, double share);
  void answered(std::shared_ptr<dprof::analyzer::SqlAnswer> answer, dprof::DurationNs took);
  void exporting(const QString& stage, double share);
  void exported(const dprof::Result<dprof::analyzer::Exported>& exported);
  void idle();

 private:
  void start(std::function<std::function<void()>()> job) { start_in(pool_, std::move(job)); }
  void start_in(QThreadPool& pool, std::function<std::function<void()>()> job);
  // Reports the progress of a job that belongs to what is opened; false once something else is
  // being opened.
  [[nodiscard]] analyzer::Progress progress_of(uint64_t generation);

  QThreadPool pool_;
  QThreadPool counting_;
  std::shared_ptr<std::atomic<uint64_t>> open_generation_;  // read by the job to cancel itself
  std::shared_ptr<std::atomic<uint64_t>> ask_generation_;   // likewise
  std::shared_ptr<std::atomic<bool>> export_cancelled_;     // likewise
  uint64_t describe_generation_ = 0;
  int pending_ = 0;
};

}  // namespace dprof::widgets
