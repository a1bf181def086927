// SPDX-License-Identifier: Apache-2.0
#include "gui/view/docks/info_dock.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analyzer/vocabulary/loss.h"
#include "base/format.h"
#include "gui/view/drawing/columns.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/session/dock.h"

namespace dprof::view {
namespace {

constexpr int kKeyWidth = 150;

constexpr std::array<Column, 8> kRankColumns = {{
    {english("rank"), 60, true},
    {english("host"), 180, false},
    {english("detail"), 90, false},
    {english("recording"), 160, false},
    {english("program"), 100, false},
    {english("steps"), 80, true},
    {english("events shown"), 110, true},
    {english("lost"), 90, true},
}};

constexpr std::array<Column, 6> kClockColumns = {{
    {english("host"), 180, false},
    {english("ahead by"), 130, true},
    {english("drift"), 110, true},
    {english("bound"), 110, true},
    {english("probes"), 90, true},
    {english("known by"), 220, false},
}};

std::string ended_text(const analyzer::TraceFile& trace) {
  if (trace.ended.empty()) return say("not ended");
  std::string text = trace.ended;
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string or_dash(std::string text) { return text.empty() ? "–" : std::move(text); }

class InfoPainter {
 public:
  InfoPainter(const Model& model, Notes& notes, int width, const TextMeasure& measure)
      : model_(model), notes_(notes), width_(width), measure_(measure) {}

  Panel paint(int height) && {
    paint_notes();
    paint_facts();
    paint_ranks();
    paint_clocks();
    Panel panel;
    panel.links = std::move(links_);
    panel.height = y_ + 8;
    panel.width = std::max({width_, 2 * kDockMargin + width_of(kRankColumns),
                            2 * kDockMargin + width_of(kClockColumns)});
    panel.list.rect({0, 0, panel.width, std::max(height, panel.height)}, Role::kWindow);
    panel.list.append(body_);
    return panel;
  }

 private:
  void fact(std::string_view key, const std::string& value) {
    if (value.empty()) return;
    body_.text({kDockMargin, y_, kKeyWidth, kLineHeight}, std::string(key),
               {.role = Role::kTextDim});
    const int room = width_ - 2 * kDockMargin - kKeyWidth;
    y_ = draw_wrapped(value, {kDockMargin + kKeyWidth, y_}, room, kLineHeight, {}, measure_, body_);
  }

  void heads(std::span<const Column> columns) {
    y_ += 12;
    draw_heads(columns, {kDockMargin, y_}, kLineHeight, body_);
    y_ += kLineHeight;
    body_.line({kDockMargin, y_ - 1}, {kDockMargin + width_of(columns), y_ - 1}, Role::kBorder);
  }

  void line(std::span<const Column> columns, std::span<const std::string> cells) {
    draw_cells(columns, {kDockMargin, y_}, cells, measure_, body_);
    y_ += kLineHeight;
  }

  // A click on a note shows its place, one on its mark removes it.
  void paint_notes() {
    constexpr int kMark = 24;
    for (size_t n = 0; n < notes_.all().size(); ++n) {
      const Note& note = notes_.all()[n];
      const int y = y_;
      std::string about = format_moment(note.at.begin, kNsPerUs);
      if (!note.at.empty()) about += fmt::format(", {}", format_duration(note.at.length()));
      fact(say("note"), fmt::format("{}: {}", about, note.text));
      const int right = width_ - kDockMargin - kMark;
      body_.text({right, y, kMark, kLineHeight}, "×",
                 {.role = Role::kTextDim, .align = Align::kCentre});
      links_.push_back({{right, y, kMark, kLineHeight}, [&on = notes_, n] { on.remove(n); }});
      links_.push_back({{0, y, right, y_ - y}, [&on = notes_, n] { on.show(n); }, /*shows=*/true});
    }
    if (!notes_.all().empty()) y_ += 8;
  }

  void paint_facts() {
    const analyzer::Report& report = model_.report;
    fact(say("run"), model_.run.name);
    fact(say("command"), report.run.command);
    for (const std::filesystem::path& path : model_.run.paths)
      fact(say("recorded in"), path.string());
    std::string ranks = say_count(report.run.hosts, "{} on {} host", "{} on {} hosts",
                                  report.run.ranks, report.run.hosts);
    if (report.run.world_size && *report.run.world_size != report.run.ranks)
      ranks += say(", of a world of {}", *report.run.world_size);
    fact(say("ranks"), ranks);
    if (report.run.steps)
      fact(say("steps"), say("{}, of which {} steady ({} to {})", report.run.steps->count,
                             report.run.steps->steady, report.run.steps->first_steady,
                             report.run.steps->last_steady));
    fact(say("events"), format_count(report.recording.events));
    if (report.recording.overhead) fact(say("recording cost"), report.recording.overhead->how);
    fact(say("in memory"), format_bytes(model_.memory_bytes()));
  }

  void paint_ranks() {
    heads(kRankColumns);
    for (const analyzer::TraceFile& trace : model_.run.traces) {
      const RankModel* rank = model_.rank(trace.rank);
      int64_t lost = 0;
      for (const analyzer::Loss& loss : model_.report.recording.lost)
        lost += loss.rank == trace.rank && analyzer::is_lost(loss.reason) ? loss.count : 0;
      const std::vector<int> only_this = {trace.rank};
      const std::array<std::string, kRankColumns.size()> cells = {
          std::to_string(trace.rank),
          or_dash(trace.host),
          or_dash(trace.detail),
          ended_text(trace),
          or_dash(trace.exit_status),
          rank != nullptr ? std::to_string(rank->steps.size()) : say("not chosen"),
          rank != nullptr ? format_count(events_in(model_, only_this, model_.span))
                          : std::string("–"),
          format_count(lost)};
      line(kRankColumns, cells);
    }
  }

  void paint_clocks() {
    if (!model_.report.clock) return;
    heads(kClockColumns);
    for (const analyzer::HostClock& host : model_.report.clock->hosts) {
      const std::array<std::string, kClockColumns.size()> cells = {
          or_dash(host.host),
          format_duration({host.offset_ns}),
          fmt::format("{:.3f} ppm", static_cast<double>(host.drift_ppb) / 1000),
          host.bound_ns ? "± " + format_duration({*host.bound_ns}) : say("unknown"),
          format_count(host.probes),
          or_dash(host.method)};
      line(kClockColumns, cells);
    }
  }

  const Model& model_;
  Notes& notes_;
  int width_;
  const TextMeasure& measure_;
  DrawList body_;
  std::vector<Link> links_;
  int y_ = 8;
};

}  // namespace

Panel draw_info_dock(const Model& model, Notes& notes, int width, int height,
                     const TextMeasure& measure) {
  return InfoPainter(model, notes, width, measure).paint(height);
}

}  // namespace dprof::view
