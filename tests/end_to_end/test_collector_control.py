# SPDX-License-Identifier: Apache-2.0
"""What is recorded when: windows, `dprof ctl`, the flight recorder, the overhead governor."""
import json
import os
import signal
import socket
import sqlite3
import struct
import unittest

from support import BIN, DPROF, EndToEnd, wait_until

PROBE = BIN.parent / "test_bin/step_probe"
SECOND = 1_000_000_000


class CollectorControl(EndToEnd):
    programs = (DPROF, PROBE)
    end_file = None

    def tearDown(self):
        if self.end_file:
            self.end_file.touch()  # the probe outlives a recorder that is killed
        super().tearDown()

    def payload_steps(self, trace, name):
        """The step numbers that the kept ranges of that name carry, each with how often."""
        rows = trace.rows(
            "SELECT payload FROM range_detail JOIN host_range ON host_range.id = range_id "
            "JOIN string ON string.id = name_id WHERE value = ?", name)
        counts = {}
        for (payload,) in rows:
            number = struct.unpack("<Q", payload)[0]
            counts[number] = counts.get(number, 0) + 1
        return counts

    def captures(self, trace):
        return trace.rows("SELECT time_ns, state, detail, cause FROM capture_text ORDER BY time_ns, id")

    def check_nothing_lost(self, trace):
        self.assertEqual(trace.losses(), [])
        self.assertEqual(trace.value("SELECT count(*) FROM range_detail WHERE range_id NOT IN "
                                     "(SELECT id FROM host_range)"), 0)

    def ctl(self, *arguments, want=0, run=None):
        done = self.command(DPROF, "ctl", run or self.run_folder, *arguments)
        self.assertEqual(done.returncode, want, done.stdout + done.stderr)
        return done

    def status(self):
        return json.loads(self.ctl("status", "--format", "json").stdout)["recorders"][0]

    def start_recording(self, *options, probe=()):
        """`dprof record` with a probe that runs until end_probe()."""
        self.end_file = self.folder / "end"
        process = self.start(DPROF, "record", "-o", self.run_folder, *options, "--", PROBE, "--steps", 1_000_000,
                             "--until", self.end_file, *probe)
        wait_until(lambda: list(self.run_folder.glob("recorders/*-*.json")) and self.status()["processes"], 60,
                   "a process that is being recorded")
        return process

    def end_probe(self, process, want=0):
        self.end_file.touch()
        _, errors = process.communicate(timeout=90)
        self.assertEqual(process.returncode, want, errors)

    # Windows

    def test_window_of_steps_is_exact(self):
        self.record(PROBE, "--steps", 40, "--step-ms", 10, "--work", 5, options=("--steps", "10:20"))
        trace = self.trace(0)
        self.assertEqual([row[0] for row in trace.rows("SELECT step_index FROM step ORDER BY step_index")],
                         list(range(10, 20)))
        self.assertEqual(self.payload_steps(trace, "work"), {step: 5 for step in range(10, 20)})
        self.assertEqual(self.payload_steps(trace, "between"), {step: 5 for step in range(10, 19)})
        self.assertEqual(trace.value("SELECT count(*) FROM host_range WHERE duration_ns IS NULL"), 0)
        self.assertEqual(trace.meta["window"], "steps 10:20")
        begin, end = trace.rows("SELECT min(start_ns), max(end_ns) FROM step")[0]
        captures = self.captures(trace)
        self.assertIn((begin, "recording", "standard", "window"), captures)
        self.assertIn((end, "armed", "standard", "window"), captures)
        self.assertEqual([row for row in captures if row[1] == "recording"][0][0], begin)
        self.check_nothing_lost(trace)

    def test_every_samples_steps_again_and_again(self):
        self.record(PROBE, "--steps", 50, "--step-ms", 5, "--work", 3,
                    options=("--steps", "2:4", "--every", 20))
        self.assertEqual(self.payload_steps(self.trace(0), "work"), {step: 3 for step in (2, 3, 22, 23, 42, 43)})
        self.check_nothing_lost(self.trace(0))

    def test_warm_up_is_skipped(self):
        self.record(PROBE, "--steps", 30, "--step-ms", 5, "--work", 2, options=("--steps", "25:"))
        self.assertEqual(self.payload_steps(self.trace(0), "work"), {step: 2 for step in range(25, 30)})

    def test_window_of_seconds_is_exact_by_time(self):
        self.record(PROBE, "--steps", 400, "--step-ms", 10, options=("--seconds", "1:2"))
        trace = self.trace(0)
        captures = self.captures(trace)
        begin = [row[0] for row in captures if row[1] == "recording"][0]
        self.assertIn((begin + SECOND, "armed", "standard", "window"), captures)
        rows = trace.rows("SELECT min(start_ns), max(start_ns), count(*) FROM host_range")[0]
        self.assertGreaterEqual(rows[0], begin)
        self.assertLess(rows[1], begin + SECOND)
        self.assertGreater(rows[2], 20)
        first = int(trace.meta["first_event_ns"])
        self.assertLess(abs(begin - SECOND - first), SECOND)
        self.check_nothing_lost(trace)

    # dprof ctl

    def test_armed_start_stop(self):
        process = self.start_recording("--armed", probe=("--step-ms", 5, "--work", 2))
        self.assertEqual(self.status()["state"], "armed")
        self.assertEqual(self.status()["events"], 0)
        self.ctl("start")
        wait_until(lambda: self.status()["events"] > 50, 60, "events after the start")
        self.assertEqual(self.status()["processes"][0]["state"], "recording")
        self.ctl("stop")
        wait_until(lambda: self.status()["state"] == "armed", 30, "armed again")
        self.end_probe(process)
        trace = self.trace(0)
        self.assertEqual([row[1:] for row in self.captures(trace) if row[3] == "request" and row[1] == "recording"][0],
                         ("recording", "standard", "request"))
        self.assertIn("armed", [row[1] for row in self.captures(trace) if row[3] == "request"])
        begin = min(row[0] for row in self.captures(trace) if row[1] == "recording")
        end = max(row[0] for row in self.captures(trace) if row[1] == "armed")
        first, last = trace.rows("SELECT min(start_ns), max(start_ns) FROM host_range")[0]
        self.assertGreaterEqual(first, begin)
        self.assertLessEqual(last, end)
        self.check_nothing_lost(trace)

    def test_level_at_run_time(self):
        process = self.start_recording("--detail", "light", probe=("--step-ms", 5))
        self.ctl("level", "full")
        wait_until(lambda: self.status()["processes"][0]["detail"] == "full", 30, "the level")
        text = self.ctl("status").stdout
        self.assertIn("recording at full", text)
        self.ctl("level", "loud", want=2)
        self.ctl("level", want=2)
        self.ctl("trigger", want=2)  # without --keep
        self.end_probe(process)
        levels = [(row[2], row[3]) for row in self.captures(self.trace(0))]
        self.assertEqual(levels[0], ("light", "start"))
        self.assertIn(("full", "request"), levels)
        self.assertEqual(self.trace(0).meta["detail"], "full")

    def test_ctl_without_a_recorder(self):
        self.ctl("status", run=self.folder / "nothing", want=3)
        self.record(PROBE)
        done = self.ctl("status", want=3)
        self.assertIn("no recorder is writing to it", done.stderr)
        elsewhere = self.run_folder / "recorders"
        elsewhere.mkdir(exist_ok=True)
        file = {"schema": "dprof.recorder/2", "name": "far-1", "id": "x", "run_id": "x", "host": "far-away", "pid": 1,
                "clock_id": "x", "address": "192.0.2.1", "probe_port": 1, "control_socket": "/nowhere", "token": "x",
                "first": True, "first_on_host": True}
        (elsewhere / "far-1.json").write_text(json.dumps(file))
        done = self.ctl("status", want=2)
        self.assertIn("far-away", done.stderr)
        file.update(host=socket.gethostname())
        (elsewhere / "far-1.json").write_text(json.dumps(file))
        done = self.ctl("status", want=3)
        self.assertIn("does not answer", done.stderr)

    def test_garbage_at_the_control_socket(self):
        process = self.start_recording(probe=("--step-ms", 5))
        [file] = self.run_folder.glob("recorders/*-*.json")
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        path = json.loads(file.read_text())["control_socket"]

        def connected():
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(path)
            connection.settimeout(10)
            return connection

        silent = [connected() for _ in range(30)]
        for garbage in (b"\n", b"x" * 5000, b"\0" * 300 + b"\n", b"0" * 32 + b" stop\n"):
            with connected() as connection:
                try:
                    connection.sendall(garbage)
                except OSError:
                    pass  # turned away at once
        for connection in silent:
            connection.close()
        wait_until(lambda: self.command(DPROF, "ctl", self.run_folder, "status").returncode == 0, 60, "an answer")
        self.assertEqual(self.status()["state"], "recording")
        self.end_probe(process)

    # Flight recorder

    def test_keep_at_the_end(self):
        self.record(PROBE, "--steps", 500, "--step-ms", 10, "--work", 2, options=("--keep", 1))
        trace = self.trace(0)
        last = int(trace.meta["last_event_ns"])
        self.assertEqual(trace.meta["keep_seconds"], "1")
        first_end = trace.value("SELECT min(start_ns + duration_ns) FROM host_range")
        self.assertGreaterEqual(first_end, last - SECOND)
        self.assertLess(first_end, last - SECOND // 2)
        names = {row[0] for row in trace.rows("SELECT DISTINCT value FROM host_range JOIN string ON string.id=name_id")}
        self.assertEqual(names, {"step", "work", "between"})
        steps = [row[0] for row in trace.rows("SELECT step_index FROM step ORDER BY step_index")]
        self.assertEqual(steps[-1], 499)
        self.assertEqual(steps, list(range(steps[0], 500)))
        self.assertIn((last - SECOND, "recording", "standard", "window"), self.captures(trace))
        self.check_nothing_lost(trace)

    def test_keep_and_kill(self):
        process = self.start_recording("--keep", 1, probe=("--step-ms", 5, "--work", 5))
        wait_until(lambda: self.last_event() > 3 * SECOND, 90, "some seconds of events")
        self.assertIn("keeps 1 s", self.ctl("status").stdout)
        os.kill(self.status()["processes"][0]["pid"], signal.SIGKILL)
        process.communicate(timeout=90)
        self.assertEqual(process.returncode, 128 + 9)
        trace = self.trace(0)
        self.assertEqual(trace.meta["ended"], "process_killed")
        last = int(trace.meta["last_event_ns"])
        first = trace.value("SELECT min(start_ns) FROM host_range WHERE duration_ns IS NOT NULL")
        self.assertLess(first, last - SECOND * 9 // 10)
        self.assertIn("trigger", [row[3] for row in self.captures(trace)])
        self.check_nothing_lost(trace)

    def test_trigger_keeps_what_is_there(self):
        process = self.start_recording("--keep", 1, probe=("--step-ms", 5, "--work", 2))
        wait_until(lambda: self.last_event() > 2 * SECOND, 90, "events")
        self.ctl("trigger")
        trigger = wait_until(self.seen_trigger, 30, "the trigger's row")
        wait_until(lambda: self.last_event() > trigger + 4 * SECOND, 90, "four more seconds")
        self.end_probe(process)
        trace = self.trace(0)
        kept = trace.value("SELECT count(*) FROM host_range WHERE start_ns < ?", trigger)
        self.assertGreater(kept, 50)
        last = int(trace.meta["last_event_ns"])
        self.assertEqual(trace.value("SELECT count(*) FROM host_range WHERE start_ns > ? AND start_ns + duration_ns < ?",
                                     trigger + SECOND // 2, last - 3 * SECOND // 2), 0)

    def open_trace_value(self, sql):
        for path in self.run_folder.glob("*.dprof"):
            db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            try:
                return db.execute(sql).fetchone()[0]
            finally:
                db.close()  # a trace that somebody reads keeps its working name
        return None

    def seen_trigger(self):
        return self.open_trace_value("SELECT max(time_ns) FROM capture WHERE cause = 5")

    def last_event(self):
        return self.open_trace_value("SELECT max(start_ns) FROM host_range") or 0

    # Governor

    def test_governor_lowers_with_a_tiny_limit(self):
        process = self.start_recording("--detail", "full", "--max-overhead", "0.0001%",
                                       probe=("--step-ms", 5, "--work", 20))
        wait_until(lambda: self.status()["processes"][0]["state"] == "armed", 90, "nothing is left to lower")
        self.end_probe(process)
        trace = self.trace(0)
        governed = [row[1:] for row in self.captures(trace) if row[3] == "governor"]
        self.assertEqual(governed, [("recording", "standard", "governor"), ("recording", "light", "governor"),
                                    ("armed", "light", "governor")])
        codes = [row[0] for row in trace.rows("SELECT code FROM diagnostic")]
        self.assertEqual(codes.count("governor"), 3)
        self.assertGreater(int(trace.meta["hook_ns"]), 0)
        self.assertGreater(int(trace.meta["hook_calls"]), 1000)

    def test_governor_leaves_a_wide_limit_alone(self):
        self.record(PROBE, "--steps", 200, "--step-ms", 10, "--work", 2,
                    options=("--detail", "full", "--max-overhead", "90%"))
        self.assertEqual([row for row in self.captures(self.trace(0)) if row[3] == "governor"], [])


if __name__ == "__main__":
    unittest.main()
