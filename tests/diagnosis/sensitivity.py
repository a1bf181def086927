# SPDX-License-Identifier: Apache-2.0
"""Writes docs/analysis/thresholds.md: each constant of detection and cause, and what depends on it."""
from page import table
from score import Judged, summary

FIGURES = ("precision_10", "recall_10", "precision_3", "recall_3", "cause_10")
POINTS = 0.02  # of precision or recall, that a threshold may cost

HEAD = """# Thresholds: every constant of detection and cause

Written by `scripts/scoreboard --sensitivity` from `analyzer/vocabulary/thresholds.h`; do not edit.

The constants below decide when a rank or a link is suspected, when it is named, and which cause it gets. *chosen* as a source
means that no measurement supports the value; the last columns then show how much depends on it. They show how
[the scoreboard's](../diagnosis.md) figures change if that constant alone is 30 % less, or more (for one near 1, its distance
from 1; for counts, one less or more). The changes are points of precision and recall for faults of 10 % and more, and of 3 %
and more, and of right causes. "·" = no run's verdicts changed. Each run is judged again; what is computed before ranks are
compared is not repeated. `kStageShare`, `kLonger` and `kLasting` are not tried, because they are for operation tables, and no
generated run is one.

"""


def rated(lines, name, side):
    """The figures with that threshold varied."""
    varied = []
    for line in lines:
        named = (line.get("varied") or {}).get(name, {}).get(side)
        varied.append(line if named is None else line | {"stragglers": named})
    return summary([Judged(line) for line in varied])


def effects(lines, thresholds):
    """By threshold and side: how many runs changed, and points by which each figure did."""
    usual = summary([Judged(line) for line in lines])
    found = {}
    for one in thresholds:
        for side in ("less", "more"):
            changed = sum(side in (line.get("varied") or {}).get(one["name"], {}) for line in lines)
            figures = rated(lines, one["name"], side) if changed else usual
            points = {key: (figures[key].value or 0) - (usual[key].value or 0) for key in FIGURES}
            points["false_alarms"] = figures["false_alarms"].right - usual["false_alarms"].right
            found[f"{one['name']}/{side}"] = {"runs": changed} | {key: round(value, 4) for key, value in points.items()}
    return found


def costs(effect):
    """Whether it takes more than 2 points of a precision, or of recall where it is promised."""
    return min(effect[key] for key in ("precision_10", "recall_10", "precision_3")) < -POINTS


def words_of(effect):
    if not effect or not effect["runs"]:
        return "·"
    parts = [f"{name} {100 * effect[key]:+.1f}" for name, key in
             (("P10", "precision_10"), ("R10", "recall_10"), ("P3", "precision_3"), ("R3", "recall_3"), ("cause", "cause_10"))
             if abs(effect[key]) >= 0.0005]
    return (", ".join(parts) or "±0") + (" **!**" if costs(effect) else "")


def page(thresholds, kept):
    about, found = kept.get("about", {}), kept.get("effects", {})
    rows = [[f"`{one['name']}`", f"{one['value']:g}", one["unit"], one["why"], one["source"],
             words_of(found.get(one["name"] + "/less")), words_of(found.get(one["name"] + "/more"))] for one in thresholds]
    text = HEAD + table(["constant", "value", "unit", "what it decides", "source", "30 % less", "30 % more"], rows, {1})
    if about:
        dear = sorted({name.split("/")[0] for name, effect in found.items() if costs(effect)})
        part = "all" if about["every"] == 1 else f"every {about['every']}th"
        text += (f"\nFrom {about['runs']} generated runs ({part} of the plan, seed {about['seed']}), "
                 f"of which {about['healthy']} are healthy.\nConstants that cost more than 2 points of precision, or of recall "
                 f"at 10 %: {', '.join(f'`{name}`' for name in dear) or 'none'}.\n")
    return text
