# SPDX-License-Identifier: Apache-2.0
"""A training job on one GPU for the parts of the GPU check: DDP over NCCL (or Gloo) when ranks are set, else a single process.

  train.py --steps 60 [--profile FILE] [--graph] [--end exit|os_exit|never]

Prints one line of JSON at its end: {"step_ms": [...], "kernels": N or null, "peak_bytes": N}. Steps are marked by
torch.profiler.record_function("step").
"""
import argparse
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WARM_UP_STEPS = 10


def build_model():
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
                         nn.Flatten(), nn.Linear(64 * 16 * 16, 256), nn.ReLU(), nn.Linear(256, 10))


def train_graphed(model, optimizer, loss_of, images, labels, steps):
    """Whole steps captured once and replayed: gives the number of replays."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True)
            loss_of(model(images), labels).backward()
            optimizer.step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()
    for _ in range(steps):
        with torch.profiler.record_function("step"):
            graph.replay()
    torch.cuda.synchronize()
    return steps


def train(options, model, optimizer, loss_of, images, labels):
    step_ms = []
    for step in range(options.steps):
        begin = time.perf_counter()
        with torch.profiler.record_function("step"):
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(model(images), labels)
            loss.backward()
            optimizer.step()
            if options.device == "cuda":
                torch.cuda.synchronize()
        if step >= WARM_UP_STEPS:
            step_ms.append((time.perf_counter() - begin) * 1e3)
        yield step, step_ms


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to rehearse the commands without a GPU")
    parser.add_argument("--profile", metavar="FILE", help="torch.profiler over steps 20 to 30, its trace into FILE")
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--end", choices=["exit", "os_exit", "never"], default="exit")
    options = parser.parse_args()

    on_gpu = options.device == "cuda"
    if on_gpu:
        torch.cuda.set_device(0)
    torch.manual_seed(1)
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    distributed = "RANK" in os.environ and not options.graph
    if distributed:
        dist.init_process_group("nccl" if on_gpu else "gloo")
    model = build_model().to(options.device)
    if distributed:
        model = DistributedDataParallel(model, device_ids=[0] if on_gpu else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    images = torch.randn(options.batch, 3, 32, 32, device=options.device)
    labels = torch.randint(0, 10, (options.batch,), device=options.device)

    if options.graph:
        if not on_gpu:
            print(json.dumps({"replays": 0}))
            return
        print(json.dumps({"replays": train_graphed(model, optimizer, loss_of, images, labels, options.steps)}))
        return
    profiler, kernels = None, None
    step_ms = []
    while True:
        for step, step_ms in train(options, model, optimizer, loss_of, images, labels):
            if options.profile and step == 19:
                kinds = [torch.profiler.ProfilerActivity.CPU, *([torch.profiler.ProfilerActivity.CUDA] if on_gpu else [])]
                profiler = torch.profiler.profile(activities=kinds)
                profiler.start()
            if profiler and step == 29:
                profiler.stop()
                kernels = sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profiler.events())
                profiler.export_chrome_trace(options.profile)
                profiler = None
        if options.end != "never":
            break
    if os.environ.get("RANK", "0") == "0":
        print(json.dumps({"step_ms": step_ms, "kernels": kernels, "ranks": ranks,
                          "peak_bytes": torch.cuda.max_memory_allocated() if on_gpu else 0}), flush=True)
    if options.end == "os_exit":
        sys.stdout.flush()
        os._exit(3)
    if distributed:
        dist.destroy_process_group()


main()
