// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/what_if_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"
#include "gui/view/drawing/choice.h"
#include "gui/view/drawing/columns.h"
#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

constexpr int kWhatIfMargin = 24;
constexpr int kWhatIfLine = 20;
constexpr int kControlLine = 34;
constexpr int kControlLabel = 170;
constexpr int kSliderWidth = 240;
constexpr int kSliderValue = 110;
constexpr int kAloneWidth = 110;     // the gain of a control by itself
constexpr int kControlsWidth = 760;  // maximum width
constexpr int kBestGap = 40;         // between them and the best of the catalogue
constexpr int kBestLeast = 260;      // with less room, the best go below
constexpr int kAnswerBar = 22;
constexpr int kAnswerLabel = 90;
constexpr int kAnswerFigure = 190;
constexpr int kKnob = 7;  // radius
constexpr int kGainWidth = 250;

constexpr std::array<std::string_view, 6> kGroupTitles = {
    english("Ranks"),  english("Input and host"), english("Communication"),
    english("Device"), english("Computation"),    english("Scale")};

// "−12.3 ms": a step gets shorter by the gain.
std::string change_text(int64_t gain_ns) {
  if (gain_ns == 0) return "± 0";
  return fmt::format("{}{}", gain_ns > 0 ? "−" : "+", format_duration({std::abs(gain_ns)}));
}

// The words without the change itself, which is beside them.
std::string reason_of(const WhatIfAnswer& answer, std::string_view change) {
  std::string text = answer.error    ? answer.error->what
                     : answer.answer ? answer.answer->refused
                                     : std::string();
  const std::string head = fmt::format("{}: ", change);
  if (text.starts_with(head)) text.erase(0, head.size());
  return text;
}

bool is_answered(const WhatIfAnswer& answer) { return answer.answer && answer.answer->gain_ns; }

class WhatIfPainter {
 public:
  WhatIfPainter(const Model& model, WhatIfQuestions& questions, int width, int height, int top,
                const TextMeasure& measure)
      : model_(model),
        questions_(questions),
        width_(width),
        height_(height),
        top_(top),
        measure_(measure) {}

  Panel paint() && {
    if (why_not().empty()) {
      head_height_ = paint_head();
      paint_controls();
      paint_best();
    } else {
      y_ = kWhatIfMargin;
      sentence(body_, kWhatIfMargin, y_, width_ - 2 * kWhatIfMargin, say("What if"),
               {.font = Font::kTitle});
      y_ += 6;
      sentence(body_, kWhatIfMargin, y_, width_ - 2 * kWhatIfMargin, why_not(),
               {.role = Role::kTextDim});
    }
    panel_.height = std::max(y_, best_end_) + kWhatIfMargin;
    panel_.list.rect({0, 0, width_, std::max(height_, panel_.height)}, Role::kCanvas);
    panel_.list.append(body_);
    panel_.list.append(head_, {0, top_});
    // Content below the header cannot be clicked through it.
    panel_.links = std::move(head_links_);
    for (Link& link : links_) {
      link.box = below(link.box, top_ + head_height_);
      panel_.links.push_back(std::move(link));
    }
    for (Slider& slider : sliders_) {
      slider.area = below(slider.area, top_ + head_height_);
      panel_.sliders.push_back(std::move(slider));
    }
    return std::move(panel_);
  }

 private:
  [[nodiscard]] int room() const { return width_ - 2 * kWhatIfMargin; }

  [[nodiscard]] std::string why_not() const {
    if (!model_.what_if)
      return say(
          "This run could not be replayed: it has no steady steps, or too little was recorded. The diagnostics say why.");
    const auto& replay = model_.report.replay;
    if (replay && !replay->accepted) {
      return say("The replay of this run was rejected, so there are no predictions: {}",
                 replay->refused.empty() ? say("it does not reproduce what was recorded")
                                         : replay->refused);
    }
    return {};
  }

  void sentence(DrawList& list, int x, int& y, int width, const std::string& text,
                TextStyle style) const {
    y = draw_wrapped(text, {x, y}, width, kWhatIfLine, style, measure_, list);
  }

  // --- the answer, which stays on top ---

  // What is known about the changes, and whether it is still being computed.
  [[nodiscard]] const analyzer::WhatIf* shown_answer() const {
    const WhatIfAnswer* answer = questions_.answer();
    return answer != nullptr && is_answered(*answer) ? &*answer->answer : nullptr;
  }
  [[nodiscard]] bool is_computing() const {
    return !questions_.changes().empty() && questions_.is_counting();
  }

  int paint_head() {
    int y = 16;
    const analyzer::WhatIfModel& model = *model_.what_if;
    const int64_t recorded = model.mean_step_ns();
    const analyzer::WhatIf* answer = shown_answer();
    const int64_t predicted = answer != nullptr ? *answer->step_ns : recorded;
    const int64_t bound = answer != nullptr ? answer->bound_ns.value_or(0) : 0;
    const int64_t longest = std::max({recorded, predicted + bound, int64_t{1}});
    answer_bar(y, say("recorded"), recorded, 0, longest, Role::kTextFaint,
               format_duration({recorded}));
    y += kAnswerBar + 8;
    const bool computing = is_computing();
    std::string figure = format_duration({predicted});
    if (bound > 0) figure += fmt::format(" ± {}", format_duration({bound}));
    if (questions_.changes().empty() || answer == nullptr) figure = "–";
    if (computing) figure = say("computing …");
    answer_bar(y, say("predicted"), predicted, bound, longest,
               answer == nullptr || computing ? Role::kBorder
               : predicted <= recorded        ? Role::kAccent
                                              : Role::kProblem,
               figure);
    paint_gain(answer, recorded);
    y += kAnswerBar + 12;
    y = paint_changes(y);
    y = paint_remarks(y, answer);
    y += 10;
    DrawList all;
    all.rect({0, 0, width_, y}, Role::kWindow);
    all.line({0, y - 1}, {width_, y - 1}, Role::kBorder);
    all.append(head_);
    head_ = std::move(all);
    y_ = y + 14;
    return y;
  }

  void answer_bar(int y, const std::string& label, int64_t ns, int64_t bound, int64_t longest,
                  Role role, const std::string& figure) {
    head_.text({kWhatIfMargin, y, kAnswerLabel, kAnswerBar}, label, {.role = Role::kTextDim});
    const int width = std::max(room() - kAnswerLabel - kAnswerFigure - kGainWidth, 40);
    const int x = kWhatIfMargin + kAnswerLabel;
    const auto pixels = [&](int64_t of) {
      return static_cast<int>(
          std::llround(static_cast<double>(of) / static_cast<double>(longest) * width));
    };
    head_.rect({x, y, std::max(pixels(ns), 2), kAnswerBar}, role, {}, 0, 4);
    if (bound > 0) {
      const int from = x + pixels(std::max<int64_t>(ns - bound, 0));
      const int to = x + pixels(ns + bound);
      const int middle = y + kAnswerBar / 2;
      head_.rect({from, middle - 1, std::max(to - from, 2), 2}, Role::kText);
      for (const int end : {from, to}) head_.rect({end - 1, middle - 5, 2, 11}, Role::kText);
    }
    head_.text({x + width + 12, y, kAnswerFigure - 12, kAnswerBar}, figure, {.font = Font::kMono});
  }

  void paint_gain(const analyzer::WhatIf* answer, int64_t recorded) {
    constexpr int kTop = 16;
    const int x = width_ - kWhatIfMargin - kGainWidth;
    if (answer == nullptr || is_computing()) return;
    const int64_t gain = *answer->gain_ns;
    const double share =
        static_cast<double>(std::abs(gain)) / static_cast<double>(std::max<int64_t>(recorded, 1));
    const bool certain = std::abs(gain) > answer->bound_ns.value_or(0);
    const std::string text = !certain   ? say("no gain beyond chance")
                             : gain > 0 ? say("{} less per step", format_duration({gain}))
                                        : say("{} more per step", format_duration({-gain}));
    head_.text({x, kTop, kGainWidth, kAnswerBar},
               elided(text, kGainWidth, certain ? Font::kTitle : Font::kBody, measure_),
               {.role = !certain   ? Role::kTextDim
                        : gain > 0 ? Role::kAccent
                                   : Role::kProblem,
                .font = certain ? Font::kTitle : Font::kBody,
                .align = Align::kRight});
    if (!certain) return;
    const double speed =
        static_cast<double>(recorded) / static_cast<double>(std::max<int64_t>(*answer->step_ns, 1));
    head_.text({x, kTop + kAnswerBar + 8, kGainWidth, kAnswerBar},
               say("{} of the step, {:.2f} × as many steps", format_share(share), speed),
               {.role = Role::kTextDim, .align = Align::kRight});
  }

  // The current changes, each with a cross that removes it; then the actions for all.
  int paint_changes(int y) {
    constexpr int kHeight = 26;
    constexpr int kCross = 20;
    int x = kWhatIfMargin;
    const int end = width_ - kWhatIfMargin;
    const auto place = [&](int width) {
      if (x + width > end && x > kWhatIfMargin) {
        x = kWhatIfMargin;
        y += kHeight + 6;
      }
      const Box box{x, y, std::min(width, end - x), kHeight};
      x += width + kChoiceGap;
      return box;
    };
    if (questions_.changes().empty()) {
      head_.text(
          {x, y, room(), kHeight},
          say("Move a slider, or choose one of the best, to see how long a step would take."),
          {.role = Role::kTextDim});
      return y + kHeight;
    }
    for (const std::string& change : questions_.changes()) {
      const Box box = place(measure_.width(change, Font::kMono) + 16 + kCross);
      head_.rect(box, Role::kAccentSoft, {}, 0, 6);
      head_.text({box.x + 8, box.y, box.w - kCross - 8, box.h},
                 elided(change, box.w - kCross - 8, Font::kMono, measure_), {.font = Font::kMono});
      head_.text({box.x + box.w - kCross, box.y, kCross - 4, box.h}, "×",
                 {.role = Role::kTextDim, .align = Align::kCentre});
      head_link(box, [&on = questions_, change] { on.change({{"", change}}, ""); });
    }
    const auto button = [&](const std::string& text, auto follow, const std::string& copies = {}) {
      const Box box = place(measure_.width(text, Font::kSmall) + 20);
      draw_choice({box.x, box.y}, text, false, measure_, head_);
      head_.frame(box, Role::kBorder, 6);
      head_link(box, std::move(follow), copies);
    };
    x += 10;
    button(
        say("copy as command line"), [] {}, questions_.command_line());
    button(say("all as recorded"), [&on = questions_] { on.change(std::vector<std::string>()); });
    return y + kHeight;
  }

  void head_link(Box box, std::function<void()> follow, std::string copies = {}) {
    box.y += top_;
    head_links_.push_back({box, std::move(follow), false, std::move(copies)});
  }

  int paint_remarks(int y, const analyzer::WhatIf* answer) {
    y += 6;
    const WhatIfAnswer* whole = questions_.answer();
    const auto remark = [&](const std::string& text, Role role) {
      sentence(head_, kWhatIfMargin, y, room(), text, {.role = role, .font = Font::kSmall});
    };
    if (answer != nullptr) {
      remark(say("It rests on: {}.", answer->valid_because), Role::kTextDim);
      if (!answer->bias.empty()) remark(say("It errs: {}.", answer->bias), Role::kTextDim);
    } else if (whole != nullptr && whole->error) {
      remark(fmt::format("{}: {}", whole->error->what, whole->error->hint), Role::kProblem);
    } else if (whole != nullptr && whole->answer) {
      remark(say("This run cannot answer that: {}", whole->answer->refused), Role::kProblem);
    }
    return y;
  }

  // --- what can be changed ---

  [[nodiscard]] bool best_beside() const {
    return room() >= kControlsWidth * 3 / 4 + kBestGap + kBestLeast;
  }
  [[nodiscard]] int controls_width() const {
    return best_beside() ? std::min(kControlsWidth, room() - kBestGap - kBestLeast) : room();
  }

  void paint_controls() {
    const std::vector<WhatIfControl>& controls = questions_.controls();
    const WhatIfTrials& trials = questions_.trials();
    const int begin = y_;
    std::optional<WhatIfGroup> group;
    for (const WhatIfControl& control : controls) {
      if (group != control.group) {
        y_ += group ? 12 : 0;
        group = control.group;
        const int width = controls_width();
        body_.text({kWhatIfMargin, y_, width, kWhatIfLine},
                   std::string(translated(kGroupTitles.at(static_cast<size_t>(*group)))),
                   {.font = Font::kBold});
        if (y_ == begin)
          body_.text({kWhatIfMargin, y_, width, kWhatIfLine}, say("at most, by itself"),
                     {.role = Role::kTextDim, .font = Font::kSmall, .align = Align::kRight});
        y_ += kWhatIfLine + 2;
        body_.line({kWhatIfMargin, y_}, {kWhatIfMargin + width, y_}, Role::kBorder);
        y_ += 4;
      }
      paint_control(control, trial_of(trials, control.stops[control.tried].change));
    }
  }

  void paint_control(const WhatIfControl& control, const WhatIfAnswer* trial) {
    const int width = controls_width();
    const Box line{kWhatIfMargin, y_, width, kControlLine};
    y_ += kControlLine;
    const std::string& tried = control.stops[control.tried].change;
    const bool refused = trial != nullptr && !is_answered(*trial);
    const size_t at = control.stop_in(questions_.changes());
    const bool chosen = !control.stops[at].change.empty();
    body_.text({line.x, line.y, kControlLabel - 8, line.h},
               elided(control.label, kControlLabel - 8, Font::kBody, measure_),
               {.role = refused ? Role::kTextFaint : Role::kText,
                .font = chosen ? Font::kBold : Font::kBody});
    const int x = line.x + kControlLabel;
    const int room_inside = line.w - kControlLabel - kAloneWidth;
    if (refused) {
      const int room_all = line.w - kControlLabel;
      body_.text({x, line.y, room_all, line.h},
                 elided(reason_of(*trial, tried), room_all, Font::kSmall, measure_),
                 {.role = Role::kTextFaint, .font = Font::kSmall});
      return;
    }
    if (control.slides) {
      paint_slider(control, {x, line.y, room_inside, line.h}, at);
    } else {
      paint_words(control, {x, line.y, room_inside, line.h}, at);
    }
    if (trial == nullptr) return;
    const int64_t gain = *trial->answer->gain_ns;
    const bool certain = std::abs(gain) > trial->answer->bound_ns.value_or(0);
    body_.text({line.x + line.w - kAloneWidth, line.y, kAloneWidth, line.h}, change_text(gain),
               {.role = certain && gain > 0 ? Role::kText : Role::kTextDim,
                .font = Font::kMono,
                .align = Align::kRight});
  }

  void paint_slider(const WhatIfControl& control, Box box, size_t at) {
    const int width = std::min(kSliderWidth, box.w - kSliderValue - 2 * kKnob);
    if (width <= 2 * kKnob) return;
    const auto last = static_cast<int>(control.stops.size()) - 1;
    const Box track{box.x + kKnob, box.y + box.h / 2 - 2, width, 4};
    const auto x_of = [&](size_t stop) {
      return track.x + static_cast<int>(stop) * track.w / last;
    };
    const size_t recorded = control.stop_in({});
    body_.rect(track, Role::kBorder, {}, 0, 2);
    const int from = std::min(x_of(recorded), x_of(at));
    const int to = std::max(x_of(recorded), x_of(at));
    if (to > from) body_.rect({from, track.y, to - from, track.h}, Role::kAccent, {}, 0, 2);
    for (size_t stop = 0; stop < control.stops.size(); ++stop)
      body_.rect({x_of(stop), track.y + track.h + 4, 1, stop == recorded ? 5 : 3},
                 stop == recorded ? Role::kTextDim : Role::kTextFaint);
    const int y = box.y + box.h / 2;
    const Box knob{x_of(at) - kKnob, y - kKnob, 2 * kKnob, 2 * kKnob};
    body_.rect(knob, at == recorded ? Role::kTextDim : Role::kAccent, {}, 0, kKnob);
    body_.rect({knob.x + 3, knob.y + 3, knob.w - 6, knob.h - 6}, Role::kCanvas, {}, 0, kKnob - 3);
    body_.text({track.x + track.w + kKnob + 10, box.y, kSliderValue, box.h},
               control.stops[at].label,
               {.role = at == recorded ? Role::kTextDim : Role::kText, .font = Font::kSmall});
    sliders_.push_back({{box.x, box.y, width + 2 * kKnob, box.h},
                        [&on = questions_, stops = control.stops, track, last](int x) {
                          const int stop = std::clamp(
                              ((x - track.x) * last * 2 + track.w) / (2 * track.w), 0, last);
                          on.change(stops, stops[static_cast<size_t>(stop)].change);
                        }});
  }

  void paint_words(const WhatIfControl& control, Box box, size_t at) {
    int x = box.x;
    for (size_t stop = 0; stop < control.stops.size(); ++stop) {
      const Box word =
          draw_choice({x, box.y + 4}, control.stops[stop].label, stop == at, measure_, body_);
      links_.push_back({word, [&on = questions_, stops = control.stops, stop] {
                          on.change(stops, stops[stop].change);
                        }});
      x += word.w + kChoiceGap;
    }
  }

  // --- the best of the catalogue ---

  void paint_best() {
    const int begin = head_height_ + 14;
    const int x = best_beside() ? kWhatIfMargin + controls_width() + kBestGap : kWhatIfMargin;
    const int width = best_beside() ? width_ - kWhatIfMargin - x : room();
    int y = best_beside() ? begin : y_ + 24;
    body_.text({x, y, width, kWhatIfLine}, say("What gains most"), {.font = Font::kBold});
    y += kWhatIfLine + 2;
    body_.line({x, y}, {x + width, y}, Role::kBorder);
    y += 4;
    size_t listed = 0;
    const auto& replay = model_.report.replay;
    const int64_t recorded = model_.what_if->mean_step_ns();
    for (size_t i = 0; replay && i < replay->whatif.size(); ++i) {
      const analyzer::WhatIf& one = replay->whatif[i];
      if (one.asked || !one.gain_ns) continue;
      best_line({x, y, width, kBestLine}, one, recorded);
      y += kBestLine;
      ++listed;
    }
    if (listed == 0)
      sentence(body_, x, y, width, say("No usual change gains half a percent of a step or more."),
               {.role = Role::kTextDim});
    if (listed > 0)
      sentence(
          body_, x, y, width,
          say("Click to add a change or to take it back. Combined gains are not the sum of single ones."),
          {.role = Role::kTextDim, .font = Font::kSmall});
    best_end_ = y;
  }

  static constexpr int kBestLine = 46;

  // The change with its gain, also as a bar.
  void best_line(Box line, const analyzer::WhatIf& one, int64_t recorded) {
    const bool chosen = std::ranges::count(questions_.changes(), one.change) > 0;
    if (chosen)
      body_.rect({line.x - 8, line.y, line.w + 16, line.h - 4}, Role::kAccentSoft, {}, 0, 6);
    constexpr int kFigure = 150;
    body_.text({line.x, line.y + 2, line.w - kFigure, kWhatIfLine},
               elided(one.change, line.w - kFigure - 8, Font::kMonoBold, measure_),
               {.role = chosen ? Role::kAccent : Role::kText, .font = Font::kMonoBold});
    std::string figure = change_text(*one.gain_ns);
    if (one.bound_ns) figure += fmt::format(" ± {}", format_duration({*one.bound_ns}));
    body_.text({line.x + line.w - kFigure, line.y + 2, kFigure, kWhatIfLine}, figure,
               {.font = Font::kSmall, .align = Align::kRight});
    const double share = std::clamp(
        static_cast<double>(*one.gain_ns) / static_cast<double>(std::max<int64_t>(recorded, 1)),
        0.0, 1.0);
    constexpr int kShare = 52;
    const Box bar{line.x, line.y + kWhatIfLine + 8, line.w - kShare, 5};
    body_.rect(bar, Role::kBorder, {}, 0, 2);
    const int filled = static_cast<int>(share * bar.w);
    if (filled > 0) body_.rect({bar.x, bar.y, filled, bar.h}, Role::kAccent, {}, 0, 2);
    body_.text({bar.x + bar.w, bar.y - 8, kShare, kWhatIfLine}, format_share(share),
               {.role = Role::kTextDim, .font = Font::kSmall, .align = Align::kRight});
    links_.push_back(
        {line, [&on = questions_, change = one.change, chosen, stops = stops_with(one.change)] {
           on.change(stops, chosen ? std::string() : change);
         }});
  }

  // The stops that can express the change: only one of them applies.
  [[nodiscard]] std::vector<WhatIfStop> stops_with(const std::string& change) const {
    for (const WhatIfControl& control : questions_.controls()) {
      if (std::ranges::count(control.stops, change, &WhatIfStop::change) > 0) return control.stops;
    }
    return {{"", change}};
  }

  const Model& model_;
  WhatIfQuestions& questions_;
  int width_;
  int height_;
  int top_;
  const TextMeasure& measure_;
  int y_ = 0;
  int best_end_ = 0;
  int head_height_ = 0;
  DrawList head_;  // from the page's top
  DrawList body_;
  std::vector<Link> head_links_;
  std::vector<Link> links_;
  std::vector<Slider> sliders_;
  Panel panel_;
};

}  // namespace

Panel draw_what_if_page(const Model& model, WhatIfQuestions& questions, int width, int height,
                        int top, const TextMeasure& measure) {
  return WhatIfPainter(model, questions, width, height, top, measure).paint();
}

}  // namespace dprof::view
