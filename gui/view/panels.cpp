// SPDX-License-Identifier: Apache-2.0
#include "gui/view/panels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "analyzer/ending/ending.h"
#include "analyzer/render/layout.h"
#include "base/format.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/figures/collective_times.h"
#include "gui/view/session/landmarks.h"

namespace dprof::view {
namespace {

constexpr int kPanelMargin = 12;
constexpr int kPadding = 14;
constexpr int kPanelLine = 18;

struct SeverityLook {
  Role stripe;
  Role text;
};

SeverityLook look_of(analyzer::FindingSeverity severity) {
  switch (severity) {
    case analyzer::FindingSeverity::kCritical:
      return {Role::kProblem, Role::kProblem};
    case analyzer::FindingSeverity::kWarn:
      return {Role::kWarn, Role::kWarnText};
    case analyzer::FindingSeverity::kInfo:
      break;
  }
  return {Role::kInfo, Role::kInfoText};
}

std::string capitalised(std::string_view text) {
  std::string out(text);
  if (!out.empty()) {
    out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  }
  return out;
}

// "rank 5 holds everyone up: +46.2 ms per step …" becomes a heading and a line below it.
std::pair<std::string, std::string> parts_of(const std::string& title) {
  const size_t colon = title.find(": ");
  if (colon == std::string::npos) return {capitalised(title), {}};
  return {capitalised(std::string_view(title).substr(0, colon)), title.substr(colon + 2)};
}

std::string_view without_sign(std::string_view cost) {
  return cost.starts_with('+') ? cost.substr(1) : cost;
}

struct Line {
  std::string text;
  TextStyle style;
};

class CardPainter {
 public:
  CardPainter(const analyzer::Finding& finding, bool selected, int width,
              const TextMeasure& measure)
      : look_(look_of(finding.severity)), selected_(selected), width_(width), measure_(measure) {
    if (finding.cost_ns) cost_ = fmt::format("+{}", format_ms({*finding.cost_ns}));
    const int cost_width = cost_.empty() ? 0 : measure.width(cost_, Font::kTitle) + 14;
    auto [heading, rest] = parts_of(finding.title);
    for (std::string& line : wrapped(heading, room() - cost_width, Font::kTitle, measure)) {
      headings_.push_back(std::move(line));
    }
    // The cost is already beside the heading.
    for (const std::string_view known : {std::string_view(cost_), without_sign(cost_)}) {
      if (!known.empty() && rest.starts_with(known)) rest.erase(0, known.size() + 1);
    }
    if (!finding.cause.empty()) rest = rest.empty() ? finding.cause : rest + " · " + finding.cause;
    add(rest, Role::kTextDim);
    add(finding.detail, Role::kTextDim);
    if (!finding.advice.empty()) add("→ " + finding.advice, Role::kText);
  }

  [[nodiscard]] int height() const {
    return 2 * kPadding + kPanelLine * static_cast<int>(headings_.size() + lines_.size()) +
           (lines_.empty() ? 0 : 4);
  }

  void paint(int y, DrawList& list) const {
    const Box card{kPanelMargin, y, width_ - 2 * kPanelMargin, height()};
    list.rect(card, Role::kCard, {}, 0, 8);
    list.frame(card, selected_ ? Role::kAccent : Role::kBorder, 8,
               selected_ ? uint8_t{2} : uint8_t{1});
    list.rect({card.x + 1, y + 10, 4, card.h - 20}, look_.stripe);
    int line_y = y + kPadding;
    list.text({card.x + kPadding, line_y, card.w - 2 * kPadding, kPanelLine}, cost_,
              {.role = look_.text, .font = Font::kTitle, .align = Align::kRight});
    for (const std::string& heading : headings_) {
      list.text({card.x + kPadding, line_y, room(), kPanelLine}, heading, {.font = Font::kTitle});
      line_y += kPanelLine;
    }
    line_y += 4;
    for (const Line& line : lines_) {
      list.text({card.x + kPadding, line_y, room(), kPanelLine}, line.text, line.style);
      line_y += kPanelLine;
    }
  }

 private:
  [[nodiscard]] int room() const { return width_ - 2 * kPanelMargin - 2 * kPadding; }

  void add(const std::string& text, Role role) {
    for (std::string& line : wrapped(text, room(), Font::kBody, measure_)) {
      lines_.push_back({std::move(line), {.role = role}});
    }
  }

  SeverityLook look_;
  bool selected_;
  int width_;
  const TextMeasure& measure_;
  std::string cost_;
  std::vector<std::string> headings_;
  std::vector<Line> lines_;
};

int draw_paragraph(const std::string& text, int y, int width, TextStyle style,
                   const TextMeasure& measure, DrawList& list) {
  constexpr int kLeft = kPanelMargin + 4;
  return draw_wrapped(text, {kLeft, y}, width - kPanelMargin - kLeft, kPanelLine, style, measure,
                      list);
}

Fields fields_of_selection(const Model& model, const Selecting& selecting) {
  Fields fields;
  const Selection& selection = selecting.selection();
  if (selection.step) fields.emplace_back(say("step"), std::to_string(*selection.step));
  const Interval range = selecting.range();
  const int64_t resolution = std::max<int64_t>(range.length().ns / 1000, 1);
  fields.emplace_back(say("from"), format_moment(range.begin, resolution));
  fields.emplace_back(say("to"), format_moment(range.end, resolution));
  fields.emplace_back(say("length"), format_duration(range.length()));
  if (selection.collective) {
    const analyzer::MatchedCollective& collective = model.collectives[*selection.collective];
    fields.emplace_back(
        say("collective"),
        fmt::format("{} #{}", schema::word_of(collective.function), collective.sequence));
    fields.emplace_back(say("communicator"), collective.communicator);
    for (const analyzer::CollectiveMember& member : collective.members) {
      fields.emplace_back(say("rank {} waited", member.rank), format_duration({member.wait_ns}));
    }
  }
  fields.emplace_back(say("events"), format_count(events_in(model, selection.ranks, range)));
  return fields;
}

std::string joined(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(lines, "\n"));
}

// How the process of the single selected rank ended, and its last words and actions.
Fields fields_of_end(const Model& model, const Selection& selection) {
  Fields fields;
  if (selection.ranks.size() != 1 || selection.slice) return fields;
  const int rank = selection.ranks.front();
  const analyzer::EndedRank* end = end_of_rank(model, rank);
  if (end == nullptr) return fields;
  fields.emplace_back(say("ended"), analyzer::words_of_end(*end));
  if (end->time_ns) fields.emplace_back(say("at"), format_moment(TraceNs{*end->time_ns}, 1000));
  if (!end->doing.empty()) fields.emplace_back(say("it was"), joined(end->doing));
  if (!end->exception.empty()) fields.emplace_back(say("raised"), end->exception);
  std::vector<std::string> frames;  // without their folders, which the report shows
  for (const std::string& frame : end->frames)
    frames.push_back(frame.substr(frame.rfind('/', frame.rfind(':')) + 1));
  if (!frames.empty()) fields.emplace_back(say("in"), joined(frames));
  if (!end->message.empty()) fields.emplace_back(say("its collective"), end->message);
  if (!end->output.empty()) fields.emplace_back(say("standard error"), joined(end->output));
  const std::optional<analyzer::Hang>& hang = model.report.hang;
  if (!hang) return fields;
  const auto hung = std::ranges::find(hang->ranks, rank, &analyzer::HungRank::rank);
  if (hung == hang->ranks.end() || hung->stack.empty()) return fields;
  std::vector<std::string> python;
  std::vector<std::string> native;
  for (const analyzer::StackFrame& frame : hung->stack) {
    std::vector<std::string>& stack = frame.kind == "python" ? python : native;
    stack.push_back(fmt::format("{} {}{}", frame.function,
                                frame.file.substr(frame.file.rfind('/') + 1),
                                frame.line ? fmt::format(":{}", *frame.line) : ""));
  }
  if (!python.empty()) fields.emplace_back(say("Python stack"), joined(python));
  if (!native.empty()) fields.emplace_back(say("native stack"), joined(native));
  return fields;
}

std::string rank_or_unknown(const std::optional<int>& rank) {
  return rank ? say("rank {}", *rank) : say("a rank that is not known");
}

std::string message_text(const Model& model, const analyzer::MatchedMessage& message) {
  std::string text =
      fmt::format("{} → {}", rank_or_unknown(message.from), rank_or_unknown(message.to));
  if (message.bytes) text += fmt::format(", {}", format_bytes(*message.bytes));
  if (!message.send || !message.receive) return text + say(", the other side was not recorded");
  const std::optional<TraceNs> sent = arrival_of(*message.send);
  const std::optional<TraceNs> received = arrival_of(*message.receive);
  if (!sent || !received) return text + say(", one side never began");
  const auto bound = model.clock_bound(message.send->rank, *sent, message.receive->rank, *received);
  if (!bound) return text + say(", clock bound unknown");
  if (bound->ns > 0) text += say(", clocks agree to ± {}", format_duration(*bound));
  return text;
}

// What the selected event led to or came from.
Fields fields_of_flow(const Model& model, const EventFlow& flow) {
  Fields fields;
  for (const ShownMessage& shown : flow.messages())
    fields.emplace_back(say("message"), message_text(model, model.messages[shown.message]));
  if (flow.is_cut()) {
    fields.emplace_back(say("related"), say("first {} of more events", kMostInFlow));
  } else if (const size_t events = flow.places().size(); events > 1) {
    fields.emplace_back(say("related"), say_count(events - 1, "{} event", "{} events", events - 1));
  }
  return fields;
}

// Texts side by side, with a gap; right-aligned ones end at `x`.
int text_at(int x, int height, std::string text, TextStyle style, const TextMeasure& measure,
            DrawList& list) {
  constexpr int kGap = 18;
  const int width = measure.width(text, style.font) + 2;
  const int left = style.align == Align::kRight ? x - width : x;
  list.text({left, 0, width, height}, std::move(text), style);
  return style.align == Align::kRight ? left - kGap : left + width + kGap;
}

}  // namespace

Panel draw_findings(const Model& model, Selecting& selecting, int width, int height,
                    const TextMeasure& measure) {
  Panel panel;
  DrawList cards;
  int y = 6;
  const std::vector<analyzer::Finding>& findings = model.findings();
  for (size_t i = 0; i < findings.size(); ++i) {
    const CardPainter card(findings[i], selecting.selection().finding == i, width, measure);
    card.paint(y, cards);
    panel.links.push_back({{kPanelMargin, y, width - 2 * kPanelMargin, card.height()},
                           [&selecting, i] { selecting.select_finding(i); }});
    y += card.height() + 10;
  }
  std::string last = say("Nothing else above 1 % of a step.");
  if (findings.empty()) {
    last = model.report.findings
               ? say("No finding: no rank holds the others up, and no rule applies.")
               : say("Findings were not computed from this run; the diagnostics say why.");
  }
  y = draw_paragraph(last, y + 6, width, {.role = Role::kTextDim}, measure, cards);
  panel.height = y + 8;
  panel.list.rect({0, 0, width, std::max(height, panel.height)}, Role::kWindow);
  panel.list.append(cards);
  return panel;
}

Panel draw_details(const Model& model, const Selecting& selecting, const EventFlow& flow,
                   const Fields& fields, int width, int height, const TextMeasure& measure) {
  constexpr int kKeyWidth = 118;
  Fields shown = fields.empty() ? fields_of_selection(model, selecting) : fields;
  for (auto& field : fields_of_end(model, selecting.selection())) shown.push_back(std::move(field));
  for (auto& field : fields_of_flow(model, flow)) shown.push_back(std::move(field));
  DrawList body;
  int y = 8;
  for (const auto& [key, value] : shown) {
    body.text({kPanelMargin + 4, y, kKeyWidth, kPanelLine + 2},
              elided(key, kKeyWidth - 6, Font::kBody, measure), {.role = Role::kTextDim});
    const int room = width - 2 * kPanelMargin - 4 - kKeyWidth;
    for (size_t at = 0; at <= value.size();) {
      const size_t end = std::min(value.find('\n', at), value.size());
      for (std::string& line : wrapped(value.substr(at, end - at), room, Font::kMono, measure)) {
        body.text({kPanelMargin + 4 + kKeyWidth, y, room, kPanelLine + 2}, std::move(line),
                  {.font = Font::kMono});
        y += kPanelLine;
      }
      at = end + 1;
    }
    y += 6;
    body.line({kPanelMargin, y - 2}, {width - kPanelMargin, y - 2}, Role::kBorder);
  }
  Panel panel{.height = y + 8};
  panel.list.rect({0, 0, width, std::max(height, panel.height)}, Role::kWindow);
  panel.list.append(body);
  return panel;
}

Panel draw_diagnostics(const Model& model, int width, int height, const TextMeasure& measure) {
  DrawList body;
  int y = 8;
  for (const analyzer::Diagnostic& diagnostic : model.report.recording.diagnostics) {
    const bool info = diagnostic.severity == schema::Severity::kInfo;
    std::string head = diagnostic.code;
    if (diagnostic.count != 1) head += fmt::format(" × {}", format_count(diagnostic.count));
    y = draw_paragraph(head, y, width,
                       {.role = info ? Role::kText : Role::kProblem, .font = Font::kBold}, measure,
                       body);
    y = draw_paragraph(diagnostic.text, y, width, {.role = Role::kTextDim}, measure, body) + 8;
  }
  if (model.report.recording.diagnostics.empty()) {
    y = draw_paragraph(say("No diagnostics: everything was recorded and read."), y, width,
                       {.role = Role::kTextDim}, measure, body);
  }
  Panel panel{.height = y + 8};
  panel.list.rect({0, 0, width, std::max(height, panel.height)}, Role::kWindow);
  panel.list.append(body);
  return panel;
}

DrawList draw_top_bar(const Model* model, int width, int height, int room,
                      const TextMeasure& measure) {
  DrawList list;
  list.rect({0, 0, width, height}, Role::kWindow);
  list.line({0, height - 1}, {width, height - 1}, Role::kBorder);
  const int x = text_at(16, height, "dprof", {.font = Font::kTitle}, measure, list) - 4;
  if (model == nullptr) return list;
  const analyzer::RunInfo& run = model->report.run;
  std::string text = say("{} · {} on {}", model->run.name,
                         say_count(run.ranks, "{} rank", "{} ranks", format_count(run.ranks)),
                         say_count(run.hosts, "{} host", "{} hosts", format_count(run.hosts)));
  if (run.steps) {
    text += say(" · {} · median {}",
                say_count(run.steps->count, "{} step", "{} steps", format_count(run.steps->count)),
                format_duration({run.steps->median_ns}));
  }
  constexpr int kBeforeTabs = 8;
  text_at(x, height, elided(text, room - x - kBeforeTabs, Font::kBody, measure),
          {.role = Role::kTextDim}, measure, list);
  return list;
}

DrawList draw_status_bar(const Model* open, Interval range, const Layout& rows,
                         const std::string& pending, int width, int height,
                         const TextMeasure& measure) {
  DrawList list;
  list.rect({0, 0, width, height}, Role::kWindow);
  list.line({0, 0}, {width, 0}, Role::kBorder);
  const TextStyle left{.role = Role::kTextDim, .font = Font::kSmall};
  const TextStyle right{.role = Role::kTextDim, .font = Font::kSmall, .align = Align::kRight};
  if (open == nullptr) {
    text_at(14, height, pending, left, measure, list);
    return list;
  }
  const Model& model = *open;
  const int64_t resolution = std::max<int64_t>(range.length().ns / 1000, 1);
  int x = text_at(14, height,
                  fmt::format("{} – {}", format_moment(range.begin, resolution),
                              format_moment(range.end, resolution)),
                  left, measure, list);
  size_t shown = 0;
  for (const Row& row : rows.rows) shown += row.kind == RowKind::kRank && !row.pinned ? 1 : 0;
  x = text_at(x, height, say("{} of {} ranks", shown, model.ranks.size()), left, measure, list);
  text_at(x, height, pending.empty() ? say("idle") : pending, left, measure, list);

  x = width - 14;
  if (model.report.recording.overhead && model.report.recording.overhead->share) {
    const double share = *model.report.recording.overhead->share;
    const std::string cost = share < 0.0005 ? "<0.1 %" : format_share(share);
    x = text_at(x, height, say("recording cost {}", cost), right, measure, list);
  }
  const std::optional<DurationNs> bound = model.clock_bound();
  x = text_at(x, height,
              bound
                  ? (bound->ns == 0 ? say("one clock") : say("clock ± {}", format_duration(*bound)))
                  : say("clock bound unknown"),
              right, measure, list);
  const int64_t lost = model.lost();
  TextStyle lost_style = right;
  if (lost > 0) lost_style.role = Role::kProblem;
  x = text_at(x, height, say("{} lost", format_count(lost)), lost_style, measure, list);
  text_at(x, height,
          say_count(model.report.recording.events, "{} event", "{} events",
                    format_count(model.report.recording.events)),
          right, measure, list);
  return list;
}

namespace {

// Returns the end of what it drew.
int draw_message_in(const std::string& title, const std::string& text,
                    std::optional<double> progress, int width, int height,
                    const TextMeasure& measure, DrawList& list) {
  list.rect({0, 0, width, height}, Role::kCanvas);
  const int room = std::min(width - 40, 640);
  const int x = (width - room) / 2;
  int y = height / 2 - 60;
  y = draw_wrapped(title, {x, y}, room, 22, {.font = Font::kTitle, .align = Align::kCentre},
                   measure, list);
  y = draw_wrapped(text, {x, y + 6}, room, kPanelLine,
                   {.role = Role::kTextDim, .align = Align::kCentre}, measure, list);
  if (!progress) return y;
  const int bar = std::min(room, 280);
  const int left = (width - bar) / 2;
  const int done = static_cast<int>(std::clamp(*progress, 0.0, 1.0) * bar);
  list.rect({left, y + 12, bar, 4}, Role::kBorder, {}, 0, 2);
  if (done > 0) list.rect({left, y + 12, done, 4}, Role::kAccent, {}, 0, 2);
  return y + 16;
}

}  // namespace

DrawList draw_message(const std::string& title, const std::string& text,
                      std::optional<double> progress, int width, int height,
                      const TextMeasure& measure) {
  DrawList list;
  (void)draw_message_in(title, text, progress, width, height, measure, list);
  return list;
}

DrawList draw_opening(const std::string& title, const std::string& stage, double progress,
                      const analyzer::FirstLook* look, int width, int height,
                      const TextMeasure& measure) {
  DrawList list;
  int y = draw_message_in(title, stage, progress, width, height, measure, list) + 20;
  if (look == nullptr) return list;
  const int room = std::min(width - 40, 640);
  const auto line = [&](const std::string& text, Role role, Font font) {
    y = draw_wrapped(text, {(width - room) / 2, y}, room, kPanelLine,
                     {.role = role, .font = font, .align = Align::kCentre}, measure, list);
  };
  if (const auto& steps = look->steps) {  // ranks and hosts are in the title
    line(say("{} · median {}",
             say_count(steps->count, "{} step", "{} steps", format_count(steps->count)),
             format_duration({steps->median_ns})),
         Role::kText, Font::kBold);
  }
  if (look->slow && look->slow->empty())
    line(say("no rank's own work stands out"), Role::kText, Font::kBody);
  if (look->slow) {
    for (const analyzer::FirstLook::SlowRank& one : *look->slow) {
      const std::string delay = format_ms({one.own_delay_ns});
      line(one.host.empty() ? say("rank {}: own delay {} per step", one.rank, delay)
                            : say("rank {} on {}: own delay {} per step", one.rank,
                                  analyzer::printable(one.host), delay),
           Role::kText, Font::kBody);
    }
  }
  y += 6;
  line(say("preliminary: costs and causes are still being computed"), Role::kTextDim, Font::kSmall);
  return list;
}

}  // namespace dprof::view
