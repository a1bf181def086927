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


def interval(values, rounds=2000):
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(rounds))
    return medians[int(0.025 * rounds)], medians[int(0.975 * rounds)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--python", required=True, help="a Python whose `import torch` works")
    options = parser.parse_args()

    variants = ["bare", "dprof light", "dprof standard", "dprof full", "torch.profiler"]
    step_ms = {variant: [] for variant in variants}
    checksums = set()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for variant in variants:
                milliseconds, checksum = run_once(variant, options.python, options.steps, folder)
                step_ms[variant].append(milliseconds)
                checksums.add(checksum)
    print(f"overhead: 2 ranks, {options.steps} steps, {options.rounds} interleaved rounds; median step, bare: "
          f"{statistics.median(step_ms['bare']):.2f} ms; results {'equal' if len(checksums) == 1 else 'DIFFER'} in all runs")
    print(f"  {'variant':16} {'slow-down':>10}   95 % interval")
    for variant in variants[1:]:
        ratios = [a / b for a, b in zip(step_ms[variant], step_ms["bare"])]
        low, high = interval(ratios)
        print(f"  {variant:16} {(statistics.median(ratios) - 1) * 100:+9.1f} %   {(low - 1) * 100:+.1f} … {(high - 1) * 100:+.1f} %")


if __name__ == "__main__":
    main()
