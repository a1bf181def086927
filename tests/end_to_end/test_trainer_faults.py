# SPDX-License-Identifier: Apache-2.0
"""Each fault of dprof-trainer, done for real on two ranks: its truth, and what it leaves behind."""
import collections
import json
import pathlib
import signal
import time
import unittest

import support
from support import MS, TRAINER

STEPS = 12
TIMEOUT_S = 4
Ended = collections.namedtuple("Ended", "code output seconds")


class TrainerFaults(support.EndToEnd):
    """Two ranks, each a process of the case."""

    programs = (TRAINER,)

    def setUp(self):
        super().setUp()
        self.truth_file = self.folder / "truth.json"

    def start_ranks(self, *arguments, ranks=2, steps=STEPS, **environment):
        port = str(support.free_port())
        return [self.start(TRAINER, "--steps", steps, "--truth", self.truth_file, *arguments, RANK=str(rank),
                           LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                           **environment) for rank in range(ranks)]

    def ends(self, processes, seconds=60):
        """How each of them ended; the outputs together."""
        begin = time.monotonic()
        result = []
        for process in processes:
            output = "".join(process.communicate(timeout=seconds))
            result.append(Ended(process.returncode, output, time.monotonic() - begin))
        return result

    def truth(self):
        return json.loads(self.truth_file.read_text())

    def train(self, *faults, more=(), steps=STEPS):
        """Trains to the end with these faults; the truth by kind, and the whole."""
        arguments = [word for fault in faults for word in ("--inject", fault)]
        self.assertNotIn("never struck", self.spawned("--steps", steps, "--truth", self.truth_file, *arguments, *more))
        truth = self.truth()
        self.assertEqual(sorted(self.folder.glob("truth.json.*")), [], "whole accounts are merged and gone")
        for rank in truth["ranks"]:
            self.assertTrue(rank["ended"])
        return {fault["kind"]: fault for fault in truth["injected"]}, truth

    def checksum(self, truth):
        sums = {rank["checksum"] for rank in truth["ranks"]}
        self.assertEqual(len(sums), 1, "all ranks have the same parameters")
        return sums.pop()

    def check_delays(self, fault, count, least_ms):
        self.assertEqual(fault["count"], count, fault["kind"])
        for strike in fault["strikes"]:
            self.assertGreaterEqual(strike["duration_ns"], least_ms * MS, fault["kind"])
            self.assertGreater(strike["begin"]["realtime_ns"], strike["begin"]["monotonic_raw_ns"])
        self.assertEqual(fault["total_ns"], sum(strike["duration_ns"] for strike in fault["strikes"]))


class Delays(TrainerFaults):
    def test_each_delay_strikes_as_asked_and_changes_no_result(self):
        more = ("--checkpoint", self.folder / "saved", "--checkpoint-every", 4, "--log-every", 1, "--loss-every", 1)
        _, plain = self.train(more=more)
        by_kind, truth = self.train(
            "compute:rank=0,ms=3", "forward:rank=1,ms=4,from=2,to=8,every=2", "backward:rank=0,ms=3,step=5",
            "optimizer:rank=1,ms=2,every=3", "loader:rank=all,ms=1,to=6", "sync:rank=1,ms=3,from=6",
            "gc-pause:ms=5,share=0.5", "rotating:ms=2", "transient:rank=0,ms=4,share=0.3",
            "periodic:rank=1,ms=2,every=5", "onset:rank=0,ms=2,from=9", "checkpoint-stall:ms=6",
            "logging-stall:ms=2,to=3", more=more)
        self.assertEqual(self.checksum(truth), self.checksum(plain))
        for kind, count, least_ms in (("compute", 12, 3), ("forward", 3, 4), ("backward", 1, 3), ("optimizer", 4, 2),
                                      ("loader", 12, 1), ("sync", 6, 3), ("rotating", 12, 2), ("periodic", 3, 2),
                                      ("onset", 3, 2), ("checkpoint-stall", 3, 6), ("logging-stall", 3, 2)):
            with self.subTest(kind):
                self.check_delays(by_kind[kind], count, least_ms)
        for kind, least_ms in (("gc-pause", 5), ("transient", 4)):
            self.check_delays(by_kind[kind], by_kind[kind]["count"], least_ms)
            self.assertIn(by_kind[kind]["count"], range(1, 2 * STEPS), kind)
        turns = {(strike["rank"], strike["step"] % 2) for strike in by_kind["rotating"]["strikes"]}
        self.assertEqual(turns, {(0, 0), (1, 1)})
        self.assertIsNone(by_kind["rotating"]["rank"])
        self.assertEqual([strike["step"] for strike in by_kind["checkpoint-stall"]["strikes"]], [3, 7, 11])
        pauses = [{s["step"] for s in by_kind["gc-pause"]["strikes"] if s["rank"] == rank} for rank in (0, 1)]
        self.assertNotEqual(*pauses)

    def test_spinning_multiplies_and_ends_in_time(self):
        """The overshoot of the fastest of many: what the thread does itself, not what other programs do to it."""
        by_kind, _ = self.train("compute:rank=0,ms=2", "optimizer:rank=1,ms=2", "forward:rank=1,ms=2,mode=spin",
                                steps=40)
        for fault in by_kind.values():
            self.check_delays(fault, 40, 2)
            self.assertLess(min(strike["duration_ns"] for strike in fault["strikes"]), 2.3 * MS, fault["kind"])
            self.assertEqual(fault["mode"], "spin")

    def test_a_strike_within_accumulation_is_one_per_micro_step_and_a_step_is_once(self):
        by_kind, truth = self.train("forward:rank=0,ms=1,from=3,to=5", "backward:rank=1,ms=1,step=3",
                                    more=("--accumulate", 3))
        self.check_delays(by_kind["forward"], 6, 1)
        self.check_delays(by_kind["backward"], 1, 1)
        self.assertEqual(truth["ranks"][0]["samples"], [3 * truth["batch"]] * STEPS)


class Resources(TrainerFaults):
    def test_a_rival_process_shares_the_core_and_is_gone_afterwards(self):
        by_kind, truth = self.train("cpu-contention:rank=1,from=2,to=10", "pinned-core:rank=0,from=4",
                                    more=("--threads", 2))
        rival = by_kind["cpu-contention"]
        self.check_delays(rival, 8, 0)
        done = rival["done"][0]
        self.assertEqual(done["rank"], 1)
        self.assertGreater(done["rival_cpu_ns"], 0)
        self.assertFalse(pathlib.Path(f"/proc/{done['pid']}").exists())
        pinned = by_kind["pinned-core"]
        self.check_delays(pinned, STEPS - 4, 0)
        self.assertGreater(pinned["done"][0]["threads"], 1)
        self.assertEqual(self.checksum(truth), self.checksum(self.train(more=("--threads", 2))[1]))

    def test_a_rival_dies_with_a_killed_rank(self):
        processes = self.start_ranks("--inject", "cpu-contention:rank=1", "--timeout", TIMEOUT_S, steps=100_000)
        part = self.folder / "truth.json.rank-1"
        line = support.wait_until(lambda: part.exists() and
                                  [t for t in part.read_text().splitlines() if '"pid"' in t and '"deed"' in t],
                                  60, "the rival has begun")[0]
        rival = pathlib.Path(f"/proc/{json.loads(line)['value']}")
        support.wait_until(lambda: "dprof-rival" in (rival / "comm").read_text(), 10, "it has its name")
        processes[1].kill()
        support.wait_until(lambda: not rival.exists() or "Z" in (rival / "stat").read_text().rpartition(")")[2], 10,
                           "the rival is dead too")
        self.assertNotEqual(self.ends(processes)[0].code, 0)

    def test_memory_faults_say_what_they_took_and_change_no_result(self):
        by_kind, truth = self.train("leak:rank=1,mb=4", "alloc-churn:rank=0,ms=2,mb=2", "empty-cache:every=3",
                                    "bucket-cap:mb=0.01")
        self.assertEqual(by_kind["leak"]["done"], [{"bytes": 4 * STEPS << 20, "rank": 1}])
        self.check_delays(by_kind["alloc-churn"], STEPS, 2)
        self.check_delays(by_kind["empty-cache"], 2 * STEPS / 3, 0)
        self.assertEqual([done["bucket_mb"] for done in by_kind["bucket-cap"]["done"]], [0.01, 0.01])
        self.assertEqual(self.checksum(truth), self.checksum(self.train()[1]))

    def test_the_bucket_cap_makes_more_all_reduces(self):
        counts = []
        for faults in ((), ("--inject", "bucket-cap:mb=0.01")):
            run = self.folder / f"run-{len(counts)}"
            self.record_trainer("--steps", 6, *faults, run=run)
            counts.append(len(self.trace(0, run).collectives("all_reduce")))
        self.assertGreater(counts[1], counts[0])


class Data(TrainerFaults):
    def test_a_skewed_batch_is_larger_on_its_rank(self):
        by_kind, truth = self.train("skewed-batch:rank=1,share=0.5,from=4", more=("--batch", 20))
        self.assertEqual(by_kind["skewed-batch"]["count"], STEPS - 4)
        self.assertEqual(truth["ranks"][0]["samples"], [20] * STEPS)
        self.assertEqual(truth["ranks"][1]["samples"], [20] * 4 + [30] * (STEPS - 4))
        self.checksum(truth)


    def test_long_sequences_are_longer_on_their_rank(self):
        model = ("--model", "bert-tiny", "--batch", 4)
        by_kind, truth = self.train("long-sequences:rank=1,share=0.5", more=model, steps=3)
        self.assertEqual(by_kind["long-sequences"]["count"], 3)
        self.assertEqual([strike["rank"] for strike in by_kind["long-sequences"]["strikes"]], [1, 1, 1])
        plain = self.train(more=model, steps=3)[1]
        self.assertNotEqual(self.checksum(truth), self.checksum(plain))
        self.assertEqual([rank["index_hash"] for rank in truth["ranks"]],
                         [rank["index_hash"] for rank in plain["ranks"]], "of the same samples")


class Endings(TrainerFaults):
    """Faults that end a job: within its --timeout, with an exit code that is not 0 and with a word about it."""

    def break_job(self, fault, seconds=TIMEOUT_S + 60):
        return self.start_ranks("--inject", fault, "--timeout", TIMEOUT_S), seconds

    def check_failed(self, ended, words):
        self.assertNotEqual(ended.code, 0, ended.output)
        self.assertIn("hint: ", ended.output)
        self.assertIn(words, ended.output)

    def check_strike(self, rank, step):
        """What the fault did is in the truth, though its rank never came to its end."""
        truth = self.truth()
        self.assertIsNone(truth["ranks"][rank]["ended"])
        self.assertEqual(len(truth["ranks"][rank]["step_ns"]), step)
        strikes = truth["injected"][0]["strikes"]
        self.assertEqual([(strike["rank"], strike["step"]) for strike in strikes], [(rank, step)])
        return truth

    def test_kill_and_crash_end_their_rank_and_the_others_say_so(self):
        for kind, code in (("kill", signal.SIGKILL), ("crash", signal.SIGSEGV)):
            with self.subTest(kind):
                processes, seconds = self.break_job(f"{kind}:rank=1,step=5")
                survivor, lost = self.ends(processes, seconds)
                self.assertEqual(lost.code, -code)
                self.check_failed(survivor, "rank 0: ")
                truth = self.check_strike(1, 5)
                self.assertIsNotNone(truth["ranks"][0]["failure"])
                self.assertIsNone(truth["ranks"][1]["failure"], "it had no time to say anything")

    def test_after_an_elastic_restart_nobody_is_killed_again(self):
        processes = self.start_ranks("--inject", "kill:rank=1,step=5", TORCHELASTIC_RESTART_COUNT="1")
        for ended in self.ends(processes):
            self.assertEqual(ended.code, 0, ended.output)
        self.assertEqual(self.truth()["injected"][0]["count"], 0)

    def test_the_account_of_a_killed_rank_0_stays_beside_the_truth(self):
        processes, seconds = self.break_job("kill:rank=0,step=5")
        for ended in self.ends(processes, seconds):
            self.assertNotEqual(ended.code, 0)
        lines = [json.loads(line) for line in (self.folder / "truth.json.rank-0").read_text().splitlines()]
        self.assertEqual(lines[0]["event"], "begin")
        self.assertEqual(sum(len(line["ns"]) for line in lines if line["event"] == "steps"), 5)
        self.assertEqual((lines[-1]["event"], lines[-1]["step"]), ("strike", 5))
        self.assertFalse(self.truth_file.exists())

    def test_a_rank_that_hangs_lets_the_others_time_out(self):
        processes, seconds = self.break_job("hang:rank=1,step=5")
        waiting = self.ends(processes[:1], seconds)[0]
        self.check_failed(waiting, "rank 0: ")
        self.assertIn("imed out", waiting.output)
        self.assertIsNone(processes[1].poll(), "it hangs still")
        self.check_strike(1, 5)

    def test_a_tensor_of_another_size_is_noticed(self):
        """By Gloo itself, which ends the process that is sent too much; the others lose their peer."""
        for guilty, aborted in ((1, 1), (0, 1)):
            with self.subTest(guilty=guilty):
                processes, seconds = self.break_job(f"wrong-size:rank={guilty},step=3")
                ended = self.ends(processes, seconds)
                self.assertEqual(ended[aborted].code, -signal.SIGABRT, ended[aborted].output)
                self.assertIn("doesn't match expected size", ended[aborted].output)
                self.check_failed(ended[0], "rank 0: ")
                self.check_strike(guilty, 3)

    def test_the_other_order_of_two_groups_is_a_deadlock_until_the_timeout(self):
        processes, seconds = self.break_job("wrong-order:rank=1,step=3")
        for rank, ended in enumerate(self.ends(processes, seconds)):
            self.check_failed(ended, f"rank {rank}: ")
            self.assertTrue("imed out" in ended.output or "losed by peer" in ended.output, ended.output)
        self.check_strike(1, 3)

    def test_a_rank_that_leaves_early_does_so_with_exit_code_0(self):
        processes, seconds = self.break_job("early-exit:rank=1,step=5")
        others, leaver = self.ends(processes, seconds)
        self.assertEqual(leaver.code, 0, leaver.output)
        self.check_failed(others, "rank 0: ")
        self.assertEqual(self.check_strike(1, 5)["ranks"][1]["failure"], "early-exit")


class Refusals(TrainerFaults):
    def test_what_the_job_cannot_do_is_refused_with_what_is_right(self):
        for fault, words in (("loader:rank=2,ms=1", "it is for rank 2, but the job has 1"),
                             ("wrong-size:rank=0,step=1", "wrong-size needs other ranks"),
                             ("bucket-cap:mb=1", "only ddp has buckets"),
                             ("slow-link:rank=0,rate=10", "scripts/hosts"),
                             ("long-sequences:rank=0,share=1", "are no sequences"),
                             ("cpu-contention:rank=0,ms=5", "write cpu-contention:rank=R|all[,from=S,to=S,every=K]")):
            with self.subTest(fault):
                done = self.command(TRAINER, "--steps", 2, "--inject", fault)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(words, done.stderr)
                self.assertIn("hint: ", done.stderr)

    def test_a_fault_that_never_strikes_is_warned_of(self):
        done = self.command(TRAINER, "--steps", 2, "--truth", self.truth_file, "--inject", "forward:rank=0,ms=1,step=9",
                            "--inject", "checkpoint-stall:ms=1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rank 0: --inject forward:rank=0,ms=1,step=9 never struck", done.stderr)
        self.assertIn("rank 0: --inject checkpoint-stall:ms=1 never struck", done.stderr)
        self.assertEqual([fault["count"] for fault in self.truth()["injected"]], [0, 0])


if __name__ == "__main__":
    unittest.main()
