# SPDX-License-Identifier: Apache-2.0
"""Works the CUDA allocator, and says what it counted itself.

  allocate.py [--device cpu]

Its last line is JSON: {"allocations", "segments", "ooms", "peak_bytes": as torch.cuda.memory_stats() has them, "pair_ns":
what a tensor of 1 MiB costs to make and free, for each of ten rounds}
"""
import argparse
import json
import time

import torch

MIB = 1 << 20
PAIRS = 2000  # of a round


def pairs(device):
    begin = time.perf_counter_ns()
    for _ in range(PAIRS):
        torch.empty(MIB, dtype=torch.uint8, device=device)
    return (time.perf_counter_ns() - begin) / PAIRS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    options = parser.parse_args()
    on_gpu = options.device == "cuda"

    first = torch.zeros(MIB, device=options.device)
    time.sleep(1.5)  # until dprof has seen CUDA's allocator
    first.add_(1)
    kept = []
    for step in range(20):
        with torch.profiler.record_function("step"):
            kept.append(torch.ones((step + 1) * MIB, dtype=torch.uint8, device=options.device))
            if step % 4 == 3:
                kept.clear()
            first.add_(1)
    large = torch.ones(256 * MIB, dtype=torch.uint8, device=options.device)
    with torch.profiler.record_function("step"):
        first.add_(1)
    del large
    kept.clear()
    pair_ns = [pairs(options.device) for _ in range(11)][1:]
    if not on_gpu:
        print(json.dumps({"allocations": None, "segments": None, "ooms": None, "peak_bytes": None, "pair_ns": pair_ns}))
        return
    torch.cuda.empty_cache()
    try:
        torch.empty(1 << 45, dtype=torch.uint8, device=options.device)
    except torch.OutOfMemoryError:
        pass
    with torch.profiler.record_function("step"):
        first.add_(1)
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    print(json.dumps({"allocations": stats["allocation.all.allocated"], "segments": stats["segment.all.allocated"],
                      "ooms": stats["num_ooms"], "peak_bytes": stats["allocated_bytes.all.peak"], "pair_ns": pair_ns}))


if __name__ == "__main__":
    main()
