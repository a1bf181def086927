// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "analyzer/render/finding_tree.h"
#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "analyzer/render/sections.h"
#include "analyzer/render/writers.h"
#include "analyzer/rules/rules.h"
#include "base/format.h"
#include "schema/tables.h"

namespace dprof::analyzer {
namespace {

struct EvidencePlace {
  std::string trace;    // file; "" = unknown
  std::string when;     // "step 17", "steps 3 to 40"; "" = unknown
  std::string command;  // sqlite3 …; "" if the rows cannot be identified
};

const schema::Table* table_named(std::string_view name) {
  const auto* known = std::ranges::find(schema::kTables, name, &schema::Table::name);
  return known == std::end(schema::kTables) ? nullptr : known;
}

bool has_column(const schema::Table& table, std::string_view name) {
  return std::ranges::count(table.columns, name, &schema::Column::name) > 0;
}

// The view that shows names instead of numbers, if there is one.
std::string readable(const schema::Table& table) {
  const bool view = std::ranges::any_of(table.columns, [](const schema::Column& c) {
    return c.type == schema::Type::kEnum || c.refers == "string";
  });
  return std::string(table.name) + (view ? "_text" : "");
}

// Quoted as one shell word.
std::string quoted(const std::string& path) {
  const bool plain = std::ranges::all_of(path, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("/._-+,@%:=").find(static_cast<char>(c)) != std::string_view::npos ||
           c >= 0x80;
  });
  if (plain && !path.empty()) return path;
  std::string word = "'";
  for (const char c : path) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// Selects the rows: by number, or if there is none by time on the trace's own clock.
std::string condition_of(const Evidence& evidence, const schema::Table& table,
                         const TraceFile& trace, const RankAnalysis* rank) {
  if (!evidence.rows.empty() && evidence.table == table.name && has_column(table, "id"))
    return fmt::format("id IN ({})", fmt::join(evidence.rows, ", "));
  const std::string_view column = has_column(table, "start_ns")  ? "start_ns"
                                  : has_column(table, "time_ns") ? "time_ns"
                                                                 : "";
  if (column.empty() || evidence.end_ns <= evidence.start_ns) return {};
  const auto local = [&](int64_t axis) {
    const TraceNs time{axis};
    return (rank == nullptr ? time : rank->clock.from_axis(time)).ns - trace.shift_ns;
  };
  // Conversion back through the clocks is exact to a ns or two.
  constexpr int64_t kSlack = 2;
  return fmt::format("{} BETWEEN {} AND {}{} LIMIT 20", column, local(evidence.start_ns) - kSlack,
                     local(evidence.end_ns) + kSlack,
                     has_column(table, "duration_ns") ? " ORDER BY duration_ns DESC" : "");
}

std::string steps_of(const Evidence& evidence, const RankAnalysis& rank) {
  std::optional<int64_t> first;
  std::optional<int64_t> last;
  for (const StepWindow& step : rank.steps) {
    if (step.window.end.ns <= evidence.start_ns || step.window.begin.ns >= evidence.end_ns)
      continue;
    if (!first) first = step.index;
    last = step.index;
  }
  if (!first) return {};
  return *first == *last ? fmt::format("step {}", *first)
                         : fmt::format("steps {} to {}", *first, *last);
}

EvidencePlace place_of(const Evidence& evidence, const EvidenceSources& sources) {
  EvidencePlace place;
  const auto rank = std::ranges::find(sources.ranks, evidence.rank, &RankAnalysis::rank);
  const RankAnalysis* analysed = rank == sources.ranks.end() ? nullptr : &*rank;
  if (analysed != nullptr) place.when = steps_of(evidence, *analysed);
  const auto trace = std::ranges::find(sources.traces, evidence.rank, &TraceFile::rank);
  if (trace == sources.traces.end()) return place;
  place.trace = trace->path.filename().string();
  // Inferred steps have no rows: the longest events in them are shown instead.
  const schema::Table* table =
      table_named(evidence.table == "step" ? "host_range" : evidence.table);
  if (table == nullptr) return place;
  const std::string condition = condition_of(evidence, *table, *trace, analysed);
  if (condition.empty()) return place;
  place.command = fmt::format("sqlite3 -header {} \"SELECT * FROM {} WHERE {}\"",
                              quoted(trace->path.string()), readable(*table), condition);
  return place;
}

constexpr double kLeastCompared = 0.001;   // of a step: smaller parts are not compared
constexpr double kAlikeStepShare = 0.005;  // of a step
constexpr double kContention = 1.05;
constexpr size_t kMostEvidence = 8;

std::string signed_text(const StepUnit& unit, double ns) {
  return (ns < 0 ? "-" : "+") + unit.number(std::abs(ns));
}

// The finding's culprit, if it has one.
const Straggler* straggler_of(const Report& report, const Finding& finding) {
  if (!report.stragglers || finding.caused_by) return nullptr;
  for (const Straggler& s : *report.stragglers) {
    const bool same_rank =
        s.rank ? finding.ranks.size() >= 1 && std::ranges::count(finding.ranks, *s.rank) > 0
               : finding.ranks.empty();
    if (same_rank && finding.cost_ns == s.cost_ns && finding.cause == s.cause) return &s;
  }
  return nullptr;
}

class Explainer {
 public:
  Explainer(const Report& report, size_t index, const EvidenceSources& sources)
      : report_(report),
        finding_((*report.findings)[index]),
        index_(index),
        sources_(sources),
        unit_(unit_of(report)),
        step_ns_(median_step(report)) {}

  Explanation explain() const {
    Explanation e{.number = index_ + 1,
                  .of = report_.findings->size(),
                  .title = priced_title(finding_, step_ns_),
                  .about = about(),
                  .detail = finding_.detail,
                  .advice = finding_.advice,
                  .parts = {}};
    for (ExplainedPart part :
         {belongs(), decided(), comparison(), price(), evidence(), refuted(), ruled_out()}) {
      if (!part.points.empty() || !part.table.empty() || !part.commands.empty())
        e.parts.push_back(std::move(part));
    }
    return e;
  }

 private:
  [[nodiscard]] std::string about() const;
  [[nodiscard]] ExplainedPart belongs() const;
  [[nodiscard]] ExplainedPart decided() const;
  [[nodiscard]] ExplainedPart comparison() const;
  [[nodiscard]] ExplainedPart price() const;
  [[nodiscard]] ExplainedPart evidence() const;
  [[nodiscard]] ExplainedPart refuted() const;
  [[nodiscard]] ExplainedPart ruled_out() const;
  [[nodiscard]] std::string silent_rules() const;
  [[nodiscard]] size_t groups_in_steps() const;
  void rule_out_communication(std::vector<std::string>& points) const;
  void rule_out_recording(std::vector<std::string>& points) const;

  const Report& report_;
  const Finding& finding_;
  size_t index_;
  const EvidenceSources& sources_;
  StepUnit unit_;
  std::optional<double> step_ns_;
};

std::string Explainer::about() const {
  std::string text = fmt::format("{} · {}", finding_.rule, word_of(finding_.severity));
  if (!finding_.cause.empty()) text += " · " + finding_.cause;
  if (finding_.confidence > 0) text += fmt::format(" · confidence {:.2f}", finding_.confidence);
  return text;
}

// Its place among the others: its cause, or its symptoms.
ExplainedPart Explainer::belongs() const {
  ExplainedPart part{.title = "WHAT BELONGS TO IT"};
  const auto named = [&](size_t index) {
    return fmt::format("{} {}", index + 1, priced_title((*report_.findings)[index], step_ns_));
  };
  for (const FindingNode& node : finding_tree(*report_.findings)) {
    if (node.index == index_) {
      for (const size_t symptom : node.symptoms)
        part.points.push_back("symptom: " + named(symptom));
    } else if (std::ranges::count(node.symptoms, index_) > 0) {
      part.points.push_back(fmt::format(
          "this is a symptom that should disappear with its cause: {}", named(node.index)));
    }
  }
  return part;
}

ExplainedPart Explainer::decided() const {
  ExplainedPart part{.title = "HOW IT WAS DECIDED", .points = finding_.decided_by};
  const Straggler* s = straggler_of(report_, finding_);
  if (s == nullptr) return part;
  if (part.points.empty()) {
    part.points.push_back(fmt::format(
        "each rank's own work between synchronisation points was compared with the others' median, over {}; "
        "{} own delay per step, {}",
        plural(s->n, "steady step"), format_ms({s->own_delay_ns}), s->shape));
  }
  const bool whole_stage = s->host.empty() && !s->host_ranks.empty();  // it is the role itself
  if (!s->role.empty() && !whole_stage)
    part.points.push_back(fmt::format("compared with ranks of the same role only: {}", s->role));
  if (s->onset_step) part.points.push_back(fmt::format("it began in step {}", *s->onset_step));
  if (!s->host.empty()) {
    part.points.push_back(
        fmt::format("most ranks of host {} share it (ranks {}): the host is the more likely cause",
                    s->host, rank_list(s->host_ranks)));
  }
  return part;
}

// For one rank: its parts of a step against the other ranks' medians. The largest difference
// decides, equal parts are ruled out.
ExplainedPart Explainer::comparison() const {
  ExplainedPart part;
  if (finding_.ranks.size() != 1 || !report_.breakdown) return part;
  const int rank = finding_.ranks.front();
  std::optional<MeanStep> own;
  std::vector<MeanStep> others;
  for (const RankBreakdown& one : report_.breakdown->per_rank) {
    std::optional<MeanStep> step = mean_step(report_, one);
    if (!step) continue;
    step = with_hidden_in_phases(*std::move(step));
    if (one.rank == rank) {
      own = step;
    } else {
      others.push_back(*step);
    }
  }
  if (!own || others.empty()) return part;
  part.title = fmt::format("RANK {} AGAINST THE OTHERS, {} PER STEP", rank, unit_.name());
  part.table.push_back({"part", fmt::format("rank {}", rank),
                        others.size() == 1 ? "the other" : "others' median", "difference"});
  std::string alike;
  const MeanStep median = median_of(others);
  for (size_t c = 0; c < kCategories; ++c) {
    const double usual = median.category_ns[c];
    const std::string name(title_of(static_cast<Category>(c)));
    const double difference = own->category_ns[c] - usual;
    if (std::max(own->category_ns[c], usual) < kLeastCompared * own->wall_ns) continue;
    if (std::abs(difference) < kAlikeStepShare * own->wall_ns) {
      alike += fmt::format("{}{}", alike.empty() ? "" : ", ", name);
      continue;
    }
    part.table.push_back({name, unit_.number(own->category_ns[c]), unit_.number(usual),
                          signed_text(unit_, difference)});
  }
  if (part.table.size() == 1) part.table.clear();
  if (!alike.empty()) {
    part.points.push_back(
        fmt::format("alike, by less than {} of a step: {}", format_share(kAlikeStepShare), alike));
  }
  return part;
}

ExplainedPart Explainer::price() const {
  ExplainedPart part{.title = "WHAT IT COSTS"};
  if (!finding_.cost_ns) {
    part.points.emplace_back("no cost: this recording does not show it");
    return part;
  }
  const int64_t cost = *finding_.cost_ns;
  std::string text = format_ms({cost}) + " per step";
  if (step_ns_) {
    text += fmt::format(", {} of the median step ({})",
                        format_share(static_cast<double>(cost) / *step_ns_),
                        format_ms({static_cast<int64_t>(*step_ns_)}));
  }
  if (const std::optional<int64_t> steps = steady_steps(report_)) {
    text += fmt::format("; {} over the {}", format_duration({cost * *steps}),
                        plural(*steps, "steady step"));
  }
  part.points.push_back(std::move(text));
  if (finding_.bound_ns) {
    part.points.push_back(fmt::format("with 95 % confidence from {} to {} per step",
                                      format_ms({std::max<int64_t>(0, cost - *finding_.bound_ns)}),
                                      format_ms({cost + *finding_.bound_ns})));
  } else {
    part.points.emplace_back(
        "no interval: no replay computed this cost, so treat it as an upper bound");
  }
  if (finding_.bound_ns) {
    if (const std::string replay = identity_text(report_); !replay.empty())
      part.points.push_back((report_.replay->accepted
                                 ? "from a replay of the run without it; as a check, "
                                 : "from who would be last in each step; ") +
                            replay);
  }
  return part;
}

ExplainedPart Explainer::evidence() const {
  ExplainedPart part{.title = "EVIDENCE"};
  if (finding_.evidence.empty()) return part;
  const size_t shown = std::min(kMostEvidence, finding_.evidence.size());
  part.table.push_back({"rank", "table", "rows", "when", "for", "trace"});
  for (size_t i = 0; i < shown; ++i) {
    const Evidence& e = finding_.evidence[i];
    const EvidencePlace place = place_of(e, sources_);
    part.table.push_back(
        {fmt::to_string(e.rank), e.table,
         e.rows.empty() ? "" : format_count(static_cast<int64_t>(e.rows.size())), place.when,
         e.end_ns > e.start_ns ? format_duration({e.end_ns - e.start_ns}) : "", place.trace});
    if (!place.command.empty()) part.commands.push_back(place.command);
  }
  if (shown < finding_.evidence.size()) {
    part.points.push_back(
        fmt::format("and {} more (--format json has them all)", finding_.evidence.size() - shown));
  }
  return part;
}

ExplainedPart Explainer::refuted() const {
  return {.title = "WHAT WOULD REFUTE IT", .points = finding_.refuted_by};
}

// The rules of the finding's family that found nothing.
std::string Explainer::silent_rules() const {
  const std::string_view own = finding_.rule;
  const std::string_view family = own.substr(0, own.find('.') + 1);
  std::string names;
  for (const Family& one : all_families()) {
    for (const Rule& rule : one.rules) {
      const bool fired = std::ranges::count(*report_.findings, rule.name, &Finding::rule) > 0;
      if (rule.built() && !fired && !family.empty() && rule.name.starts_with(family))
        names += fmt::format("{}{}", names.empty() ? "" : ", ", rule.name);
    }
  }
  return names;
}

// Communicators with collectives in steady steps.
size_t Explainer::groups_in_steps() const {
  std::set<std::string> names;
  if (report_.collectives) {
    for (const CollectiveSummary& one : *report_.collectives) {
      if (one.per_step.value_or(0) > 0) names.insert(one.communicator);
    }
  }
  return names.size();
}

void Explainer::rule_out_communication(std::vector<std::string>& points) const {
  if (report_.run.steps && !report_.hang && report_.collectives && !report_.collectives->empty())
    points.emplace_back("a hang: every collective finished");
  // With fewer groups nothing could be compared.
  constexpr size_t kFewestGroups = 3;
  if (report_.slow_links && !has_slow_links(report_) && groups_in_steps() >= kFewestGroups)
    points.emplace_back(
        "a slow link: no group of ranks communicates more slowly than comparable ones");
  if (report_.contention && report_.contention->factor < kContention &&
      report_.contention->operators > 0) {
    points.push_back(
        fmt::format("contention: while a collective runs, operators take {:.2f} times as long ({})",
                    report_.contention->factor, plural(report_.contention->operators, "operator")));
  }
}

void Explainer::rule_out_recording(std::vector<std::string>& points) const {
  if (report_.memory && report_.memory->leaks && report_.memory->leaks->empty())
    points.emplace_back("a leak: no rank's memory grows steadily");
  if (report_.clock && report_.clock->hosts.size() > 1 && report_.clock->checked > 0 &&
      report_.clock->violations == 0) {
    points.push_back(fmt::format("clocks: none of {} ended on one rank before it had begun on all",
                                 plural(report_.clock->checked, "collective")));
  }
  if (lost_records(report_.recording) == 0)
    points.emplace_back("lost records: none, so no figure is too small for that reason");
  if (report_.recording.overhead && report_.recording.overhead->share &&
      *report_.recording.overhead->share < kLeastCompared * 10) {
    points.push_back(fmt::format("dprof itself: writing the records took {} of the worst rank",
                                 *report_.recording.overhead->share < 0.0005
                                     ? "<0.1 %"
                                     : format_share(*report_.recording.overhead->share)));
  }
}

ExplainedPart Explainer::ruled_out() const {
  ExplainedPart part{.title = "LOOKED AT AND RULED OUT"};
  if (is_seen_from_one_rank(report_)) return part;  // contrary evidence might be left out
  const Verdicts verdicts = verdicts_of(report_);
  if (report_.stragglers && report_.stragglers->empty()) {
    part.points.insert(part.points.end(), verdicts.good.begin(), verdicts.good.end());
  } else if (straggler_of(report_, finding_) != nullptr && report_.stragglers->size() == 1 &&
             report_.run.ranks > 2) {
    part.points.emplace_back("another culprit: no other rank's own delay costs enough to be named");
  }
  rule_out_communication(part.points);
  rule_out_recording(part.points);
  if (const std::string silent = silent_rules(); !silent.empty())
    part.points.push_back("rules of this family that did not fire: " + silent);
  for (const std::string& unseen : verdicts.unseen)
    part.points.push_back("not ruled out: " + unseen);
  return part;
}

bool is_number(std::string_view cell) {
  return !cell.empty() && cell.find_first_of("0123456789") <= 1 &&
         cell.find_first_of("/_") == std::string_view::npos;
}

// Columns of numbers are aligned right.
bool is_right(const std::vector<std::vector<std::string>>& table, size_t column) {
  return std::all_of(table.begin() + 1, table.end(), [&](const std::vector<std::string>& row) {
    return row[column].empty() || is_number(row[column]);
  });
}

Table table_of_cells(const std::vector<std::vector<std::string>>& rows) {
  Table table;
  for (size_t c = 0; c < rows.front().size(); ++c)
    table.add_columns(is_right(rows, c) ? Align::kRight : Align::kLeft, {rows.front()[c]});
  for (size_t r = 1; r < rows.size(); ++r) table.add_row(rows[r]);
  return table;
}

// Everything after the title.
void add_reasons(Document& document, const Explanation& e, size_t indent) {
  add_detail(document, e.detail, e.advice, indent);
  for (const ExplainedPart& part : e.parts) {
    document.add(Heading{.title = part.title});
    if (!part.table.empty()) document.add(table_of_cells(part.table));
    for (const std::string& point : part.points) document.add_item({.text = point});
    if (!part.commands.empty()) document.add(Commands{part.commands});
  }
}

}  // namespace

Result<Explanation> explain(const Report& report, int64_t number, const EvidenceSources& sources) {
  const auto count = static_cast<int64_t>(report.findings ? report.findings->size() : 0);
  if (number >= 1 && number <= count)
    return Explainer(report, static_cast<size_t>(number - 1), sources).explain();
  const std::string there =
      !report.findings ? "no findings were computed for this run; `dprof report` says why"
      : count == 0     ? "this run has no findings; `dprof report` says what was checked"
      : count == 1     ? "this run has one finding: --explain 1"
                       : fmt::format("this run has findings 1 to {}", count);
  return fail(Code::kUsage, fmt::format("--explain {}: there is no such finding", number), there);
}

std::string render_text(const Explanation& e, const TextOptions& options) {
  Document document{{Heading{.title = fmt::format("FINDING {} OF {}", e.number, e.of),
                             .remark = e.about,
                             .remark_style = Style::kFaint},
                     Paragraph{.text = e.title, .style = Style::kStrong}}};
  add_reasons(document, e, 2);
  return write_text(document, {.width = static_cast<size_t>(std::clamp(options.width, 80, 120)),
                               .colour = options.colour});
}

std::string render_markdown(const Explanation& e) {
  Document document{
      {Heading{.title = fmt::format("dprof: finding {} of {}", e.number, e.of), .level = 3},
       Paragraph{.text = e.title, .style = Style::kStrong}, Paragraph{.text = e.about}}};
  add_reasons(document, e, 0);
  return write_markdown(document);
}

}  // namespace dprof::analyzer
