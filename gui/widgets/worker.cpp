// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/worker.h"

#include <QElapsedTimer>
#include <QString>

#include "gui/view/drawing/texts.h"
#include "gui/view/pages/compare_page.h"

namespace dprof::widgets {

Worker::Worker(QObject* parent)
    : QObject(parent),
      open_generation_(std::make_shared<std::atomic<uint64_t>>(0)),
      ask_generation_(std::make_shared<std::atomic<uint64_t>>(0)),
      export_cancelled_(std::make_shared<std::atomic<bool>>(false)) {
  pool_.setMaxThreadCount(1);
  counting_.setMaxThreadCount(1);
}

Worker::~Worker() {
  ++*open_generation_;
  ++*ask_generation_;
  cancel_export();
  pool_.clear();
  pool_.waitForDone();
  counting_.waitForDone();
}

// `job` runs on the worker thread and returns what is to be done with its result here.
void Worker::start_in(QThreadPool& pool, std::function<std::function<void()>()> job) {
  ++pending_;
  pool.start([this, job = std::move(job)] {
    std::function<void()> finish = job();
    QMetaObject::invokeMethod(
        this,
        [this, finish = std::move(finish)] {
          --pending_;
          finish();
          if (pending_ == 0) emit idle();
        },
        Qt::QueuedConnection);
  });
}

analyzer::Progress Worker::progress_of(uint64_t generation) {
  return [this, generation, current = open_generation_](std::string_view stage, double share) {
    const QString text = QString::fromUtf8(stage.data(), static_cast<qsizetype>(stage.size()));
    QMetaObject::invokeMethod(
        this,
        [this, generation, current, text, share] {
          if (*current == generation) emit progressed(text, share);
        },
        Qt::QueuedConnection);
    return *current == generation;
  };
}

void Worker::open(std::vector<std::filesystem::path> paths, analyzer::AnalysisOptions options,
                  std::set<int> with_events) {
  const uint64_t generation = ++*open_generation_;
  ++describe_generation_;
  const auto current = open_generation_;
  start([this, generation, current, paths = std::move(paths), options = std::move(options),
         with_events = std::move(with_events)]() -> std::function<void()> {
    const auto on_found = [this, generation, current](const analyzer::Run& run) {
      const QString about = QString::fromStdString(view::about(run));
      QMetaObject::invokeMethod(
          this,
          [this, generation, current, about] {
            if (*current == generation) emit found(about);
          },
          Qt::QueuedConnection);
    };
    analyzer::AnalysisOptions asked = options;
    asked.first_look = [this, generation, current](const analyzer::FirstLook& look) {
      QMetaObject::invokeMethod(
          this,
          [this, generation, current, look] {
            if (*current == generation) emit looked(look);
          },
          Qt::QueuedConnection);
    };
    auto model = std::make_shared<Result<std::shared_ptr<const view::Model>>>(
        view::load_model(paths, asked, progress_of(generation), with_events, on_found));
    return [this, generation, current, model] {
      if (*current != generation) return;
      if (model->ok()) {
        emit opened(**model);
      } else {
        emit failed(model->error());
      }
    };
  });
}

void Worker::load_events(std::shared_ptr<const view::Model> run, size_t rank_index) {
  const uint64_t generation = *open_generation_;
  const auto current = open_generation_;
  start([this, generation, current, run = std::move(run), rank_index]() -> std::function<void()> {
    if (*current != generation) return [] {};
    auto events =
        std::make_shared<const Result<view::SharedEvents>>(view::load_events(*run, rank_index));
    return [this, generation, current, run, rank_index, events] {
      if (*current == generation) emit events_loaded(run, rank_index, *events);
    };
  });
}

void Worker::compare(std::shared_ptr<const view::Model> run,
                     std::vector<std::filesystem::path> paths, analyzer::AnalysisOptions options) {
  const uint64_t generation = *open_generation_;
  const auto current = open_generation_;
  view::RunEvents events = view::events_of(*run);
  start([this, generation, current, run = std::move(run), events = std::move(events),
         paths = std::move(paths),
         options = std::move(options)]() mutable -> std::function<void()> {
    const auto refuse = [&](const Error& error) {
      return [this, generation, current, error] {
        if (*current == generation) emit compare_failed(error);
      };
    };
    for (size_t r = 0; r < events.size(); ++r) {
      if (events[r].events->loaded) continue;
      const Result<view::SharedEvents> loaded = view::load_events(*run, r);
      if (!loaded.ok()) return refuse(loaded.error());
      events[r].events = *loaded;
    }
    const auto other = view::load_model(paths, options, progress_of(generation));
    if (!other.ok()) return refuse(other.error());
    return [this, generation, current, runs = view::compare_models(*run, events, **other)] {
      if (*current == generation) emit compared(runs);
    };
  });
}

void Worker::count(view::CountedFigures::Count job) {
  start_in(counting_, [this, job = std::move(job)]() -> std::function<void()> {
    return [this, take = job()] { emit counted(take); };
  });
}

void Worker::describe(analyzer::TraceFile trace, analyzer::ClockMap clock, std::string table,
                      int64_t row) {
  const uint64_t generation = ++describe_generation_;
  start([this, generation, trace = std::move(trace), clock = std::move(clock),
         table = std::move(table), row]() -> std::function<void()> {
    Result<view::Fields> fields = analyzer::describe_row(trace, table, row, clock);
    view::Fields shown;
    if (fields.ok()) {
      shown = std::move(*fields);
    } else {
      shown = {{view::say("error"), fields.error().what}, {view::say("hint"), fields.error().hint}};
    }
    return [this, generation, shown = std::move(shown)] {
      if (generation == describe_generation_) emit described(shown);
    };
  });
}

void Worker::relate(analyzer::TraceFile trace, view::SlicePlace place, std::string table,
                    int64_t row) {
  const uint64_t generation = describe_generation_;
  start([this, generation, trace = std::move(trace), place, table = std::move(table),
         row]() -> std::function<void()> {
    // One more than is shown: whether there are more is to be said.
    Result<std::vector<analyzer::RelatedRow>> rows =
        analyzer::related_rows(trace, table, row, view::kMostInFlow + 1);
    if (!rows.ok()) return [] {};  // describe() says why
    return [this, generation, place, rows = *std::move(rows)] {
      if (generation == describe_generation_) emit related(place, rows);
    };
  });
}

void Worker::ask(std::vector<analyzer::TraceFile> traces, std::string statement) {
  const uint64_t generation = ++*ask_generation_;
  const auto current = ask_generation_;
  start([this, generation, current, traces = std::move(traces),
         statement = std::move(statement)]() -> std::function<void()> {
    const auto is_unwanted = [generation, current] { return *current != generation; };
    const analyzer::Progress progress = [this, is_unwanted](std::string_view stage, double share) {
      const QString text = QString::fromUtf8(stage.data(), static_cast<qsizetype>(stage.size()));
      QMetaObject::invokeMethod(
          this,
          [this, is_unwanted, text, share] {
            if (!is_unwanted()) emit asking(text, share);
          },
          Qt::QueuedConnection);
      return !is_unwanted();
    };
    QElapsedTimer timer;
    timer.start();
    auto answer = std::make_shared<analyzer::SqlAnswer>(
        analyzer::run_sql(traces, statement, {}, is_unwanted, progress));
    const DurationNs took{timer.nsecsElapsed()};
    return [this, is_unwanted, answer, took] {
      if (!is_unwanted()) emit answered(answer, took);
    };
  });
}

void Worker::export_run(std::vector<std::filesystem::path> paths, analyzer::ExportOptions options,
                        std::filesystem::path out) {
  *export_cancelled_ = false;
  start([this, cancelled = export_cancelled_, paths = std::move(paths),
         options = std::move(options), out = std::move(out)]() -> std::function<void()> {
    const analyzer::Progress progress = [this, cancelled](std::string_view stage, double share) {
      const QString text = QString::fromUtf8(stage.data(), static_cast<qsizetype>(stage.size()));
      QMetaObject::invokeMethod(
          this, [this, text, share] { emit exporting(text, share); }, Qt::QueuedConnection);
      return !*cancelled;
    };
    // Opened anew: the run may have grown since the window read it.
    const Result<analyzer::Run> run = analyzer::open_run(paths);
    auto exported = std::make_shared<const Result<analyzer::Exported>>(
        run.ok() ? analyzer::export_analysed(*run, options, out, progress)
                 : Result<analyzer::Exported>(fail(run.error())));
    return [this, exported] { emit this->exported(*exported); };
  });
}

}  // namespace dprof::widgets
