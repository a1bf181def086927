# SPDX-License-Identifier: Apache-2.0
"""Each strategy of the trainer has a signature in `dprof report`: its collectives, its messages, its phases."""
import support
from support import EndToEnd

STEPS = 12


class Signatures(EndToEnd):
    programs = (support.DPROF, support.TRAINER)

    def signature(self, *arguments, ranks=2):
        self.record_trainer("--steps", STEPS, *arguments, ranks=ranks)
        report = self.report()
        self.assertEqual(report["run"]["steps"]["count"], STEPS, arguments)
        return report

    def per_step(self, report):
        """How often a rank calls each function in a steady step."""
        counts = {}
        for entry in report["collectives"]:
            counts[entry["function"]] = counts.get(entry["function"], 0) + (entry["per_step"] or 0)
        return {function: count for function, count in counts.items() if count}

    def messages(self, report):
        return {(entry["from"], entry["to"]): entry["n"] for entry in report["point_to_point"]}

    def phases(self, report, rank=0):
        return {phase["name"]: entry["per_step"] for phase in report["phases"] for entry in phase["per_rank"]
                if entry["rank"] == rank}

    def test_single(self):
        report = self.signature("--strategy", "single", ranks=1)
        self.assertEqual(report["collectives"], [])
        self.assertEqual(report["point_to_point"], [])

    def test_ddp(self):
        report = self.signature("--strategy", "ddp")
        self.assertEqual(self.per_step(report), {"all_reduce": 1})
        self.assertEqual([entry["bytes"] for entry in report["collectives"] if entry["per_step"]],
                         [support.CONVNET_GRADIENT_BYTES])

    def test_accumulation_with_no_sync(self):
        report = self.signature("--accumulate", 4)
        self.assertEqual(self.per_step(report), {"all_reduce": 1})
        self.assertEqual(self.phases(report)["micro_step"], 4)

    def test_accumulation_without_no_sync(self):
        report = self.signature("--accumulate", 4, "--no-sync", "off")
        self.assertEqual(self.per_step(report), {"all_reduce": 4})
        self.assertEqual(self.phases(report)["micro_step"], 4)

    def test_data_parallel_is_one_process(self):
        report = self.signature("--strategy", "dp", ranks=1)
        self.assertEqual(report["run"]["ranks"], 1)
        self.assertEqual(report["collectives"], [])
        phases = self.phases(report)
        self.assertEqual((phases["replicate"], phases["gather"]), (1, 1))

    def test_zero1(self):
        self.assertEqual(self.per_step(self.signature("--strategy", "zero1")), {"all_reduce": 1, "broadcast": 8})

    def test_zero2(self):
        self.assertEqual(self.per_step(self.signature("--strategy", "zero2")), {"reduce_scatter": 1, "all_gather": 1})

    def test_zero3(self):
        """Each of the four blocks is gathered for forward and for backward, but for the last, which is still there."""
        counts = self.per_step(self.signature("--strategy", "zero3"))
        self.assertEqual(counts["reduce_scatter"], 4)
        self.assertIn(counts["all_gather"], (7, 8))

    def test_parameter_server_is_a_star(self):
        messages = self.messages(self.signature("--strategy", "parameter-server", ranks=3))
        self.assertEqual(set(messages), {(0, 2), (1, 2), (2, 0), (2, 1)})
        for count in messages.values():
            self.assertGreaterEqual(count, STEPS)

    def test_pipeline_is_a_chain(self):
        report = self.signature("--strategy", "model-parallel", "--micro-batches", 4, ranks=3)
        messages = self.messages(report)
        self.assertEqual(set(messages), {(0, 1), (1, 2), (1, 0), (2, 1)})
        self.assertEqual(self.phases(report, 1)["stage_forward"], 4)
        self.assertEqual(self.phases(report, 1)["stage_backward"], 4)
