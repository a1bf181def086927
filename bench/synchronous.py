# SPDX-License-Identifier: Apache-2.0
"""What PRAGMA synchronous = NORMAL costs the recorder against OFF, in WAL mode: rounds in turn, on the disk of FOLDER.

One writer thread takes two million ranges from a ring into a trace (bench/recorder_rows.cpp) with each mode, whichever one the
recorder has. Printed are the medians, and of the ratio NORMAL / OFF of each round the median with its 95 % bootstrap interval.
"OFF again" shows the method's own noise.
"""
import argparse
import json
import pathlib
import statistics
import subprocess

import paired

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEASURES = {"cpu_s": "CPU, s", "wall_s": "wall, s", "longest_s": "longest pass, s", "end_s": "end of the trace, s"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args()

    def measure(variant):
        file = options.folder / "dprof-bench-synchronous.dprof"
        command = [options.build / "bin/bench_recorder_rows", "--synchronous", variant.split()[0], file]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    figures = paired.rounds(options.pairs, ("OFF", "NORMAL", "OFF again"), measure)
    for key, name in MEASURES.items():
        of = {variant: [one[key] for one in all_of_it] for variant, all_of_it in figures.items()}
        print(f"{name}: OFF {statistics.median(of['OFF']):.3f}, NORMAL {statistics.median(of['NORMAL']):.3f}")
        for variant in ("NORMAL", "OFF again"):
            middle, low, high = (paired.percent(one) for one in paired.ratio(of[variant], of["OFF"]))
            print(f"  {variant}: {middle} ({low} to {high})")


if __name__ == "__main__":
    main()
