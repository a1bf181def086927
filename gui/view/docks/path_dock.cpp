// SPDX-License-Identifier: Apache-2.0
#include "gui/view/docks/path_dock.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/format.h"
#include "gui/view/drawing/columns.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/session/dock.h"

namespace dprof::view {
namespace {

constexpr int kPathLine = 20;
constexpr int kPathFigure = 74;
constexpr size_t kPathMostLines = 6;  // of a list
constexpr size_t kPathMostJumps = 40;
constexpr double kPathRemarkable = 0.01;  // of the median step: less is not worth showing

std::string signed_duration(int64_t ns) {
  return fmt::format("{}{}", ns < 0 ? "−" : "+", format_duration({std::abs(ns)}));
}

class PathDockPainter {
 public:
  PathDockPainter(const Model& model, ShownPath& shown, Selecting& selecting, int width, int height,
                  const TextMeasure& measure)
      : model_(model),
        shown_(shown),
        selecting_(selecting),
        width_(width),
        height_(height),
        measure_(measure) {}

  Panel paint() && {
    const RunPath* path = model_.path.get();
    const std::optional<size_t> index = shown_.step();
    if (path == nullptr) {
      sentence(no_path_text(), Role::kTextDim);
    } else if (!index) {
      sentence(say("This step has no critical path: only steady steps are replayed."),
               Role::kTextDim);
    } else {
      paint_step(*path, *index);
    }
    panel_.height = y_ + kDockMargin;
    panel_.list.rect({0, 0, width_, std::max(height_, panel_.height)}, Role::kWindow);
    panel_.list.append(body_);
    return std::move(panel_);
  }

 private:
  [[nodiscard]] int room() const { return width_ - 2 * kDockMargin; }

  [[nodiscard]] std::string no_path_text() const {
    const auto& replay = model_.report.replay;
    if (replay && !replay->refused.empty())
      return say("The run has no critical path: {}", replay->refused);
    return say("The run has no critical path: it could not be replayed. The diagnostics say why.");
  }

  void sentence(const std::string& text, Role role, Font font = Font::kBody) {
    y_ = draw_wrapped(text, {kDockMargin, y_}, room(), kPathLine, {.role = role, .font = font},
                      measure_, body_);
  }

  void paint_step(const RunPath& path, size_t index) {
    const PathStep& step = path.steps[index];
    sentence(say("Step {}: {}", step.step, format_duration({step.length_ns})), Role::kText,
             Font::kTitle);
    const int64_t more = step.length_ns - path.median_ns;
    const bool long_step = is_remarkable(path, more) && more > 0;
    sentence(std::abs(more) < 1 ? say("as long as the median step")
             : more > 0 ? say("{} longer than the median step ({})", format_duration({more}),
                              format_duration({path.median_ns}))
                        : say("{} shorter than the median step ({})", format_duration({-more}),
                              format_duration({path.median_ns})),
             long_step ? Role::kProblem : Role::kTextDim);
    std::string ends;
    if (step.last_rank >= 0) {
      ends = say("rank {} ends it", number_of(step.last_rank));
      ends += ", ";
    }
    ends += say_count(step.jumps, "{} hand-over between ranks", "{} hand-overs between ranks",
                      step.jumps);
    sentence(ends, Role::kTextDim);
    const auto& replay = model_.report.replay;
    if (replay && !replay->accepted)
      sentence(say("The replay of this run was rejected; treat this as a hint."), Role::kWarnText);
    paint_differences(path, index, PathItemKind::kCategory, say("By category"));
    paint_differences(path, index, PathItemKind::kRank, say("By rank"));
    paint_differences(path, index, PathItemKind::kName, say("By name"));
    paint_jumps(path, step);
  }

  [[nodiscard]] static bool is_remarkable(const RunPath& path, int64_t ns) {
    return std::abs(static_cast<double>(ns)) >=
           kPathRemarkable * static_cast<double>(path.median_ns);
  }

  [[nodiscard]] int number_of(int rank_index) const {
    return model_.ranks[static_cast<size_t>(rank_index)].rank;
  }

  // A label, and three figures on the right.
  void cells(const std::string& label, const std::array<std::string, 3>& figures, Role role,
             Role last, bool head) {
    const int label_room = room() - 3 * kPathFigure;
    const Font font = head ? Font::kBold : Font::kBody;
    body_.text({kDockMargin, y_, label_room, kPathLine},
               elided(label, label_room - 6, font, measure_), {.role = role, .font = font});
    for (size_t i = 0; i < figures.size(); ++i) {
      body_.text({kDockMargin + label_room + static_cast<int>(i) * kPathFigure, y_, kPathFigure,
                  kPathLine},
                 figures[i],
                 {.role = i + 1 == figures.size() ? last
                          : head                  ? Role::kTextDim
                                                  : role,
                  .font = Font::kSmall,
                  .align = Align::kRight});
    }
    y_ += kPathLine;
  }

  void paint_differences(const RunPath& path, size_t index, PathItemKind kind,
                         const std::string& title) {
    const std::vector<PathDifference> all = differences(path, index, kind);
    if (all.empty()) return;
    y_ += 10;
    cells(title, {say("here"), say("median"), say("differs")}, Role::kText, Role::kTextDim, true);
    body_.line({kDockMargin, y_}, {width_ - kDockMargin, y_}, Role::kBorder);
    y_ += 3;
    for (size_t i = 0; i < std::min(all.size(), kPathMostLines); ++i) {
      const PathDifference& one = all[i];
      const bool news = is_remarkable(path, one.by());
      const Box line{kDockMargin, y_, room(), kPathLine};
      if (one.item->rank >= 0) {
        panel_.links.push_back(
            {line, [&on = selecting_, rank = one.item->rank] { on.select_rank(rank); }, true});
      }
      cells(one.item->name,
            {format_duration({one.ns}), format_duration({one.usual_ns}),
             news ? signed_duration(one.by()) : std::string("–")},
            Role::kText,
            !news          ? Role::kTextDim
            : one.by() > 0 ? Role::kProblem
                           : Role::kAccent,
            false);
    }
    if (all.size() > kPathMostLines)
      sentence(say("and {} more that differ less", all.size() - kPathMostLines), Role::kTextDim,
               Font::kSmall);
  }

  void paint_jumps(const RunPath& path, const PathStep& step) {
    if (step.jumps == 0) return;
    y_ += 10;
    sentence(say("Hand-overs"), Role::kText, Font::kBold);
    body_.line({kDockMargin, y_}, {width_ - kDockMargin, y_}, Role::kBorder);
    y_ += 3;
    for (size_t i = 0; i < std::min<size_t>(step.jumps, kPathMostJumps); ++i) {
      const size_t at = step.first_jump + i;
      const PathJump& jump = path.jumps[at];
      const Box line{kDockMargin, y_, room(), kPathLine};
      panel_.links.push_back({line, [&on = shown_, at] { on.show_jump(at); }, true});
      const std::string who = say("rank {} → rank {}", number_of(jump.from), number_of(jump.to));
      constexpr int kWho = 130;
      body_.text({kDockMargin, y_, kWho, kPathLine}, elided(who, kWho - 6, Font::kBody, measure_),
                 {.role = Role::kAccent});
      body_.text({kDockMargin + kWho, y_, room() - kWho, kPathLine},
                 elided(path.names[jump.by], room() - kWho, Font::kSmall, measure_),
                 {.role = Role::kTextDim, .font = Font::kSmall});
      y_ += kPathLine;
    }
    if (step.jumps > kPathMostJumps)
      sentence(say("and {} more", step.jumps - kPathMostJumps), Role::kTextDim, Font::kSmall);
  }

  const Model& model_;
  ShownPath& shown_;
  Selecting& selecting_;
  int width_;
  int height_;
  const TextMeasure& measure_;
  int y_ = 8;
  DrawList body_;
  Panel panel_;
};

}  // namespace

Panel draw_path_dock(const Model& model, ShownPath& path, Selecting& selecting, int width,
                     int height, const TextMeasure& measure) {
  return PathDockPainter(model, path, selecting, width, height, measure).paint();
}

}  // namespace dprof::view
