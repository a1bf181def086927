# SPDX-License-Identifier: Apache-2.0
"""A report that the processes of an MPI job make together, with a real MPI."""
import shutil
import sys
import time

from support import BIN, DPROF, EndToEnd

SYNTH = BIN / "dprof-synth"
LIBRARY = BIN.parent / "lib/libdprof_mpi.so"
MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n")
# One process of an MPI job that does as it is asked, and one that leaves before MPI begins.
DIFFERENT = """\
import ctypes, os, sys, time
how, command = sys.argv[1], sys.argv[2:]
if os.environ["OMPI_COMM_WORLD_RANK"] != "1":
    os.execv(command[0], command)
if how != "leave":
    ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL).MPI_Init(None, None)
    if how == "die":
        os.kill(os.getpid(), 9)
    time.sleep(1000)
"""


class Mpi(EndToEnd):
    def setUp(self):
        super().setUp()
        if not LIBRARY.exists() or not shutil.which("mpirun"):
            self.skipTest("built without MPI, or mpirun is not installed")
        self.need(SYNTH)
        done = self.command(SYNTH, "--ranks", 9, "--hosts", 3, "--steps", 8, "--clock", "host1:offset_ms=3000,ppm=20",
                            "--fault", "loader:rank=4,ms=20", "-o", self.run_folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def alone(self):
        done = self.command(DPROF, "report", self.run_folder, "--format", "json", "--no-cache")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def together(self, processes, *options, want=0, before=()):
        done = self.command(*MPIRUN, processes, *before, DPROF, "report", self.run_folder, "--format", "json", "-o",
                            self.folder / "report.json", *options)
        self.assertEqual(done.returncode, want, done.stderr)
        self.assertEqual(done.stdout, "", "one process writes, and into the file")
        return done

    def written(self):
        return (self.folder / "report.json").read_text()

    def test_the_report_is_that_of_one_process(self):
        alone = self.alone()
        for processes in (1, 2, 3, 7):
            shutil.rmtree(self.run_folder / ".digest", ignore_errors=True)
            self.together(processes)
            self.assertEqual(self.written(), alone, f"{processes} processes")
            self.assertEqual(len(list((self.run_folder / ".digest").iterdir())), 9)
            self.together(processes)
            self.assertEqual(self.written(), alone, f"{processes} processes, digests kept")
        self.together(3, "--no-cache")
        self.assertEqual(self.written(), alone)

    def test_one_report_on_stdout(self):
        done = self.command(*MPIRUN, 3, DPROF, "report", self.run_folder, NO_COLOR="1")  # mpirun makes it a terminal's
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, self.command(DPROF, "report", self.run_folder).stdout)

    def test_an_error_is_said_once_and_nobody_waits(self):
        for arguments, code in ((("nowhere",), 3), ((self.run_folder, "--ranks", "77"), 3)):
            done = self.command(*MPIRUN, 3, DPROF, "report", *arguments)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stderr.count("dprof: "), 1, done.stderr)

    def test_a_damaged_trace(self):
        with open(self.run_folder / "rank-00003.dprof", "r+b") as trace:
            trace.seek(20_000)
            trace.write(b"\xff" * 30_000)
        alone = self.command(DPROF, "report", self.run_folder, "--format", "json", "--no-cache")
        done = self.command(*MPIRUN, 3, DPROF, "report", self.run_folder, "--format", "json")
        self.assertEqual(done.returncode, alone.returncode, done.stderr)
        self.assertEqual(done.stdout, alone.stdout)

    def different(self, how):
        script = self.folder / "different.py"
        script.write_text(DIFFERENT)
        return sys.executable, script, how

    def test_a_process_that_gives_no_sign_of_life(self):
        """It is given up, its digests are made by the first one, and the report is whole."""
        done = self.together(3, "--mpi-timeout", 2, want=5, before=self.different("sleep"))
        self.assertIn("process 1 gave no sign of life for 2 s", done.stderr)
        self.assertEqual(self.written(), self.alone())

    def test_a_process_that_dies(self):
        """Open MPI ends them all."""
        begin = time.monotonic()
        done = self.command(*MPIRUN, 3, *self.different("die"), DPROF, "report", self.run_folder, "--mpi-timeout", 3)
        self.assertNotEqual(done.returncode, 0)
        self.assertLess(time.monotonic() - begin, 60)

    def test_a_process_that_does_not_take_part(self):
        """MPI cannot start: the others say so, unless Open MPI has ended them before."""
        done = self.command(*MPIRUN, 3, *self.different("leave"), DPROF, "report", self.run_folder, "--mpi-timeout", 2)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "MPI did not start within 2 s|did not call \"init\" before exiting")

    def test_without_the_library_the_first_one_works_alone(self):
        program = self.folder / "alone/bin"
        program.mkdir(parents=True)
        shutil.copy(DPROF, program)
        done = self.command(*MPIRUN, 3, program / "dprof", "report", self.run_folder, "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, self.alone())
        self.assertIn("built without MPI", done.stderr)

    def test_alone_by_choice(self):
        self.together(2, "--no-mpi")
        self.assertEqual(self.written(), self.alone())

    def test_a_batch_script_is_one_process(self):
        """Slurm's variables alone start no MPI."""
        done = self.command(DPROF, "report", self.run_folder, "--format", "json", SLURM_NTASKS="4", SLURM_PROCID="0",
                            SLURM_JOB_ID="7", SLURM_NNODES="2")
        self.assertEqual(done.stdout, self.alone())
        self.assertEqual(done.stderr, "")

    def test_digests_in_shares(self):
        done = self.command(*MPIRUN, 3, DPROF, "digest", self.run_folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, 3 * "3 digests made, 0 already existed, 0 failed\n")
