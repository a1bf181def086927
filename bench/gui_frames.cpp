// SPDX-License-Identifier: Apache-2.0
// How long the window takes to open a run and to paint a frame: a scripted zoom and pan over a run
// with about a million events, all ranks unfolded, 1920×1080, on the offscreen platform; with the
// docks that follow the visible range; a search over all events; and Ranks × steps of 1,000 ranks
// and 1,000 steps.
#include <fmt/format.h>

#include <QApplication>
#include <QImage>
#include <QStyleFactory>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <string_view>
#include <vector>

#include "gui/widgets/main_window.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// A fixed amount of work, so that figures from different machines can be compared as ratios.
double calibration_ms() {
  const Clock::time_point begin = Clock::now();
  uint64_t state = 88172645463325252ULL;
  for (int i = 0; i < 10'000'000; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
  }
  return state == 0 ? 0 : ms_since(begin);
}

class Frames {
 public:
  explicit Frames(widgets::MainWindow& window) : window_(window) {}

  // One change of the view and the repaint of everything affected.
  void frame(const std::function<void(view::Session&)>& change) {
    const Clock::time_point begin = Clock::now();
    change(window_.session());
    window_.refresh();
    QApplication::sendPostedEvents();
    QApplication::processEvents();
    times_.push_back(ms_since(begin));
  }

  void script() {
    const int middle = window_.canvas().width() / 2;
    frame([](view::Session& session) { session.viewport.show_all(); });
    for (int i = 0; i < 40; ++i) {
      frame([&](view::Session& session) { session.viewport.zoom(middle, 4, 5); });
    }
    for (int i = 0; i < 40; ++i) {
      frame([](view::Session& session) { session.viewport.pan(37); });
    }
    for (int i = 0; i < 40; ++i) {
      frame([&](view::Session& session) { session.viewport.zoom(middle / 2, 5, 4); });
    }
    frame([](view::Session& session) { session.viewport.show_all(); });
  }

  void print(const char* name) {
    std::sort(times_.begin(), times_.end());
    const auto at = [&](double share) {
      return times_[static_cast<size_t>(share * static_cast<double>(times_.size() - 1))];
    };
    fmt::print("{:<27} p50 {:6.2f} ms   p95 {:6.2f} ms   worst {:6.2f} ms   ({} frames)\n", name,
               at(0.5), at(0.95), times_.back(), times_.size());
    times_.clear();
  }

  // Jumps to the first event of each name, from the beginning: the cost of Enter after `/`.
  void searches() {
    const view::Model& model = window_.session().model();
    for (const std::string& name : model.ranks.front().lanes().names) {
      if (name.empty()) continue;
      const Clock::time_point begin = Clock::now();
      const auto found = view::next_named(model, "*" + name, {}, model.span.begin, 1);
      if (found) times_.push_back(ms_since(begin));
    }
    const Clock::time_point begin = Clock::now();
    if (!view::next_named(model, "*no event has this*", {}, model.span.begin, 1))
      times_.push_back(ms_since(begin));
  }

  // Repaints Ranks × steps completely.
  void heatmaps() {
    for (int i = 0; i < 50; ++i) {
      const Clock::time_point begin = Clock::now();
      window_.heatmap().refresh();
      QApplication::processEvents();
      times_.push_back(ms_since(begin));
    }
  }

  // Repaints only the overlay: the cost of moving the mouse.
  void overlays() {
    QImage target(window_.canvas().size(), QImage::Format_ARGB32_Premultiplied);
    for (int i = 0; i < 100; ++i) {
      const Clock::time_point begin = Clock::now();
      window_.session().tracks.set_hover(
          view::Hover{.at = {i * 5, 60}, .slice = view::SlicePlace{}, .rank_index = 0});
      window_.canvas().render(&target);
      times_.push_back(ms_since(begin));
    }
  }

 private:
  widgets::MainWindow& window_;
  std::vector<double> times_;
};

// A run of many ranks and steps without loaded events.
view::Model large_run() {
  constexpr int kRanks = 1000;
  constexpr int64_t kSteps = 1000;
  constexpr int64_t kStepNs = 100'000'000;
  analyzer::Run run{.name = "large"};
  analyzer::Analysis analysis;
  for (int rank = 0; rank < kRanks; ++rank) {
    run.traces.push_back({.rank = rank, .host = fmt::format("node-{}", rank / 8)});
    analyzer::RankAnalysis of{.rank = rank};
    for (int64_t step = 0; step < kSteps; ++step) {
      const TraceNs begin{step * kStepNs};
      of.steps.push_back({step, {begin, begin + DurationNs{kStepNs}}});
      of.own_delays.push_back({step, (int64_t{rank} * 7919 + step * 104'729) % 1'000'000});
    }
    analysis.ranks.push_back(std::move(of));
  }
  return view::build_model(std::move(run), std::move(analysis), {});
}

int run(int64_t events, int ranks) {
  const test_support::TemporaryFolder folder;
  const auto written = test_support::write_run(folder.path() / "run",
                                               test_support::volume_spec(events / ranks, ranks));
  if (!written.ok()) {
    fmt::print(stderr, "bench_gui_frames: {}\n", written.error().what);
    return 125;
  }
  fmt::print("calibration                {:6.2f} ms\n", calibration_ms());
  Clock::time_point begin = Clock::now();
  auto model = view::load_model({folder.path() / "run"}, {});
  if (!model.ok()) {
    fmt::print(stderr, "bench_gui_frames: {}\n", model.error().what);
    return 125;
  }
  fmt::print("open, analyse, index       {:6.0f} ms   ({} slices, {} MB)\n", ms_since(begin),
             (*model)->slices(), (*model)->memory_bytes() / 1'000'000);

  widgets::Look look(view::light_theme());
  widgets::MainWindow window(look);
  window.resize(1920, 1080);
  window.show();
  begin = Clock::now();
  window.show_model(*model);
  QApplication::processEvents();
  fmt::print("first frame                {:6.2f} ms\n", ms_since(begin));
  for (const view::RankModel& rank : (*model)->ranks) {
    const view::Row* row = window.session().tracks.layout().of_rank(
        static_cast<int>(*(*model)->index_of_rank(rank.rank)));
    if (row != nullptr && row->folded) window.session().tracks.toggle(*row);
  }
  Frames frames(window);
  frames.script();
  frames.print("zoom and pan, whole window");
  frames.overlays();
  frames.print("hover");
  window.session().selecting.clear();
  for (const view::Dock dock : {view::Dock::kTable, view::Dock::kFlame, view::Dock::kHistogram}) {
    window.session().dock = dock;
    window.refresh();
    frames.script();
    frames.print(fmt::format("the same, dock {}", view::info_of(dock).title).c_str());
  }
  window.session().dock = view::Dock::kSelection;
  window.session().selecting.select_name("*");
  window.refresh();
  frames.script();
  frames.print("the same, all events marked");
  frames.overlays();
  frames.print("hover, all events marked");
  window.session().selecting.clear();
  frames.searches();
  frames.print("search to the first hit");

  const auto large = std::make_shared<const view::Model>(large_run());
  window.show_model(large);
  begin = Clock::now();
  const view::StepMatrix matrix =
      view::step_matrix(*large, view::Metric::kOwnDelay, view::RankOrder::kByRank);
  fmt::print("ranks × steps, made        {:6.2f} ms   ({} × {})\n", ms_since(begin),
             matrix.ranks.size(), matrix.steps.size());
  window.show_page(view::Page::kHeatmap);
  QApplication::processEvents();
  frames.heatmaps();
  frames.print("ranks × steps, painted");
  return 0;
}

}  // namespace
}  // namespace dprof

// Usage: bench_gui_frames [--events N] [--ranks N]
int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  int64_t events = 1'000'000;
  int ranks = 2;
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string_view value(argv[i + 1]);
    if (std::string_view(argv[i]) == "--events")
      std::from_chars(value.data(), value.data() + value.size(), events);
    if (std::string_view(argv[i]) == "--ranks")
      std::from_chars(value.data(), value.data() + value.size(), ranks);
  }
  const QApplication application(argc, argv);
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  return dprof::run(events, std::max(ranks, 1));
}
