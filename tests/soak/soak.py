# SPDX-License-Identifier: Apache-2.0
"""Records a job for a long time in which everything goes wrong that can, and says whether it endured.

64 light processes that write marks and ranges, fork, exec, load libraries, start storms of threads and flood their rings, are
stopped and killed at random; beside them two ranks train (DDP on Gloo). The recorder is stopped for 10 s, its disk is full for
5 s, and `dprof ctl` changes the level and asks. It endured if

  - every process has a finished trace, and every record that a thread produced is stored, or counted as lost;
  - the memory of the recorder, of 8 processes that live throughout, and of the training's ranks does not grow;
  - each training computed what it computes without dprof, to the bit;
  - nothing ended in a way that nobody asked for, and no trace is damaged.

Exit code 0: endured; 1: did not; 2: usage. --seed repeats the choices that were made at random, though not their moments.
"""
import argparse
import collections
import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import job
import judge

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RECORDER_STOP, DISK_FULL = 10.0, 5.0  # seconds
WARM_UP = 1 / 2  # of the samples of a process; memory that is reached once is not growth
SAMPLE = 0.25  # seconds
# KiB per minute, of the training KiB per 1,000 steps above its growth without dprof. The recorder keeps an entry for each of
# the processes that come and go (about 150 a minute).
LIMITS = {"recorder": 512, "processes": 16, "training": 64}
UNITS = {"recorder": "minute", "processes": "minute", "training": "1,000 steps"}
SHORTEST_JUDGED = 300  # seconds; before, each of the recorder's connections still fills its cache
MOST_RECORDER_KIB = 1 << 20
MOST_FAULTS = 20  # printed


def anonymous_kib(pid):
    """Memory of the process' own; what it shares with the recorder has a fixed size."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
    except OSError:
        pass
    return None


def children(pid):
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def program(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def name(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def below(pid):
    return [pid, *(deeper for child in children(pid) for deeper in below(child))]


class SmallDisk:
    """A disk of its own for the run, which can be made as small as what lies on it."""

    SIZE = "50%"  # of the machine's memory, taken as it is used

    def __init__(self, folder):
        self.path = folder / "disk"
        self.path.mkdir()
        self.mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.SIZE}", "none", self.path],
                                      capture_output=True).returncode == 0

    def resize(self, size):
        return subprocess.run(["mount", "-o", f"remount,size={size}", self.path], capture_output=True).returncode == 0

    def fill(self):
        for spare in (0, 1 << 20, 1 << 24):  # somebody writes meanwhile
            room = os.statvfs(self.path)
            if self.resize((room.f_blocks - room.f_bfree) * room.f_frsize + spare):
                return True
        return False

    def make_room(self):
        return self.resize(self.SIZE)

    def unmount(self):
        if self.mounted and subprocess.run(["umount", "-l", self.path]).returncode:
            print(f"soak: {self.path} is still mounted", file=sys.stderr)  # the result counts all the same


class Soak:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.dprof = options.build / "bin/dprof"
        self.chance = random.Random(f"{options.seed} soak")
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith("DPROF_") and key not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LD_PRELOAD")}
        self.environment["OMP_NUM_THREADS"] = "1"
        self.memory = collections.defaultdict(list)  # (seconds, mean KiB of one) by who, and by which training
        self.asked = collections.Counter()
        self.asking = []  # control commands that were sent
        self.faults = []
        self.disk = SmallDisk(folder)
        self.run_folder = self.disk.path / "run"

    def train_alone(self):
        truth = self.folder / "alone.json"
        training = subprocess.Popen(job.training_command(self.options.build / "bin/dprof-trainer", self.options.steps, truth),
                                    env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        begin = time.monotonic()
        while training.poll() is None:
            time.sleep(SAMPLE)
            self.sample_training(time.monotonic() - begin, training.pid, "alone")
        if training.returncode != 0:
            sys.exit(f"soak: the training ends with {training.returncode} without dprof, too")
        return job.training_result(truth)

    def record(self):
        options = self.options
        command = [self.dprof, "record", "--detail", "standard", "-o", self.run_folder, "--", sys.executable,
                   pathlib.Path(__file__).with_name("job.py"), self.folder, options.seconds, options.seed, options.steps,
                   options.build / "test_bin/soak_probe", options.build / "bin/dprof-trainer"]
        with (self.folder / "recorder.txt").open("w") as output:
            recorder = subprocess.Popen([str(word) for word in command], env=self.environment, stdout=output, stderr=output)
        try:
            self.accompany(recorder)
            self.hear_answers(at_most=60)
            code = recorder.wait(timeout=300)
        except subprocess.TimeoutExpired:
            self.faults.append("the recorder, or a request to it, did not end within 300 s")
            code = None
        finally:
            for pid in below(recorder.pid)[::-1]:
                if recorder.poll() is None:
                    os.kill(pid, signal.SIGKILL)
            if self.disk.mounted:
                self.disk.make_room()
        if code not in (0, 5, None):
            self.faults.append(f"the recorder ended with {code}: see {self.folder}/recorder.txt")

    def accompany(self, recorder):
        """Samples memory, and does to the recorder what is due, until the job is at its end."""
        planned = self.plan()
        begin = time.monotonic()
        ticks = 0
        while time.monotonic() - begin < self.options.seconds and recorder.poll() is None:
            ticks += 1
            time.sleep(max(0.0, begin + ticks * SAMPLE - time.monotonic()))
            now = time.monotonic() - begin
            while planned and planned[0][0] <= now:
                planned.pop(0)[1](recorder)
            self.sample(now, recorder.pid)
            if not planned or planned[0][0] - now > 3:
                self.control()
        for _, action in planned:
            action(recorder)

    def plan(self):
        """(when, what): the recorder stopped and the disk full, each once in 5 minutes and once at least."""
        seconds = self.options.seconds
        rounds = max(1, int(seconds / 300))
        planned = []
        for i in range(rounds):
            begin, length = seconds * i / rounds, seconds / rounds
            stop = begin + length * self.chance.uniform(0.05, 0.1)
            full = begin + length * self.chance.uniform(0.3, 0.35)
            planned += [(stop, self.stop_recorder), (stop + RECORDER_STOP, self.go_on)]
            if self.disk.mounted:
                planned += [(full, self.fill_disk), (full + DISK_FULL, self.make_room)]
        return planned

    def recorder_pids(self, root):
        return [pid for pid in children(root) if name(pid) == "dprof-recorder"]

    def stop_recorder(self, recorder):
        for pid in self.recorder_pids(recorder.pid):
            os.kill(pid, signal.SIGSTOP)
        self.asked["recorder stopped"] += 1

    def go_on(self, recorder):
        for pid in self.recorder_pids(recorder.pid)[::-1]:
            os.kill(pid, signal.SIGCONT)

    def fill_disk(self, _):
        self.asked["disk full" if self.disk.fill() else "disk could not be filled"] += 1

    def make_room(self, _):
        self.disk.make_room()

    def sample(self, now, root):
        steady = self.folder / "steady"
        self.note("recorder", now, self.recorder_pids(root))
        if steady.exists():
            self.note("processes", now, [int(word) for word in steady.read_text().split()])
        self.sample_training(now, root, "training")

    def sample_training(self, now, root, name):
        ranks = [pid for pid in below(root) if program(pid) == "dprof-trainer" and not children(pid)]
        self.note(name, now, ranks, tuple(ranks))

    def note(self, name, now, pids, which=()):
        found = [anonymous_kib(pid) for pid in pids]
        if found and None not in found:
            self.memory[name, which].append((now, sum(found) / len(found)))

    def series(self, name):
        """The longest one of that name."""
        return max((series for (who, _), series in self.memory.items() if who == name), key=len, default=[])

    def growth(self, name):
        series = self.series(name)
        if name in ("training", "alone"):
            series = judge.steps_of(series, self.options.steps)
        found = judge.slope(series[int(WARM_UP * len(series)):], 60 if name in ("recorder", "processes") else 1000)
        return judge.difference(found, self.growth("alone")) if name == "training" else found

    def control(self):
        """A request in three seconds or so. The levels keep what the account counts: NVTX is recorded at each of them."""
        if self.chance.random() > 0.3 * SAMPLE:
            return
        request = self.chance.choice([["status"], ["start"], ["level", "light"], ["level", "standard"], ["level", "full"]])
        self.asking.append(subprocess.Popen([self.dprof, "ctl", self.run_folder, *request], env=self.environment,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        self.asked["control commands"] += 1

    def hear_answers(self, at_most):
        """A request that the recorder had no time for is refused (3), which is its right while it is stopped."""
        for request in self.asking:
            if request.wait(timeout=at_most) != 0:
                self.asked["of these refused"] += 1
        if self.asking and self.asked["of these refused"] == len(self.asking):
            self.faults.append("no control command was answered")

    def judge(self, alone):
        account = self.folder / "job.json"
        if not account.exists():
            self.faults.append("the job did not come to its end")
            done = {"faults": [], "results": []}
        else:
            done = json.loads(account.read_text())
        self.faults += done.pop("faults")
        results = done.pop("results")
        different = sum(result != alone for result in results)
        if different or not results:
            self.faults.append(f"{different} of {len(results)} trainings computed something else than without dprof")
        totals, faults = judge.judge_accounts(self.folder, self.run_folder)
        self.faults += faults
        if totals.get("not_recorded", 0):
            self.faults.append(f"{totals['not_recorded']} processes were not recorded")
        if not totals.get("produced"):
            self.faults.append("nothing was produced")
        memory = {name: self.judge_memory(name, limit) for name, limit in LIMITS.items()}
        most = max((kib for _, kib in self.series("recorder")), default=0)
        if most > MOST_RECORDER_KIB:
            self.faults.append(f"the recorder took {most:,.0f} KiB")
        if not self.disk.mounted:
            self.asked["disk full"] = "not tried: nothing can be mounted here"
        return {"seed": self.options.seed, "seconds": self.options.seconds, "records": totals, "done": {**done, **self.asked},
                "trainings": {"steps": self.options.steps, "compared": len(results), "different": different}, "memory": memory,
                "faults": self.faults, "endured": not self.faults}

    def judge_memory(self, name, limit):
        found = self.growth(name)
        said = "not judged in so short a time"
        if self.options.seconds >= SHORTEST_JUDGED:
            said = judge.growth_verdict(found, limit)
        if said == "grows":
            self.faults.append(f"memory of {name} grows by {found[0]:.0f} ± {found[1]:.0f} KiB per {UNITS[name]}")
        return {"limit_kib": limit, "per": UNITS[name], "verdict": said, "growth_kib": found and found[0],
                "half_width_kib": found and found[1], "series_s_kib": self.series(name)}


def show(result):
    records = result["records"]
    print(f"soak: {result['seconds']:.0f} s, seed {result['seed']}")
    print("  " + ", ".join(f"{name} {count}" for name, count in result["done"].items()))
    print(f"  records    {records.get('produced', 0):,} produced = {records.get('stored', 0):,} stored + "
          f"{records.get('lost', 0):,} counted, of {records.get('threads', 0):,} threads in "
          f"{records.get('processes', 0):,} processes")
    print(f"  trainings  {result['trainings']['compared']} of {result['trainings']['steps']} steps, "
          f"{result['trainings']['different']} different from without dprof")
    for name, memory in result["memory"].items():
        if memory["growth_kib"] is None:
            print(f"  memory     {name}: {memory['verdict']}")
        else:
            last = memory["series_s_kib"][-1][1]
            print(f"  memory     {name}: {last:,.0f} KiB at the end, {memory['growth_kib']:+.1f} ± "
                  f"{memory['half_width_kib']:.1f} per {memory['per']}, limit {memory['limit_kib']}: {memory['verdict']}")
    for fault in result["faults"][:MOST_FAULTS]:
        print(f"  FAULT      {fault}")
    if len(result["faults"]) > MOST_FAULTS:
        print(f"  FAULT      and {len(result['faults']) - MOST_FAULTS} more")
    print("soak: endured" if result["endured"] else "soak: did NOT endure")


def main():
    parser = argparse.ArgumentParser(prog="soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seconds", type=float, help="instead of --minutes")
    parser.add_argument("--steps", type=int, help="of each training (default: 60 a second of the whole time)")
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(1 << 32)), help="repeats a run's choices")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="leaves the figures there, as JSON")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--folder", type=pathlib.Path, help="for what it leaves (default: build/soak); made anew")
    options = parser.parse_args()
    options.seconds = options.seconds or 60 * options.minutes
    options.steps = options.steps or max(100, int(60 * options.seconds))
    options.build = options.build.resolve()
    folder = (options.folder or ROOT / "build/soak").resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = open(f"{folder}.lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        parser.error(f"another soak uses {folder}: give this one a --folder of its own")
    subprocess.run(["umount", "-l", folder / "disk"], capture_output=True)  # of a run that was killed
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    soak = Soak(options, folder)
    try:
        alone = soak.train_alone()
        soak.record()
        result = soak.judge(alone)
    finally:
        soak.disk.unmount()
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    show(result)
    return 0 if result["endured"] else 1


if __name__ == "__main__":
    sys.exit(main())
