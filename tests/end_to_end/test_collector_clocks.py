# SPDX-License-Identifier: Apache-2.0
"""Several recorders of one run: how they share a folder or meet, and what they measure of each other's clocks."""
import json
import os
import signal
import time

import support
from support import DPROF, EndToEnd

HOSTS = support.ROOT / "scripts/hosts"
WRITER = support.BIN.parent / "test_bin/recorder_writer"
SKIPPED = 77
US = 1000
NFS = "0x6969"


class Recorders(EndToEnd):
    programs = (DPROF, WRITER)

    def job(self, **more):
        """The variables of a job of two ranks on this machine, as if started by hand."""
        return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(support.free_port()), "WORLD_SIZE": "2", **more}

    def start_rank(self, rank, job, *options, folder=None, seconds=4):
        return self.start(DPROF, "record", "-o", folder or self.run_folder, *options, "--", WRITER, "hello", "ranges=50",
                          f"sleep={seconds * 1000}", "ranges=50", "clean", RANK=str(rank), **job)

    def meeting(self, where=None):
        """Options of recorders that meet there."""
        key = self.folder / "key"
        if not key.exists():
            key.touch(mode=0o600)
            key.write_text("what nobody else knows\n")
        return ("--meet", where or f"127.0.0.1:{support.free_port()}", "--meet-key-file", key)

    def finish(self, *processes, want=0):
        messages = []
        for process in processes:
            out, error = process.communicate(timeout=100)
            self.assertEqual(process.returncode, want, f"\n--- stdout\n{out}\n--- stderr\n{error}")
            messages.append(error)
        return messages

    def index(self, folder=None):
        return json.loads(((folder or self.run_folder) / "run.json").read_text())

    def check_shared(self, ranks):
        """One run, one index, one trace per rank."""
        index = self.index()
        self.assertEqual([(t["file"], t["rank"], t["ended"]) for t in index["traces"]],
                         [(f"rank-{rank:05}.dprof", rank, "complete") for rank in range(ranks)])
        self.assertEqual({self.trace(rank).meta["run_id"] for rank in range(ranks)}, {index["id"]})
        self.assertEqual(list((self.run_folder / "recorders").glob("*.lock")), [], "all have left")


def fake(raw_ns, offset_s, ppm):
    """What --fake-clock shows for a time of the machine's CLOCK_MONOTONIC_RAW."""
    return raw_ns + round(offset_s * 1e9) + raw_ns * round(ppm * 1000) // 1_000_000_000


class Axis:
    """A trace's time axis as a function of ticks, from its meta and its first clock sample."""

    def __init__(self, trace, offset_s=0.0, ppm=0.0):
        self.offset_s, self.ppm = offset_s, ppm
        self.rate = int(trace.meta["ticks_per_second"])
        self.tick0 = trace.value("SELECT ticks FROM clock_sample ORDER BY id LIMIT 1")
        self.origin_ns = int(trace.meta["origin_monotonic_raw_ns"])
        # The real clock at time 0: the fake one is a function of it.
        self.real_ns = round((self.origin_ns - round(offset_s * 1e9)) / (1 + ppm / 1e6))

    def at(self, ticks):
        real = (ticks - self.tick0) * 1_000_000_000 // self.rate
        if not self.ppm:
            return real
        return fake(self.real_ns + real, 0, self.ppm) - fake(self.real_ns, 0, self.ppm)

    def ticks(self, time_ns):
        return self.tick0 + round(time_ns / (1 + self.ppm / 1e6) * self.rate / 1e9)


class Clocks(Recorders):
    def offsets(self, reference, other):
        """Of each probe: the least and the greatest offset that it allows, and the truth, in ns. `other` probed `reference`."""
        trace, axis = other
        origin_ns = reference[1].origin_ns
        found = []
        for send, received, replied, back in trace.rows(
                "SELECT send_ns, peer_receive_ns, peer_reply_ns, receive_ns FROM clock_probe ORDER BY id"):
            truth = reference[1].at(axis.ticks((send + back) / 2)) - (send + back) / 2
            found.append((replied - origin_ns - back, received - origin_ns - send, truth))
        return found

    def check_offset(self, offset_s, ppm):
        job = self.job()
        reference = self.start_rank(0, job, seconds=7)
        support.wait_until(lambda: (self.run_folder / "run.json").exists(), 60, "the first recorder")
        other = self.start_rank(1, job, "--fake-clock", f"{offset_s},{ppm}", seconds=5)
        self.finish(reference, other)
        self.check_shared(2)
        first, second = self.trace(0), self.trace(1)
        self.assertNotEqual(first.meta["clock_id"], second.meta["clock_id"])
        self.assertNotIn("fake_clock", first.meta)
        self.assertEqual(first.value("SELECT count(*) FROM clock_probe"), 0, "the first is the reference")
        self.assertEqual(second.rows("SELECT DISTINCT peer FROM clock_probe"), [(first.meta["clock_id"],)])

        raw_apart = int(second.meta["origin_realtime_ns"]) - int(second.meta["origin_monotonic_raw_ns"])
        real_apart = int(first.meta["origin_realtime_ns"]) - int(first.meta["origin_monotonic_raw_ns"])
        self.assertLess(abs(raw_apart - real_apart), 10 * support.MS, "both clocks are shifted alike")

        probes = self.offsets((first, Axis(first)), (second, Axis(second, offset_s, ppm)))
        self.assertGreaterEqual(len(probes), 16)
        # The rates of the two hosts' tick counters are measured once, to some ppm: over 10 s that is 50 us at most.
        slack = 50 * US
        for low, high, truth in probes:
            self.assertLessEqual(low, truth + slack)
            self.assertGreaterEqual(high, truth - slack)
        error = min(abs((low + high) / 2 - truth) for low, high, truth in probes)
        bound = min((high - low) / 2 for low, high, truth in probes)
        self.assertLess(error, max(20 * US, bound))

    def test_probes_find_the_offset_of_a_fake_clock(self):
        self.check_offset(0.05, 20)

    def test_probes_find_the_offset_of_another_fake_clock(self):
        self.check_offset(10, -50)

    def test_equal_fake_clocks_are_one_host(self):
        job = self.job()
        options = ("--fake-clock", "0.05,20")
        self.finish(self.start_rank(0, job, *options, seconds=2), self.start_rank(1, job, *options, seconds=2))
        self.check_shared(2)
        traces = [self.trace(rank) for rank in (0, 1)]
        self.assertEqual(len({t.meta["clock_id"] for t in traces}), 1)
        self.assertEqual(len({t.meta["ticks_per_second"] for t in traces}), 1, "one rate per host")
        self.assertEqual(len({t.meta["recorder_id"] for t in traces}), 2)
        for trace in traces:
            self.assertEqual(trace.meta["fake_clock"], "50000000 ns, 20 ppm")
            self.assertEqual(trace.value("SELECT count(*) FROM clock_probe"), 0)

    def test_clock_samples_from_start_to_end(self):
        self.finish(self.start_rank(0, {}, "--fake-clock", "1,0", seconds=3))
        trace = self.trace(0)
        rows = trace.rows("SELECT ticks, realtime_ns, monotonic_raw_ns, device_ns FROM clock_sample ORDER BY id")
        origin_ns = int(trace.meta["origin_monotonic_raw_ns"])
        self.assertEqual(rows[0][1:], (int(trace.meta["origin_realtime_ns"]), origin_ns, None))
        self.assertGreaterEqual(len(rows), 4)
        last_ns = trace.value("SELECT max(start_ns + duration_ns) FROM host_range")
        self.assertGreaterEqual(rows[-1][2] - origin_ns, last_ns - 20 * support.MS, "one when the process ended")
        axis = Axis(trace, 1)
        for ticks, realtime, raw, _ in rows:
            self.assertLess(abs(axis.at(ticks) - (raw - origin_ns)), support.MS)
            self.assertLess(abs(realtime - rows[0][1] - (raw - origin_ns)), support.MS)

    def test_out_of_range_is_refused(self):
        for clock in ("1e30,0", "0,5000", "nan,0", "1"):
            done = self.command(DPROF, "record", "-o", self.run_folder, "--fake-clock", clock, "--", "true")
            self.assertEqual(done.returncode, 2, clock)


class Folders(Recorders):
    def test_one_recorder_per_rank_under_srun(self):
        """As `srun dprof record -o RUN -- CMD` sets it; no Slurm was at hand."""
        ranks = 4
        step = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_NTASKS": str(ranks), "SLURM_NODEID": "0"}
        self.finish(*(self.start(DPROF, "record", "-o", self.run_folder, "--", WRITER, "hello", "ranges=20", "sleep=500",
                                 "clean", SLURM_PROCID=str(rank), SLURM_LOCALID=str(rank), **step)
                      for rank in range(ranks)))
        self.check_shared(ranks)
        traces = [self.trace(rank) for rank in range(ranks)]
        self.assertEqual(len({t.meta["clock_id"] for t in traces}), 1)
        self.assertEqual(len({t.meta["recorder_id"] for t in traces}), ranks)
        self.assertEqual({t.meta["launcher"] for t in traces}, {"slurm"})
        done = self.command(DPROF, "record", "-o", self.run_folder, "--", WRITER, "hello", **{**step, "SLURM_STEP_ID": "1"})
        self.assertEqual(done.returncode, 2, "the next step is another job")

    def test_a_rank_comes_once(self):
        job = self.job()
        first = self.start_rank(0, job, seconds=3)
        support.wait_until(lambda: (self.run_folder / "run.json").exists(), 60, "the first recorder")
        again = self.command(DPROF, "record", "-o", self.run_folder, "--", "true", RANK="0", **job)
        self.assertEqual(again.returncode, 2)
        self.assertIn("rank 0 of this job", again.stderr)
        self.finish(first)

    def test_an_unrelated_recorder_is_refused(self):
        first = self.start_rank(0, self.job(), seconds=3)
        support.wait_until(lambda: (self.run_folder / "run.json").exists(), 60, "the first recorder")
        for options in ((), ("--overwrite",)):
            other = self.command(DPROF, "record", "-o", self.run_folder, *options, "--", "true", RANK="1", **self.job())
            self.assertEqual(other.returncode, 2)
            self.assertIn("a recorder works in this folder", other.stderr)
        self.assertEqual(self.command(DPROF, "recover", self.run_folder).returncode, 2)
        self.finish(first)

    def test_unrelated_recordings_do_not_meet(self):
        folders = [self.folder / name for name in "ab"]
        jobs = [self.start_rank(0, {}, folder=folder, seconds=2) for folder in folders]
        self.finish(*jobs)
        self.assertEqual(len({self.trace(0, run=folder).meta["run_id"] for folder in folders}), 2)
        for folder in folders:
            self.assertFalse((folder / "recorders").exists())

    def test_overwriting_by_all_ranks_at_once(self):
        (self.run_folder).mkdir()
        (self.run_folder / "rank-00000.dprof").write_text("old")
        (self.run_folder / "rank-00009.dprof").write_text("old")
        job = self.job()
        self.finish(*(self.start_rank(rank, job, "--overwrite", seconds=1) for rank in (0, 1)))
        self.check_shared(2)
        self.assertFalse((self.run_folder / "rank-00009.dprof").exists())

    def test_a_killed_recorder_leaves_a_folder_that_recovers(self):
        job = self.job()
        processes = [self.start_rank(rank, job, seconds=6) for rank in (0, 1)]
        support.wait_until(lambda: len(list(self.run_folder.glob("*.dprof"))) == 2, 60, "both traces")
        time.sleep(0.5)
        os.kill(support.recorder_of(processes[0]), signal.SIGKILL)
        processes[0].send_signal(signal.SIGKILL)
        processes[0].wait(timeout=10)
        self.assertEqual(self.command(DPROF, "recover", self.run_folder).returncode, 2, "the other works on")
        self.finish(processes[1])
        self.assertEqual(self.command(DPROF, "recover", self.run_folder).returncode, 5)
        self.assertFalse((self.run_folder / "recorders").exists())
        self.assertEqual([t["ended"] for t in self.index()["traces"]], ["recovered", "complete"])

    def test_files_that_say_how_to_reach_it_are_private(self):
        process = self.start_rank(0, self.job(), seconds=2)
        files = self.run_folder / "recorders"
        found = support.wait_until(lambda: list(files.glob("*.json")) if len(list(files.glob("*.json"))) == 2 else None, 60,
                                   "its file")
        self.assertEqual({file.stat().st_mode & 0o777 for file in found}, {0o600})
        self.finish(process)

    def test_a_network_folder(self):
        messages = self.finish(self.start_rank(0, {"DPROF_FAKE_FS_TYPE": NFS}, seconds=1))
        self.assertIn("slow_file_system", messages[0])
        self.assertIn("NFS", messages[0])
        trace = self.trace(0)
        self.check_whole(trace)
        self.assertEqual(trace.value("SELECT count(*) FROM host_range"), 100)
        self.assertEqual(sorted(f.name for f in self.run_folder.iterdir() if not f.suffix == ".dprof"), [".digest", "run.json"])

    def test_a_network_folder_recovers(self):
        process = self.start_rank(0, {"DPROF_FAKE_FS_TYPE": NFS}, seconds=30)
        support.wait_until(lambda: list(self.run_folder.glob("*.dprof")), 60, "the trace")
        time.sleep(1)
        ranks = support.descendants(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=10)
        for rank in ranks:  # and who records them
            os.kill(rank, signal.SIGKILL)
        support.wait_until(lambda: not any(support.is_alive(rank) for rank in ranks), 10, "their end")
        self.assertEqual(self.command(DPROF, "recover", self.run_folder).returncode, 5)
        trace = self.trace(0)
        self.check_whole(trace)
        self.assertEqual(trace.value("SELECT count(*) FROM host_range"), 50)

    def test_a_full_disk_is_reported_clearly(self):
        if os.geteuid() != 0:
            self.skipTest("only root may mount a small disk")
        disk = self.folder / "disk"
        disk.mkdir()
        if self.command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk).returncode != 0:
            self.skipTest("mounting is not allowed here")
        try:
            (disk / "filler").write_bytes(b"x")
            with open(disk / "filler", "wb", buffering=0) as filler:
                try:
                    while True:
                        filler.write(bytes(4096))
                except OSError:
                    pass
            done = self.command(DPROF, "record", "-o", disk / "run", "--", "true")
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("hint:", done.stderr)
            self.assertIn("No space left", done.stderr)
            self.assertIn("the command runs unrecorded", done.stderr)
        finally:
            self.command("umount", "-l", disk)


class Meeting(Recorders):
    def test_without_a_shared_folder(self):
        meet = self.meeting()
        job = self.job()
        folders = [self.folder / name for name in "ab"]
        first = self.start_rank(0, job, *meet, folder=folders[0], seconds=7)
        support.wait_until(lambda: (folders[0] / "run.json").exists(), 60, "the one that listens")
        second = self.start_rank(1, job, *meet, "--fake-clock", "0.05,20", folder=folders[1], seconds=4)
        self.finish(first, second)
        one, two = (self.trace(rank, run=folder) for rank, folder in enumerate(folders))
        self.assertEqual(one.meta["run_id"], two.meta["run_id"])
        self.assertEqual(two.rows("SELECT DISTINCT peer FROM clock_probe"), [(one.meta["clock_id"],)])
        report = self.command(DPROF, "report", *folders, "--format", "json")
        self.assertEqual(report.returncode, 0, report.stderr)

    def test_nobody_there(self):
        """The one that would listen has another job: the recording goes on by itself, and says so."""
        meet = self.meeting()
        first = self.start_rank(0, self.job(), *meet, folder=self.folder / "a", seconds=13)
        support.wait_until(lambda: (self.folder / "a/run.json").exists(), 60, "the one that listens")
        messages = self.finish(self.start_rank(1, self.job(), *meet, folder=self.folder / "b", seconds=1))
        self.assertIn("no_peers", messages[0])
        self.assertEqual(self.trace(1, run=self.folder / "b").value("SELECT count(*) FROM host_range"), 100)
        self.assertIn("no_peers", self.finish(first)[0])

    def test_what_is_no_address(self):
        for meet in ("nonsense", "127.0.0.1:0", "127.0.0.1:99999", ":1"):
            done = self.command(DPROF, "record", "-o", self.run_folder, *self.meeting(meet), "--", "true")
            self.assertEqual(done.returncode, 2, done.stderr)

    def test_without_a_secret(self):
        done = self.command(DPROF, "record", "-o", self.run_folder, "--meet", "127.0.0.1:29400", "--", "true")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--meet-key-file", done.stderr)


class OnHosts(Recorders):
    """Hosts with networks, names and monotonic clocks of their own."""

    def setUp(self):
        super().setUp()
        done = self.command(HOSTS, 1, "--", "true")
        if done.returncode == SKIPPED:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)

    def record_on_hosts(self, options):
        done = self.command(HOSTS, 3, "--", "sh", "-c", f"exec {DPROF} record {options} -- {WRITER} hello ranges=20 "
                            "sleep=6000 ranges=20 clean")
        self.assertEqual(done.returncode, 0, f"\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
        return done

    def check_clocks(self, traces):
        """Hosts count the same ticks, 1000 s apart. One of them is the reference, and probes nobody. Each other one probed it,
        or one that came before the reference was announced, and that probes the reference itself."""
        self.assertEqual(len({t.meta["run_id"] for t in traces}), 1)
        self.assertEqual(len({t.meta["clock_id"] for t in traces}), 3)
        by_clock = {t.meta["clock_id"]: (t, Axis(t)) for t in traces}
        probing = [t for t in traces if t.value("SELECT count(*) FROM clock_probe")]
        self.assertEqual(len(probing), 2)
        probed = []
        for trace in probing:
            (peer,), = trace.rows("SELECT DISTINCT peer FROM clock_probe")
            reference, reference_axis = by_clock[peer]
            probed.append(reference)
            self.assertIsNot(reference, trace)
            if trace.meta["clock_source"] != "tsc":
                continue  # CLOCK_MONOTONIC has another zero on each host: nobody knows the truth
            for low, high, truth in Clocks.offsets(self, (reference, reference_axis), (trace, Axis(trace))):
                self.assertLessEqual(low, truth + 100 * US)
                self.assertGreaterEqual(high, truth - 100 * US)
        self.assertTrue(any(trace not in probing for trace in probed), "nobody probes the reference")

    def test_by_the_run_folder(self):
        self.record_on_hosts("-o run")
        self.check_shared(3)
        self.check_clocks([self.trace(rank) for rank in range(3)])

    def test_by_address(self):
        options = " ".join(str(word) for word in self.meeting("host0:29400"))
        self.record_on_hosts(f"-o run$DPROF_HOST_INDEX {options}")
        folders = [self.folder / f"run{index}" for index in range(3)]
        self.check_clocks([self.trace(rank, run=folder) for rank, folder in enumerate(folders)])
        report = self.command(DPROF, "report", *folders, "--format", "json")
        self.assertEqual(report.returncode, 0, report.stderr)
