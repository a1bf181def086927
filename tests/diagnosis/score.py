# SPDX-License-Identifier: Apache-2.0
"""Judges the scoreboard's runs: the same rules for generated and for real ones. Reads lines of JSON, reckons rates.

A line has `part` (synthetic or real), `kind`, `size` (asked for), `impact` (truth: what the faults cost, of a step), `expected`
(culprits: ranks, host, causes, shape, cost_ns), `stragglers` and `slow_links` (what the report names), `finding` (its first
one), `shown` (of a healthy run: ranks whose verdict counters confirm that are not dprof's).
"""
import collections
import math
import statistics

FULL, FLOOR = 0.10, 0.03     # impacts from which recall, and from which precision, is promised
SHARP = 0.15                 # of a true cost: half of its 95 % interval at most, where it was measured
ANY_RANK = "rotating"        # a shape that names no rank
Verdict = collections.namedtuple("Verdict", "ranks host cause shape cost_ns")


class Judged:
    """One run: what was right, what was missed, and why."""

    def __init__(self, line):
        self.line = line
        self.kind, self.impact, self.size = line["kind"], line.get("impact", 0), line.get("size", 0)
        self.failed = line.get("failed") or line.get("crashed")
        self.healthy = not line.get("expected")
        self.named = [] if self.failed else named_in(line)
        self.found, self.false, self.missed = [], [], []  # pairs (expected, verdict), verdicts, expected
        self.shown = []  # verdicts against ranks at whom nothing was injected, and truly so
        self.match()

    def match(self):
        left = list(self.named)
        for expected in self.line.get("expected", []):
            hit = next((verdict for verdict in left if is_culprit(verdict, expected)), None)
            if hit is None:
                self.missed.append(expected)
                continue
            self.found.append((expected, hit))
            # A culprit may be named again, with another of its ranks or another of its faults.
            left = [verdict for verdict in left if not is_culprit(verdict, expected)]
        shown = set(self.line.get("shown") or ())  # by counters that are not dprof's: healthy.py
        self.shown = [verdict for verdict in left if verdict.ranks and set(verdict.ranks) <= shown]
        self.false = [verdict for verdict in left if verdict not in self.shown]

    def worth(self, expected):
        """What a culprit costs, of the step: of several in a harder run, each by itself, since they can hide each other."""
        if "alone_ns" not in expected:
            return self.impact
        return expected["alone_ns"] / max(1, self.line["step_ns"])

    @property
    def causes(self):
        """Of each culprit that was found, whether its cause is right; of a fault that is a shape, with any cause, nothing."""
        return [verdict.cause in expected["causes"] for expected, verdict in self.found if expected["causes"]]

    @property
    def shapes(self):
        return [verdict.shape == expected["shape"] for expected, verdict in self.found if verdict.shape]

    @property
    def cost_errors(self):
        """|found - true| / true of the culprit, where there is one, and the truth is sharp enough to judge by (SHARP). Two that
        hide each other have no price of their own."""
        errors = []
        if len(self.line.get("expected", [])) != 1:
            return errors
        for expected, verdict in self.found:
            sharp = 1.96 * expected.get("cost_error_ns", 0) <= SHARP * abs(expected["cost_ns"])
            if expected["cost_ns"] and verdict.cost_ns is not None and sharp:
                errors.append(abs(verdict.cost_ns - expected["cost_ns"]) / expected["cost_ns"])
        return errors

    @property
    def first_is_right(self):
        """The report's first finding is about a culprit and has its cause. None: not a run with one fault."""
        expected = self.line.get("expected", [])
        if len(expected) != 1 or self.failed:
            return None
        finding = self.line.get("finding")
        if not finding:
            return False
        ranks = set(finding["ranks"])
        about = not expected[0]["ranks"] or not ranks or bool(ranks & set(expected[0]["ranks"]))
        return about and (not expected[0]["causes"] or finding["cause"] in expected[0]["causes"])

    @property
    def first_is_worth_it(self):
        """Or what it advises truly gains more than the culprit costs."""
        right = self.first_is_right
        gain = (self.line.get("finding") or {}).get("gain_ns")
        return right if right is not False or gain is None else gain > self.line["expected"][0]["cost_ns"]

    def reason(self):
        """Why it counts as a miss, in words; "" = all of it is right."""
        if self.failed:
            return f"no report: {self.failed}"
        parts = []
        if self.line.get("stragglers") is None and not self.line.get("unknown"):
            parts.append("ranks were not compared, and nothing says why")
        for verdict in self.false:
            parts.append(f"names {words_of(verdict)}" + (", and nobody is at fault" if self.healthy else ", the wrong one"))
        for expected in [one for one in self.missed if self.worth(one) >= FULL]:
            parts.append(f"does not name {who(expected)}" + self.why_silent())
        for expected, verdict in self.found:
            if expected["causes"] and verdict.cause not in expected["causes"]:
                parts.append(f"{who(expected)}: {verdict.cause} instead of {' or '.join(expected['causes'])}")
        return "; ".join(parts)

    def why_silent(self):
        if self.line.get("stragglers") is None:
            return f" (ranks were not compared: {self.line.get('unknown')})"
        floor, step = self.line.get("floor_ns"), self.line.get("step_ns")
        if floor and step and floor > self.impact * step:
            return f" (its floor is {100 * floor / step:.0f} % of a step)"
        return ""


def named_in(line):
    """Whom the report names, whatever section says so."""
    verdicts = []
    for s in line.get("stragglers") or []:
        ranks = [] if s["rank"] is None else [s["rank"]] + list(s.get("host_ranks") or [])
        verdicts.append(Verdict(sorted(set(ranks)), s.get("host") or "", s["cause"], s["shape"], s["cost_ns"]))
    links = line.get("slow_links")
    if links and links["suspects"]:
        for suspect in links["suspects"]:
            verdicts.append(Verdict(sorted(links["ranks"]), suspect, "network", "", None))
    elif links:
        verdicts.append(Verdict(sorted(links["ranks"]), "", "network", "", None))
    return verdicts


def is_culprit(verdict, expected):
    """Rank in the culprit set; a host by its name; no rank where it is nobody's in particular."""
    if verdict.cause == "network" and not verdict.ranks and not verdict.host:
        return "network" in expected["causes"]  # every collective passes every link: nobody can say which
    if expected["shape"] == ANY_RANK or not expected["ranks"]:
        return not verdict.ranks or verdict.shape == ANY_RANK
    if expected.get("host") and verdict.host:
        return verdict.host == expected["host"] or expected["host"] in verdict.host
    if verdict.cost_ns is None and not verdict.host:  # slow links say "within these ranks"
        return bool(set(verdict.ranks) & set(expected["ranks"]))
    return bool(verdict.ranks) and set(verdict.ranks) <= set(expected["ranks"])  # every named rank has to be guilty


def who(expected):
    if expected.get("host"):
        return expected["host"]
    return "rank " + ", ".join(map(str, expected["ranks"])) if expected["ranks"] else "the rotating delay"


def words_of(verdict):
    whom = verdict.host or ("rank " + ", ".join(map(str, verdict.ranks)) if verdict.ranks else "no rank")
    return f"{whom} ({verdict.cause}{', ' + verdict.shape if verdict.shape else ''})"


def wilson(right, n, z=1.96):
    """The interval of a rate; (0, 1) of nothing."""
    if n == 0:
        return 0.0, 1.0
    p = right / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, middle - half), min(1.0, middle + half)


class Rate:
    def __init__(self, right, n):
        self.right, self.n = right, n

    @property
    def value(self):
        return self.right / self.n if self.n else None

    def __str__(self):
        if not self.n:
            return "–"
        low, high = wilson(self.right, self.n)
        return f"{self.value:.3f} ({self.right}/{self.n}, {low:.2f} to {high:.2f})"


class Score:
    """Rates over a set of runs. Of `others` (healthy ones, and such with smaller faults) only the false verdicts count.
    Culprits that cost less than `least` by themselves do not have to be found."""

    def __init__(self, runs, others=(), least=0):
        faults = [run for run in runs if not run.healthy]
        found = sum(len(run.found) for run in faults)
        false = sum(len(run.false) for run in [*faults, *others])
        self.runs, self.n = runs, len(faults)
        self.precision = Rate(found, found + false)
        due = [sum(run.worth(expected) >= least for expected, _ in run.found) for run in faults]
        owed = [sum(run.worth(expected) >= least for expected in run.missed) for run in faults]
        self.recall = Rate(sum(due), sum(due) + sum(owed))
        causes = [right for run in faults for right in run.causes]
        self.cause = Rate(sum(causes), len(causes))
        shapes = [right for run in faults for right in run.shapes]
        self.shape = Rate(sum(shapes), len(shapes))
        errors = [error for run in faults for error in run.cost_errors]
        self.cost_error = statistics.median(errors) if errors else None
        self.cost_within = Rate(sum(error <= 0.15 for error in errors), len(errors))
        firsts = [run.first_is_right for run in faults if run.first_is_right is not None]
        self.first = Rate(sum(firsts), len(firsts))
        worth = [run.first_is_worth_it for run in faults if run.first_is_worth_it is not None]
        self.first_worth = Rate(sum(worth), len(worth))


def at_least(runs, impact):
    """Fault runs that really cost that share of a step; one is settled only to a tenth of what was asked for."""
    return [run for run in runs if not run.healthy and run.impact >= impact]


def from_impact(runs, impact, healthy=True):
    """The score of those at_least that impact, with the false verdicts of all others, or of all others with faults."""
    counted = at_least(runs, impact)
    return Score(counted, [run for run in runs if run not in counted and (healthy or not run.healthy)], impact)


def false_alarms(runs):
    healthy = [run for run in runs if run.healthy and not run.failed]
    return Rate(sum(bool(run.false) for run in healthy), len(healthy))


def summary(runs):
    """The figures that a level is recorded of, and that the targets are about."""
    full, floor = from_impact(runs, FULL), from_impact(runs, FLOOR)
    return {"runs": len(runs), "failed": sum(bool(run.failed) for run in runs), "precision_10": full.precision,
            "recall_10": full.recall, "precision_3": floor.precision, "recall_3": floor.recall, "cause_10": full.cause,
            "cause_3": floor.cause, "shape_10": full.shape, "cost_within_15_10": full.cost_within,
            "first_finding_3": floor.first, "first_worth_3": floor.first_worth,
            "cost_within_15_3": floor.cost_within, "false_alarms": false_alarms(runs)}
