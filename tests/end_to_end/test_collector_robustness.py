# SPDX-License-Identifier: Apache-2.0
"""Processes that end in every way, floods, full disks and small limits: nothing is lost in silence, nothing is harmed."""
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import support
from support import BIN, DPROF, HERE, EndToEnd, Trace

PROBE = BIN.parent / "test_bin/nvtx_probe"
MARKS = 500


class Probed(EndToEnd):
    """A case whose ranks are nvtx_probe: processes that need no torch and know what they wrote."""

    programs = (DPROF, PROBE)

    def index(self, run=None):
        return json.loads(((run or self.run_folder) / "run.json").read_text())

    def every_trace(self, run=None):
        """All traces of a run, by rank (the last one of a rank that has several)."""
        for entry in self.index(run)["traces"]:
            with Trace((run or self.run_folder) / entry["file"]) as trace:
                yield entry["rank"], trace

    def marks(self, trace):
        """The numbers of the marks, in the order in which they were written."""
        blobs = trace.rows("SELECT payload FROM range_detail JOIN host_range ON host_range.id = range_id "
                           "JOIN string ON string.id = name_id WHERE value = 'mark' ORDER BY range_id")
        return [int.from_bytes(blob, "little") for (blob,) in blobs]

    def ranges(self, trace):
        return trace.value("SELECT count(*) FROM host_range JOIN string ON string.id = name_id WHERE value = 'work'")

    def lost(self, trace):
        return sum(count for _, _, count in trace.losses())

    def check_marks(self, rank=0, marks=MARKS, run=None, ended="complete"):
        trace = self.trace(rank, run)
        self.check_whole(trace)
        self.assertEqual(self.marks(trace), list(range(marks)))
        self.assertEqual(trace.losses(), [])
        self.assertEqual(trace.meta["ended"], ended)
        return trace


class Ends(Probed):
    """However a process ends, what it wrote is in its trace."""

    def end(self, how, want, ended):
        self.record(PROBE, "--marks", MARKS, "--end", how, want=want)
        self.check_marks(ended=ended)

    def test_return(self):
        self.end("return", 0, "complete")

    def test_exit_without_handlers(self):
        self.end("_exit", 0, "complete")

    def test_quick_exit(self):
        self.end("quick_exit", 0, "complete")

    def test_abort(self):
        self.end("abort", 128 + signal.SIGABRT, "process_killed")

    def test_segmentation_fault(self):
        self.end(str(int(signal.SIGSEGV)), 128 + signal.SIGSEGV, "process_killed")

    def test_terminated(self):
        self.end(str(int(signal.SIGTERM)), 128 + signal.SIGTERM, "process_killed")

    def test_exec(self):
        """The same process goes on as another program, which records nothing."""
        self.record(PROBE, "--marks", MARKS, "--end", "exec")
        self.assertEqual(self.marks(self.trace(0)), list(range(MARKS)))

    def test_interrupt_from_the_keyboard(self):
        """Ctrl-C reaches the whole foreground group: the ranks die of it, the recorder finishes their traces."""
        counter = self.folder / "counter"
        command = [DPROF, "record", "-o", self.run_folder, "--", PROBE, "--marks", MARKS, "--counter", counter, "--last-ms",
                   60_000]
        recorder = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                    cwd=self.folder, env=self.environment(), start_new_session=True)
        self.processes.append(recorder)
        support.wait_until(lambda: written(counter) == MARKS, 30, "all marks are written")
        os.killpg(recorder.pid, signal.SIGINT)
        _, messages = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 128 + signal.SIGINT, messages)
        self.check_marks(ended="process_killed")


class Kills(Probed):
    ROUNDS = int(os.environ.get("DPROF_KILL_ROUNDS", 200))  # 1,000 before a release: docs/reliability.md

    def test_random_kills_lose_no_written_record(self):
        """So many processes, each killed by SIGKILL at a random time: every mark that was written is in the trace, or, where a
        busy machine let a ring fill up, counted."""
        seed = int(os.environ.get("DPROF_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"seed {seed} (DPROF_SEED repeats it)")
        done = self.command(DPROF, "record", "-o", self.run_folder, "--", sys.executable, HERE / "kill_rounds.py", self.ROUNDS,
                            seed, self.folder, PROBE, timeout=0.75 * max(200, self.ROUNDS))
        self.assertIn(done.returncode, (0, 5), done.stderr)
        traces = {}
        for rank, trace in self.every_trace():
            self.assertEqual(trace.value("PRAGMA integrity_check"), "ok")
            self.assertLessEqual({reason for _, reason, _ in trace.losses()}, {"ring_full"}, f"seed {seed}, round {rank}")
            self.assertEqual(trace.meta["ended"], "process_killed")
            traces[rank] = self.marks(trace), self.lost(trace)
        full = 0
        for rank in range(self.ROUNDS):
            wrote = written(self.folder / f"counter-{rank}")
            found, lost = traces.get(rank, ([], 0))
            full += lost != 0
            self.assertEqual(found, sorted(set(found)), f"seed {seed}, round {rank}: out of order")
            if lost == 0:
                self.assertEqual(found, list(range(len(found))), f"seed {seed}, round {rank}: a gap")
            # One more than was counted: killed between the write and the counting of it.
            self.assertIn(len(found) + lost - wrote, (0, 1),
                          f"seed {seed}, round {rank}: {len(found)} found, {lost} counted, {wrote} written")
        print(f"{full} of {self.ROUNDS} processes found their ring full")
        self.assertEqual(done.returncode, 5 if full else 0)


class Overload(Probed):
    """Stored + counted as lost = produced, to the record."""

    def check_sum(self, produced, stored):
        trace = self.trace(0)
        self.check_whole(trace)
        reasons = {reason for _, reason, _ in trace.losses()}
        self.assertEqual(reasons, {"ring_full"})
        self.assertEqual(stored(trace) + self.lost(trace), produced)
        self.assertGreater(stored(trace), 0)
        return trace

    def test_writers_that_are_too_fast(self):
        """Four threads that write as fast as they can."""
        self.record(PROBE, "--marks", 400_000, "--threads", 4, want=5)
        trace = self.check_sum(4 * 400_000, lambda trace: len(self.marks(trace)))
        numbers = self.marks(trace)
        self.assertLess(max(numbers), 400_000)

    def test_ranges_that_are_too_fast(self):
        """A range whose begin did not fit counts once, and its end is taken for no other's."""
        self.record(PROBE, "--ranges", 400_000, "--threads", 2, want=5)
        trace = self.check_sum(2 * 400_000, self.ranges)
        self.assertEqual(trace.value("SELECT count(*) FROM host_range WHERE duration_ns IS NULL"), 0)

    def test_a_stopped_recorder(self):
        """A paced writer, and a recorder that is stopped for a while: only what came meanwhile is lost."""
        counter = self.folder / "counter"
        count = 60_000
        recorder = self.start(DPROF, "record", "-o", self.run_folder, "--", PROBE, "--marks", count, "--burst", 500,
                              "--pause-us", 10_000, "--counter", counter)
        support.wait_until(lambda: written(counter) > 0, 30, "the first mark")
        recording = support.recorder_of(recorder)
        os.kill(recording, signal.SIGSTOP)
        before = written(counter)
        support.wait_until(lambda: written(counter) > before + 30_000, 30, "the ring is full")
        os.kill(recording, signal.SIGCONT)
        _, messages = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 5, messages)
        self.check_sum(count, lambda trace: len(self.marks(trace)))
        report = self.report()
        self.assertEqual(sum(entry["count"] for entry in report["recording"]["lost"]), self.lost(self.trace(0)))


class Limits(Probed):
    """Where there is no room, the job goes on and somebody is warned."""

    def test_full_disk(self):
        """The trace cannot be written: the job ends well, exit code 5, and what did not fit is counted."""
        with self.small_disk("1m") as disk:
            done = self.record(PROBE, "--marks", 200_000, "--burst", 1000, "--pause-us", 5000, run=disk / "run", want=5,
                               options=("--linger", 1))
            self.assertRegex(done.stderr, "full|lost")
            self.assertIn("records_lost", done.stderr)

    def test_a_process_that_lives_while_the_disk_is_full(self):
        """Its trace is begun and finished when there is room, and says what is missing."""
        with self.small_disk("64m") as disk:
            full, ended, room = (self.folder / name for name in ("full", "ended", "room"))
            script = (f"while [ ! -e '{full}' ]; do sleep 0.1; done; RANK=0 WORLD_SIZE=1 '{PROBE}' --marks {MARKS}; "
                      f"touch '{ended}'; while [ ! -e '{room}' ]; do sleep 0.1; done")
            recorder = self.start(DPROF, "record", "-o", disk / "run", "--", "sh", "-c", script)
            support.wait_until(lambda: (disk / "run/run.json").exists(), 30, "the recorder has its folder")
            time.sleep(1)
            self.resize(disk, os.statvfs(disk).f_bsize * (os.statvfs(disk).f_blocks - os.statvfs(disk).f_bfree))
            full.touch()
            support.wait_until(ended.exists, 30, "the process has ended")
            self.resize(disk, 64 << 20)
            support.wait_until(lambda: (disk / "run/rank-00000.dprof").exists(), 30, "its trace is finished, the command runs")
            room.touch()
            _, messages = recorder.communicate(timeout=60)
            self.assertEqual(recorder.returncode, 5, messages)
            self.assertIn("cannot be written", messages)
            trace = self.trace(0, disk / "run")
            self.check_whole(trace)
            self.assertEqual(trace.meta["ended"], "complete")
            lost = trace.value("SELECT sum(count) FROM loss_text WHERE reason = 'disk' AND thread_id IS NOT NULL")
            self.assertGreater(lost, 0)
            self.assertEqual(trace.value("SELECT count(*) FROM host_range") + lost, MARKS)

    def resize(self, disk, size):
        subprocess.run(["mount", "-o", f"remount,size={size}", disk], check=True)

    def test_a_disk_that_cannot_be_written(self):
        """Said at once; the command runs without being recorded."""
        with self.small_disk("1m") as disk:
            if subprocess.run(["mount", "-o", "remount,ro", disk]).returncode != 0:
                self.skipTest("a disk cannot be made read-only here")
            started = self.folder / "started"
            done = self.command(DPROF, "record", "-o", disk / "run", "--", "touch", started)
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn(str(disk / "run"), done.stderr)
            self.assertIn("the command runs unrecorded", done.stderr)
            self.assertTrue(started.exists())

    @contextlib.contextmanager
    def small_disk(self, size):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"a small disk cannot be mounted: {mounted.stderr.strip()}")
        try:
            yield pathlib.Path(disk)
        finally:
            subprocess.run(["umount", "-l", disk], check=True)

    def limited(self, resource, kilobytes):
        """The job under a shell's limit; it must find itself not recorded, and end well."""
        done = self.record("sh", "-c", f"ulimit {resource} {kilobytes}; exec '{PROBE}' --closed", want=5)
        self.assertIn("memory_limit", done.stderr)
        self.assertIn("hint", done.stderr)

    def test_address_space(self):
        self.limited("-v", 100_000)

    def test_file_size(self):
        self.limited("-f", 100_000)


class Many(Probed):
    RANKS = 64

    def test_64_ranks_on_one_host(self):
        done = self.record(PROBE, "--ranges", 2000, "--burst", 100, "--pause-us", 5000, ranks=self.RANKS)
        self.assertNotIn("lost", done.stderr.replace("0 lost", ""))
        seen = 0
        for rank, trace in self.every_trace():
            self.assertEqual(trace.meta["rank"], str(rank))
            self.assertEqual(trace.meta["world_size"], str(self.RANKS))
            self.assertEqual(trace.meta["ended"], "complete")
            self.assertEqual(self.ranges(trace), 2000)
            self.assertEqual(trace.losses(), [])
            seen += 1
        self.assertEqual(seen, self.RANKS)

    def test_two_recordings_at_once(self):
        """Each records its own command, and nothing of the other's."""
        runs = [self.folder / f"run-{i}" for i in range(2)]
        recorders = [self.start(DPROF, "record", "-n", 2, "-o", run, "--", PROBE, "--marks", MARKS + i, "--first-ms", 300,
                                "--last-ms", 300) for i, run in enumerate(runs)]
        for recorder in recorders:
            _, messages = recorder.communicate(timeout=60)
            self.assertEqual(recorder.returncode, 0, messages)
        for i, run in enumerate(runs):
            self.assertEqual(len(self.index(run)["traces"]), 2)
            for rank in (0, 1):
                self.check_marks(rank, MARKS + i, run)
        self.assertNotEqual(self.index(runs[0])["id"], self.index(runs[1])["id"])

    def test_a_recording_within_a_recording(self):
        """The inner recorder has its command; the outer one is left with nothing, and says so."""
        inner = self.folder / "inner"
        done = self.record(DPROF, "record", "-o", inner, "--", PROBE, "--marks", MARKS, want=5)
        self.check_marks(run=inner)
        self.assertIn("no_process", done.stderr)


def written(counter):
    try:
        return int.from_bytes(counter.read_bytes()[:8], "little")
    except FileNotFoundError:
        return 0
