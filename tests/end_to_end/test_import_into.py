# SPDX-License-Identifier: Apache-2.0
"""Files of other tools that are added to a recorded run."""
import hashlib
import json
import pickle
import time

from memory_snapshots import MIB, START_US, STACKS, Allocator
from support import BIN, DPROF, EndToEnd

PROBE = BIN.parent / "test_bin/step_probe"


class ImportInto(EndToEnd):
    def job(self, ranks=2, steps=12):
        """Steps of 10 ms from START_US on, of each rank."""
        files = []
        for rank in range(ranks):
            events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                       "ts": step * 10_000, "dur": 9_900} for step in range(steps)]
            files.append(self.folder / f"rank{rank}.json")
            files[-1].write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": START_US * 1000,
                                             "distributedInfo": {"rank": rank, "world_size": ranks}, "traceEvents": events}))
        done = self.command(DPROF, "import", *files, "-o", self.run_folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def snapshot(self, name, at_us=START_US + 15_000, device=0):
        allocator = Allocator(device=device)
        allocator.now = at_us
        allocator.alloc(3 * MIB, STACKS[2])
        allocator.now += 10_000
        allocator.free(allocator.alloc(9 * MIB, STACKS[0]))
        return allocator, allocator.write(self.folder / name)

    def add(self, *files, want=0, more=()):
        done = self.command(DPROF, "import", *files, "--into", self.run_folder, *more)
        self.assertEqual(done.returncode, want, done.stderr)
        self.assertEqual(list(self.run_folder.glob(".adding*")), [])
        return done.stderr

    def state(self):
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in self.run_folder.glob("*.dprof")}

    def test_a_snapshot_of_each_rank(self):
        self.job()
        (first, one), (_, two) = self.snapshot("rank0.pickle"), self.snapshot("rank1.pickle")
        said = self.add(one, two)
        self.assertIn("import_added: rank 0: rank0.pickle (memory_snapshot): ", said)
        self.assertIn("by the wall clock, with unknown error", said)
        trace = self.trace(0)
        origin = int(trace.meta["origin_realtime_ns"])
        self.assertEqual(origin, START_US * 1000)
        self.assertEqual(trace.rows("SELECT time_ns + ? FROM memory_event ORDER BY id", origin),
                         [(event["time_us"] * 1000,) for event in first.events if event["action"] != "free_requested"])
        self.assertEqual(trace.meta["added_files"],
                         "memory_snapshot rank0.pickle, by the wall clock, with unknown error")
        self.check_whole(trace)
        report = self.report()
        self.assertEqual(report["run"]["steps"]["count"], 12)
        memory = report["memory"]["per_rank"][1]
        self.assertEqual((memory["peak_allocated"], memory["peak_step"]), (12 * MIB, 2))
        self.assertIn("forward (model.py:41)", memory["at_peak"][0]["site"])

    def test_what_cannot_be_added_leaves_the_run_as_it_was(self):
        self.job()
        _, good = self.snapshot("rank0.pickle")
        _, late = self.snapshot("late_rank0.pickle", at_us=START_US + 3_600_000_000)
        before = self.state()
        for files, more, why in (((late,), (), "the recording covers"), ((good,), ("--ranks", "7"), "the run has ranks 0, 1"),
                                 ((good, late), ("--ranks", "0,1"), "the recording covers"),
                                 ((self.folder / "rank0.json",), (), "it is kineto")):
            self.assertIn(why, self.add(*files, want=2, more=more))
            self.assertEqual(self.state(), before)
        self.add(good)
        self.assertIn("would count twice", self.add(good, want=2))
        self.assertIn("no run", self.command(DPROF, "import", good, "--into", self.folder / "none").stderr)
        self.assertEqual(self.command(DPROF, "import", good).returncode, 2)
        self.assertEqual(self.command(DPROF, "import", good, "-o", "x", "--into", self.run_folder).returncode, 2)

    def dump(self, at_us):
        entry = {"profiling_name": "nccl:all_reduce", "process_group": ("0", "default_pg"), "collective_seq_id": 1,
                 "state": "scheduled", "time_created_ns": at_us * 1000, "input_sizes": [[4, 4]], "input_dtypes": ["Float"],
                 "is_p2p": False, "frames": [{"name": "step", "filename": "/job/train.py", "line": 7}]}
        file = self.folder / "dump_1"
        with open(file, "wb") as out:
            pickle.dump({"version": "2.9", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
                         "entries": [entry]}, out, protocol=2)
        return file

    def test_a_dump_and_inspectors_file(self):
        self.job()
        dump = self.dump(START_US + 50_000)
        self.assertIn("(flight_recorder)", self.add(dump))
        trace = self.trace(1)
        self.assertEqual(trace.rows("SELECT function, enqueue_ns FROM collective_text"), [("all_reduce", 50_000_000)])
        self.assertIn("groups that were recorded", self.add(dump, want=2))
        record = {"header": {"id": "0x5", "rank": 0, "n_ranks": 2, "nnodes": 1},
                  "metadata": {"inspector_output_format_version": "v4.0", "dump_timestamp_us": START_US + 70_000,
                               "hostname": "node", "pid": 5},
                  "coll_perf": {"coll": "AllReduce", "coll_sn": 3, "coll_msg_size_bytes": 4096, "coll_exec_time_us": 100,
                                "coll_algobw_gbs": 1.0, "coll_busbw_gbs": 1.0}}
        file = self.folder / "inspector.log"
        file.write_text(json.dumps(record))
        self.assertIn("rank 0: inspector.log (nccl_inspector): 1 rows", self.add(file))
        self.assertEqual(self.trace(0).rows("SELECT bytes, end_ns FROM collective"), [(4096, 70_000_000)])

    def test_a_recorded_run_says_how_exactly(self):
        self.need(PROBE)
        now = time.time_ns() // 1000
        self.record(PROBE, "--steps", "20", "--step-ms", "20", ranks=1)
        _, file = self.snapshot("rank0.pickle", at_us=now + (time.time_ns() // 1000 - now) // 2)
        said = self.add(file)
        self.assertRegex(said, r"by the wall clock, to ± [\d.]+ (µs|us|ms)")
        self.check_whole(self.trace(0))
        self.assertEqual(self.report()["memory"]["per_rank"][-1]["peak_allocated"], 12 * MIB)
