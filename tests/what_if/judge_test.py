#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of scripts/what-if, on lines whose judgement is plain."""
import unittest

import cases
from judge import Judged, percentile, summary
from page import page


def line(base=100, then=80, predicted=81, bound=2, part="generated", **more):
    return {"id": "a/ddp/cpu/0: input=0", "part": part, "technique": "ddp", "kind": "a", "change": "input=0",
            "base_ns": base * 10**6, "then_ns": then * 10**6, "step_ns": predicted * 10**6,
            "gain_ns": (base - predicted) * 10**6,
            "bound_ns": bound * 10**6, **more}


class Rules(unittest.TestCase):
    def test_an_error_is_of_the_predicted_step(self):
        self.assertAlmostEqual(Judged(line(then=80, predicted=81)).error, 1 / 80)

    def test_a_bound_holds_the_truth_or_not(self):
        self.assertTrue(Judged(line(then=80, predicted=81, bound=2)).bound_holds)
        narrow = Judged(line(then=80, predicted=83, bound=2))
        self.assertFalse(narrow.bound_holds)
        self.assertIn("outside its bound", narrow.reason())

    def test_a_sign_counts_where_a_gain_is_clear(self):
        self.assertIsNone(Judged(line(predicted=98)).sign_right)
        self.assertTrue(Judged(line(then=99, predicted=90)).sign_right)
        self.assertFalse(Judged(line(then=101, predicted=90)).sign_right)

    def test_what_does_nothing_may_promise_nothing(self):
        self.assertEqual(Judged(line(then=100, predicted=99.8, bound=1, nothing=True)).reason(), "")
        self.assertIn("does nothing", Judged(line(then=100, predicted=99, bound=2, nothing=True)).reason())

    def test_a_price_is_right_within_15_percent(self):
        for predicted, right in ((11, True), (12, False), (8, False), (None, None)):
            price = {"true_ns": 10 * 10**6, "told_ns": predicted and predicted * 10**6}
            self.assertIs(Judged(line(price=price)).price_right, right)

    def test_a_refusal_is_no_error_and_no_answer(self):
        refused = {key: value for key, value in line().items() if key not in ("step_ns", "gain_ns", "bound_ns")}
        figures = summary([line(), refused | {"refused": "no GPU rows"}])
        self.assertEqual((figures["answered"].right, figures["answered"].n), (1, 2))
        self.assertEqual(figures["median_error"].n, 1)
        self.assertEqual(Judged(refused | {"refused": "no GPU rows"}).reason(), "")

    def test_a_failure_is_a_miss(self):
        self.assertIn("exit code 70", Judged({"id": "a", "part": "generated", "failed": "exit code 70"}).reason())

    def test_the_90th_percentile_is_that_of_nine_in_ten(self):
        self.assertEqual(percentile(range(100), 0.9), 90)

    def test_the_page_has_each_case_and_each_miss(self):
        about = {"commit": "abc", "date": "2026-01-01", "machine": "two cores", "load": 1}
        text = page(([line(), line(predicted=90)], about), ([line(part="real", foreign_cores=0.1)], about))
        self.assertIn("off by 12.5 %", text)
        self.assertEqual(text.count("| `input=0` |"), 3)


class Cases(unittest.TestCase):
    def test_each_is_there_once_and_each_technique_has_its_own(self):
        bases = cases.all_bases(range(1))
        self.assertEqual(len({base.name for base in bases}), len(bases))
        self.assertEqual({base.technique for base in bases}, set(cases.TECHNIQUES))

    def test_a_change_leaves_the_rest_as_it_is(self):
        for base in cases.all_bases(range(1)):
            for question in base.questions:
                before, after = cases.words(base.options, base.faults), cases.changed(base, question)
                self.assertNotEqual(before, after, base.name)
                self.assertEqual(before[before.index("--seed") + 1], after[after.index("--seed") + 1])
                self.assertTrue(set(question.without) <= set(base.faults), base.name)


if __name__ == "__main__":
    unittest.main()
