# SPDX-License-Identifier: Apache-2.0
"""Starts ranks one after the other that write numbered marks, and kills each at a random time.

    kill_rounds.py ROUNDS SEED FOLDER PROBE

FOLDER/counter-N says how many marks the rank of round N had written when it died.
"""
import os
import random
import signal
import subprocess
import sys
import time

LONGEST_LIFE = 0.06  # seconds, from the first mark on


def has_begun(counter):
    try:
        with open(counter, "rb") as file:
            return int.from_bytes(file.read(8), "little") > 0
    except FileNotFoundError:
        return False


def main():
    rounds, seed, folder, probe = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    times = random.Random(seed)
    for number in range(rounds):
        counter = os.path.join(folder, f"counter-{number}")
        variables = dict(os.environ, RANK=str(number), LOCAL_RANK=str(number), WORLD_SIZE=str(rounds),
                         LOCAL_WORLD_SIZE=str(rounds))
        rank = subprocess.Popen([probe, "--marks", "1000000000", "--burst", "100", "--pause-us", "2000", "--counter", counter],
                                env=variables)
        while not has_begun(counter) and rank.poll() is None:
            time.sleep(0.0005)
        time.sleep(times.uniform(0, LONGEST_LIFE))
        rank.send_signal(signal.SIGKILL)
        if rank.wait() != -signal.SIGKILL:
            sys.exit(f"round {number}: the rank ended by itself with {rank.returncode}")


if __name__ == "__main__":
    main()
