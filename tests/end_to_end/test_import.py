# SPDX-License-Identifier: Apache-2.0
"""Recordings of other tools, from the command line."""
import sqlite3
import sys

from support import DPROF, ROOT, EndToEnd

FLIGHT_DUMPS = ROOT / "bench" / "flight_dumps.py"

EXPORT = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'gemm');
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME', 'NVIDIA Nsight Systems'), ('EXPORT_SCHEMA_VERSION', '3.17.2');
INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', 'API_KEY=hush');
"""


class ImportNsight(EndToEnd):
    def export(self, name, pids, steps=12):
        """Steps of 10 ms, half of which a kernel takes; correlations are the same in each process."""
        path = self.folder / name
        with sqlite3.connect(path) as db:
            db.executescript(EXPORT)
            for device, pid in enumerate(pids):
                process = 1 << 48 | pid << 24
                for step in range(steps):
                    begin = step * 10_000_000
                    db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?)",
                               (begin, begin + 9_900_000, f"step {step}", process | pid))
                    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 1)",
                               (begin + 1000, begin + 9000, process | pid, step + 1))
                    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, 1, 7, ?, ?, 2)",
                               (begin + 100_000, begin + 5_100_000, device, step + 1, process))
                    db.execute("INSERT INTO OSRT_API VALUES (?, ?, ?)", (begin, begin + 1, process | pid))
        db.close()
        return path

    def test_two_nodes_with_two_processes_are_one_run_of_four_ranks(self):
        files = [self.export("node0.sqlite", (10, 11)), self.export("node1.sqlite", (10, 11))]
        done = self.command(DPROF, "import", *files, "-o", self.run_folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        for code in ("import_no_rank", "import_several_ranks", "import_skipped"):
            self.assertEqual(done.stderr.count(f"{code}: "), 1, done.stderr)
        self.assertIn("(and 3 more of this kind", done.stderr)
        for rank in range(4):
            trace = self.trace(rank)
            self.assertEqual(trace.meta["pid"], str(10 + rank % 2))
            self.assertEqual(trace.meta["imported_from"], f"node{rank // 2}.sqlite")
            self.assertNotIn(b"hush", trace.path.read_bytes())
            pairs = trace.db.execute("SELECT count(*), sum(k.duration_ns) FROM gpu_activity k JOIN host_range r "
                                     "ON r.correlation = k.correlation").fetchone()
            self.assertEqual(pairs, (12, 12 * 5_000_000))
        report = self.report()
        self.assertEqual(report["run"]["ranks"], 4)
        self.assertEqual(report["run"]["steps"]["count"], 12)

    def test_ranks_can_be_given(self):
        file = self.export("job.sqlite", (10, 11))
        done = self.command(DPROF, "import", file, "-o", self.run_folder, "--ranks", "5,4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("import_no_rank", done.stderr)
        self.assertEqual(self.trace(5).meta["pid"], "10")
        for ranks in ("0", "nonsense"):
            done = self.command(DPROF, "import", file, "-o", self.folder / "other", "--ranks", ranks)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertFalse((self.folder / "other").exists())

    def test_a_damaged_file_and_one_of_nsights_own(self):
        file = self.export("job.sqlite", (10,), steps=400)
        file.write_bytes(file.read_bytes()[:-20_000])
        done = self.command(DPROF, "import", file, "-o", self.run_folder)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("import_cut: job.sqlite: table ", done.stderr)
        report = self.folder / "job.nsys-rep"
        report.write_bytes(b"anything")
        done = self.command(DPROF, "import", report, "-o", self.folder / "other")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("nsys export --type sqlite", done.stderr)


class ImportFlightRecorder(EndToEnd):
    def test_rank_that_did_not_join_is_reported_in_few_lines(self):
        """Flight-recorder dumps of a job that hangs."""
        dumps, run = self.folder / "dumps", self.folder / "run"
        done = self.command(sys.executable, FLIGHT_DUMPS, dumps, "--ranks", 256, "--missing", 77, "--calls", 24)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.command(DPROF, "import", dumps, "-o", run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("256 files: flight_recorder", done.stderr)
        self.assertLess(len(done.stderr.splitlines()), 10)
        done = self.command(DPROF, "report", run, "--sections", "none")
        report = " ".join(done.stdout.split())
        self.assertIn("for rank 77, which never called it", report)
        self.assertNotIn("exit code", report, "dumps do not say how processes ended")
        self.assertNotIn("for 0 ns", report, "nor how long a rank waited")
        self.assertIn("ranks 0–76, 78–255: running", report)
        self.assertLessEqual(len(done.stdout[done.stdout.index("HANG"):].split("\n\n")[0].splitlines()), 20)
