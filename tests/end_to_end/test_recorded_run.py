# SPDX-License-Identifier: Apache-2.0
"""Two ranks of dprof-trainer on Gloo: what is in the traces, and what the report makes of it."""
import json
import os
import statistics

import support
from support import CONVNET_GRADIENT_BYTES, MS, TRAINER, EndToEnd

STEPS = 60
HEALTHY_RUNS = int(os.environ.get("DPROF_HEALTHY_RUNS", 3))
PHASES = ("input", "forward", "backward", "optimizer")
REPORT_KEYS = ("schema", "run", "recording", "clock", "breakdown", "gpu_rows", "overlap", "collectives", "stragglers",
               "hang", "memory", "replay", "findings")


class RecordedRun(EndToEnd):
    def test_traces_hold_the_run(self):
        self.record_trainer("--steps", STEPS)
        index = json.loads((self.run_folder / "run.json").read_text())
        self.assertEqual(index["schema"], "dprof.run/1")
        self.assertEqual(index["world_size"], 2)
        self.assertEqual([(t["file"], t["rank"], t["ended"]) for t in index["traces"]],
                         [("rank-00000.dprof", 0, "complete"), ("rank-00001.dprof", 1, "complete")])
        for rank in (0, 1):
            trace = self.trace(rank)
            self.check_whole(trace)
            self.assertEqual(trace.meta["rank"], str(rank))
            self.assertEqual(trace.meta["world_size"], "2")
            self.assertEqual(trace.meta["ended"], "complete")
            self.assertEqual(trace.meta["torch_source"], "on")
            self.assertEqual(trace.losses(), [])
            self.assertEqual(trace.value("SELECT count(*) FROM step"), STEPS)
            for phase in PHASES:
                self.assertEqual(len(trace.ranges_named(phase)), STEPS, phase)

    def test_collectives_are_those_of_ddp(self):
        self.record_trainer("--steps", STEPS)
        counts = []
        for rank in (0, 1):
            trace = self.trace(rank)
            reduced = trace.collectives("all_reduce")
            self.assertEqual([row[1] for row in reduced], [CONVNET_GRADIENT_BYTES] * STEPS)
            for _, _, enqueue_ns, start_ns, end_ns in reduced:
                self.assertLessEqual(enqueue_ns, start_ns)
                self.assertLess(start_ns, end_ns)
            # Parameters are compared by an all-gather and a broadcast and sent once; two broadcasts rebuild the buckets.
            self.assertEqual(len(trace.collectives("all_gather")), 1)
            self.assertEqual(len(trace.collectives("broadcast")), 4)
            roles = dict(trace.rows("SELECT id, role FROM thread_text"))
            self.assertIn("main", roles.values())
            self.assertIn("communication", roles.values())
            counts.append(trace.value("SELECT count(*) FROM collective"))
        self.assertEqual(counts[0], counts[1])

    def test_steps_are_where_the_trainer_had_them(self):
        truth = self.record_trainer("--steps", STEPS)
        for rank in (0, 1):
            trace = self.trace(rank)
            origin_ns = int(trace.meta["origin_monotonic_raw_ns"])
            steps = trace.rows("SELECT start_ns, end_ns - start_ns FROM step ORDER BY step_index")
            own = truth["ranks"][rank]
            begins = [start + origin_ns - want for (start, _), want in zip(steps, own["step_begin_monotonic_raw_ns"])]
            self.assertLess(abs(statistics.median(begins)), 0.2 * MS)
            lengths = [trace.ranges_named("step")[i][1] - own["step_ns"][i] for i in range(STEPS)]
            self.assertLess(abs(statistics.median(lengths)), 0.2 * MS)

    def test_report_keeps_its_contract(self):
        self.record_trainer("--steps", STEPS)
        report = self.report()
        self.assertEqual(report["schema"], "dprof.report/1")
        self.assertEqual(set(REPORT_KEYS) - set(report), set())
        self.assertEqual(report["run"]["ranks"], 2)
        self.assertEqual(report["run"]["hosts"], 1)
        self.assertEqual(report["run"]["world_size"], 2)
        self.assertEqual(report["run"]["steps"]["count"], STEPS)
        self.assertEqual(report["run"]["steps"]["source"], "marker")
        self.assertEqual(report["recording"]["lost"], [])
        self.assertGreater(report["recording"]["events"], STEPS * 2 * len(PHASES))
        self.check_breakdown(report, ranks=2)
        self.assertEqual([entry["rank"] for entry in report["overlap"]["per_rank"]], [0, 1])
        gradients = [c for c in report["collectives"]
                     if c["function"] == "all_reduce" and c["bytes"] == CONVNET_GRADIENT_BYTES]
        self.assertEqual(len(gradients), 1, report["collectives"])
        self.assertGreaterEqual(gradients[0]["n"], STEPS - 10)
        self.assertLessEqual(gradients[0]["n"], STEPS)
        self.assertGreater(gradients[0]["transfer_ns"], 0)

    def test_breakdown_agrees_with_the_trainer(self):
        """The wall time of the steady steps is that which the trainer measured itself."""
        truth = self.record_trainer("--steps", STEPS)
        report = self.report()
        steps = report["run"]["steps"]
        for entry in report["breakdown"]["per_rank"]:
            own = truth["ranks"][entry["rank"]]
            first, last = steps["first_steady"], steps["last_steady"]
            begin = own["step_begin_monotonic_raw_ns"][first]
            end = own["step_begin_monotonic_raw_ns"][last] + own["step_ns"][last]
            self.assertLess(abs(entry["wall_ns"] - (end - begin)), 0.01 * (end - begin))

    def test_nvtx_marks_steps_too(self):
        self.record_trainer("--steps", STEPS, "--marks", "nvtx")
        for rank in (0, 1):
            trace = self.trace(rank)
            self.assertEqual(trace.meta["nvtx_source"], "on")
            self.assertEqual(trace.value("SELECT count(*) FROM step"), STEPS)
            self.assertEqual(
                trace.value("SELECT count(*) FROM host_range_text WHERE category = 'nvtx' AND name = 'forward'"), STEPS)
        self.check_breakdown(self.report(), ranks=2)

    def test_recording_changes_no_result(self):
        """Bit-equal parameters with and without a recorder, at every level of detail."""
        self.need_trainer()
        plain = self.folder / "plain.json"
        port = str(support.free_port())
        ranks = [self.start(TRAINER, "--steps", 15, "--truth", plain, RANK=str(r), WORLD_SIZE="2", LOCAL_RANK=str(r),
                            MASTER_ADDR="127.0.0.1", MASTER_PORT=port) for r in (0, 1)]
        for process in ranks:
            self.assertEqual(process.wait(timeout=60), 0)
        want = json.loads(plain.read_text())["ranks"][0]["checksum"]
        for detail in ("light", "standard", "full"):
            truth = self.record_trainer("--steps", 15, options=("--detail", detail), run=self.folder / detail)
            self.assertEqual([rank["checksum"] for rank in truth["ranks"]], [want, want], detail)

    def test_full_detail_has_every_operator(self):
        self.record_trainer("--steps", 20, options=("--detail", "full"))
        trace = self.trace(0)
        self.assertGreaterEqual(len(trace.ranges_named("aten::max_pool2d")), 40)
        self.assertEqual(trace.losses(), [])
        self.check_breakdown(self.report(), ranks=2)

    def test_latency_bound_model(self):
        """Steps of about a millisecond with one reduction of 16 bytes."""
        self.record_trainer("--model", "toy", "--steps", 200)
        report = self.report()
        self.assertEqual(report["run"]["steps"]["count"], 200)
        self.check_breakdown(report, ranks=2)
        self.assertIn(("all_reduce", 16), [(c["function"], c["bytes"]) for c in report["collectives"]])


class Stragglers(EndToEnd):
    """Small batches: cores of a virtual machine differ by a tenth for seconds, and that is to be little beside the delay."""
    RUN = ("--steps", STEPS, "--batch", 8)

    def check_injected(self, fault, rank, causes):
        truth = self.undisturbed(lambda: self.record_trainer(*self.RUN, "--inject", fault))
        injected = truth["injected"][0]
        self.assertEqual(injected["count"], STEPS)
        report = self.report()
        self.check_breakdown(report, ranks=2)
        self.check_culprit(report, rank, injected["mean_ns"], causes)

    def test_backward_delay_is_found_where_phase_times_are_equal(self):
        self.check_injected("backward:rank=0,ms=40", 0, ("compute", "host", "mixed"))

    def test_a_small_backward_delay_names_the_rank(self):
        self.undisturbed(lambda: self.record_trainer(*self.RUN, "--inject", "backward:rank=0,ms=15"))
        self.assertEqual([s["rank"] for s in self.report()["stragglers"][:1]], [0])

    def test_compute_delay_is_found(self):
        self.check_injected("compute:rank=1,ms=40", 1, ("compute", "host", "mixed"))

    def test_loader_delay_is_found(self):
        self.check_injected("loader:rank=1,ms=40", 1, ("dataloader",))

    def test_a_wait_for_another_thread_is_no_sleep(self):
        """At the end of a step, outside of every phase: the recorder's samples of the thread show a lock, not a sleep."""
        self.check_injected("sync:rank=1,ms=40", 1, ("synchronisation",))

    def test_rank_zero_is_found_as_well(self):
        self.check_injected("loader:rank=0,ms=40", 0, ("dataloader",))

    def test_healthy_run_names_nobody(self):
        for number in range(HEALTHY_RUNS):
            self.undisturbed(lambda: self.record_trainer(*self.RUN, options=["--overwrite"]))
            self.assertEqual(self.report()["stragglers"], [], f"run {number}")
