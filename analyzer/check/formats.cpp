// SPDX-License-Identifier: Apache-2.0
#include "analyzer/check/formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "analyzer/diff/render.h"
#include "analyzer/render/layout.h"
#include "analyzer/render/writers.h"

namespace dprof::analyzer {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view mark_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "✓";
    case Outcome::kFailed:
      return "✗";
    case Outcome::kUndecided:
      return "?";
    case Outcome::kExcused:
      return "·";
  }
  return "";
}

constexpr Style style_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return Style::kGood;
    case Outcome::kFailed:
      return Style::kBad;
    case Outcome::kUndecided:
      return Style::kWarn;
    case Outcome::kExcused:
      return Style::kFaint;
  }
  return Style::kPlain;
}

std::string_view answer_of(const CheckResult& result) {
  return result.verdict == Outcome::kPassed      ? "PASSED"
         : result.verdict == Outcome::kUndecided ? "CANNOT TELL"
                                                 : "FAILED";
}

std::vector<std::string> notes_of(const CheckResult& result) {
  std::vector<std::string> notes;
  notes.push_back(result.sensitivity);
  if (!result.needed.empty()) notes.push_back(fmt::format("What would decide: {}.", result.needed));
  for (const std::string& remark : result.remarks) notes.push_back(remark + ".");
  std::erase(notes, "");
  return notes;
}

// Failed and undecided cases first, passed ones last.
std::vector<const CheckCase*> cases_in_order(const CheckResult& result) {
  std::vector<const CheckCase*> cases;
  for (const CheckCase& one : result.cases) cases.push_back(&one);
  const auto weight = [&](const CheckCase* one) {
    if (result.counts(*one)) return 0;
    return one->outcome == Outcome::kUndecided ? 1
           : one->outcome == Outcome::kFailed  ? 2
           : one->outcome == Outcome::kExcused ? 3
                                               : 4;
  };
  std::ranges::stable_sort(cases, {}, weight);
  return cases;
}

// "failed", and "warn" for cases that fired without failing the check.
std::string outcome_text(const CheckResult& result, const CheckCase& one) {
  if (one.outcome == Outcome::kFailed && !result.counts(one))
    return std::string(word_of(one.severity));
  return std::string(word_of(one.outcome));
}

std::string run_name(const CheckResult& result) {
  return result.run.runs.empty() || result.run.runs.back().empty() ? "run" : result.run.runs.back();
}

Document cases_document(const CheckResult& result) {
  Document document{{Heading{.title = "CHECKS"}}};
  for (const CheckCase* one : cases_in_order(result)) {
    const bool counts = result.counts(*one) || one->outcome != Outcome::kFailed;
    document.add_item({.text = fmt::format("{}: {}{}", one->name, one->says,
                                           one->outcome == Outcome::kFailed && !counts
                                               ? fmt::format(" ({})", word_of(one->severity))
                                               : ""),
                       .mark = std::string(counts ? mark_of(one->outcome) : "!"),
                       .mark_style = counts ? style_of(one->outcome) : Style::kWarn});
    if (one->outcome == Outcome::kFailed && !one->advice.empty())
      document.add_item(
          {.text = one->advice, .style = Style::kFaint, .mark = "→", .mark_style = Style::kAccent});
  }
  return document;
}

Document check_document(const CheckResult& result) {
  Document document;
  document.add(SingleLine{
      {{std::string(answer_of(result)), style_of(result.verdict)}, {"  " + run_name(result)}}});
  document.add(Paragraph{.text = result.title, .style = Style::kStrong});
  for (const std::string& note : notes_of(result)) document.add(Paragraph{.text = note});
  document.add(cases_document(result));
  if (result.diff) {
    document.add(dissimilar_section(*result.diff));
    if (result.verdict != Outcome::kPassed) document.add(changes_section(*result.diff, {.top = 5}));
  }
  return document;
}

// ---- GitHub ----

std::string command_text(std::string_view text, bool property) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '%':
        escaped += "%25";
        break;
      case '\r':
        escaped += "%0D";
        break;
      case '\n':
        escaped += "%0A";
        break;
      case ':':
        escaped += property ? "%3A" : ":";
        break;
      case ',':
        escaped += property ? "%2C" : ",";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string annotation(const char* kind, std::string_view title, const std::string& text) {
  return fmt::format("::{} title={}::{}\n", kind, command_text(title, true),
                     command_text(text, false));
}

// ---- metrics ----

std::string label(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

double rounded_to_two_digits(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10.0, 1 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

// {run="name",of="forward"}; "" without any.
std::string labels_of(const CheckResult& result, const CheckMetric& metric, bool for_gitlab) {
  std::vector<std::string> labels;
  if (!for_gitlab) labels.push_back(fmt::format("run=\"{}\"", label(run_name(result))));
  if (!metric.of.empty()) labels.push_back(fmt::format("of=\"{}\"", label(metric.of)));
  return labels.empty() ? "" : fmt::format("{{{}}}", fmt::join(labels, ","));
}

// Metrics of one name are adjacent, as the format requires.
std::string metrics_text(const CheckResult& result, bool for_gitlab) {
  std::vector<CheckMetric> metrics = result.metrics;
  metrics.push_back({.name = "check_code",
                     .unit = "",
                     .help = "0 passed, 1 failed, 4 cannot tell.",
                     .value = static_cast<double>(result.code()),
                     .half_width = {},
                     .of = ""});
  std::string text;
  std::string_view before;
  for (const CheckMetric& metric : metrics) {
    if (metric.name != before) {
      text += fmt::format("# TYPE dprof_{} gauge\n", metric.name);
      if (!metric.unit.empty())
        text += fmt::format("# UNIT dprof_{} {}\n", metric.name, metric.unit);
      text += fmt::format("# HELP dprof_{} {}\n", metric.name, metric.help);
      before = metric.name;
    }
    text += fmt::format("dprof_{}{} {}\n", metric.name, labels_of(result, metric, for_gitlab),
                        for_gitlab ? rounded_to_two_digits(metric.value) : metric.value);
  }
  return text + "# EOF\n";
}

Json cases_json(const CheckResult& result) {
  Json cases = Json::array();
  for (const CheckCase& one : result.cases) {
    cases.push_back({{"name", one.name},
                     {"outcome", word_of(one.outcome)},
                     {"severity", word_of(one.severity)},
                     {"counts", result.counts(one)},
                     {"says", one.says},
                     {"advice", one.advice}});
  }
  return cases;
}

}  // namespace

CheckAnswer check_answer(const CheckResult& result) {
  return {
      {std::string(answer_of(result)), style_of(result.verdict)}, result.title, notes_of(result)};
}

Document check_table(const CheckResult& result, size_t most) {
  constexpr size_t kLongestCase = 500;
  Table table;
  table.add_columns(Align::kLeft, {"", "check", "result"});
  const std::vector<const CheckCase*> cases = cases_in_order(result);
  for (const CheckCase* one : std::span(cases).first(std::min(cases.size(), most))) {
    const bool warns = one->outcome == Outcome::kFailed && !result.counts(*one);
    table.rows.push_back(
        {{std::string(mark_of(one->outcome)), warns ? Style::kWarn : style_of(one->outcome)},
         {one->name},
         {fmt::format("{}: {}", outcome_text(result, *one),
                      cut_to(printable(one->says), kLongestCase))}});
  }
  Document document;
  if (table.rows.empty()) return document;
  document.add(std::move(table));
  if (cases.size() > most) document.add_more(fmt::format("{} more", cases.size() - most));
  return document;
}

std::string render_check_text(const CheckResult& result, const TextShape& shape) {
  return write_text(check_document(result), shape);
}

std::string render_check_markdown(const CheckResult& result) {
  Document document{{Heading{
      .title = fmt::format("dprof check: {}", answer_of(result)), .remark = {}, .level = 3}}};
  document.add(Paragraph{.text = result.title, .style = Style::kStrong, .lead = ""});
  for (const std::string& note : notes_of(result))
    document.add(Paragraph{.text = note, .lead = ""});
  constexpr size_t kMostRows = 40;
  document.add(check_table(result, kMostRows));
  if (result.diff) {
    document.add(dissimilar_section(*result.diff));
    document.add(Fold{.summary = "What changed against the baseline",
                      .inside = changes_section(*result.diff, {.top = 10})});
  }
  std::string text = write_markdown(document);
  if (text.size() <= kMostMarkdown) return text;
  // Names in a trace can be long: keep the answer, cut the rest at a line end.
  text.resize(text.rfind('\n', kMostMarkdown - 100) + 1);
  return text + "\n… cut: `dprof check` shows the rest\n";
}

std::string render_check_json(const CheckResult& result) {
  Json metrics = Json::array();
  for (const CheckMetric& metric : result.metrics) {
    metrics.push_back({{"name", metric.name},
                       {"of", metric.of.empty() ? Json() : Json(metric.of)},
                       {"unit", metric.unit},
                       {"value", metric.value},
                       {"half_width", metric.half_width ? Json(*metric.half_width) : Json()}});
  }
  const Json json = {{"schema", "dprof.check/1"},
                     {"verdict", word_of(result.verdict)},
                     {"code", static_cast<int>(result.code())},
                     {"title", result.title},
                     {"sensitivity", result.sensitivity},
                     {"needed", result.needed.empty() ? Json() : Json(result.needed)},
                     {"remarks", result.remarks},
                     {"fail_on", word_of(result.fail_on)},
                     {"run", run_name(result)},
                     {"cases", cases_json(result)},
                     {"metrics", metrics},
                     {"diff", result.diff ? Json::parse(render_diff_json(*result.diff)) : Json()}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string render_check_junit(const CheckResult& result) {
  size_t failures = 0;
  size_t skipped = 0;
  std::string cases;
  const std::string suite = escaped_markup(fmt::format("dprof.{}", run_name(result)));
  for (const CheckCase& one : result.cases) {
    const std::string says = escaped_markup(one.says);
    const std::string all = one.advice.empty() ? says : says + '\n' + escaped_markup(one.advice);
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"0\">", suite,
                         escaped_markup(one.name));
    if (result.counts(one)) {
      ++failures;
      cases += fmt::format("<failure message=\"{}\" type=\"{}\">{}\n{}</failure>", says,
                           word_of(one.severity), all, escaped_markup(result.sensitivity));
    } else if (one.outcome == Outcome::kUndecided) {
      ++skipped;
      cases += fmt::format("<skipped message=\"{}\"/>", says);
    } else {
      cases += fmt::format("<system-out>{}: {}</system-out>", outcome_text(result, one), all);
    }
    cases += "</testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"dprof check\" tests=\"{0}\" failures=\"{1}\" errors=\"0\">\n"
      "  <testsuite name=\"{3}\" tests=\"{0}\" failures=\"{1}\" errors=\"0\" skipped=\"{2}\" time=\"0\">\n"
      "{4}  </testsuite>\n</testsuites>\n",
      result.cases.size(), failures, skipped, suite, cases);
}

std::string render_check_github(const CheckResult& result) {
  std::string text;
  size_t shown = 0;
  for (const CheckCase* one : cases_in_order(result)) {
    if (one->outcome == Outcome::kPassed || one->outcome == Outcome::kExcused) continue;
    if (++shown > kMostAnnotations) break;
    const char* kind = result.counts(*one)                       ? "error"
                       : one->severity == FindingSeverity::kInfo ? "notice"
                                                                 : "warning";
    text += annotation(kind, "dprof: " + one->name, one->says);
  }
  if (shown < kMostAnnotations)
    text += annotation("notice", fmt::format("dprof check: {}", answer_of(result)),
                       fmt::format("{}. {}", result.title, result.sensitivity));
  return text;
}

std::string render_check_openmetrics(const CheckResult& result) {
  return metrics_text(result, false);
}
std::string render_check_gitlab(const CheckResult& result) { return metrics_text(result, true); }

std::string render_check_benchmark(const CheckResult& result) {
  Json list = Json::array();
  for (const CheckMetric& metric : result.metrics) {
    const std::string name = metric.of.empty() ? metric.name : metric.name + ' ' + metric.of;
    Json one = {{"name", "dprof " + name}, {"unit", metric.unit}, {"value", metric.value}};
    if (metric.half_width) one["range"] = fmt::format("± {:.3g}", *metric.half_width);
    one["extra"] = metric.help;
    list.push_back(std::move(one));
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace dprof::analyzer
