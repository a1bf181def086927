# SPDX-License-Identifier: Apache-2.0
"""Each way of starting ranks ends in one complete trace per rank. (torchrun and loader workers: test_python.py.)"""
import re
import shutil
import signal
import subprocess

import support
from support import DPROF, HERE
from test_collector_robustness import MARKS, PROBE, Probed

RANKS = HERE / "launch_ranks.py"


class Launchers(Probed):
    """Launchers of processes that need no torch."""

    def check_two_ranks(self, launcher):
        self.assertEqual([entry["rank"] for entry in self.index()["traces"]], [0, 1])
        for rank in (0, 1):
            trace = self.check_marks(rank)
            self.assertEqual(trace.meta["launcher"], launcher)
            self.assertEqual(trace.meta["world_size"], "2")

    def test_mpirun(self):
        if not shutil.which("mpirun"):
            self.skipTest("mpirun is not installed")
        self.record("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", 2, PROBE, "--marks", MARKS)
        self.check_two_ranks("openmpi")

    def test_mpirun_in_front(self):
        """A recorder for each rank, which PMIx's namespace brings together."""
        if not shutil.which("mpirun"):
            self.skipTest("mpirun is not installed")
        done = self.command("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", 2, DPROF, "record", "-o", self.run_folder,
                            "--", PROBE, "--marks", MARKS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_two_ranks("openmpi")

    def test_one_recorder_for_each_rank(self):
        """As under `srun dprof record -- CMD`: a recorder per rank, each with a run folder of its own (srun by its
        variables)."""
        recorders = [self.start(DPROF, "record", "-o", self.folder / f"run-{rank}", "--", PROBE, "--marks", MARKS,
                                SLURM_PROCID=str(rank), SLURM_NTASKS="2", SLURM_LOCALID=str(rank), SLURM_NODEID="0")
                     for rank in (0, 1)]
        for recorder in recorders:
            _, messages = recorder.communicate(timeout=60)
            self.assertEqual(recorder.returncode, 0, messages)
            self.assertNotIn("missing_rank", messages)
        for rank in (0, 1):
            trace = self.check_marks(rank, run=self.folder / f"run-{rank}")
            self.assertEqual(trace.meta["launcher"], "slurm")
            self.assertEqual(trace.meta["local_rank"], str(rank))

    def test_one_recorder_says_why_the_job_failed(self):
        """Each of them sees a command that fails; the run is analysed and its verdict printed once, the others say who
        does it."""
        ranks = 6
        recorders = [self.start(DPROF, "record", "-o", self.run_folder, "--", PROBE, "--marks", MARKS, "--end", "abort",
                                MASTER_ADDR="127.0.0.1", MASTER_PORT="29998", WORLD_SIZE=str(ranks), RANK=str(rank))
                     for rank in range(ranks)]
        said = []
        for recorder in recorders:
            _, messages = recorder.communicate(timeout=60)
            self.assertEqual(recorder.returncode, 128 + signal.SIGABRT, messages)
            said += [line for line in messages.splitlines() if "FAILED" in line]
        self.assertEqual(len([line for line in said if re.search(r"FAILED: ranks? \d", line)]), 1, said)
        # Whoever looked before there was anything to report is silent.
        others = [line for line in said if re.fullmatch(r"dprof: FAILED: the recorder \S+-\d+ says why", line)]
        self.assertEqual(len(others), len(said) - 1, said)
        self.assertTrue(others)

    def test_each_run_says_why_it_failed(self):
        """A folder that is used again begins anew; a run without a job has one recorder."""
        for environment in ({}, {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29997", "WORLD_SIZE": "1", "RANK": "0"}):
            for _ in range(2):
                done = self.record(PROBE, "--marks", MARKS, "--end", "abort", options=["--overwrite"], want=134,
                                   **environment)
                self.assertRegex(done.stderr, r"FAILED: rank 0")

    def test_commands_that_hand_on_no_environment(self):
        done = self.record("env", "-i", PROBE, "--marks", MARKS, want=4)  # the probe's own code
        self.assertIn("env -i takes away the environment that dprof gave it: write `env -i … dprof record …`", done.stderr)
        sudo = self.folder / "bin/sudo"
        sudo.parent.mkdir()
        sudo.write_text('#!/bin/sh\nunset LD_PRELOAD\nexec env -i "$@"\n')
        sudo.chmod(0o755)
        done = self.record(sudo, PROBE, "--marks", MARKS, want=4, run=self.folder / "run2")
        self.assertIn("sudo starts programs without the environment that dprof gave it: write `sudo dprof record …`",
                      done.stderr)

    def test_a_program_whose_loader_is_missing(self):
        """As one for musl on a machine without it: the kernel says of the program that it is not there."""
        program = self.folder / "foreign"
        program.write_bytes(PROBE.read_bytes().replace(b"/ld-linux-", b"/ld-other-"))
        program.chmod(0o755)
        done = self.record(program, want=127)
        self.assertRegex(done.stderr, r"cannot start .*/foreign: No such file or directory: its loader /\S*/ld-other-\S+ is")
        self.assertIn("hint: it is a program for another C library", done.stderr)

    def test_a_program_of_musl(self):
        """dprof's library is for glibc; a program of another C library must not notice it."""
        compiler = shutil.which("musl-gcc")
        if not compiler:
            self.skipTest("musl-tools is not installed")
        source = self.folder / "other.c"
        source.write_text("#include <dlfcn.h>\n#include <stdio.h>\n#include <unistd.h>\n"
                          "int main(int count, char** words) {\n"
                          "  puts(dlopen(0, RTLD_NOW) && !dlopen(\"libtorch.so\", RTLD_NOW) ? \"as always\" : \"changed\");\n"
                          "  fflush(stdout); if (fork() == 0) _exit(3);\n  return 7;\n}\n")
        program = self.folder / "other"
        subprocess.run([compiler, source, "-o", program], check=True)
        for number, command in enumerate(([program], ["sh", "-c", f"'{program}'; exit $?"])):
            done = self.record(*command, want=7, run=self.folder / f"run{number}")
            self.assertEqual(done.stdout, "as always\n")
            self.assertNotRegex(done.stderr, "(?i)error|relocating")
        self.assertIn("not by glibc's loader", self.record(program, want=7, run=self.folder / "again").stderr)

    def test_a_command_without_torch(self):
        """Nothing is recorded, and it is said so; the command is what it was."""
        done = self.record("sh", "-c", "echo its own words; exit 0", want=5)
        self.assertEqual(done.stdout, "its own words\n")
        self.assertEqual(done.stderr.count("no_process: no process of the command recorded anything"), 1)
        self.assertIn("hint: is it a dynamically linked program", done.stderr)

    def test_ranks_that_a_shell_starts(self):
        """RANK and WORLD_SIZE set by hand, no launcher that leaves a name."""
        ranks = " & ".join(f"RANK={rank} WORLD_SIZE=2 LOCAL_RANK={rank} '{PROBE}' --marks {MARKS}" for rank in (0, 1))
        self.record("sh", "-c", ranks + " & wait")
        self.check_two_ranks("none")


class TorchLaunchers(Probed):
    """Launchers of Python's torch."""

    def setUp(self):
        super().setUp()
        self.python = self.need_python_torch()

    def check_all_reduces(self, file, rank):
        with support.Trace(self.run_folder / file) as trace:
            self.check_whole(trace)
            self.assertEqual(trace.meta["rank"], str(rank))
            self.assertGreaterEqual(len(trace.collectives("all_reduce")), 3)
            return dict(trace.meta)

    def test_a_program_that_clears_its_environment(self):
        """Before it loads torch; in an interpreter that is isolated (-I) besides."""
        script = ("import os, time; os.environ.clear()\nimport torch\nfor _ in range(40):\n"
                  "  with torch.profiler.record_function('step'): time.sleep(.05)")
        self.record(self.python, "-I", "-c", script)
        trace = self.trace(0)
        self.check_whole(trace)
        self.assertEqual(trace.meta["torch_source"], "on")
        self.assertGreaterEqual(len(trace.ranges_named("step")), 20)

    def test_torch_distributed_launch(self):
        self.record(self.python, "-m", "torch.distributed.launch", "--nproc-per-node=2", "--master-port", support.free_port(),
                    RANKS, "reduce")
        self.assertEqual([entry["rank"] for entry in self.index()["traces"]], [0, 1])
        for rank in (0, 1):
            self.check_all_reduces(f"rank-{rank:05}.dprof", rank)

    def test_spawned_ranks(self):
        """mp.spawn: one program, whose children choose their ranks by themselves, after the hello."""
        self.record(self.python, RANKS, "spawn", support.free_port())
        ranked = [entry for entry in self.index()["traces"] if entry["rank"] is not None]
        self.assertEqual([entry["rank"] for entry in ranked], [0, 1])
        for rank in (0, 1):
            self.check_all_reduces(f"rank-{rank:05}.dprof", rank)

    def test_elastic_restart(self):
        """torchrun starts all ranks again when one dies: each has two traces, and the report takes the last ones."""
        self.record(self.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=1", RANKS,
                    "die-once", self.folder / "died")
        files = {(entry["rank"], entry["file"]) for entry in self.index()["traces"]}
        self.assertEqual(files, {(0, "rank-00000.dprof"), (0, "rank-00000.1.dprof"), (1, "rank-00001.dprof"),
                                 (1, "rank-00001.1.dprof")})
        ends = {}
        for rank, file in files:
            meta = self.check_all_reduces(file, rank)
            ends[rank, meta["restart_count"]] = meta["ended"]
        self.assertEqual(sorted(ends), [(0, "0"), (0, "1"), (1, "0"), (1, "1")])
        self.assertEqual(ends[1, "0"], "process_killed")
        self.assertEqual((ends[0, "1"], ends[1, "1"]), ("complete", "complete"))
        codes = [entry["code"] for entry in self.report()["recording"]["diagnostics"]]
        self.assertIn("several_traces", codes)
