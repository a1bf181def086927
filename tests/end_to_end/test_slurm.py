# SPDX-License-Identifier: Apache-2.0
"""A real Slurm of one node (scripts/slurm): what srun, sbatch and scancel do to a recording."""
import os

import support
from support import BIN, DPROF, HERE, ROOT, TRAINER
from test_collector_robustness import MARKS, PROBE, Probed

SKIPPED = 77


class Slurm(Probed):
    def slurm(self, *command, want=0, path=BIN, **environment):
        done = self.command(ROOT / "scripts/slurm", "--", *command, PATH=f"{BIN}:{path}:{os.environ['PATH']}", **environment)
        if done.returncode == SKIPPED:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, want, f"\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
        return done

    def batch(self, script, commands, **environment):
        """Runs a batch script of two tasks, and `commands` beside it; gives the script's output and theirs."""
        (self.folder / "job.sh").write_text(f"#!/bin/sh\n#SBATCH --ntasks=2 --output=job.out\n{script}\n")
        done = self.slurm("sh", "-c", commands, **environment)
        return (self.folder / "job.out").read_text(), done.stdout + done.stderr

    def check_two_ranks(self, run, launcher="slurm"):
        self.assertEqual([(entry["file"], entry["rank"]) for entry in self.index(run)["traces"]],
                         [("rank-00000.dprof", 0), ("rank-00001.dprof", 1)])
        for rank in (0, 1):
            trace = self.check_marks(rank, run=run)
            self.assertEqual((trace.meta["launcher"], trace.meta["world_size"]), (launcher, "2"))

    def check_training(self, run, steps):
        """Both ranks of the trainer are in one report, with what they sent each other."""
        report = self.report(run)
        self.assertEqual(report["run"]["ranks"], 2)
        for rank in (0, 1):
            trace = self.trace(rank, run)
            self.check_whole(trace)
            self.assertGreaterEqual(len(trace.collectives("all_reduce")), steps)

    def test_a_recorder_for_each_rank(self):
        """`srun dprof record`: the recorders write one run, named after the job."""
        self.need_trainer()
        self.slurm("srun", "-n", 2, DPROF, "record", "-o", self.folder / "run-%j", "--local", self.folder / "disk", "--",
                   TRAINER, "--steps", 20)
        self.check_training(self.folder / "run-1", 20)
        self.assertEqual(self.index(self.folder / "run-1")["world_size"], 2)
        self.assertEqual(list((self.folder / "disk").iterdir()), [])

    def test_a_report_that_the_tasks_make_together(self):
        """`srun dprof report`, where Slurm and MPI both speak PMIx."""
        if not (BIN.parent / "lib/libdprof_mpi.so").exists():
            self.skipTest("built without MPI")
        self.need(BIN / "dprof-synth")
        done = self.command(BIN / "dprof-synth", "--ranks", 6, "--hosts", 2, "--steps", 6, "-o", self.run_folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        if "pmix" not in self.slurm("sh", "-c", "srun --mpi=list 2>&1").stdout:
            self.skipTest("this Slurm has no PMIx")
        done = self.slurm("srun", "--mpi=pmix", "-n", 2, DPROF, "report", self.run_folder, "--format", "json", "--no-cache")
        self.assertEqual(done.stdout, self.command(DPROF, "report", self.run_folder, "--format", "json").stdout)

    def test_digests_by_an_array_of_jobs(self):
        self.need(BIN / "dprof-synth")
        done = self.command(BIN / "dprof-synth", "--ranks", 6, "--hosts", 2, "--steps", 6, "-o", self.run_folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.folder / "job.sh").write_text("#!/bin/sh\n#SBATCH --array=1-3 --output=job-%a.out\n"
                                            f"dprof digest {self.run_folder} --shard $SLURM_ARRAY_TASK_ID/3\n")
        self.slurm("sbatch", "--wait", "job.sh")
        printed = [(self.folder / f"job-{number}.out").read_text() for number in (1, 2, 3)]
        self.assertEqual(printed, 3 * ["2 digests made, 0 already existed, 0 failed\n"])

    def test_one_recorder_around_srun(self):
        """`dprof record -- srun`: on one node the tasks reach the recorder."""
        self.need_trainer()
        self.slurm(DPROF, "record", "-o", self.run_folder, "--", "srun", "-n", 2, TRAINER, "--steps", 20)
        self.check_training(self.run_folder, 20)

    def test_a_recorder_for_each_node(self):
        """As in front of torchrun: one task starts the ranks of its node."""
        self.slurm("srun", "--ntasks-per-node=1", "-n", 1, "-c", 2, DPROF, "record", "-n", 2, "-o", self.run_folder, "--",
                   PROBE, "--marks", MARKS)
        self.check_two_ranks(self.run_folder, "dprof")

    def test_options_cross_srun_as_variables(self):
        """A batch script that somebody else wrote needs no change; each step has a run of its own."""
        step = f"srun {DPROF} record -- {PROBE} --marks {MARKS}\n"
        said, _ = self.batch(step * 2, "sbatch --wait job.sh", DPROF_RECORD_OUTPUT=f"{self.folder}/%j-%q{{SLURM_STEP_ID}}",
                             DPROF_RECORD_DETAIL="full")
        self.assertIn("recorded 1 rank", said)
        for name in ("1-0", "1-1"):
            self.check_two_ranks(self.folder / name)
            self.assertEqual(self.trace(0, self.folder / name).meta["detail"], "full")

    def test_a_cancelled_job(self):
        """scancel ends the tasks and their recorders in seconds: the traces are finished, and moved."""
        self.need_trainer()
        said, _ = self.batch(
            f"srun {DPROF} record -o run --local disk -- {TRAINER} --steps 100000 --log-every 1",
            "sbatch job.sh; for i in $(seq 300); do grep -q 'step 5 ' job.out && break; sleep 0.1; done; scancel 1; "
            "while squeue -h | grep -q .; do sleep 0.1; done")
        self.assertIn("SIGTERM", said)
        for rank in (0, 1):
            trace = self.trace(rank)
            self.check_whole(trace)
            self.assertEqual(trace.meta["exit_status"], "signal:15")
        self.assertEqual(list((self.folder / "disk").iterdir()), [])
        self.assertEqual(list(self.run_folder.glob("*.local")), [])

    def test_the_example_for_ranks(self):
        self.need_trainer()
        self.slurm("sbatch", "--wait", "--ntasks=2", ROOT / "examples/slurm/ranks.sbatch", TRAINER, "--steps", 20,
                   MASTER_PORT=str(support.free_port()))
        self.check_training(self.folder / "run-1", 20)

    def test_the_example_for_torchrun(self):
        python = self.need_python_torch()
        self.slurm("sbatch", "--wait", ROOT / "examples/slurm/torchrun.sbatch", HERE / "launch_ranks.py", "reduce",
                   RANKS_PER_NODE="2", MASTER_PORT=str(support.free_port()), path=python.parent)
        self.check_training(self.folder / "run-1", 3)

    def test_one_of_the_recorders_says_why(self):
        done = self.slurm("srun", "-n", 2, DPROF, "record", "-o", self.run_folder, "--", PROBE, "--marks", MARKS, "--end",
                          "abort", want=134)
        said = [line for line in done.stderr.splitlines() if "FAILED" in line]
        self.assertEqual(len(said), 2, done.stderr)
        self.assertEqual(len([line for line in said if line.endswith(" says why")]), 1, said)

    def test_the_code_of_a_task_that_fails(self):
        self.slurm("srun", "-n", 2, "--kill-on-bad-exit=1", DPROF, "record", "-o", self.run_folder, "--", "sh", "-c",
                   f"'{PROBE}' --marks {MARKS}; exit 7", want=7)
        self.check_marks(0)
