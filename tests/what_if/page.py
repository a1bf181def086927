# SPDX-License-Identifier: Apache-2.0
"""Writes docs/what_if.md from kept results: nothing in the page is written by hand."""
import re

from judge import Judged, summary

TARGETS = {
    "generated": {"median_error": "≤ 2 %", "p90_error": "≤ 5 %", "bound_holds": "≥ 95 %", "prices_within_15": "≥ 98 %",
                  "nothing_promised": "100 %"},
    "real": {"median_error": "≤ 5 %", "p90_error": "≤ 10 %", "sign_right": "100 %", "nothing_promised": "100 %"}}
QUIET = 0.3  # cores of other programs
WORDS = {"answered": "questions answered", "median_error": "error of the predicted step, median",
         "p90_error": "error of the predicted step, 90th percentile", "bound_holds": "the bound contains the truth",
         "sign_right": "a predicted gain of more than 3 % is real",
         "prices_within_15": "culprits' costs within 15 % of the truth",
         "nothing_promised": "a change that does nothing is predicted to gain at most 0.5 %"}

HEAD = """# What if: how accurate the predictions are

Written by `scripts/what-if` from the results kept in `tests/what_if/results/`; do not edit.

    scripts/what-if --generated       all generated runs again
    scripts/what-if --real 5          each pair of real runs 5 times; root for hosts
    scripts/what-if --quick           the part that CI runs; fails if it falls below tests/what_if/level.json
    scripts/what-if                   this page again, from the kept results

## What is compared

`dprof report RUN --what-if CHANGE` predicts how long a step would be after a change. The truth is a second run, made with that
change:

- **Generated**: `dprof-synth` executes the same job with the same seed and one parameter changed ([synth.md](synth.md)). The
  noise is the same in both runs, so they differ only by the change. dprof-synth shares no code with the analyser.
- **Real**: `dprof-trainer` runs on this machine alternately without and with the change. The trainer measures the length of its
  steps: the mean without the shortest and the longest twentieth (a plain mean if the fault is rare). The cores that other
  programs used meanwhile are listed, and are part of the error: above 0.3 of a core, a step varies by more than the predicted
  change, and the pair proves little.

**Error** = |predicted − true step| / true step. **Bound**: dprof's own 95 % interval (±). **Not answered**: dprof reports that
the recording cannot answer the question, or that the replay is refused. Such cases are not in the errors; they are listed with
the reason.
"""


def percent(value):
    return f"{100 * value:.1f} %"


def table(header, rows, right=()):
    rule = ["--:" if i in right else "---" for i in range(len(header))]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in [header, rule, *rows]) + "\n"


def about_line(about):
    return (f"Run on {about['date']} at commit {about['commit']}; {about['machine']}; load {about['load']} at the end.\n\n"
            if about else "")


def totals(lines, part):
    figures = summary(lines)
    return table(("", "rate (of)", "target"), [(WORDS[key], figures[key], TARGETS[part].get(key, "")) for key in WORDS
                                               if figures[key].n])


def by(lines, key, title):
    rows = []
    for value in sorted({key(line) for line in lines}):
        figures = summary([line for line in lines if key(line) == value])
        rows.append((value, *(figures[name] for name in ("answered", "median_error", "p90_error", "bound_holds",
                                                         "prices_within_15"))))
    return table((title, "answered", "median error", "P90", "bound holds", "costs within 15 %"), rows, range(1, 6))


def subject(line):
    """rank:3*0.8 to rank:R*F."""
    text = re.sub(r"^(rank|host|kernel|op|phase):.*(=peers|\*)[0-9.]*$", r"\1:…\2", line["change"])
    return re.sub(r"(bucket_cap)=.*", r"\1=…", text)


def misses(lines):
    texts = sorted(f"- `{one.line['id']}` ({one.line['change']}): {one.reason()}" for one in map(Judged, lines) if one.reason())
    return "\n".join(wrapped(text) for text in texts) + "\n" if texts else "None.\n"


def wrapped(text, width=124):
    words, rows = text.split(" "), [""]
    for word in words:
        if len(rows[-1]) + len(word) > width:
            rows.append(" ")
        rows[-1] += (" " if rows[-1].strip() else "") + word if rows[-1] != " " else " " + word
    return "\n".join(rows)


def refusals(lines):
    reasons = {}
    for line in lines:
        if line.get("refused"):
            reason = re.sub(r"^[^ ]*[=*][^ ]*: ", "", line["refused"])
            reasons.setdefault(re.sub(r"[0-9]+(\.[0-9]+)?", "N", reason), []).append(line["id"])
    rows = [(reason, len(ids), ", ".join(f"`{one}`" for one in ids[:2]) + (", …" if len(ids) > 2 else ""))
            for reason, ids in sorted(reasons.items(), key=lambda item: -len(item[1]))]
    return table(("why", "questions", "examples"), rows, (1,)) if rows else "None.\n"


def every(lines):
    rows = []
    for one in map(Judged, lines):
        line = one.line
        ms = {key: f"{line[key] / 1e6:.2f}" for key in ("base_ns", "then_ns", "step_ns", "bound_ns")
              if line.get(key) is not None}
        figures = (ms["step_ns"], "± " + ms["bound_ns"], ms["then_ns"], percent(one.error)) if one.answered else \
            ("–", "", ms.get("then_ns", "–"), "not answered" if not one.failed else "failed")
        more = (line["foreign_cores"],) if "foreign_cores" in line else ()
        name = line["id"] if line["part"] == "real" else line["id"].split(": ")[0]
        rows.append((name, f"`{line['change']}`", ms.get("base_ns", "–"), *figures, *more))
    header = ("run", "change", "step ms", "predicted", "bound", "true", "error")
    if any("foreign_cores" in line for line in lines):
        header += ("cores of others",)
    return table(header, rows, range(2, len(header)))


def page(generated, real):
    parts = [HEAD]
    lines, about = generated
    parts.append("\n## Generated runs\n\n")
    if lines:
        parts += [about_line(about), totals(lines, "generated"), "\n### By technique\n\n",
                  by(lines, lambda line: line["technique"], "technique"), "\n### By change\n\n", by(lines, subject, "change"),
                  "\n### Not answered\n\n", refusals(lines), "\n### Every miss\n\n",
                  "Off by more than 5 %, outside the bound, a culprit's cost more than 15 % off, or a predicted gain where "
                  "there is none.\n\n",
                  misses(lines)]
    else:
        parts.append("Not run yet.\n")
    real_lines, about = real
    parts.append("\n## Real runs\n\n")
    if real_lines:
        loud = sum(line.get("foreign_cores", 0) > QUIET for line in real_lines)
        beside = f"{len(real_lines)} pairs; during {loud} of them other programs used more than {QUIET} cores.\n\n"
        parts += [about_line(about), beside, totals(real_lines, "real"), "\n### By pair\n\n",
                  by(real_lines, lambda line: line["kind"], "pair"), "\n### Not answered\n\n", refusals(real_lines),
                  "\n### Every miss\n\n", "Off by more than 10 %, or a predicted gain where there is none.\n\n",
                  misses(real_lines),
                  "\n### Every case\n\n", every(real_lines)]
    else:
        parts.append("Not run yet.\n")
    if lines:
        parts += ["\n## Every generated case\n\n", every(lines)]
    return "".join(parts)
