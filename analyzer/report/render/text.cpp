// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/render/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analyzer/report/render/clocks.h"
#include "analyzer/report/render/communication.h"
#include "analyzer/report/render/gpu_rows.h"
#include "analyzer/report/render/layout.h"
#include "analyzer/report/render/mean_step.h"
#include "analyzer/report/render/messages.h"
#include "analyzer/report/render/phases.h"
#include "analyzer/report/render/tables.h"
#include "analyzer/report/render/unknown.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kLabelWidth = 13;
// Characters for a whole step, in wide and in narrow reports.
constexpr size_t kWideBar = 32;
constexpr size_t kNarrowBar = 20;
constexpr size_t kWideReport = 96;
// Smaller parts of a step are summed up, and left out if even their sum is smaller.
constexpr double kRestShare = 0.001;
constexpr size_t kTextIndent = 5;

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", rank_list(ranks));
}

// "3.21", "22.0", "1,234".
std::string rate_text(double rate) {
  return rate >= 99.95 ? format_count(std::llround(rate)) : fmt::format("{:#.3g}", rate);
}

// A share that is there is never shown as 0.
std::string cost_text(const std::optional<Overhead>& overhead) {
  if (!overhead || !overhead->share) return "cost not known";
  if (*overhead->share > 0 && *overhead->share < 0.0005) return "cost <0.1 %";
  return "cost " + format_share(*overhead->share);
}

std::string capitalised(std::string text) {
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

// One row of the picture of a step.
struct Part {
  std::string title;
  double ns = 0;
  std::vector<std::string> notes;
  Style style = Style::kBar;
};

class TextReport {
 public:
  TextReport(const Report& report, const TextOptions& options)
      : report_(report),
        options_(options),
        width_(static_cast<size_t>(options.width)),
        bar_width_(width_ >= kWideReport ? kWideBar : kNarrowBar),
        paint_(options.colour),
        mean_(mean_step(report)),
        unit_(mean_              ? mean_->wall_ns
              : report.run.steps ? static_cast<double>(report.run.steps->median_ns)
                                 : 1e9) {}

  std::string render() {
    header();
    hang();
    where_a_step_goes();
    findings();
    section(rank_section(report_, options_, paint_));
    section(phase_section(report_, options_, paint_));
    section(gpu_rows_section(report_, options_, paint_));
    section(overlap_section(report_, options_, paint_));
    section(collective_section(report_, options_, paint_));
    section(bucket_section(report_, options_, paint_));
    section(link_section(report_, options_, paint_));
    section(point_to_point_section(report_, options_, paint_));
    section(clock_section(report_, options_, paint_));
    section(unknown_section(report_, options_, paint_));
    return without_trailing_blanks(text_);
  }

 private:
  void line(std::string_view content = {}) { text_ += fmt::format("{}\n", content); }
  void section(const std::string& content) {
    if (!content.empty()) text_ += '\n' + content;
  }
  void title(std::string_view name, std::string_view more = {}) {
    line();
    line(fmt::format("{}{}{}", paint_(Style::kStrong, name), more.empty() ? "" : "   ", more));
  }
  void labelled(std::string_view label, std::string_view content) {
    line(paint_(Style::kFaint, pad_right(label, kLabelWidth)) + std::string(content));
  }
  void paragraph(std::string_view lead, std::string_view content, size_t indent, Style style) {
    text_ += paragraph_of(lead, printable(content), indent, width_, paint_, style);
  }

  void header();
  [[nodiscard]] std::string clock_text() const;
  [[nodiscard]] std::string recording_text() const;
  [[nodiscard]] std::string steps_text() const;
  void hang();
  void hung_ranks(const Hang& hang);
  void where_a_step_goes();
  [[nodiscard]] std::vector<Part> parts_of_step() const;
  [[nodiscard]] std::vector<std::string> exposed_notes(double wait_ns, double transfer_ns) const;
  [[nodiscard]] std::vector<std::string> detail_notes(Category category) const;
  void part_line(const Part& part, size_t title_width, size_t note_column);
  void findings();
  void verdict_on_stragglers();
  void finding(size_t index);

  const Report& report_;
  const TextOptions& options_;
  size_t width_;
  size_t bar_width_;
  Painter paint_;
  std::optional<MeanStep> mean_;
  StepUnit unit_;
  std::string text_;
};

void TextReport::header() {
  const RunInfo& run = report_.run;
  std::string ranks = plural(run.ranks, "rank");
  if (run.world_size && *run.world_size > run.ranks) {
    ranks = fmt::format("{} of {}", format_count(run.ranks), plural(*run.world_size, "rank"));
  }
  std::string steps = "no steps found";
  if (run.steps) {
    steps = fmt::format("{} ({} steady)", plural(run.steps->count, "step"),
                        format_count(steady_steps(report_).value_or(0)));
    if (run.steps->median_ns > 0) {
      steps +=
          fmt::format("   {} steps/s", rate_text(1e9 / static_cast<double>(run.steps->median_ns)));
    }
  }
  const std::string name = printable(run.name.empty() ? "run" : run.name);
  const std::string gap = display_width(name) + 2 > kLabelWidth ? "   " : "";
  line(fmt::format("{}{}{} on {}   {}",
                   paint_(Style::kStrong, pad_right(name, gap.empty() ? kLabelWidth : 0)), gap,
                   ranks, plural(run.hosts, "host"), steps));
  labelled("clock", clock_text());
  labelled("recording", recording_text());
  if (const std::string steps_said = steps_text(); !steps_said.empty())
    labelled("steps", steps_said);
  if (run.command.empty()) return;
  const std::vector<std::string> command =
      wrapped(printable(run.command), width_ - kLabelWidth - 2);
  labelled("command", command.front() + (command.size() > 1 ? " …" : ""));
}

// Where the steps come from, if not from marks; micro-steps; what some steps hold besides.
std::string TextReport::steps_text() const {
  if (!report_.run.steps) return {};
  const StepsInfo& steps = *report_.run.steps;
  std::vector<std::string> parts;
  if (steps.source == schema::StepSource::kInferred) parts.emplace_back("found by what repeats");
  if (steps.source == schema::StepSource::kOptimizer) parts.emplace_back("from the optimizer");
  if (steps.micro_steps && *steps.micro_steps > 1)
    parts.push_back(fmt::format("{} micro-steps each", *steps.micro_steps));
  constexpr size_t kMost = 3;
  for (size_t i = 0; i < std::min(kMost, steps.outer.size()); ++i) {
    const OuterEvent& event = steps.outer[i];
    parts.push_back(fmt::format("{} in step {} (+{})",
                                event.kind == "other" ? "something else" : printable(event.kind),
                                event.step, unit_.text(static_cast<double>(event.extra_ns))));
  }
  if (steps.outer.size() > kMost)
    parts.push_back(fmt::format("{} more like that", steps.outer.size() - kMost));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string TextReport::clock_text() const {
  if (!report_.clock) return "not aligned: times of different ranks are not compared";
  const Clock& clock = *report_.clock;
  const std::string violations = clock.violations > 0
                                     ? fmt::format(", {}", plural(clock.violations, "violation"))
                                     : std::string();
  if (clock.hosts.size() == 1) return "one host, one clock" + violations;
  int64_t bound = 0;
  for (const HostClock& host : clock.hosts) {
    if (!host.bound_ns) {
      return fmt::format("{} hosts, not aligned: times across hosts are not compared{}",
                         clock.hosts.size(), violations);
    }
    bound = std::max(bound, *host.bound_ns);
  }
  return fmt::format("{} hosts aligned, bound ±{}{}", clock.hosts.size(), format_duration({bound}),
                     violations);
}

std::string TextReport::recording_text() const {
  const int64_t lost = lost_records(report_.recording);
  const std::string lost_text = fmt::format("{} lost", format_count(lost));
  return fmt::format("{}, {}, {}", plural(report_.recording.events, "event"),
                     lost > 0 ? paint_(Style::kBad, lost_text) : lost_text,
                     cost_text(report_.recording.overhead));
}

void TextReport::hang() {
  if (!report_.hang) return;
  const Hang& hang = *report_.hang;
  const std::string where =
      fmt::format("{}{} of {}", word_of(hang.function),
                  hang.sequence ? fmt::format(" #{}", *hang.sequence) : "",
                  hang.communicator.empty() ? "an unnamed group" : hang.communicator);
  std::string sentence = hang.waiting.empty()
                             ? fmt::format("Nobody finished {}.", where)
                             : fmt::format("{} waited in {} when the trace ended.",
                                           capitalised(ranks_text(hang.waiting)), where);
  if (!hang.culprits.empty()) {
    const std::string_view did = hang.state == "dead"       ? "ended before"
                                 : hang.state == "mismatch" ? "called something else"
                                                            : "never came";
    sentence += fmt::format(" {} {}.", capitalised(ranks_text(hang.culprits)), did);
  }
  line();
  line(fmt::format("{}   {}", paint_(Style::kBad, "HANG"), hang.state));
  if (!hang.reason.empty())
    sentence = capitalised(hang.reason) + (hang.reason.ends_with('.') ? "" : ".");
  paragraph("  ", sentence, 2, Style::kPlain);
  hung_ranks(hang);
}

void TextReport::hung_ranks(const Hang& hang) {
  constexpr size_t kMost = 12;
  for (size_t i = 0; i < std::min(kMost, hang.ranks.size()); ++i) {
    const HungRank& rank = hang.ranks[i];
    std::string said = rank.state;
    std::ranges::replace(said, '_', ' ');
    if (rank.since_ns) said += fmt::format(", silent for {}", format_duration({*rank.since_ns}));
    if (!rank.last.empty()) said += "; " + rank.last;
    const std::string lead = fmt::format("  rank {:<5}", rank.rank);
    paragraph(lead, said, lead.size(), Style::kPlain);
  }
  if (hang.ranks.size() <= kMost) return;
  const auto more = static_cast<int64_t>(hang.ranks.size() - kMost);
  line(paint_(Style::kFaint, fmt::format("  … and {} (--format json)", plural(more, "rank"))));
}

std::vector<std::string> TextReport::exposed_notes(double wait_ns, double transfer_ns) const {
  // Whom the waiting was for: by the summed waits of the collectives to which a rank came last.
  std::map<int, double> waited_for;
  double sum = 0;
  for (const CollectiveSummary& c :
       report_.collectives.value_or(std::vector<CollectiveSummary>())) {
    const double wait = static_cast<double>(c.n) * static_cast<double>(c.wait_ns);
    sum += wait;
    if (c.last_arriver) waited_for[c.last_arriver->rank] += wait * c.last_arriver->share;
  }
  for (const PointToPoint& p : report_.point_to_point.value_or(std::vector<PointToPoint>())) {
    const double wait = static_cast<double>(p.n) * static_cast<double>(p.wait_ns.value_or(0));
    sum += wait;
    if (p.from) waited_for[*p.from] += wait;
  }
  std::string whom;
  for (const auto& [rank, wait] : waited_for) {
    if (wait >= 0.5 * sum && sum > 0)
      whom = fmt::format("{} for rank {}", wait >= 0.9 * sum ? "" : ", mostly", rank);
  }
  std::vector<std::string> notes;
  if (wait_ns > 0) notes.push_back(fmt::format("{} waiting{}", unit_.text(wait_ns), whom));
  if (transfer_ns > 0) notes.push_back(fmt::format("{} transfer", unit_.text(transfer_ns)));
  return notes;
}

std::vector<std::string> TextReport::detail_notes(Category category) const {
  const std::string prefix = std::string(key_of(category)) + ".";
  std::vector<std::pair<double, std::string>> details;
  bool known = false;
  for (const auto& [key, ns] : mean_->detail_ns) {
    if (!key.starts_with(prefix) || !(ns > 0)) continue;
    std::string name = printable(key.substr(prefix.size()));
    known = known || name != "unattributed";
    std::ranges::replace(name, '_', ' ');
    details.emplace_back(ns, std::move(name));
  }
  if (!known) return {};
  std::ranges::stable_sort(details, std::greater(), [](const auto& d) { return d.first; });
  std::vector<std::string> notes;
  for (size_t i = 0; i < std::min<size_t>(2, details.size()); ++i) {
    notes.push_back(fmt::format("{} {}", unit_.text(details[i].first), details[i].second));
  }
  return notes;
}

std::vector<Part> TextReport::parts_of_step() const {
  const auto ns_of = [&](Category c) { return mean_->category_ns[static_cast<size_t>(c)]; };
  std::vector<Part> parts;
  double overlapped = ns_of(Category::kOverlapped);
  for (const Category c :
       {Category::kForward, Category::kBackward, Category::kOptimizer, Category::kOtherCompute}) {
    const auto detail = mean_->detail_ns.find(fmt::format("overlapped.{}", key_of(c)));
    const double hides = detail == mean_->detail_ns.end() ? 0 : detail->second;
    overlapped -= hides;
    Part part{std::string(title_of(c)), ns_of(c) + hides};
    if (hides > 0) part.notes = {fmt::format("{} of it beside communication", unit_.text(hides))};
    parts.push_back(std::move(part));
  }
  if (overlapped > 0.5) {
    parts.push_back({"overlapped", overlapped, {"compute and communication at once"}});
  }
  const double wait = ns_of(Category::kExposedWait);
  const double transfer = ns_of(Category::kExposedTransfer);
  parts.push_back({"exposed comm", wait + transfer, exposed_notes(wait, transfer), Style::kAccent});
  for (size_t c = static_cast<size_t>(Category::kCopy); c < kCategories; ++c) {
    const auto category = static_cast<Category>(c);
    parts.push_back(
        {std::string(title_of(category)), ns_of(category), detail_notes(category), Style::kWarn});
  }
  double rest = 0;
  std::erase_if(parts, [&](const Part& part) {
    if (part.ns >= kRestShare * mean_->wall_ns) return false;
    rest += part.ns;
    return true;
  });
  if (rest >= kRestShare * mean_->wall_ns) parts.push_back({"rest", rest, {}, Style::kFaint});
  return parts;
}

void TextReport::part_line(const Part& part, size_t title_width, size_t note_column) {
  const double share = part.ns / mean_->wall_ns;
  const std::string percent = share < 0.005 ? "<1" : fmt::format("{:.0f}", share * 100);
  std::string left = fmt::format("  {}  {}  {:>3} %  ", pad_right(part.title, title_width),
                                 pad_left(unit_.text(part.ns), 9), percent);
  std::string picture = bar(share, bar_width_);
  const size_t used = display_width(left) + display_width(picture);
  const std::string gap(note_column > used ? note_column - used : 2, ' ');
  left += paint_(part.style, picture);
  if (part.notes.empty()) return line(left);
  left += gap;
  size_t at = note_column;
  for (size_t i = 0; i < part.notes.size(); ++i) {
    const std::string note = (i > 0 ? "· " : "") + part.notes[i];
    if (i > 0 && at + 1 + display_width(note) > width_) {
      line(left);
      left = std::string(note_column, ' ');
      at = note_column;
    } else if (i > 0) {
      left += ' ';
      ++at;
    }
    left += paint_(Style::kFaint, note);
    at += display_width(note);
  }
  line(left);
}

void TextReport::where_a_step_goes() {
  if (!mean_) {
    title("WHERE A STEP GOES", "not known: no breakdown could be made of this run");
    return;
  }
  const std::vector<RankBreakdown>& ranks = report_.breakdown->per_rank;
  const std::string whose = ranks.size() == 1 && report_.run.ranks > 1
                                ? fmt::format("rank {}, mean over steady steps", ranks.front().rank)
                                : "mean over ranks and steady steps";
  title("WHERE A STEP GOES", fmt::format("{}, {}", whose, unit_.text(mean_->wall_ns)));
  const std::vector<Part> parts = parts_of_step();
  size_t title_width = 0;
  size_t bar_width = 0;
  for (const Part& part : parts) {
    title_width = std::max(title_width, display_width(part.title));
    bar_width = std::max(bar_width, display_width(bar(part.ns / mean_->wall_ns, bar_width_)));
  }
  const size_t note_column = 2 + title_width + 2 + 9 + 2 + 5 + 2 + bar_width + 2;
  for (const Part& part : parts) part_line(part, title_width, note_column);
}

void TextReport::verdict_on_stragglers() {
  if (!report_.stragglers) {
    const char* why = report_.run.ranks == 1 ? "there is one rank, and nobody to compare it with"
                                             : "the ranks of this run cannot be compared";
    paragraph("  ?  ", fmt::format("stragglers: not known, {}", why), kTextIndent, Style::kPlain);
    return;
  }
  if (!report_.stragglers->empty()) return;
  const double share = straggler_floor(report_.breakdown ? report_.breakdown->per_rank.size() : 0);
  const double step = report_.run.steps ? static_cast<double>(report_.run.steps->median_ns) : 0;
  const auto is_doubtful = [&](const Finding& f) {
    return f.rule == "balance.straggler" && f.cost_ns &&
           static_cast<double>(*f.cost_ns) >= step * share;
  };
  if (report_.findings && std::ranges::any_of(*report_.findings, is_doubtful)) {
    paragraph(
        "  ·  ",
        "no straggler named: a rank is slower, but no more than one that shares its core can be",
        kTextIndent, Style::kPlain);
    return;
  }
  const std::string floor = step > 0 ? fmt::format(" ({})", unit_.text(step * share)) : "";
  paragraph("  ✓  ",
            fmt::format("no straggler found: no rank costs the others {:.0f} % of a step{} or "
                        "more, the floor of detection",
                        share * 100, floor),
            kTextIndent, Style::kGood);
}

void TextReport::finding(size_t index) {
  const Finding& f = (*report_.findings)[index];
  const Style style = f.severity == FindingSeverity::kCritical ? Style::kBad
                      : f.severity == FindingSeverity::kWarn   ? Style::kWarn
                                                               : Style::kStrong;
  const std::string cause = printable(f.cause);
  const size_t cause_width = display_width(cause) + (cause.empty() ? 0 : 2);
  const std::vector<std::string> title_lines =
      wrapped(printable(f.title), std::max<size_t>(30, width_ - kTextIndent - cause_width));
  for (size_t i = 0; i < title_lines.size(); ++i) {
    const std::string lead = i == 0 ? pad_left(fmt::format("{}  ", index + 1), kTextIndent)
                                    : std::string(kTextIndent, ' ');
    const size_t used = kTextIndent + display_width(title_lines[i]);
    std::string end;
    if (i == 0 && !cause.empty()) {
      end = pad_left(cause, std::max(display_width(cause) + 2, width_ > used ? width_ - used : 0));
    }
    line(lead + paint_(style, title_lines[i]) + paint_(Style::kFaint, end));
  }
  const std::string indent(kTextIndent, ' ');
  if (!f.detail.empty()) paragraph(indent, f.detail, kTextIndent, Style::kPlain);
  if (f.caused_by)
    paragraph(indent, fmt::format("a symptom of {}", *f.caused_by + 1), kTextIndent, Style::kFaint);
  if (!f.advice.empty()) paragraph(indent + "→ ", f.advice, kTextIndent + 2, Style::kPlain);
}

void TextReport::findings() {
  title("FINDINGS");
  verdict_on_stragglers();
  if (!report_.findings) {
    paragraph("  ?  ", "not computed from this run", kTextIndent, Style::kPlain);
    return;
  }
  const size_t shown =
      std::min(report_.findings->size(), static_cast<size_t>(std::max(0, options_.top)));
  for (size_t i = 0; i < shown; ++i) finding(i);
  if (const size_t more = report_.findings->size() - shown; more > 0) {
    line(paint_(Style::kFaint,
                fmt::format("  …  and {} more (--top {})", more, report_.findings->size())));
  }
}

}  // namespace

std::string render_text(const Report& report, const TextOptions& options) {
  TextOptions bounded = options;
  bounded.width = std::clamp(options.width, 80, 120);
  return TextReport(report, bounded).render();
}

}  // namespace dprof::analyzer
