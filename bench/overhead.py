# SPDX-License-Identifier: Apache-2.0
"""What recording costs: the step time of one 2-rank Python DDP run, bare, recorded by dprof, and under torch.profiler.

The variants are run in turn (A B C A B C …), and each round gives one ratio per variant against the bare run of the same
round; printed are the median ratio and a 95 % bootstrap interval over rounds. Needs `scripts/setup --python`.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import paired

ROOT = Path(__file__).resolve().parent.parent


def run_once(variant, python, steps, folder):
    command = [python, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-port", str(random.randint(20000, 40000)),
               str(ROOT / "bench/train_convnet.py"), "--steps", str(steps)]
    if variant == "torch.profiler":
        command += ["--profiler", "torch"]
    elif variant != "bare":
        run = Path(folder) / "run"
        shutil.rmtree(run, ignore_errors=True)
        command = [str(ROOT / "build/release/bin/dprof"), "record", "--detail", variant.split()[1], "-o", str(run), "--"] + command
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
    if result.returncode != 0 or not lines:
        sys.exit(f"overhead: {variant} failed with {result.returncode}:\n{result.stderr[-2000:]}")
    measured = json.loads(lines[-1])
    return statistics.median(measured["step_ms"]), measured["checksum"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--python", required=True, help="a Python whose `import torch` works")
    options = parser.parse_args()

    variants = ["bare", "dprof light", "dprof standard", "dprof full", "torch.profiler"]
    checksums = set()
    with tempfile.TemporaryDirectory() as folder:
        def measure(variant):
            milliseconds, checksum = run_once(variant, options.python, options.steps, folder)
            checksums.add(checksum)
            return milliseconds

        step_ms = paired.rounds(options.rounds, variants, measure)
    print(f"overhead: 2 ranks, {options.steps} steps, {options.rounds} interleaved rounds; median step, bare: "
          f"{statistics.median(step_ms['bare']):.2f} ms; results {'equal' if len(checksums) == 1 else 'DIFFER'} in all runs")
    print(f"  {'variant':16} {'slow-down':>10}   95 % interval")
    for variant in variants[1:]:
        slower, low, high = paired.ratio(step_ms[variant], step_ms["bare"])
        print(f"  {variant:16} {paired.percent(slower):>10}   {paired.percent(low)} … {paired.percent(high)}")


if __name__ == "__main__":
    main()
