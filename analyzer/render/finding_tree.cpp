// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/finding_tree.h"

#include <fmt/format.h>

#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr std::string_view kPerStep = " per step";

// The root cause of finding `index`.
size_t cause_of(const std::vector<Finding>& findings, size_t index) {
  size_t at = index;
  for (size_t hops = 0; hops <= findings.size(); ++hops) {
    const std::optional<int> next = findings[at].caused_by;
    if (!next) return at;
    if (*next < 0 || static_cast<size_t>(*next) >= findings.size()) return index;
    at = static_cast<size_t>(*next);
  }
  return index;  // a cycle
}

std::string price_text(const Finding& finding, std::optional<double> step_ns) {
  if (!finding.cost_ns) return {};
  std::string text = format_ms({*finding.cost_ns}) + std::string(kPerStep);
  if (step_ns)
    text += fmt::format(" ({})", format_share(static_cast<double>(*finding.cost_ns) / *step_ns));
  return text;
}

}  // namespace

std::vector<FindingNode> finding_tree(const std::vector<Finding>& findings) {
  std::vector<FindingNode> nodes;
  std::vector<size_t> node_of(findings.size());
  for (size_t i = 0; i < findings.size(); ++i) {
    if (cause_of(findings, i) != i) continue;
    node_of[i] = nodes.size();
    nodes.push_back({.index = i, .symptoms = {}});
  }
  for (size_t i = 0; i < findings.size(); ++i) {
    if (const size_t cause = cause_of(findings, i); cause != i)
      nodes[node_of[cause]].symptoms.push_back(i);
  }
  return nodes;
}

TitleParts parts_of_title(const Finding& finding, std::optional<double> step_ns) {
  if (!finding.cost_ns) return {.heading = finding.title, .price = {}, .rest = {}};
  const std::string_view title = finding.title;
  const std::string cost = format_ms({*finding.cost_ns}) + std::string(kPerStep);
  const size_t at = title.find(cost);
  const size_t colon = at == std::string_view::npos ? at : title.rfind(": ", at);
  // Only a sign is allowed between the colon and the price.
  if (colon == std::string_view::npos || at > colon + 3)
    return {.heading = finding.title, .price = price_text(finding, step_ns), .rest = {}};
  size_t end = at + cost.size();
  if (title.substr(end).starts_with(" ("))
    end = std::min(title.size() - 1, title.find(')', end)) + 1;
  TitleParts parts{.heading = std::string(title.substr(0, colon)),
                   .price = std::string(title.substr(colon + 2, end - colon - 2)),
                   .rest = std::string(title.substr(end))};
  const size_t word = parts.rest.find_first_not_of(" ,;");
  parts.rest.erase(0, word == std::string::npos ? parts.rest.size() : word);
  return parts;
}

std::string priced_title(const Finding& finding, std::optional<double> step_ns) {
  const TitleParts parts = parts_of_title(finding, step_ns);
  const bool said = parts.price.empty() || parts.heading != finding.title ||
                    finding.title.find(format_ms({*finding.cost_ns})) != std::string::npos;
  return said ? finding.title : fmt::format("{}: {}", finding.title, parts.price);
}

}  // namespace dprof::analyzer
