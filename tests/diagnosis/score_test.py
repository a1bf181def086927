#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scoreboard's own rules, on lines whose judgement is plain."""
import unittest

import healthy
from page import page
from score import FLOOR, FULL, Judged, Rate, at_least, false_alarms, from_impact, summary, wilson


def expected(ranks, causes=("compute",), shape="persistent", cost_ns=10_000_000, host=None):
    return {"ranks": ranks, "host": host, "causes": list(causes), "shape": shape, "cost_ns": cost_ns}


def straggler(rank, cause="compute", shape="persistent", cost_ns=10_000_000, host="", host_ranks=()):
    return {"rank": rank, "cause": cause, "shape": shape, "cost_ns": cost_ns, "host": host, "host_ranks": list(host_ranks)}


def line(culprits=(), named=(), impact=0.1, **more):
    return {"id": "a/10%/0", "part": "synthetic", "kind": "a", "size": impact if culprits else 0,
            "impact": impact if culprits else 0, "expected": list(culprits),
            "stragglers": list(named) if named is not None else None, "finding": None, "step_ns": 100_000_000,
            "spec": {"ranks": 4, "hosts": 1}, **more}


def judged(*args, **more):
    return Judged(line(*args, **more))


class Verdicts(unittest.TestCase):
    def counts(self, run):
        return len(run.found), len(run.false), len(run.missed)

    def test_the_right_rank_is_found(self):
        run = judged([expected([1])], [straggler(1)])
        self.assertEqual(self.counts(run), (1, 0, 0))
        self.assertEqual(run.reason(), "")

    def test_another_rank_is_false_and_the_culprit_missed(self):
        run = judged([expected([1])], [straggler(2)])
        self.assertEqual(self.counts(run), (0, 1, 1))
        self.assertIn("rank 2", run.reason())

    def test_a_second_name_beside_the_right_one_is_false(self):
        self.assertEqual(self.counts(judged([expected([1])], [straggler(1), straggler(3)])), (1, 1, 0))

    def test_the_same_culprit_twice_is_found_once(self):
        self.assertEqual(self.counts(judged([expected([1])], [straggler(1), straggler(1, "host")])), (1, 0, 0))

    def test_two_culprits_are_two(self):
        both = [expected([1]), expected([2], ["dataloader"])]
        self.assertEqual(self.counts(judged(both, [straggler(2), straggler(1)])), (2, 0, 0))
        self.assertEqual(self.counts(judged(both, [straggler(2)])), (1, 0, 1))

    def test_a_rotating_delay_is_nobodys(self):
        of_all = [expected([], shape="rotating")]
        self.assertEqual(self.counts(judged(of_all, [straggler(None, shape="rotating")])), (1, 0, 0))
        self.assertEqual(self.counts(judged(of_all, [straggler(2)])), (0, 1, 1))
        self.assertEqual(self.counts(judged([expected([1])], [straggler(None, shape="rotating")])), (0, 1, 1))

    def test_a_host_is_named_by_its_name_or_its_ranks(self):
        of_host = [expected([2, 3], host="node-1")]
        self.assertEqual(self.counts(judged(of_host, [straggler(2, host="node-1", host_ranks=[2, 3])])), (1, 0, 0))
        self.assertEqual(self.counts(judged(of_host, [straggler(3)])), (1, 0, 0))
        self.assertEqual(self.counts(judged(of_host, [straggler(0, host="node-0", host_ranks=[0, 1])])), (0, 1, 1))

    def test_a_slow_link_names_its_host(self):
        of_host = [expected([2, 3], ["network"], host="node-1")]
        right = judged(of_host, slow_links={"suspects": ["node-1"], "ranks": [0, 2]})
        self.assertEqual((self.counts(right), right.causes), ((1, 0, 0), [True]))
        self.assertEqual(self.counts(judged(of_host, slow_links={"suspects": ["node-0"], "ranks": [0, 1]})), (0, 1, 1))
        self.assertEqual(self.counts(judged(of_host, slow_links={"suspects": [], "ranks": [1, 2]})), (1, 0, 0))

    def test_a_network_that_cannot_be_located_is_right_and_a_rank_for_it_is_not(self):
        of_host = [expected([2, 3], ["network"], host="node-1")]
        self.assertEqual(self.counts(judged(of_host, [straggler(None, "network")])), (1, 0, 0))
        self.assertEqual(self.counts(judged(of_host, [straggler(0, "network")])), (0, 1, 1))
        self.assertEqual(self.counts(judged([expected([1])], [straggler(None, "network")])), (0, 1, 1))

    def test_a_healthy_run_names_nobody(self):
        self.assertEqual(self.counts(judged()), (0, 0, 0))
        self.assertEqual(self.counts(judged(named=[straggler(0)])), (0, 1, 0))
        rate = false_alarms([judged(), judged(named=[straggler(None, shape="rotating")])])
        self.assertEqual((rate.right, rate.n), (1, 2))

    def test_ranks_that_were_not_compared_are_a_miss_and_say_so(self):
        run = judged([expected([1])], None, unknown="stragglers: no meetings")
        self.assertEqual(self.counts(run), (0, 0, 1))
        self.assertIn("no meetings", run.reason())

    def test_silence_without_a_reason_is_listed(self):
        self.assertIn("nothing says why", judged(named=None).reason())
        self.assertEqual(judged(named=None, unknown="stragglers: one rank").reason(), "")

    def test_a_crash_is_a_miss(self):
        run = Judged({"id": "a", "kind": "a", "crashed": "exit code -6"})
        self.assertIn("-6", run.reason())

    def test_silence_below_ten_percent_is_no_miss_to_explain(self):
        self.assertEqual(judged([expected([1])], impact=0.05).reason(), "")
        self.assertIn("does not name rank 1", judged([expected([1])], impact=FULL).reason())


class Figures(unittest.TestCase):
    def test_causes_and_costs_are_of_those_found(self):
        run = judged([expected([1])], [straggler(1, "host", cost_ns=12_000_000)])
        self.assertEqual(run.causes, [False])
        self.assertAlmostEqual(run.cost_errors[0], 0.2)
        self.assertIn("host instead of compute", run.reason())

    def test_a_cost_is_judged_where_the_truth_is_sharp(self):
        def errors(ns):
            return judged([expected([1]) | {"cost_error_ns": ns}], [straggler(1, cost_ns=12_000_000)]).cost_errors

        self.assertEqual(len(errors(700_000)), 1)
        self.assertEqual(errors(800_000), [])  # 1.96 * 0.8 of 10 ms: more than 15 %

    def test_the_first_finding_has_rank_and_cause(self):
        def first(ranks, cause):
            return judged([expected([1])], finding={"ranks": ranks, "cause": cause}).first_is_right
        self.assertTrue(first([1], "compute"))
        self.assertTrue(first([], "compute"))
        self.assertFalse(first([2], "compute"))
        self.assertFalse(first([1], "host"))
        self.assertFalse(judged([expected([1])]).first_is_right)
        self.assertIsNone(judged().first_is_right)

    def test_another_first_finding_is_worth_it_if_following_it_gains_more(self):
        def worth(gain_ns, ranks=()):
            finding = {"ranks": list(ranks), "cause": "network", "gain_ns": gain_ns}
            return judged([expected([1], cost_ns=10_000_000)], finding=finding).first_is_worth_it
        self.assertTrue(worth(11_000_000))
        self.assertFalse(worth(9_000_000))
        self.assertFalse(worth(None))
        self.assertTrue(judged([expected([1])], finding={"ranks": [1], "cause": "compute"}).first_is_worth_it)
        self.assertIsNone(judged().first_is_worth_it)

    def test_precision_counts_healthy_runs_too(self):
        runs = [judged([expected([1])], [straggler(1)]), judged(named=[straggler(0)])]
        score = from_impact(runs, FLOOR)
        self.assertEqual((score.precision.right, score.precision.n), (1, 2))
        self.assertEqual((score.recall.right, score.recall.n), (1, 1))
        self.assertEqual(summary(runs)["precision_10"].n, 2)

    def test_runs_count_by_what_they_cost(self):
        runs = [judged([expected([1])], impact=impact) for impact in (0.01, 0.0299, 0.03, 0.0999, 0.1, 0.3)]
        self.assertEqual([len(at_least(runs, impact)) for impact in (FLOOR, FULL)], [4, 2])

    def test_a_false_verdict_counts_however_small_the_fault(self):
        runs = [judged([expected([1])], [straggler(1)], impact=0.2), judged([expected([1])], [straggler(2)], impact=0.02),
                judged([expected([1])], [straggler(1)], impact=0.02)]
        for impact in (FLOOR, FULL):
            score = from_impact(runs, impact)
            self.assertEqual((score.precision.right, score.precision.n, score.recall.n), (1, 2, 1))

    def test_of_several_culprits_those_are_due_that_cost_as_much_alone(self):
        both = [expected([1]) | {"alone_ns": 12_000_000}, expected([2]) | {"alone_ns": 4_000_000}]
        silent, one = judged(both, impact=0.15), judged(both, [straggler(2)], impact=0.15)
        self.assertEqual(silent.reason(), "does not name rank 1")
        for run, full, floor in ((silent, (0, 1), (0, 2)), (one, (0, 1), (1, 2))):
            recalls = [from_impact([run], limit).recall for limit in (FULL, FLOOR)]
            self.assertEqual([(recall.right, recall.n) for recall in recalls], [full, floor])
        self.assertEqual(from_impact([one], FULL).precision.n, 1)

    def test_wilson(self):
        low, high = wilson(0, 200)
        self.assertEqual(low, 0)
        self.assertAlmostEqual(high, 0.0188, places=3)
        low, high = wilson(95, 100)
        self.assertAlmostEqual(low, 0.888, places=3)
        self.assertAlmostEqual(high, 0.978, places=3)
        self.assertEqual(wilson(0, 0), (0, 1))
        self.assertEqual(str(Rate(0, 0)), "–")


class Healthy(unittest.TestCase):
    COUNTERS = {0: {"ran_ns": 10e9, "waited_for_core_ns": 1e9, "faults": 20_000, "kernel_ns": 1e9},
                1: {"ran_ns": 10.7e9, "waited_for_core_ns": 1e9, "faults": 70_000, "kernel_ns": 1.7e9},
                2: {"ran_ns": 10e9, "waited_for_core_ns": 2e9, "faults": 20_000, "kernel_ns": 1e9}}

    def shows(self, rank, cause, cost_ms):
        return healthy.shows({"rank": rank, "cause": cause, "cost_ns": cost_ms * 1e6}, self.COUNTERS, 100)

    def test_the_counter_of_the_cause_has_to_differ_by_half_of_the_cost(self):
        self.assertTrue(self.shows(1, "allocator", 14))
        self.assertFalse(self.shows(1, "allocator", 15))
        self.assertTrue(self.shows(1, "compute", 14))
        self.assertFalse(self.shows(1, "cpu_contention", 14))
        self.assertTrue(self.shows(2, "cpu_contention", 20))
        self.assertFalse(self.shows(2, "allocator", 1))
        self.assertFalse(self.shows(1, "host", 1), "no counter is about it")
        self.assertFalse(self.shows(7, "compute", 1), "not read")

    def test_who_is_shown_is_no_false_alarm(self):
        named = line([], [straggler(1)]) | {"shown": [1]}
        self.assertEqual(false_alarms([Judged(named), Judged(line([], [straggler(2)]) | {"shown": [1]})]).right, 1)
        self.assertEqual(Judged(named).reason(), "")


class Page(unittest.TestCase):
    def test_it_lists_each_miss_and_keeps_the_halves_apart(self):
        text = page(([line([expected([1])], [straggler(2)])], {"minutes": 5}), ([], {}), ([], {}))
        self.assertIn("`a/10%/0` (10 %): names rank 2", text)
        self.assertIn("## Harder synthetic runs\n\nNot run yet.", text)
        self.assertIn("## Real runs\n\nNot run yet.", text)


if __name__ == "__main__":
    unittest.main()
