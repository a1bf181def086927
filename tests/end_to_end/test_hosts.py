# SPDX-License-Identifier: Apache-2.0
"""scripts/hosts: several hosts on one machine, and links of theirs that are slow."""
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

import support
from support import DPROF, TRAINER, EndToEnd, Trace

HOSTS = support.ROOT / "scripts/hosts"
PROBE = support.BIN.parent / "test_bin/slow_link_probe"
METER = support.HERE / "link_meter.py"
RUNS = pathlib.Path("/run/dprof-hosts")
SKIPPED = 77
PAYLOAD = 1448 / 1514  # share of a full Ethernet frame that is TCP's payload


class Hosts(EndToEnd):
    programs = ()

    def setUp(self):
        super().setUp()
        done = self.command(HOSTS, 1, "--", "true")
        if done.returncode == SKIPPED:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)

    def hosts(self, *arguments, want=0, **how):
        done = self.command(HOSTS, *arguments, **how)
        self.assertEqual(done.returncode, want, f"\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
        return done

    def lines(self, done):
        """The lines of each "[name]", without it."""
        result = {}
        for line in done.stdout.splitlines():
            name, text = re.fullmatch(r"\[([^]]+)] (.*)", line).groups()
            result.setdefault(name, []).append(text)
        return result

    def assert_nothing_left(self, run):
        """Neither a process of the run nor its folder; its networks cannot outlive its processes."""
        self.assertFalse((RUNS / str(run)).exists())
        mark = f"DPROF_HOSTS_RUN={RUNS / str(run)}".encode()
        self.assertEqual([pid for pid, variables in environments() if mark in variables], [])

    # Hosts and ranks

    def test_each_host_is_its_own(self):
        script = ("import json, os, socket, time; print(json.dumps([socket.gethostname(), time.monotonic(), "
                  "socket.gethostbyname('host1'), sorted(os.listdir('/sys/class/net')), "
                  "{k: os.environ.get(k) for k in ('RANK', 'LOCAL_RANK', 'WORLD_SIZE', 'LOCAL_WORLD_SIZE', 'NODE_RANK', "
                  "'MASTER_ADDR', 'DPROF_HOST_INDEX', 'GLOO_SOCKET_IFNAME')}]))")
        done = self.hosts(2, "--ranks-per-host", 2, "--time-offset", "0,500.5", "--", sys.executable, "-c", script)
        printed = {name: json.loads(text) for name, (text,) in self.lines(done).items()}
        self.assertEqual(sorted(printed), ["host0/0", "host0/1", "host1/2", "host1/3"])
        for name, (host, monotonic, address, interfaces, variables) in printed.items():
            index, rank = int(name[4]), int(name[6])
            self.assertEqual(host, f"host{index}")
            self.assertEqual(address, "10.0.0.2")
            self.assertEqual(interfaces, ["eth0", "lo"])
            self.assertAlmostEqual(monotonic, time.monotonic() + 500.5 * index, delta=30)
            self.assertEqual(variables, {
                "RANK": str(rank), "LOCAL_RANK": str(rank % 2), "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2",
                "NODE_RANK": str(index), "MASTER_ADDR": "10.0.0.1", "DPROF_HOST_INDEX": str(index),
                "GLOO_SOCKET_IFNAME": "eth0"})

    def test_a_launcher_per_host_finds_no_rank(self):
        done = self.hosts(2, "--per-host", "--", "sh", "-c", "echo $NODE_RANK of $NNODES, rank ${RANK-none}", RANK="7")
        self.assertEqual(self.lines(done), {"host0": ["0 of 2, rank none"], "host1": ["1 of 2, rank none"]})

    def test_the_trainer_trains_on_two_hosts(self):
        self.need_trainer()
        done = self.hosts(2, "--", TRAINER, "--steps", 5)
        self.assertIn("equal on all ranks: 2", done.stdout)

    def test_the_trainer_slows_its_link(self):
        """At 5 Mbit/s a rank needs 173 ms for the 108,400 bytes that it sends in each all-reduce."""
        self.need_trainer()
        truth = self.folder / "truth.json"
        self.hosts(2, "--", TRAINER, "--steps", 28, "--inject", "slow-link:rank=1,rate=5,from=20", "--truth", truth)
        written = json.loads(truth.read_text())
        self.assertEqual(written["injected"][0]["rate_mbit"], 5)
        steps = written["ranks"][0]["step_ns"]
        # No load makes a slowed step shorter than its transfer, nor the quickest of 18 before nearly as long: an unslowed
        # one takes 10 to 30 ms.
        self.assertGreater(statistics.median(steps[21:]), 160 * support.MS)
        self.assertLess(min(steps[2:20]), 100 * support.MS)

    def test_dprof_records_on_two_hosts(self):
        self.need(DPROF)
        self.need_trainer()
        self.hosts(2, "--", "sh", "-c", f"exec {DPROF} record -o run$DPROF_HOST_INDEX -- {TRAINER} --steps 10")
        offsets = []
        for index in (0, 1):
            with Trace(self.folder / f"run{index}/rank-{index:05}.dprof") as trace:
                self.assertEqual(trace.meta["host"], f"host{index}")
                self.assertEqual(trace.meta["ended"], "complete")
                self.assertEqual(trace.value("SELECT count(*) FROM step"), 10)
                offsets.append(int(trace.meta["origin_monotonic_raw_ns"]))
        self.assertAlmostEqual((offsets[1] - offsets[0]) / 1e9, 1000, delta=30)

    # Ends

    def test_the_first_failure_ends_the_others(self):
        begin = time.monotonic()
        done = self.hosts(2, "--", "sh", "-c", "[ $RANK = 1 ] && exit 3; exec sleep 60", want=3)
        self.assertIn("host1/1 failed with exit code 3", done.stderr)
        self.assertLess(time.monotonic() - begin, 30)

    def test_a_command_that_ignores_term_is_killed(self):
        self.hosts(2, "--", "sh", "-c", "[ $RANK = 1 ] && { sleep 0.5; exit 3; }; trap '' TERM; while :; do sleep 1; done",
                   want=3)

    def test_a_command_that_is_not_there(self):
        done = self.hosts(2, "--", self.folder / "nothing", want=127)
        self.assertIn("cannot be started", done.stderr)

    def test_a_signal_ends_all_that_was_started(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start(HOSTS, 2, "--", "sh", "-c", "setsid sleep 100 & echo here; exec sleep 100")
            self.assertIn("here", process.stdout.readline())
            process.send_signal(number)
            process.communicate(timeout=30)
            self.assertEqual(process.returncode, 128 + number)
            self.assert_nothing_left(process.pid)

    def test_clean_removes_what_a_killed_run_leaves(self):
        process = self.start(HOSTS, 2, "--", "sh", "-c", "trap '' TERM; setsid sleep 100 & echo here; sleep 100")
        self.assertIn("here", process.stdout.readline())
        process.kill()
        process.wait()
        self.assertTrue((RUNS / str(process.pid)).exists())
        self.hosts("--clean")
        # The killed ones go as soon as they are next to run.
        support.wait_until(lambda: not any(f"DPROF_HOSTS_RUN={RUNS / str(process.pid)}".encode() in variables
                                           for _, variables in environments()), 10, "its processes end")
        self.assert_nothing_left(process.pid)

    def test_clean_leaves_a_run_that_lives(self):
        process = self.start(HOSTS, 1, "--", "sh", "-c", "echo here; sleep 3; echo still here")
        self.assertIn("here", process.stdout.readline())
        self.hosts("--clean")
        self.assertIn("still here", process.communicate(timeout=30)[0])
        self.assertEqual(process.returncode, 0)

    def test_is_skipped_without_root(self):
        done = subprocess.run([HOSTS, "1", "--", "true"], capture_output=True, text=True, timeout=30, cwd="/",
                              preexec_fn=lambda: os.setuid(65534))
        self.assertEqual(done.returncode, SKIPPED, done.stderr)
        self.assertIn("only root", done.stderr)

    def test_bad_arguments(self):
        for arguments in ((), (0, "--", "true"), (2,), (2, "--"), (2, "--time-offset", "0", "--", "true"),
                          (2, "--time-offset", "0,x", "--", "true"), ("--ranks-per-host", 0, 2, "--", "true")):
            with self.subTest(arguments):
                self.hosts(*arguments, want=2)

    # Slow links

    def slow(self, rate=0, delay=0, loss=0, megabytes=4):
        """What the meter found before, while and after the link of host 1 was slowed."""
        self.need(PROBE)
        file = self.run_folder / "link.json"

        def measure():
            self.run_folder.mkdir(exist_ok=True)
            self.hosts(2, "--", sys.executable, METER, PROBE, rate, delay, loss, megabytes * 1_000_000, file)
            return json.loads(file.read_text())

        result = self.undisturbed(measure)
        # Lifted, the link is what it was: faster than any limit of these cases by far.
        self.assertLess(result["after"]["round_trip_ms"], 1)
        self.assertGreater(result["after"]["rate_mbit"], 400)
        return result

    def test_rate(self):
        for rate, megabytes in ((20, 2), (200, 10)):
            found = self.slow(rate=rate, megabytes=megabytes)["slow"]
            self.assertAlmostEqual(found["rate_mbit"], rate * PAYLOAD, delta=0.15 * rate)

    def test_delay(self):
        for delay in (2, 20):
            result = self.slow(delay=delay)
            added = result["slow"]["round_trip_ms"] - result["before"]["round_trip_ms"]
            self.assertAlmostEqual(added, delay, delta=0.1 * delay + 1)

    def test_rate_and_delay(self):
        result = self.slow(rate=100, delay=5, megabytes=10)
        self.assertAlmostEqual(result["slow"]["rate_mbit"], 100 * PAYLOAD, delta=15)
        self.assertAlmostEqual(result["slow"]["round_trip_ms"] - result["before"]["round_trip_ms"], 5, delta=1.5)

    def test_loss(self):
        """A lost frame of a round trip comes again after 200 ms and more."""
        result = self.slow(loss=0.2, megabytes=1)
        self.assertGreater(result["slow"]["mean_round_trip_ms"], result["before"]["mean_round_trip_ms"] + 10)

    def test_one_process_per_host_slows_the_link(self):
        self.need(PROBE)
        done = self.hosts(1, "--", "sh", "-c", f"(sleep 2 | {PROBE} 10 0 0) & sleep 1; {PROBE} 20 0 0; echo code $?; wait")
        self.assertIn("another process limits the link", done.stderr)
        self.assertEqual(self.lines(done)["host0/0"], ["applied", "code 2", "lifted"])

    def test_the_link_of_a_killed_process_is_lifted(self):
        self.need(PROBE)
        script = (f"sleep 9 | {PROBE} 10 5 0 & sleep 1; tc qdisc show dev eth0;"
                  "pkill -9 -s $(ps -o sid= -p $$) slow_link_probe; sleep 1; echo then; tc qdisc show dev eth0;"
                  "cat /sys/class/net/eth0/tx_queue_len")
        lines = self.lines(self.hosts(1, "--", "sh", "-c", script))["host0/0"]
        then = lines.index("then")
        self.assertTrue(any("tbf" in line for line in lines[:then]), lines)
        self.assertFalse(any("tbf" in line for line in lines[then:]), lines)

    def test_no_link_of_the_machine_is_slowed(self):
        self.need(PROBE)
        own = str(os.stat("/proc/self/ns/net").st_ino)
        for variables in ({}, {"GLOO_SOCKET_IFNAME": "eth0", "DPROF_HOST_NETWORK": own, "DPROF_LINK_CONTROL": "/nowhere"}):
            done = self.command(PROBE, 10, 0, 0, **variables)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("hint: ", done.stderr)


def environments():
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield int(entry.name), (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                pass
