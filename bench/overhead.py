# SPDX-License-Identifier: Apache-2.0
"""What recording costs a training run: the step time of dprof-trainer bare, recorded at light and at full detail.

Each round runs the variants one after the other, in an order that turns from round to round, and gives one ratio per variant
against the bare run of the same round; printed are the median ratio and its 95 % bootstrap interval over the rounds. The upper
end of the interval must be below the target; where the interval is wider than the target, or the target lies within it, the
result is "not decided". torch.profiler runs on the same model in Python in the same rounds, against Python's own bare run. Once
with 1 rank and once with 2. Needs `scripts/setup --python` for torch.profiler; without it that line is left out.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import paired

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = {"dprof light": 0.005, "dprof full": 0.02}
SHORTEST_STEP_MS = 50
BASE = {"dprof light": "bare", "dprof full": "bare", "torch.profiler": "Python, bare"}


def run(command):
    done = subprocess.run([str(word) for word in command], env=dict(os.environ, OMP_NUM_THREADS="1"), capture_output=True,
                          text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"overhead: {command[0]} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def trainer_step(options, ranks, detail, folder):
    command = [options.build / "bin/dprof-trainer", "--spawn", ranks, "--model", "convnet", "--batch", options.batch, "--steps",
               options.steps, "--lr", 0.01, "--momentum", 0.9]
    if detail:
        traces = folder / "run"
        shutil.rmtree(traces, ignore_errors=True)
        command = [options.build / "bin/dprof", "record", "--detail", detail, "-o", traces, "--", *command]
    output = run(command)
    found = re.search(r"median ([\d.]+) ms per step", output)
    if not found:
        sys.exit(f"overhead: no times in what the trainer printed:\n{output[-2000:]}")
    return float(found.group(1))


def python_step(options, ranks, profiler):
    output = run([options.python, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}",
                  ROOT / "bench/train_convnet.py", "--batch", options.batch, "--steps", options.steps + 20, "--profiler",
                  profiler])
    lines = [line for line in output.splitlines() if line.startswith("{")]
    return statistics.median(json.loads(lines[-1])["step_ms"])


def verdict(low, high, target):
    if high - low > target:
        return "not decided (the interval is wider than the target)"
    if high <= target:
        return "met"
    return "not met" if low > target else "not decided"


def measure(options, ranks, folder):
    measures = {
        "bare": lambda: trainer_step(options, ranks, None, folder),
        "dprof light": lambda: trainer_step(options, ranks, "light", folder),
        "dprof full": lambda: trainer_step(options, ranks, "full", folder),
    }
    if options.python:
        measures["Python, bare"] = lambda: python_step(options, ranks, "none")
        measures["torch.profiler"] = lambda: python_step(options, ranks, "torch")
    names = list(measures)
    step_ms = {name: [] for name in names}
    for number in range(options.pairs):
        turned = names[number % len(names):] + names[:number % len(names)]
        for name in turned:
            if "Python, bare" not in (name, BASE.get(name)) or number % options.profiler_every == 0:
                step_ms[name].append(measures[name]())

    bare = statistics.median(step_ms["bare"])
    print(f"overhead: {ranks} rank{'s' if ranks > 1 else ''}, convnet, batch {options.batch}, {options.steps} steps, "
          f"{options.pairs} interleaved pairs; median step, bare: {bare:.2f} ms")
    print("| variant | target | slow-down | 95 % interval | verdict |\n| --- | --- | --- | --- | --- |")
    for name in names:
        if name not in BASE:
            continue
        slower, low, high = paired.ratio(step_ms[name], step_ms[BASE[name]])
        target = TARGETS.get(name)
        said = "for comparison" if target is None else verdict(low - 1, high - 1, target)
        if target is not None and bare < SHORTEST_STEP_MS:
            said = f"not decided (steps are shorter than {SHORTEST_STEP_MS} ms)"
        print(f"| {name} | {'' if target is None else f'≤ {100 * target:.1f} %'} | {share(slower)} | "
              f"{share(low)} … {share(high)} | {said} |", flush=True)


BLOCK = 8  # steps


def measure_within(options, ranks, folder):
    """Recording goes on and off within one run, 8 steps each; a recorded block is compared with the two beside it. What differs
    from process to process (memory layout, cores) cancels out; what the preloaded library costs while it records nothing is in
    both sides."""
    print(f"overhead within one run: {ranks} rank{'s' if ranks > 1 else ''}, convnet, batch {options.batch}, "
          f"{options.within} steps, {BLOCK} recorded, {BLOCK} not\n"
          "| variant | target | blocks | step, not recorded | slow-down | 95 % interval | verdict |\n"
          "| --- | --- | --- | --- | --- | --- | --- |")
    for name, target in TARGETS.items():
        truth = folder / "truth.json"
        shutil.rmtree(folder / "run", ignore_errors=True)
        first = 2 * BLOCK
        run([options.build / "bin/dprof", "record", "--detail", name.split()[1], "--steps", f"{first}:{first + BLOCK}",
             "--every", 2 * BLOCK, "-o", folder / "run", "--", options.build / "bin/dprof-trainer", "--spawn", ranks,
             "--model", "convnet", "--batch", options.batch, "--steps", options.within, "--lr", 0.01, "--momentum", 0.9,
             "--truth", truth])
        step_ns = json.loads(truth.read_text())["ranks"][0]["step_ns"]
        # The window opens when the recorder sees the step: the steps at its borders belong to neither side.
        blocks = [statistics.mean(step_ns[at + 2:at + BLOCK - 1]) for at in range(first, len(step_ns) - BLOCK + 1, BLOCK)]
        ratios = [blocks[i] / ((blocks[i - 1] + blocks[i + 1]) / 2) for i in range(2, len(blocks) - 1, 2)]
        low, high = paired.interval(ratios)
        print(f"| {name} | ≤ {100 * target:.1f} % | {len(ratios)} | {statistics.median(blocks[1::2]) / 1e6:.1f} ms | "
              f"{share(statistics.median(ratios))} | {share(low)} … {share(high)} | {verdict(low - 1, high - 1, target)} |",
              flush=True)


def share(ratio):
    return f"{100 * (ratio - 1):+.2f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--profiler-every", type=int, default=1,
                        help="the two Python variants in every Nth round only (default 1)")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--within", type=int, metavar="STEPS",
                        help="instead: recording on and off within one run of so many steps")
    parser.add_argument("--quick", action="store_true", help="3 pairs of 10 steps: does it work? Decides nothing")
    parser.add_argument("--python", help="a Python whose `import torch` works")
    options = parser.parse_args()
    if options.quick:
        options.pairs, options.steps = 3, 10
    with tempfile.TemporaryDirectory() as folder:
        for ranks in options.ranks:
            (measure_within if options.within else measure)(options, ranks, pathlib.Path(folder))


if __name__ == "__main__":
    main()
