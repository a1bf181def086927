// SPDX-License-Identifier: Apache-2.0
#include "analyzer/diff/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLeastPartShare = 0.005;   // of a step, for a part's change to have its own row
constexpr double kLeastNameChange = 0.002;  // of a step, for a name's change
constexpr size_t kLongestName = 60;

Style style_of_change(double ns, double step_ns) {
  if (std::abs(ns) < kLeastPartShare * step_ns) return Style::kPlain;
  return ns > 0 ? Style::kBad : Style::kGood;
}

std::string signed_number(const StepUnit& unit, double ns) {
  if (std::abs(ns) < unit.least() / 2) return unit.number(0);
  const std::string number = unit.number(std::abs(ns));
  return (ns < 0 ? "-" : "+") + number;
}

std::string relative_text(double a, double b) {
  return a > 0 ? signed_share(b / a - 1) : std::string();
}

double step_of(const Diff& diff) {
  if (diff.division) return static_cast<double>(diff.division->a_ns);
  return diff.step ? diff.step->a_ns : 1e9;
}

// Changes are computed in the last digit shown, so that the displayed figures add up.
Document division_section(const Division& division) {
  const auto step_ns = static_cast<double>(division.a_ns);
  const StepUnit unit(step_ns);
  struct Row {
    std::string title;
    double a = 0;
    double b = 0;
  };
  std::vector<Row> rows;
  Row others{.title = "other parts"};
  for (const ChangedPart& part : division.parts) {
    const auto a = static_cast<double>(part.a_ns);
    const auto b = static_cast<double>(part.b_ns);
    if (std::abs(b - a) >= kLeastPartShare * step_ns) {
      rows.push_back({part.title, a, b});
    } else {
      others.a += a;
      others.b += b;
    }
  }
  std::ranges::stable_sort(rows, std::greater(), [](const Row& r) { return std::abs(r.b - r.a); });
  rows.push_back(others);
  std::vector<double> changes;
  double widest = 0;
  for (const Row& row : rows) {
    changes.push_back((row.b - row.a) / unit.least());
    widest = std::max(widest, std::abs(row.b - row.a));
  }
  const std::vector<int64_t> shown = rounded_to_sum(changes);
  Table table;
  table.add_columns(Align::kLeft, {"part"});
  table.add_columns(Align::kRight, {"A", "B", "change"});
  table.add_columns(Align::kLeft, {""});
  for (size_t i = 0; i < rows.size(); ++i) {
    const double change = static_cast<double>(shown[i]) * unit.least();
    table.add_row({rows[i].title, unit.number(rows[i].a), unit.number(rows[i].b),
                   signed_number(unit, change),
                   i + 1 < rows.size() ? bar(std::abs(rows[i].b - rows[i].a) / widest, 16) : ""});
    const Style style = style_of_change(rows[i].b - rows[i].a, step_ns);
    table.rows.back()[3].style = style;
    table.rows.back()[4].style = style == Style::kPlain ? Style::kFaint : style;
  }
  table.add_row({"mean step", unit.number(step_ns), unit.number(static_cast<double>(division.b_ns)),
                 signed_number(unit, static_cast<double>(division.change_ns())),
                 relative_text(step_ns, static_cast<double>(division.b_ns))});
  for (Span& cell : table.rows.back()) cell.style = Style::kStrong;
  return titled_table("WHERE THE CHANGE IS",
                      fmt::format("{}, mean over ranks and steady steps", unit.name()), table);
}

// The first `top` entries of a list with a change worth a line.
template <typename T>
std::vector<const T*> worth_a_line(const std::vector<T>& list, double step_ns, int top) {
  constexpr double kLeast = std::is_same_v<T, ChangedName> ? kLeastNameChange : kLeastPartShare;
  std::vector<const T*> chosen;
  for (const T& one : list) {
    if (chosen.size() == static_cast<size_t>(top)) break;
    if (std::abs(static_cast<double>(one.change_ns())) >= kLeast * step_ns) chosen.push_back(&one);
  }
  return chosen;
}

Document ranks_section(const Diff& diff, const StepUnit& unit, int top) {
  const auto ranks = worth_a_line(diff.ranks, step_of(diff), top);
  if (ranks.empty() || diff.ranks.size() < 2) return {};
  const auto [least, most] = std::ranges::minmax(diff.ranks, {}, &ChangedRank::change_ns);
  if (static_cast<double>(most.change_ns() - least.change_ns()) < kLeastPartShare * step_of(diff)) {
    return {{Heading{
        .title = "RANKS",
        .remark = fmt::format(
            "{} alike: {} {} per step each, without exposed communication",
            diff.ranks.size() == 2 ? "both"
                                   : "all " + format_count(static_cast<int64_t>(diff.ranks.size())),
            signed_number(unit, static_cast<double>(ranks.front()->change_ns())), unit.name())}}};
  }
  Table table;
  table.add_columns(Align::kRight, {"rank", "A", "B", "change"});
  table.add_columns(Align::kLeft, {"mostly"});
  for (const ChangedRank* rank : ranks) {
    table.add_row({fmt::to_string(rank->rank), unit.number(static_cast<double>(rank->a_work_ns)),
                   unit.number(static_cast<double>(rank->b_work_ns)),
                   signed_number(unit, static_cast<double>(rank->change_ns())),
                   fmt::format("{} {}", rank->part,
                               signed_number(unit, static_cast<double>(rank->part_ns)))});
    table.rows.back()[3].style =
        style_of_change(static_cast<double>(rank->change_ns()), step_of(diff));
  }
  Document document = titled_table(
      "RANKS", fmt::format("{} per step, without exposed communication", unit.name()), table);
  if (ranks.size() < diff.ranks.size() && ranks.size() == static_cast<size_t>(top))
    document.add_more(plural(static_cast<int64_t>(diff.ranks.size() - ranks.size()), "rank"));
  return document;
}

Document phases_section(const Diff& diff, const StepUnit& unit, int top) {
  const auto phases = worth_a_line(diff.phases, step_of(diff), top);
  if (phases.empty()) return {};
  Table table;
  table.add_columns(Align::kLeft, {"phase"});
  table.add_columns(Align::kRight, {"A", "B", "change", ""});
  for (const ChangedPhase* phase : phases) {
    table.add_row({cut_to(printable(phase->name), kLongestName),
                   phase->a_ns ? unit.number(*phase->a_ns) : "–",
                   phase->b_ns ? unit.number(*phase->b_ns) : "–",
                   signed_number(unit, phase->change_ns()),
                   !phase->a_ns   ? "new"
                   : !phase->b_ns ? "gone"
                                  : relative_text(*phase->a_ns, *phase->b_ns)});
    table.rows.back()[3].style = style_of_change(phase->change_ns(), step_of(diff));
  }
  return titled_table("MARKED PHASES",
                      fmt::format("{} per step, waiting inside them included", unit.name()), table);
}

Document collectives_section(const Diff& diff, const StepUnit& unit, int top) {
  const auto kinds = worth_a_line(diff.collectives, step_of(diff), top);
  if (kinds.empty()) return {};
  Table table;
  table.add_columns(Align::kLeft, {"collective"});
  table.add_columns(Align::kRight, {"per step", "transfer A", "B", "wait A", "B", "change"});
  for (const ChangedCollective* kind : kinds) {
    const auto count = [](const std::optional<CollectiveTimes>& side) {
      return side ? per_step_text(side->per_step) : std::string("–");
    };
    const auto time = [&](const std::optional<CollectiveTimes>& side,
                          int64_t CollectiveTimes::*field) {
      return side ? unit.number(static_cast<double>((*side).*field)) : std::string("–");
    };
    const std::string a = count(kind->a);
    const std::string b = count(kind->b);
    table.add_row(
        {fmt::format("{} {} {}", kind->function, printable(kind->communicator),
                     kind->bytes ? format_bytes(*kind->bytes) : ""),
         a == b ? a : fmt::format("{} → {}", a, b), time(kind->a, &CollectiveTimes::transfer_ns),
         time(kind->b, &CollectiveTimes::transfer_ns), time(kind->a, &CollectiveTimes::wait_ns),
         time(kind->b, &CollectiveTimes::wait_ns), signed_number(unit, kind->change_ns())});
    table.rows.back()[6].style = style_of_change(kind->change_ns(), step_of(diff));
  }
  return titled_table("COLLECTIVES",
                      fmt::format("{}, medians; change in transfers per step", unit.name()), table);
}

std::string count_change(const ChangedName& name) {
  std::string a = per_step_text(name.a_count);
  const std::string b = per_step_text(name.b_count);
  if (a == b) return a;
  return fmt::format("{} → {}", a.empty() ? "0" : a, b.empty() ? "0" : b);
}

Document names_section(const Diff& diff, const StepUnit& unit, int top) {
  const auto names = worth_a_line(diff.names, step_of(diff), top);
  if (names.empty()) return {};
  Table table;
  table.add_columns(Align::kLeft, {"name", ""});
  table.add_columns(Align::kRight, {"per step", "A", "B", "change"});
  for (const ChangedName* name : names) {
    table.add_row({cut_to(printable(name->name), kLongestName) + (name->on_device ? " (GPU)" : ""),
                   name->what, count_change(*name),
                   unit.number(static_cast<double>(name->a_self_ns)),
                   unit.number(static_cast<double>(name->b_self_ns)),
                   signed_number(unit, static_cast<double>(name->change_ns()))});
    table.rows.back()[5].style =
        style_of_change(static_cast<double>(name->change_ns()), step_of(diff));
  }
  Document document = titled_table(
      "OPERATORS, KERNELS, RANGES",
      fmt::format("{} per rank and step, excluding nested ranges", unit.name()), table);
  if (names.size() < diff.names.size())
    document.add_more(fmt::format(
        "{} changed less", plural(static_cast<int64_t>(diff.names.size() - names.size()), "name")));
  return document;
}

std::string figure_text(const ChangedFigure& figure, double value) {
  if (figure.unit == "bytes") return format_bytes(std::llround(value));
  if (figure.unit == "share") return format_share(value);
  if (figure.unit == "ns") return format_duration(DurationNs{std::llround(value)});
  return format_count(std::llround(value));
}

// Kernel counters differ a little from run to run.
bool varies_by_itself(const ChangedFigure& figure) {
  constexpr double kLittle = 0.1;
  return (figure.unit == "faults" || figure.unit == "ns") &&
         std::abs(figure.b - figure.a) < kLittle * std::max(figure.a, figure.b);
}

Document figures_section(const Diff& diff) {
  Table table;
  table.add_columns(Align::kLeft, {"figure"});
  table.add_columns(Align::kRight, {"A", "B", "change"});
  for (const ChangedFigure& figure : diff.figures) {
    const std::string a = figure_text(figure, figure.a);
    const std::string b = figure_text(figure, figure.b);
    if (a == b || varies_by_itself(figure)) continue;
    table.add_row({figure.title, a, b,
                   figure.unit == "share"
                       ? fmt::format("{:+.1f} points", 100 * (figure.b - figure.a))
                   : figure.unit == "records" ? fmt::format("{:+.0f}", figure.b - figure.a)
                                              : relative_text(figure.a, figure.b)});
  }
  if (table.rows.empty()) return {};
  return titled_table("OTHER FIGURES", "", table);
}

Document verdicts_section(const Diff& diff) {
  Document document;
  if (diff.stragglers.empty() && diff.findings.empty()) return document;
  document.add(Heading{.title = "VERDICTS THAT CHANGED"});
  for (const ChangedStraggler& one : diff.stragglers) {
    const bool good = one.what == "vanished";
    document.add_item({.text = fmt::format("straggler, {}: {}", one.what, one.text),
                       .mark = good ? "✓" : "!",
                       .mark_style = good ? Style::kGood : Style::kWarn});
  }
  for (const ChangedFinding& one : diff.findings) {
    const bool good = one.what == "gone";
    document.add_item(
        {.text = fmt::format("{}: {} ({}, {})", one.what, one.title, one.severity, one.rule),
         .mark = good ? "✓" : "!",
         .mark_style = good ? Style::kGood : Style::kWarn});
  }
  return document;
}

// If kernel time and page faults change with the step, the faults are the reason: an allocator that
// gave memory back, or no longer does. "" = they are not.
std::string faults_text(const Diff& diff, int64_t change_ns) {
  constexpr double kLeastInKernel = 0.2;  // of the change
  constexpr double kLeastTimes = 2;       // ratio of faults between the sides
  const auto figure = [&](const char* key) -> const ChangedFigure* {
    const auto found = std::ranges::find(diff.figures, key, &ChangedFigure::key);
    return found == diff.figures.end() ? nullptr : &*found;
  };
  const ChangedFigure* faults = figure("page_faults_per_step");
  const ChangedFigure* kernel = figure("kernel_cpu_ns_per_step");
  if (faults == nullptr || kernel == nullptr) return "";
  const double way = change_ns > 0 ? 1 : -1;
  const double kernel_ns = way * (kernel->b - kernel->a);
  const double more = way > 0 ? faults->b : faults->a;
  const double fewer = way > 0 ? faults->a : faults->b;
  if (kernel_ns < kLeastInKernel * std::abs(static_cast<double>(change_ns)) ||
      more < kLeastTimes * std::max(fewer, 1.0))
    return "";
  return fmt::format(", with {} → {} page faults per step", figure_text(*faults, faults->a),
                     figure_text(*faults, faults->b));
}

Span verdict_of_change(const StepChange& change) {
  if (change.least > 0) return {"slower", Style::kBad};
  if (change.most < 0) return {"faster", Style::kGood};
  return {"no detectable change", Style::kStrong};
}

Document diff_document(const Diff& diff, const DiffOptions& options) {
  FactList facts = diff_facts(diff);
  if (diff.step && verdict_of_change(*diff.step).style != Style::kStrong) {
    if (const std::string where = where_text(diff); !where.empty()) {
      const auto after = std::ranges::find(facts.facts, "sensitivity", &Fact::label);
      facts.facts.insert(after, {"where", {{where}}, Fact::Fit::kWrapped});
    }
  }
  Document document{{std::move(facts)}};
  document.add(dissimilar_section(diff));
  document.add(changes_section(diff, options));
  return document;
}

// ---- JSON --------------------------------------------------------------------------------------

template <typename T>
Json diff_json(const T& value) {
  if constexpr (requires { value.has_value(); }) {
    return value ? diff_json(*value) : Json(nullptr);
  } else if constexpr (HasNamedFields<T>) {
    Json object = Json::object();
    for_each_named_field(value, [&](std::string_view name, const auto& field) {
      object[std::string(name)] = diff_json(field);
    });
    if constexpr (requires { value.change_ns(); })
      object["change_ns"] = std::llround(static_cast<double>(value.change_ns()));
    return object;
  } else if constexpr (!std::is_convertible_v<T, std::string> && requires { value.begin(); }) {
    Json array = Json::array();
    for (const auto& one : value) array.push_back(diff_json(one));
    return array;
  } else {
    return value;
  }
}

}  // namespace

std::string signed_share(double share) {
  if (std::abs(share) < 0.00005) return "0 %";
  return fmt::format("{:+.{}f} %", 100 * share, std::abs(share) < 0.00995 ? 2 : 1);
}

std::string change_text(const StepChange& change) {
  return fmt::format("{} (98 %: {} to {})", signed_share(change.change), signed_share(change.least),
                     signed_share(change.most));
}

std::string side_text(const DiffSide& side) {
  const auto [least, most] = std::ranges::minmax_element(side.steps);
  const std::string steps = *least == *most ? plural(*most, "steady step")
                                            : fmt::format("{} to {} steady steps", *least, *most);
  const std::string runs = side.runs.size() == 1 ? printable(side.runs.front())
                                                 : fmt::format("{} runs ({}, …)", side.runs.size(),
                                                               printable(side.runs.front()));
  return fmt::format("{}: {} on {}, {}", runs, plural(side.ranks, "rank"),
                     plural(side.hosts, "host"), steps);
}

std::string where_text(const Diff& diff) {
  const ChangedPart* part = diff.division ? largest_part(*diff.division) : nullptr;
  if (part == nullptr) return "";
  const StepUnit unit(static_cast<double>(diff.division->a_ns));
  const auto ms = [&](int64_t ns) { return signed_number(unit, static_cast<double>(ns)); };
  const int64_t whole = diff.division->change_ns();
  if (part->key == key_of(Category::kExposedWait) && !diff.ranks.empty() && whole > 0 &&
      2 * diff.ranks.front().change_ns() > whole) {
    const ChangedRank& rank = diff.ranks.front();
    return fmt::format("others wait for rank {}, whose {} is {} {}{}", rank.rank, rank.part,
                       ms(rank.part_ns), unit.name(), faults_text(diff, rank.part_ns));
  }
  return fmt::format("most of it is {}: {} of {} {}{}", part->title, ms(part->change_ns()),
                     ms(whole), unit.name(), faults_text(diff, part->change_ns()));
}

Span diff_answer(const Diff& diff) {
  if (!diff.step) return {"step time cannot be compared: " + diff.why_no_step, Style::kWarn};
  const auto [verdict, style] = verdict_of_change(*diff.step);
  std::string text = fmt::format("{}: {}", verdict, change_text(*diff.step));
  const std::string where = style == Style::kStrong ? "" : where_text(diff);
  if (!where.empty()) text += "; " + where;
  if (!diff.comparable()) return {text + "; but the two are not comparable", Style::kWarn};
  return {std::move(text), style};
}

FactList diff_facts(const Diff& diff) {
  FactList facts;
  facts.facts.push_back({"A", {{side_text(diff.a)}}, Fact::Fit::kCut});
  facts.facts.push_back({"B", {{side_text(diff.b)}}, Fact::Fit::kCut});
  if (!diff.step) {
    facts.facts.push_back({"step time",
                           {{"cannot be compared: " + diff.why_no_step, Style::kWarn}},
                           Fact::Fit::kWrapped});
  } else {
    const StepChange& step = *diff.step;
    const StepUnit unit(step.a_ns);
    facts.facts.push_back({"step time",
                           {{fmt::format("{} → {}   {}   ", unit.text(step.a_ns),
                                         unit.text(step.b_ns), change_text(step))},
                            verdict_of_change(step)}});
    facts.facts.push_back(
        {"sensitivity",
         {{fmt::format(
             "a change of {} or more would have been detected{}", format_share(step.detectable(0)),
             step.single() ? "; with one run per side this may still be run-to-run noise" : "")}},
         Fact::Fit::kWrapped});
  }
  facts.facts.push_back(
      {"comparable", {diff.comparable() ? Span{"yes"} : Span{"no, see below", Style::kWarn}}});
  return facts;
}

Document dissimilar_section(const Diff& diff) {
  if (diff.dissimilar.empty()) return {};
  Document document{{Heading{.title = "WHAT DIFFERS"}}};
  for (const Dissimilarity& one : diff.dissimilar) {
    const std::string values = one.a.empty()   ? "B: " + one.b
                               : one.b.empty() ? "A: " + one.a
                                               : fmt::format("{} → {}", one.a, one.b);
    document.add_item({.text = fmt::format("{}: {}: {}", one.what, printable(values), one.why),
                       .mark = one.matters ? "!" : "·",
                       .mark_style = one.matters ? Style::kWarn : Style::kFaint});
  }
  return document;
}

Document changes_section(const Diff& diff, const DiffOptions& options) {
  const StepUnit unit(step_of(diff));
  Document document;
  if (diff.division) {
    document.add(division_section(*diff.division));
  } else {
    document.add(Heading{.title = "WHERE THE CHANGE IS"});
    document.add(Paragraph{.text = "unknown: one side has no breakdown of its steps"});
  }
  document.add(ranks_section(diff, unit, options.top));
  document.add(phases_section(diff, unit, options.top));
  document.add(collectives_section(diff, unit, options.top));
  document.add(names_section(diff, unit, options.top));
  if (!diff.why_no_names.empty())
    document.add(Paragraph{.text = diff.why_no_names, .style = Style::kFaint});
  document.add(figures_section(diff));
  document.add(verdicts_section(diff));
  return document;
}

std::string render_diff_text(const Diff& diff, const TextShape& shape, const DiffOptions& options) {
  return write_text(diff_document(diff, options), shape);
}

std::string render_diff_markdown(const Diff& diff, const DiffOptions& options) {
  Document document{{Heading{.title = "dprof diff", .level = 3}}};
  document.add(diff_document(diff, options));
  return write_markdown(document);
}

std::string render_diff_json(const Diff& diff) {
  Json json = {{"schema", "dprof.diff/1"},
               {"a", diff_json(diff.a)},
               {"b", diff_json(diff.b)},
               {"comparable", diff.comparable()},
               {"dissimilar", diff_json(diff.dissimilar)}};
  if (diff.step) {
    const StepChange& step = *diff.step;
    json["step"] = {{"a_ns", std::llround(step.a_ns)},
                    {"b_ns", std::llround(step.b_ns)},
                    {"change", step.change},
                    {"interval", {step.least, step.most}},
                    {"detectable", step.detectable(0)},
                    {"runs_a", step.runs_a},
                    {"runs_b", step.runs_b},
                    {"within_sd", step.within_sd},
                    {"between_sd", step.single() ? Json(nullptr) : Json(step.between_sd)}};
  } else {
    json["step"] = nullptr;
    json["why_no_step"] = diff.why_no_step;
  }
  const std::string where = where_text(diff);
  json["where"] = where.empty() ? Json(nullptr) : Json(where);
  json["division"] = diff_json(diff.division);
  json["phases"] = diff_json(diff.phases);
  json["ranks"] = diff_json(diff.ranks);
  json["collectives"] = diff_json(diff.collectives);
  json["names"] = diff.why_no_names.empty() ? diff_json(diff.names) : Json(nullptr);
  json["figures"] = diff_json(diff.figures);
  json["stragglers"] = diff_json(diff.stragglers);
  json["findings"] = diff_json(diff.findings);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace dprof::analyzer
