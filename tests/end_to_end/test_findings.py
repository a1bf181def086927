# SPDX-License-Identifier: Apache-2.0
"""The mistakes of distributed training (docs/trainer.md, M1 to M24): the report names each, and not in the same run without it.

M11, M12, M14, M15 and M16 need a GPU: their rules are tested on traces written by hand (analyzer/rules/*_test.cpp).
"""
import json

from support import DPROF, TRAINER, EndToEnd

CONVNET = ("--model", "convnet", "--batch", 16)
SHORT = ("--steps", 12, "--samples", 640)
FAILS_SOON = ("--timeout", 5)


class Findings(EndToEnd):
    programs = (DPROF, TRAINER)

    def findings(self, name, *options, ranks=2, want=0, detail="standard"):
        """What the report of such a run finds, by rule."""
        run = self.folder / name
        self.record(TRAINER, *CONVNET, *options, ranks=ranks, run=run, want=want, options=("--detail", detail))
        done = self.command(DPROF, "report", run, "--format", "json")
        self.assertIn(done.returncode, (0, 3), done.stderr)
        (self.folder / f"{name}.json").write_text(done.stdout)
        found = {}
        for finding in json.loads(done.stdout)["findings"] or ():
            found.setdefault(finding["rule"], finding)
        return found

    def check(self, rule, mistake, ranks=None):
        """The finding is there and whole; gives it."""
        self.assertIn(rule, mistake, sorted(mistake))
        finding = mistake[rule]
        for part in ("title", "detail", "advice"):
            self.assertTrue(finding[part], finding)
        if ranks is not None:
            self.assertEqual(finding["ranks"], ranks, finding)
        return finding

    def both(self, rule, mistake, healthy=(), common=SHORT, ranks=2, **how):
        """With the mistake's options the rule fires, with the healthy ones it does not."""
        finding = self.check(rule, self.findings("mistake", *common, *mistake, ranks=ranks, **how))
        without = self.findings("healthy", *common, *healthy, ranks=ranks, **how)
        self.assertNotIn(rule, without, without.get(rule))
        return finding


class Data(Findings):
    def test_no_sampler_M1(self):
        finding = self.both("input.shards-overlap", ("--sampler", "none"))
        self.assertEqual(finding["ranks"], [0, 1])
        self.assertEqual(finding["severity"], "critical")
        self.assertTrue(finding["evidence"])

    def test_no_set_epoch_M2(self):
        finding = self.both("input.order-repeats", ("--set-epoch", "off"), common=("--samples", 128, "--epochs", 4))
        self.assertEqual(finding["ranks"], [0, 1])

    def test_uneven_shards_M4(self):
        common = ("--samples", 320, "--epochs", 1, *FAILS_SOON)
        mistake = self.findings("mistake", *common, "--uneven", "skew:1.5", want=1)
        finding = self.check("input.shards-uneven", mistake, ranks=[1])
        self.assertEqual(finding["severity"], "critical")
        healthy = self.findings("healthy", *common, "--uneven", "pad")
        joined = self.findings("joined", *common, "--uneven", "join")
        for found in (healthy, joined):
            self.assertNotIn("input.shards-uneven", found)
            self.assertNotIn("comm.hang", found)

    def test_partial_window_M20(self):
        common = ("--samples", 320, "--epochs", 2, "--accumulate", 4)
        self.both("step.partial-accumulation", ("--mistake", "partial-window"), common=common)

    def test_scaler_skips_M21(self):
        common = ("--steps", 10, "--samples", 640, "--amp", "fp16")
        self.both("amp.skipped-steps", ("--mistake", "amp-no-zero"), common=common, detail="full")


class Communication(Findings):
    def test_sync_in_each_micro_step_M3(self):
        common = ("--steps", 8, "--samples", 1280, "--accumulate", 4)
        self.both("comm.sync-each-microbatch", ("--no-sync", "off"), common=common)

    def test_no_gradient_sync_M6(self):
        self.both("comm.no-gradient-sync", ("--mistake", "no-ddp"))

    def test_needless_barrier_M7(self):
        self.both("comm.needless-barrier", ("--barrier", "step"))

    def test_barrier_of_rank_0_alone_M8(self):
        found = self.findings("mistake", *SHORT, *FAILS_SOON, "--mistake", "rank0-barrier", want=1)
        self.check("comm.hang", found)

    def test_one_server_M17(self):
        self.both("comm.server-bottleneck", ("--strategy", "parameter-server"), ranks=3)

    def test_parameter_without_gradient_M18(self):
        found = self.findings("mistake", *SHORT, *FAILS_SOON, "--mistake", "unused", want=1)
        self.check("comm.unfinished-reduction", found)
        healthy = self.findings("healthy", *SHORT, "--mistake", "unused", "--find-unused")
        self.assertNotIn("comm.unfinished-reduction", healthy)


class Layout(Findings):
    def test_data_parallel_M5(self):
        self.both("parallel.single-process", ("--strategy", "dp"), ("--strategy", "single"), ranks=1)

    def test_every_rank_writes_M19(self):
        saves = ("--checkpoint", self.folder / "saved", "--checkpoint-every", 2, "--log-every", 1)
        self.both("io.many-writers", ("--log-rank", "all", "--save-by", "all"), common=(*SHORT, *saves))

    def test_one_batch_in_flight_M22(self):
        self.both("parallel.bubble", ("--micro-batches", 1), ("--micro-batches", 8),
                  common=("--steps", 12, "--samples", 640, "--strategy", "model-parallel"))


class Start(Findings):
    """Jobs that end before they train leave a trace without steps: it shows how each process ended."""

    def fails(self, *options, want=1, ranks=2):
        return self.findings("mistake", "--steps", 4, *FAILS_SOON, *options, want=want, ranks=ranks)

    def test_double_ranks_M9(self):
        found = self.fails("--mistake", "rendezvous")
        self.assertTrue({"startup.rendezvous", "startup.failed"} & set(found), sorted(found))

    def test_second_process_group_M10(self):
        self.check("startup.failed", self.fails("--mistake", "double-init"))

    def test_nccl_on_the_cpu_M13(self):
        self.check("startup.failed", self.fails("--mistake", "nccl-cpu"))

    def test_no_ranks_M23(self):
        """The trainer refuses 0 processes with exit code 2, before anything can be recorded."""
        self.check("startup.failed", self.fails("--spawn", 0, want=2, ranks=1))

    def test_wrong_shape_M24(self):
        self.check("startup.failed", self.fails("--mistake", "shape"))
