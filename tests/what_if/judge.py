# SPDX-License-Identifier: Apache-2.0
"""Judges answers to what-if questions: the same rules for generated and for real runs.

A line has `base_ns` and `then_ns` (a true step before and after the change), and of dprof's answer `step_ns`, `gain_ns`,
`bound_ns`, or `refused`; `nothing`: the change is to be found to gain nothing; `price`: what the report says that a culprit
costs, and what it costs.
"""
import statistics

CLEAR = 0.03    # of a step: a predicted gain from which its sign has to be right
NOTHING = 0.005  # of a step: what a change that does nothing may promise
SHARE = 0.15    # of a culprit's true cost


class Figure:
    """right of n, or a value by itself."""

    def __init__(self, value, n, right=None):
        self.value, self.n, self.right = value if n else 0.0, n, right

    def __str__(self):
        if not self.n:
            return "–"
        of = f"{self.right}/{self.n}" if self.right is not None else f"of {self.n}"
        return f"{100 * self.value:.1f} % ({of})"


def rate(checks):
    checks = list(checks)
    return Figure(sum(checks) / len(checks) if checks else 0, len(checks), sum(checks))


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


class Judged:
    def __init__(self, line):
        self.line = line
        self.failed = line.get("failed")
        self.answered = not self.failed and line.get("step_ns") is not None

    @property
    def true_gain(self):
        return (self.line["base_ns"] - self.line["then_ns"]) / self.line["base_ns"]

    @property
    def predicted_gain(self):
        return self.line["gain_ns"] / (self.line["step_ns"] + self.line["gain_ns"])

    @property
    def error(self):
        """Of the predicted step."""
        return abs(self.line["step_ns"] - self.line["then_ns"]) / self.line["then_ns"]

    @property
    def bound_holds(self):
        return abs(self.line["step_ns"] - self.line["then_ns"]) <= self.line["bound_ns"]

    @property
    def sign_right(self):
        """None where no clear gain is predicted."""
        return self.true_gain > 0 if self.predicted_gain > CLEAR else None

    @property
    def price_right(self):
        """None where nobody is named, or there is no single price."""
        price = self.line.get("price")
        if self.failed or not price or price["told_ns"] is None:
            return None
        return abs(price["told_ns"] - price["true_ns"]) <= SHARE * abs(price["true_ns"])

    def words(self):
        if self.failed:
            return f"failed: {self.failed}"
        if not self.answered:
            return f"not answered: {self.line['refused']}"
        ms = [self.line[key] / 1e6 for key in ("base_ns", "step_ns", "bound_ns", "then_ns")]
        return f"{ms[0]:.1f} ms, predicted {ms[1]:.1f} ± {ms[2]:.1f} ms, true {ms[3]:.1f} ms"

    def reason(self):
        """Why it counts as a miss; "" = it is right."""
        if self.failed:
            return self.words()
        reasons = []
        if self.answered:
            if self.error > (0.05 if self.line["part"] == "generated" else 0.1):
                reasons.append(f"off by {100 * self.error:.1f} %")
            if not self.bound_holds and self.line["part"] == "generated":
                reasons.append("outside its bound")
            if self.sign_right is False:
                reasons.append("predicts a gain where there is none")
            if self.line.get("nothing") and abs(self.predicted_gain) > NOTHING:
                reasons.append(f"predicts {100 * self.predicted_gain:.1f} % of a change that does nothing")
        if self.price_right is False:
            price = self.line["price"]
            reasons.append(f"cost {price['told_ns'] / 1e6:.2f} ms instead of {price['true_ns'] / 1e6:.2f}")
        return f"{self.words()}: {'; '.join(reasons)}" if reasons else ""


# Whether more is better. What a level is recorded of.
LEVELS = {"answered": True, "median_error": False, "p90_error": False, "bound_holds": True, "sign_right": True,
          "prices_within_15": True, "nothing_promised": True}


def summary(lines):
    judged = [Judged(line) for line in lines]
    answers = [one for one in judged if one.answered]
    errors = [one.error for one in answers]
    return {
        "answered": rate(one.answered for one in judged),
        "median_error": Figure(statistics.median(errors) if errors else 0, len(errors)),
        "p90_error": Figure(percentile(errors, 0.9), len(errors)),
        "bound_holds": rate(one.bound_holds for one in answers),
        "sign_right": rate(one.sign_right for one in answers if one.sign_right is not None),
        "prices_within_15": rate(one.price_right for one in judged if one.price_right is not None),
        "nothing_promised": rate(abs(one.predicted_gain) <= NOTHING for one in answers if one.line.get("nothing")),
    }
