// SPDX-License-Identifier: Apache-2.0
#include "gui/html/page.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "analyzer/render/writers.h"
#include "gui/html/svg.h"
#include "gui/view/drawing/theme.h"

namespace dprof::html {
namespace {

// Names in the style sheet for the roles that are not just a colour of time.
constexpr std::array<std::pair<std::string_view, view::Role>, 15> kNamedColours = {{
    {"window", view::Role::kWindow},
    {"canvas", view::Role::kCanvas},
    {"card", view::Role::kCard},
    {"lane", view::Role::kLaneBackground},
    {"border", view::Role::kBorder},
    {"text", view::Role::kText},
    {"dim", view::Role::kTextDim},
    {"accent", view::Role::kAccent},
    {"soft", view::Role::kAccentSoft},
    {"problem", view::Role::kProblem},
    {"problem-soft", view::Role::kProblemSoft},
    {"warn", view::Role::kWarn},
    {"warn-text", view::Role::kWarnText},
    {"info", view::Role::kInfo},
    {"info-text", view::Role::kInfoText},
}};

constexpr std::string_view kStyle = R"(
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--window);color:var(--text);font:15px/1.55 var(--sans)}
main{max-width:1144px;margin:0 auto;padding:40px 32px 64px}
h1{font-size:27px;line-height:1.25;font-weight:650;letter-spacing:-.015em;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:18px;line-height:1.3;font-weight:640;letter-spacing:-.008em;margin:0 0 2px}
h2.bad{color:var(--problem)}
h3{font-size:15px;font-weight:640;margin:22px 0 4px}
p{margin:6px 0;max-width:84ch;overflow-wrap:anywhere}
section{margin:44px 0 0}
section h2:not(:first-child){margin-top:26px}
.remark{margin:0 0 14px}
.eyebrow{font-size:12px;font-weight:600;letter-spacing:.04em;color:var(--dim);margin:0 0 6px}
.remark,.faint,dt,figcaption,footer,.mark{color:var(--dim)}
.strong{font-weight:600}.accent{color:var(--text)}
.good .mark{color:var(--good);font-weight:700}
td .good{color:var(--good)}
.warn{color:var(--warn-text)}
.bad{color:var(--problem)}
td.faint,td .faint{font-size:13.5px}
.verdict{margin:20px 0 0;padding:14px 20px;border-left:4px solid var(--ok);background:var(--card);border-radius:0 8px 8px 0;box-shadow:0 0 0 1px var(--border);max-width:none;font-size:17px;font-weight:560;line-height:1.45}
.verdict .said{display:block}
.verdict::first-letter,.said::first-letter,.detail::first-letter{text-transform:uppercase}
.verdict.failed,.verdict.critical{border-color:var(--problem)}
.verdict.warning{border-color:var(--warn)}
.verdict .word{display:block;font-size:12.5px;font-weight:700;letter-spacing:.05em;margin:0 0 2px}
.verdict.good .word{color:var(--good)}.verdict.warning .word{color:var(--warn-text)}
.verdict.critical .word{color:var(--problem)}
dl{margin:18px 0 0;display:grid;gap:3px 0;font-size:14px}
dl div{display:grid;grid-template-columns:116px minmax(0,1fr);gap:12px}
dt,dd{margin:0}dd{overflow-wrap:anywhere}dt.strong,dt.bad{font-weight:600}
nav{margin:22px 0 0;font-size:14px;display:flex;flex-wrap:wrap;gap:4px 18px}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
ul{list-style:none;padding:0;margin:8px 0}
li{padding-left:24px;position:relative;margin:4px 0;max-width:84ch;overflow-wrap:anywhere}
.mark{position:absolute;left:4px}
.stack{display:flex;height:34px;border-radius:5px;overflow:hidden;background:var(--border);margin:4px 0 14px;gap:1px}
.stack i{display:block;height:100%;flex:none}
.swatch{display:inline-block;width:11px;height:11px;border-radius:2.5px;margin-right:10px;vertical-align:-0.5px}
.rest{background:var(--dim)}
.meter{display:inline-block;height:10px;border-radius:2px;background:var(--dim)}
.meter.bad{background:var(--problem)}.meter.good{background:var(--ok)}
.sides{display:grid;grid-template-columns:max-content minmax(0,1fr) max-content;gap:8px 14px;align-items:center;padding:16px}
.sides .stack{margin:0;background:none}
.sides .n{font-variant-numeric:tabular-nums}
.interval{position:relative;height:54px;margin:14px 0 0;font-size:12.5px;color:var(--dim)}
.interval i{position:absolute}
.interval .axis{left:0;right:0;top:14px;height:1px;background:var(--border)}
.interval .zero{top:2px;height:25px;width:1px;background:var(--dim)}
.interval .range{top:9px;height:11px;min-width:2px;border-radius:6px;background:var(--dim);opacity:.45}
.interval .middle{top:6px;width:3px;height:17px;margin-left:-1.5px;border-radius:2px;background:var(--text)}
.interval.bad .range{background:var(--problem)}.interval.good .range{background:var(--ok)}
.interval span{position:absolute;top:29px;transform:translateX(-50%);white-space:nowrap}
.wide{overflow-x:auto;margin:8px 0;border:1px solid var(--border);border-radius:8px;background:var(--card)}
table{border-collapse:collapse;font-size:13.5px;line-height:1.4;font-variant-numeric:tabular-nums}
.wide table{width:100%}
th,td{padding:6px 14px;text-align:left;vertical-align:baseline;white-space:nowrap}
td:last-child{white-space:normal}
th{font-weight:560;color:var(--dim);font-size:12.5px}
.wide thead th{border-bottom:1px solid var(--border);background:var(--lane)}
.wide tbody tr+tr td{border-top:1px solid var(--border)}
.n{text-align:right}
.parts td{padding:3px 22px 3px 0}
.parts .n{padding-right:22px}
th button{all:unset;cursor:pointer;color:inherit}
th button:hover,th button:focus-visible{color:var(--text);text-decoration:underline}
th[aria-sort=ascending] button::after{content:" \2191"}
th[aria-sort=descending] button::after{content:" \2193"}
.finding{background:var(--card);border:1px solid var(--border);border-left:4px solid var(--info);border-radius:0 8px 8px 0;padding:16px 22px 14px;margin:12px 0}
.finding.critical{border-left-color:var(--problem)}.finding.warning{border-left-color:var(--warn)}
.finding h3{margin:0;font-size:16px;display:flex;gap:10px 24px;justify-content:space-between;align-items:baseline;flex-wrap:wrap}
.finding h3 span:first-child{flex:1 1 50%;overflow-wrap:anywhere}
.price{white-space:nowrap;font-variant-numeric:tabular-nums}
.critical .price{color:var(--problem)}.warning .price{color:var(--warn-text)}
.finding .about{margin:2px 0 0;font-size:13px;color:var(--dim)}
.advice,.symptom{padding-left:22px;text-indent:-22px}
.symptom{font-size:14px;color:var(--dim)}
.lead{display:inline-block;width:22px;text-indent:0}
details{margin:10px 0 0;font-size:14px}
summary{cursor:pointer;color:var(--accent);width:max-content;max-width:100%}
details h4{margin:14px 0 2px;font-size:13px;font-weight:600;color:var(--dim)}
code{font:.92em var(--mono)}
pre{font:12.5px/1.5 var(--mono);background:var(--lane);border:1px solid var(--border);border-radius:6px;padding:10px 14px;overflow-x:auto;margin:8px 0}
figure{margin:12px 0 0;border:1px solid var(--border);border-radius:8px;background:var(--canvas);overflow:hidden}
figure .scroll{overflow-x:auto}
figcaption{font-size:13.5px;padding:10px 16px;border-bottom:1px solid var(--border);background:var(--card)}
figcaption b{color:var(--text);font-weight:600}
.picture{display:block;width:100%;min-width:760px;height:auto}
.picture path{shape-rendering:crispEdges}
.picture .e{text-anchor:end}.picture .m{text-anchor:middle}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:12.5px;color:var(--dim);padding:10px 16px;border-top:1px solid var(--border);background:var(--card)}
.legend .swatch{margin-right:6px}
footer{margin-top:56px;padding-top:16px;border-top:1px solid var(--border);font-size:13px}
@media (max-width:640px){main{padding:24px 16px 40px}h1{font-size:23px}dl div{grid-template-columns:1fr;gap:0}}
@media print{
body{font-size:10.5pt;background:none}main{padding:0;max-width:none}nav,th button::after{display:none}
section{margin-top:22pt}h2,h3,figcaption{break-after:avoid}figure,.finding,tr{break-inside:avoid}
.picture{min-width:0}.wide,figure .scroll{overflow:visible}th,td{white-space:normal;padding:3pt 6pt}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}
)";

// Optional: makes table heads into sort buttons. Everything is readable without it.
constexpr std::string_view kScript = R"(
"use strict";
const units = {ns: 1e-9, "µs": 1e-6, us: 1e-6, ms: 1e-3, s: 1, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12};
const value = text => {
  const found = /^[<+±]?(-?[\d,]*\.?\d+)\s*([^\s\/,(]*)/.exec(text);
  return found ? parseFloat(found[1].replace(/,/g, "")) * (units[found[2]] || 1) : null;
};
for (const table of document.querySelectorAll(".wide table")) {
  const body = table.tBodies[0];
  if (body.rows.length < 3) continue;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (!head.textContent) return;
    const button = document.createElement("button");
    button.textContent = head.textContent;
    button.title = "sort";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const figures = head.classList.contains("n");
      const before = head.getAttribute("aria-sort");
      const down = before ? before === "ascending" : figures;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = row => {
        const text = row.cells[column].textContent;
        return figures ? value(text) : text;
      };
      const sign = down ? -1 : 1;
      const order = (one, other) => {
        const a = key(one), b = key(other);
        if (a === null || b === null) return (a === null) - (b === null);
        return sign * (figures ? a - b : a.localeCompare(b, undefined, {numeric: true}));
      };
      body.append(...[...body.rows].sort(order));
    });
  });
}
)";

std::string colours(const view::Theme& theme, std::string_view good, std::string_view ok) {
  std::string out = role_colours(theme) + fmt::format("--good:{};--ok:{};", good, ok);
  for (const auto& [name, role] : kNamedColours)
    out += fmt::format("--{}:var(--r{});", name, static_cast<int>(role));
  return out;
}

}  // namespace

std::string page_of(std::string_view title, std::string_view body) {
  const std::string light = colours(view::light_theme(), "#007a59", "#009e73");
  const std::string dark = colours(view::dark_theme(), "#2cc295", "#009e73");
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
      "form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n"
      ":root{{--sans:Inter,system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\","
      "\"Helvetica Neue\",Arial,sans-serif;--mono:ui-monospace,\"SF Mono\",Menlo,Consolas,"
      "\"DejaVu Sans Mono\",monospace;color-scheme:light dark;{}}}\n"
      "@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n",
      analyzer::escaped_markup(title), light, dark);
  page += role_classes();
  page += kStyle;
  page += "</style>\n</head>\n<body>\n";
  page += shared_patterns();
  page += "\n<main>\n";
  page += body;
  page += "</main>\n<script>";
  page += kScript;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

std::string section_of(std::string_view name, const analyzer::Document& document) {
  if (document.empty()) return {};
  return fmt::format("<section id=\"{}\">\n{}</section>\n", name, analyzer::write_html(document));
}

}  // namespace dprof::html
