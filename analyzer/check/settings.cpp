// SPDX-License-Identifier: Apache-2.0
#include "analyzer/check/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#define TOML_EXCEPTIONS 0  // NOLINT(readability-identifier-naming)
#include <toml++/toml.h>

#include "analyzer/rules/rules.h"
#include "base/nearest_name.h"

namespace dprof::analyzer {
namespace {

using Names = std::vector<std::string_view>;

const Names kTopKeys = {"max_slowdown", "fail_on", "budgets", "phases",
                        "phase",        "range",   "rules",   "waivers"};
const Names kBudgetKeys = {"step_ms",          "exposed_communication_share",
                           "input_wait_share", "peak_memory",
                           "lost_records",     "stragglers"};
const Names kPhaseKeys = {"ms"};
const Names kRangeKeys = {"ms", "own_ms", "calls"};
const Names kRuleKeys = {"enabled", "severity"};
const Names kWaiverKeys = {"rule", "reason", "expires"};

// All names of rules: the report's, and the check's own.
const Names& rule_names() {
  static const Names kNames = [] {
    Names names = {"step_time", "ending"};
    for (const Family& family : all_families()) {
      for (const Rule& rule : family.rules) names.push_back(rule.name);
    }
    static std::vector<std::string> budgets;
    for (const std::string_view key : kBudgetKeys) budgets.push_back(fmt::format("budget.{}", key));
    names.insert(names.end(), budgets.begin(), budgets.end());
    return names;
  }();
  return kNames;
}

// "12 GB", "512 MiB".
std::optional<int64_t> bytes_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"B", 1},        {"kB", 1e3},        {"MB", 1e6},           {"GB", 1e9}, {"TB", 1e12},
      {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"", 1}};
  for (const auto& [name, size] : kUnits) {
    if (unit == name) return static_cast<int64_t>(number * size);
  }
  return std::nullopt;
}

// "3%", "3 %"; nullopt = no percentage.
std::optional<double> share_of_percent(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (error != std::errc() || unit != "%") return std::nullopt;
  return number / 100;
}

class Parser {
 public:
  explicit Parser(const std::string& file) : file_(file) {}

  Result<CheckSettings> parse(const toml::table& table) {
    read(table);
    if (error_) return fail(*error_);
    return settings_;
  }

 private:
  template <typename Node>
  void wrong(const Node& where, std::string what, std::string hint = {}) {
    if (error_) return;  // the first one counts
    error_ = Error{Code::kUsage, fmt::format("{}:{}: {}", file_, where.source().begin.line, what),
                   std::move(hint)};
  }

  // Whether all keys are among `known`; if not, reports the nearest.
  void check_keys(const toml::table& table, const Names& known, const std::string& in) {
    for (const auto& [key, node] : table) {
      if (std::ranges::find(known, key.str()) != known.end()) continue;
      const std::optional<std::string_view> near = nearest_name(key.str(), known);
      wrong(key, fmt::format("unknown key '{}'{}", key.str(), in),
            near ? fmt::format("did you mean '{}'?", *near)
                 : fmt::format("known are {}", fmt::join(known, ", ")));
    }
  }

  void read(const toml::table& table) {
    check_keys(table, kTopKeys, "");
    if (const auto* node = table.get("max_slowdown"))
      settings_.max_slowdown = share(*node, "max_slowdown");
    if (const auto* node = table.get("fail_on")) {
      if (const auto severity = severity_at(*node)) settings_.fail_on = *severity;
    }
    if (const auto* budgets = table_at(table, "budgets")) read_budgets(*budgets);
    if (const auto* phases = table_at(table, "phases")) {
      for (const auto& [name, node] : *phases) {
        if (const auto ms = budget(node, std::string(name.str())))
          settings_.budgets.phases[std::string(name.str())].ms = *ms;
      }
    }
    read_named(table, "phase", kPhaseKeys, settings_.budgets.phases);
    read_named(table, "range", kRangeKeys, settings_.budgets.ranges);
    if (const auto* rules = table_at(table, "rules")) read_rules(*rules);
    if (const auto* node = table.get("waivers")) read_waivers(*node);
  }

  // [phase.forward], [range."aten::mm"].
  void read_named(const toml::table& table, const char* kind, const Names& keys,
                  std::map<std::string, NamedBudget>& budgets) {
    const toml::table* all = table_at(table, kind);
    if (all == nullptr) return;
    for (const auto& [name, node] : *all) {
      const std::string where = fmt::format("[{}.\"{}\"]", kind, name.str());
      const toml::table* one = node.as_table();
      if (one == nullptr) {
        wrong(node, fmt::format("a {} is a table: {}", kind, where),
              fmt::format("{} and, in a line of its own, ms = 20", where));
        continue;
      }
      check_keys(*one, keys, " in " + where);
      NamedBudget& named = budgets[std::string(name.str())];
      const auto read = [&](const char* key, std::optional<double>& into) {
        if (const toml::node* value = one->get(key)) into = budget(*value, key);
      };
      read("ms", named.ms);
      read("own_ms", named.own_ms);
      read("calls", named.calls);
    }
  }

  const toml::table* table_at(const toml::table& table, const char* key) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) wrong(*node, fmt::format("{} is a table: [{}]", key, key));
    return node->as_table();
  }

  void read_budgets(const toml::table& table) {
    check_keys(table, kBudgetKeys, " in [budgets]");
    Budgets& budgets = settings_.budgets;
    const auto number = [&](const char* key) -> std::optional<double> {
      const toml::node* node = table.get(key);
      return node != nullptr ? budget(*node, key) : std::nullopt;
    };
    budgets.step_ms = number("step_ms");
    if (const auto* node = table.get("exposed_communication_share"))
      budgets.exposed_communication_share = share(*node, "exposed_communication_share");
    if (const auto* node = table.get("input_wait_share"))
      budgets.input_wait_share = share(*node, "input_wait_share");
    if (const auto lost = number("lost_records"))
      budgets.lost_records = static_cast<int64_t>(*lost);
    if (const auto* node = table.get("peak_memory")) {
      const auto text = node->value<std::string>();
      const std::optional<int64_t> bytes = text ? bytes_of(*text) : node->value<int64_t>();
      if (!bytes) {
        wrong(*node, "peak_memory is a size, like \"12 GB\"");
      } else if (*bytes < 0) {
        wrong(*node, "peak_memory cannot be negative");
      } else {
        budgets.peak_memory = bytes;
      }
    }
    if (const auto* node = table.get("stragglers")) {
      if (node->value<std::string>() != "none")
        wrong(*node, "stragglers can only be \"none\"", "omit it to allow them");
      budgets.no_stragglers = true;
    }
  }

  std::optional<double> budget(const toml::node& node, const std::string& key) {
    const auto value = node.value<double>();
    if (!value || !node.is_number()) {
      wrong(node, fmt::format("{} is a number", key));
    } else if (*value < 0) {
      wrong(node, fmt::format("{} cannot be negative", key));
    } else {
      return value;
    }
    return std::nullopt;
  }

  // 0.03, or "3%".
  std::optional<double> share(const toml::node& node, const std::string& key) {
    if (const auto text = node.value<std::string>()) {
      const std::optional<double> value = share_of_percent(*text);
      if (!value) wrong(node, fmt::format("{} is a share, like 0.03 or \"3%\"", key));
      if (value && *value < 0) wrong(node, fmt::format("{} cannot be negative", key));
      return value;
    }
    const std::optional<double> value = budget(node, key);
    if (value && *value > 1) {
      wrong(node, fmt::format("{} is a share, from 0 to 1", key),
            fmt::format("\"{:g}%\" for percent", *value));
    }
    return value;
  }

  std::optional<FindingSeverity> severity_at(const toml::node& node) {
    const auto severity = severity_of_word(node.value_or(std::string()));
    if (!severity) wrong(node, "a severity is \"info\", \"warn\" or \"critical\"");
    return severity;
  }

  template <typename Node>
  void check_rule(const Node& where, std::string_view name) {
    if (std::ranges::find(rule_names(), name) != rule_names().end() || name.starts_with("phase.") ||
        name.starts_with("range."))
      return;
    const std::optional<std::string_view> near = nearest_name(name, rule_names());
    wrong(where, fmt::format("unknown rule '{}'", name),
          near ? fmt::format("did you mean '{}'?", *near) : "docs/rules.md lists them");
  }

  void read_rules(const toml::table& table) {
    for (const auto& [name, node] : table) {
      check_rule(name, name.str());
      const toml::table* rule = node.as_table();
      if (rule == nullptr) {
        wrong(node, fmt::format("a rule is a table: [rules.\"{}\"]", name.str()));
        continue;
      }
      check_keys(*rule, kRuleKeys, fmt::format(" in [rules.\"{}\"]", name.str()));
      RuleSetting& setting = settings_.rules[std::string(name.str())];
      if (const auto* on = rule->get("enabled")) {
        if (!on->is_boolean()) wrong(*on, "enabled is true or false");
        setting.enabled = on->value_or(true);
      }
      if (const auto* severity = rule->get("severity")) setting.severity = severity_at(*severity);
    }
  }

  void read_waivers(const toml::node& node) {
    const toml::array* list = node.as_array();
    if (list == nullptr || !list->is_array_of_tables()) {
      return wrong(node, "waivers are a list of tables: [[waivers]]");
    }
    for (const toml::node& one : *list) {
      const toml::table& waiver = *one.as_table();
      check_keys(waiver, kWaiverKeys, " in [[waivers]]");
      const auto rule = waiver["rule"].value<std::string>();
      const auto reason = waiver["reason"].value<std::string>();
      const auto expires = waiver["expires"].value<toml::date>();
      if (!rule || !reason || reason->empty() || !expires) {
        return wrong(waiver, "a waiver has rule, reason and expires",
                     "rule = \"balance.straggler\", reason = \"why\", expires = 2027-01-31");
      }
      check_rule(waiver, *rule);
      settings_.waivers.push_back(
          {*rule, *reason,
           std::chrono::year(expires->year) / std::chrono::month(expires->month) /
               std::chrono::day(expires->day)});
    }
  }

  const std::string& file_;
  CheckSettings settings_;
  std::optional<Error> error_;
};

}  // namespace

std::string day_text(Day day) {
  const std::chrono::year_month_day date(day);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

Result<CheckSettings> parse_check_settings(std::string_view text, const std::string& file) {
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed) {
    return fail(Code::kUsage,
                fmt::format("{}:{}: {}", file, parsed.error().source().begin.line,
                            parsed.error().description()),
                "docs/ci.md has an example");
  }
  return Parser(file).parse(parsed.table());
}

}  // namespace dprof::analyzer
