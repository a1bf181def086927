// SPDX-License-Identifier: Apache-2.0
// How long the window takes to open a run, and how much memory, each in a separate process: until
// the first look (ranks, steps, own delays), until the first picture of the whole analysis, which
// needs only the digests, and until the visible events are loaded.
//
//   bench_gui_open make FOLDER --events N --ranks N    a run, its events over all ranks together
//   bench_gui_open open FOLDER [--memory BYTES]        prints one line
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <QApplication>
#include <QStyleFactory>
#include <algorithm>
#include <chrono>

#include "bench/process_use.h"
#include "gui/widgets/main_window.h"
#include "tests/support/run_builder.h"

namespace dprof {
namespace {

using Clock = std::chrono::steady_clock;

int refuse(const Error& error) {
  fmt::print(stderr, "bench_gui_open: {}\n", error.what);
  return 125;
}

int make(const std::filesystem::path& folder, int64_t events, int ranks) {
  const auto made =
      test_support::write_run(folder, test_support::volume_spec(events / ranks, ranks));
  return made.ok() ? 0 : refuse(made.error());
}

int open(const std::filesystem::path& folder, view::EventBudget budget) {
  widgets::Look look(view::light_theme());
  widgets::MainWindow window(look);
  window.resize(1920, 1080);
  window.show();
  window.set_event_budget(budget);
  bool settled = false;
  QObject::connect(&window, &widgets::MainWindow::settled, [&] { settled = true; });
  const Clock::time_point begin = Clock::now();
  window.open({folder});
  double looked = 0;
  double looked_cpu = 0;
  while (!window.session().is_open() && !window.error()) {
    QApplication::processEvents(QEventLoop::WaitForMoreEvents);
    if (looked > 0 || !window.has_first_look()) continue;
    (void)window.grab();
    looked = bench::seconds_since(begin);
    looked_cpu = bench::usage().cpu_s;
  }
  if (window.error()) return refuse(*window.error());
  (void)window.grab();
  const double first = bench::seconds_since(begin);
  const double first_cpu = bench::usage().cpu_s;
  while (!settled) QApplication::processEvents(QEventLoop::WaitForMoreEvents);
  (void)window.grab();
  const view::Model& model = window.session().model();
  const auto loaded = std::ranges::count_if(
      model.ranks, [](const view::RankModel& rank) { return rank.events->loaded; });
  fmt::print(
      "first look {:6.2f} s (CPU {:.1f})   first picture {:6.2f} s (CPU {:.1f})   "
      "with events {:6.2f} s   "
      "({} slices of {} of {} ranks, peak {} MB)\n",
      looked, looked_cpu, first, first_cpu, bench::seconds_since(begin), model.slices(), loaded,
      model.ranks.size(), bench::usage().peak_bytes / 1'000'000);
  return 0;
}

}  // namespace
}  // namespace dprof

// NOLINTNEXTLINE(bugprone-exception-escape): an exception may end a benchmark with its message.
int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  std::filesystem::path folder;
  int64_t events = 1'000'000;
  int ranks = 8;
  dprof::view::EventBudget budget;
  CLI::App app{"time and memory of opening a run in the window"};
  app.require_subcommand(1);
  CLI::App* make = app.add_subcommand("make", "writes a run");
  make->add_option("FOLDER", folder)->required();
  make->add_option("--events", events)->capture_default_str();
  make->add_option("--ranks", ranks)->capture_default_str();
  CLI::App* open = app.add_subcommand("open", "opens it");
  open->add_option("FOLDER", folder)->required();
  open->add_option("--memory", budget.bytes, "for events, in bytes")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (make->parsed()) return dprof::make(folder, events, ranks);
  const QApplication application(argc, argv);
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  return dprof::open(folder, budget);
}
