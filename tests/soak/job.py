# SPDX-License-Identifier: Apache-2.0
"""The job that the soak records: light processes that are stopped, killed and started again, and trainings of two ranks.

    job.py FOLDER SECONDS SEED STEPS PROBE TRAINER

Leaves FOLDER/job.json: what was done, what ended in a way that nobody asked for, what each training computed.
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

PROCESSES = 64
STEADY = 8  # of them: never killed, their memory is watched
FIRST_SERIAL = 1000  # ranks 0 and 1 are the training's
LONGEST_STOP = 3.0  # seconds
KILLS_PER_SECOND = 0.5
STOPS_PER_SECOND = 1.0
PATIENCE = 120  # seconds for the end


def training_command(trainer, steps, truth):
    return [str(trainer), "--spawn", "2", "--model", "mlp:32,64,10", "--batch", "16", "--steps", str(steps), "--truth",
            str(truth)]


def training_result(truth):
    """What must be the same to the bit, of each rank."""
    ranks = json.loads(truth.read_text())["ranks"]
    return [[rank["checksum"], rank["first_loss"], rank["last_loss"]] for rank in sorted(ranks, key=lambda rank: rank["rank"])]


class Job:
    def __init__(self, folder, seconds, seed, steps, probe, trainer):
        self.folder, self.seconds, self.seed, self.steps = pathlib.Path(folder), float(seconds), seed, int(steps)
        self.probe, self.trainer = probe, trainer
        self.chance = random.Random(f"{seed} job")
        self.serial = FIRST_SERIAL
        self.probes = {}  # by slot
        self.stopped = []  # (when to go on, process id)
        self.training, self.truth = None, None
        self.done = {"processes": 0, "kills": 0, "stops": 0, "trainings": 0}
        self.faults, self.results = [], []

    def start_probe(self, slot):
        environment = dict(os.environ, RANK=str(self.serial), LOCAL_RANK=str(self.serial), WORLD_SIZE=str(1 << 20))
        command = [self.probe, self.seed, str(self.serial), str(self.folder)] + (["--steady"] if slot < STEADY else [])
        self.probes[slot] = subprocess.Popen(command, env=environment)
        self.serial += 1
        self.done["processes"] += 1

    def start_training(self):
        self.truth = self.folder / f"truth-{self.done['trainings']}.json"
        output = (self.folder / "training.txt").open("a")
        self.training = subprocess.Popen(training_command(self.trainer, self.steps, self.truth), stdout=output, stderr=output)
        self.done["trainings"] += 1

    def training_ranks(self):
        """Process ids of the ranks: the children of the trainer that was started."""
        try:
            return [int(word) for word in
                    pathlib.Path(f"/proc/{self.training.pid}/task/{self.training.pid}/children").read_text().split()]
        except OSError:
            return []

    def look_after(self, again):
        """Notes who has ended, and starts it again."""
        for slot, probe in list(self.probes.items()):
            code = probe.poll()
            if code is None:
                continue
            if code not in (0, -signal.SIGKILL):
                self.faults.append(f"process {probe.pid} ended with {code}")
            del self.probes[slot]
            if again:
                self.start_probe(slot)
        if self.training.poll() is not None and self.truth:
            if self.training.returncode == 0:
                self.results.append(training_result(self.truth))
            else:
                self.faults.append(f"the training ended with {self.training.returncode}: see {self.folder}/training.txt")
            self.truth = None
            if again:
                self.start_training()

    def disturb(self, passed):
        if self.chance.random() < KILLS_PER_SECOND * passed:
            self.probes[self.chance.randrange(STEADY, PROCESSES)].kill()
            self.done["kills"] += 1
        if self.chance.random() < STOPS_PER_SECOND * passed:
            ranks = self.training_ranks()
            pids = [probe.pid for probe in self.probes.values()] + ranks * (16 if self.chance.random() < 0.5 else 0)
            pid = self.chance.choice(pids)
            self.signal(pid, signal.SIGSTOP)
            self.stopped.append((time.monotonic() + self.chance.uniform(0.1, LONGEST_STOP), pid))
            self.done["stops"] += 1

    def signal(self, pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def go_on(self, until):
        for entry in [entry for entry in self.stopped if entry[0] <= until]:
            self.signal(entry[1], signal.SIGCONT)
            self.stopped.remove(entry)

    def run(self):
        for slot in range(PROCESSES):
            self.start_probe(slot)
        (self.folder / "steady").write_text(" ".join(str(self.probes[slot].pid) for slot in range(STEADY)))
        self.start_training()
        begin = last = time.monotonic()
        while time.monotonic() - begin < self.seconds:
            time.sleep(0.05)
            now = time.monotonic()
            self.look_after(again=True)
            self.disturb(now - last)
            self.go_on(now)
            last = now
        self.go_on(float("inf"))
        (self.folder / "stop").touch()
        deadline = time.monotonic() + PATIENCE
        while (self.probes or self.truth) and time.monotonic() < deadline:
            time.sleep(0.05)
            self.look_after(again=False)
        for process in [*self.probes.values(), *([self.training] if self.truth else [])]:
            self.faults.append(f"process {process.pid} did not end within {PATIENCE} s")
            process.kill()
        (self.folder / "job.json").write_text(json.dumps({**self.done, "faults": self.faults, "results": self.results}))


if __name__ == "__main__":
    Job(*sys.argv[1:]).run()
