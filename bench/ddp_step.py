# SPDX-License-Identifier: Apache-2.0
"""The step of dprof-trainer against that of Python's DDP: the same convnet, batch, optimizer and threads, 2 ranks.

The two are run in turn (A B A B …), and each round gives one ratio; printed are the median ratio and a 95 % bootstrap
interval over rounds. A step is forward, backward with the all-reduce, and optimizer. Python's batches are ready before the
first step; what the trainer needs to make its own is taken off each of its steps, and shown. Needs `scripts/setup --python`.
"""
import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
from pathlib import Path

import paired

ROOT = Path(__file__).resolve().parent.parent
RANKS = 2


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_ranks(command, threads):
    """Starts the ranks as any launcher does; gives rank 0's stdout."""
    common = {"WORLD_SIZE": RANKS, "LOCAL_WORLD_SIZE": RANKS, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(),
              "OMP_NUM_THREADS": threads}
    ranks = [subprocess.Popen([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, **{key: str(value) for key, value in
                                                      dict(common, RANK=rank, LOCAL_RANK=rank).items()}))
             for rank in range(RANKS)]
    try:
        outputs = [process.communicate(timeout=300) for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    for process, (_, error) in zip(ranks, outputs):
        if process.returncode != 0:
            sys.exit(f"ddp_step: {command[0]} failed with {process.returncode}:\n{error[-2000:]}")
    return outputs[0][0]


def trainer_step(options, inputs):
    output = run_ranks([options.trainer, "--model", "convnet", "--batch", options.batch, "--steps", options.steps, "--lr", 0.01,
                        "--momentum", 0.9], options.threads)
    found = re.search(r"median ([\d.]+) ms per step, ([\d.]+) without input", output)
    if not found:
        sys.exit(f"ddp_step: no times in what the trainer printed:\n{output[-2000:]}")
    whole, bare = map(float, found.groups())
    inputs.append(whole - bare)
    return bare


def python_step(options):
    output = run_ranks([options.python, ROOT / "bench/train_convnet.py", "--batch", options.batch, "--steps", options.steps,
                        "--ready-batches"], options.threads)
    return statistics.median(json.loads(output.splitlines()[-1])["step_ms"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trainer", type=Path, default=ROOT / "build/release/bin/dprof-trainer")
    parser.add_argument("--python", required=True, help="a Python whose `import torch` works")
    options = parser.parse_args()

    inputs = []
    step_ms = paired.rounds(options.rounds, ["trainer", "python"], lambda variant: trainer_step(options, inputs)
                            if variant == "trainer" else python_step(options))
    slower, low, high = paired.ratio(step_ms["trainer"], step_ms["python"])
    print(f"trainer: convnet, {RANKS} ranks, batch {options.batch}, {options.steps} steps, {options.rounds} interleaved "
          f"rounds; median step without input: Python {statistics.median(step_ms['python']):.2f} ms, C++ "
          f"{statistics.median(step_ms['trainer']):.2f} ms (and {statistics.median(inputs):.2f} ms of input)")
    print(f"  C++ against Python {paired.percent(slower)}   95 % interval {paired.percent(low)} … {paired.percent(high)}")


if __name__ == "__main__":
    main()
