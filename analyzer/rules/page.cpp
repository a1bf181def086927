// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "analyzer/rules/rules.h"
#include "analyzer/rules/support.h"

namespace dprof::analyzer {
namespace {

constexpr std::string_view kHead = R"(# Rules

Generated from the tables in `analyzer/rules/` by `dprof-rules`; do not edit. [findings.md](findings.md) explains the findings.

A finding's cost is time per step (`cost_ns`). Its severity follows from the cost's share of the median step: *info* from 1 %, *warn*
from 3 %, *critical* from 10 %. Costs come from a replay where there is one; otherwise they are an upper bound and say so. They are never
added up, since two findings may cost the same time. Causes are ranked by cost times confidence. One root cause is one finding: where a
rule names another one under "hangs below", its finding appears below that one's (`caused_by`) if both concern the same ranks and the
cause costs at least a third of the symptom.

M1 to M24 are the mistakes that `dprof-trainer --mistake` makes on purpose ([trainer.md](trainer.md)). A rule that is not built needs
something that the traces do not contain.
)";

std::string line(std::string_view title, std::string_view text) {
  return text.empty() ? std::string() : fmt::format("- {}: {}\n", title, text);
}

std::string section_of(const Rule& rule) {
  std::string text =
      fmt::format("\n### {}{}{}\n\n", rule.name, rule.ids.empty() ? "" : " — ", rule.ids);
  if (!rule.built()) text += fmt::format("Not built: needs {}.\n\n", rule.needs);
  // The threshold appears once in the rule's text.
  const std::vector<Figure> figures = {
      {"at least", fmt::format("{} %", number(100 * rule.judged.at_least))}};
  text += line("fires when", filled(rule.finds, figures));
  text += line("not when", filled(rule.guard, figures));
  text += line("costs", rule.costs);
  text += line("hangs below", rule.suppressed_by);
  text += line("advice", rule.advice);
  return text;
}

}  // namespace

std::string rules_page() {
  std::string page(kHead);
  size_t built = 0;
  size_t all = 0;
  std::string sections;
  for (const Family& family : all_families()) {
    sections +=
        fmt::format("\n## {}\n\n| rule | mistake | state |\n| --- | --- | --- |\n", family.title);
    for (const Rule& rule : family.rules) {
      ++all;
      if (rule.built()) ++built;
      sections += fmt::format("| `{}` | {} | {} |\n", rule.name, rule.ids,
                              rule.built() ? "built" : "needs more");
    }
    for (const Rule& rule : family.rules) sections += section_of(rule);
  }
  page += fmt::format("\n{} rules, {} of them built.\n", all, built);
  return page + sections;
}

}  // namespace dprof::analyzer
