# SPDX-License-Identifier: Apache-2.0
"""The ways of starting the trainer: by itself, torchrun, mpirun, Slurm's variables, over and over by a matrix."""
import json
import os
import pathlib
import re
import shutil
import signal
import time

import support
from support import TRAINER, EndToEnd

SHORT = ("--model", "toy", "--steps", 5)
LAST_LINE = "equal on all ranks: "


class Launch(EndToEnd):
    programs = (TRAINER,)

    def trainer(self, *arguments, want=0, **environment):
        done = self.command(TRAINER, *arguments, **environment)
        self.assertEqual(done.returncode, want, f"\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
        return done

    def children_of(self, process, count):
        return support.wait_until(lambda: len(found := support.descendants(process.pid)) == count and found, 30,
                                  f"{count} ranks")

    def check_gone(self, processes):
        support.wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in processes), 30,
                           f"{processes} are gone")

    # --spawn

    def test_spawn(self):
        done = self.trainer("--spawn", 3, *SHORT)
        self.assertIn(LAST_LINE + "3", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_spawn_of_no_ranks(self):
        """Mistake M23."""
        done = self.trainer("--spawn", 0, want=2)
        self.assertIn("--spawn 0: no ranks", done.stderr)
        self.assertIn("hint:", done.stderr)

    def test_spawn_says_once_what_is_wrong(self):
        done = self.trainer("--spawn", 2, "--strategy", "single", want=2)
        self.assertEqual(done.stderr.count("is one process"), 1)

    def test_spawn_within_ranks(self):
        done = self.trainer("--spawn", 2, want=2, RANK="0", WORLD_SIZE="1", MASTER_ADDR="a", MASTER_PORT="1")
        self.assertIn("--spawn within rank 0 of another launcher", done.stderr)

    def test_the_first_failure_ends_all(self):
        process = self.start(TRAINER, "--spawn", 2, "--steps", 1_000_000)
        process.stdout.readline()  # it trains
        ranks = self.children_of(process, 2)
        os.kill(ranks[1], signal.SIGKILL)
        begin = time.monotonic()
        _, errors = process.communicate(timeout=30)
        self.assertLess(time.monotonic() - begin, 20)
        self.assertGreater(process.returncode, 0)
        self.assertRegex(errors, r"rank [01] (was killed by signal 9|ended with exit code 1); the others are ended")
        self.check_gone(ranks)

    def test_the_launcher_merges_what_a_killed_rank_0_cannot(self):
        truth = self.folder / "truth.json"
        self.trainer("--spawn", 2, "--steps", 50, "--timeout", 10, "--truth", truth, "--inject", "kill:rank=0,step=4",
                     want=137)
        zero = json.loads(truth.read_text())["ranks"][0]
        self.assertIsNone(zero["ended"])
        self.assertEqual(len(zero["step_ns"]), 4)

    def test_ranks_end_with_the_launcher(self):
        for how, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            process = self.start(TRAINER, "--spawn", 2, "--steps", 1_000_000)
            process.stdout.readline()
            ranks = self.children_of(process, 2)
            process.send_signal(how)
            process.communicate(timeout=30)
            self.assertEqual(process.returncode, code)
            self.check_gone(ranks)

    def test_two_nodes(self):
        port = str(support.free_port())
        nodes = [self.start(TRAINER, "--spawn", 2, "--nnodes", 2, "--node-rank", node, *SHORT,
                            MASTER_ADDR="127.0.0.1", MASTER_PORT=port) for node in (0, 1)]
        outputs = [process.communicate(timeout=90) for process in nodes]
        self.assertEqual([process.returncode for process in nodes], [0, 0], outputs)
        self.assertIn(LAST_LINE + "4", outputs[0][0])
        self.assertEqual(outputs[1][0], "", "rank 0 is on the first node")

    def test_nodes_need_a_meeting_place(self):
        done = self.trainer("--spawn", 1, "--nnodes", 2, "--node-rank", 0, want=2)
        self.assertIn("MASTER_ADDR is not set, but there are 2 hosts", done.stderr)

    def test_elastic_goes_on_with_one_rank_fewer(self):
        saved = self.folder / "saved"
        done = self.trainer("--spawn", 2, "--elastic", "--steps", 30, "--checkpoint", saved, "--checkpoint-every", 5,
                            "--inject", "kill:rank=1,step=12", "--truth", self.folder / "truth.json", "--timeout", 20)
        self.assertRegex(done.stderr, r"rank [01] .*; the others are ended")
        self.assertIn("restart 1 of 3, with 1 ranks", done.stderr)
        self.assertIn(LAST_LINE + "1", done.stdout)
        self.assertRegex(done.stdout, r"step 29 loss")
        self.assertTrue((saved / "model.pt").exists())

    def test_elastic_gives_up(self):
        """Each attempt fails; in the end there is no rank left to go on with."""
        done = self.trainer("--spawn", 2, "--elastic", "--steps", 5, "--checkpoint", self.folder / "saved",
                            "--checkpoint-every", 5, "--mistake", "double-init", "--timeout", 10, want=1)
        self.assertIn("restart 1 of 3, with 1 ranks", done.stderr)
        self.assertIn("given up after 1 restarts", done.stderr)

    # Other launchers

    def test_local_rank_on_the_command_line(self):
        done = self.trainer(*SHORT, "--local_rank", 0, RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1",
                            MASTER_PORT=str(support.free_port()))
        self.assertIn(LAST_LINE + "1", done.stdout)

    def test_torchrun(self):
        torchrun = self.need_python_torch().parent / "torchrun"
        done = self.command(torchrun, "--no-python", "--nproc-per-node", 2, "--master-port", support.free_port(),
                            TRAINER, *SHORT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(LAST_LINE + "2", done.stdout)

    def test_mpirun_needs_no_more_variables(self):
        if not shutil.which("mpirun"):
            self.skipTest("mpirun is not installed")
        done = self.command("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", 2, TRAINER, *SHORT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(LAST_LINE + "2", done.stdout)

    def test_slurms_variables(self):
        ranks = [self.start(TRAINER, *SHORT, SLURM_PROCID=str(rank), SLURM_NTASKS="2", SLURM_LOCALID=str(rank),
                            SLURM_NNODES="1", SLURM_JOB_ID=str(os.getpid()), SLURM_STEP_ID="0") for rank in (0, 1)]
        outputs = [process.communicate(timeout=90) for process in ranks]
        self.assertEqual([process.returncode for process in ranks], [0, 0], outputs)
        self.assertIn(LAST_LINE + "2", outputs[0][0])

    # --matrix

    def matrix(self, text, *arguments, want=0):
        file = self.folder / "matrix"
        file.write_text(text)
        done = self.trainer("--matrix", file, *arguments, want=want)
        return done, [line for line in done.stdout.splitlines() if line.startswith("matrix: ")]

    def test_matrix(self):
        out = self.folder / "out"
        _, lines = self.matrix("# two runs and a failure\n"
                               "plain: --seed 3\n"
                               "alone: ranks=0 --batch 4\n"
                               "wrong: expect=fail --mistake double-init --timeout 5\n",
                               "--truth", out, *SHORT)
        self.assertRegex(lines[0], r"good plain: exit code 0, [\d.]+ s, 5 steps, median [\d.]+ ms, loss ")
        self.assertRegex(lines[1], r"good alone: exit code 0, ")
        self.assertRegex(lines[2], r"good wrong: exit code 1 \(should fail\), ")
        self.assertEqual(lines[3], "matrix: 3 of 3 runs ended as expected")
        plain = json.loads((out / "plain/truth.json").read_text())
        self.assertEqual((plain["seed"], plain["world_size"]), (3, 2))
        self.assertEqual(json.loads((out / "alone/truth.json").read_text())["world_size"], 1)
        self.assertIn(LAST_LINE + "2", (out / "plain/output.txt").read_text())

    def test_matrix_with_an_unexpected_end(self):
        _, lines = self.matrix("ranks=1 expect=fail --steps 2 --model toy\nranks=1 --strategy zero9\n", want=1)
        self.assertRegex(lines[0], r"BAD +run-1: exit code 0 \(should fail\)")
        self.assertRegex(lines[1], r"BAD +run-2: exit code 2")
        self.assertEqual(lines[2], "matrix: 0 of 2 runs ended as expected")

    def test_matrix_of_recorded_runs(self):
        self.need(support.DPROF)
        out = self.folder / "out"
        self.matrix("one: ranks=2 --steps 3 --model toy\n", "--truth", out, "--matrix-command",
                    f"'{support.DPROF}' record -n {{ranks}} -o {{dir}}/run --")
        self.assertTrue((out / "one/run/rank-00001.dprof").exists())

    def test_matrix_usage(self):
        for text, want in (("", "has no runs"), ("a: rank=2\n", "line 1"), ("a:\na:\n", "a second run is called a")):
            done, _ = self.matrix(text, want=2)
            self.assertIn(want, done.stderr)
            self.assertIn("hint:", done.stderr)
        done = self.trainer("--matrix", self.folder / "none", want=2)
        self.assertTrue(re.search(r"none: cannot be read", done.stderr))
