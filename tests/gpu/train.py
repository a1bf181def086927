# SPDX-License-Identifier: Apache-2.0
"""A training job on one GPU for the parts of the GPU check: DDP over NCCL (or Gloo) where ranks are set, else a single process.

  train.py --steps 60 [--model small|large] [--profile FILE [--after FILE]]     so many steps
  train.py --seconds 20 --log FILE       steps until the time is up; a line for each: when it ended, and how long it took, in ns
  train.py --steps 60 --graph            whole steps captured once and replayed
  train.py --gemm --seconds 10           matrix products only: the power that the GPU can take

Its last line is JSON: {"step_ms": [...], "kernels": of torch.profiler, "peak_bytes": …}. Each step is a record_function("step")
and ends when the GPU has done it.
"""
import argparse
import json
import os
import pathlib
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WARM_UP_STEPS = 10
PROFILED = (20, 30)  # steps, the last not included


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def small(options):
    """A convolution net: launches take longer than kernels."""
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
                          nn.Flatten(), nn.Linear(64 * 16 * 16, 256), nn.ReLU(), nn.Linear(256, 10))
    batch = options.batch or (256 if options.on_gpu else 8)
    return model, torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))


def large(options):
    """Large matrix products: the GPU is busy all the time."""
    width, tokens, depth = (2048, options.batch or 8192, 12) if options.on_gpu else (64, 64, 2)
    model = nn.Sequential(*(Block(width) for _ in range(depth)), nn.Linear(width, 1000))
    return model, torch.randn(tokens, width), torch.randint(0, 1000, (tokens,))


class Job:
    def __init__(self, options):
        self.options = options
        self.device = torch.device("cuda", 0) if options.on_gpu else torch.device("cpu")
        if options.on_gpu:
            torch.cuda.set_device(self.device)
        torch.manual_seed(1)
        self.distributed = "RANK" in os.environ and not options.graph
        if self.distributed:
            dist.init_process_group("nccl" if options.on_gpu else "gloo")
        model, inputs, labels = {"small": small, "large": large}[options.model](options)
        self.model, self.inputs, self.labels = (one.to(self.device) for one in (model, inputs, labels))
        if self.distributed:
            self.model = DistributedDataParallel(self.model, device_ids=[0] if options.on_gpu else None)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.loss = nn.CrossEntropyLoss()
        self.step_ms = []
        self.log = open(options.log, "w") if options.log else None

    def update(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.options.model == "large"):
            loss = self.loss(self.model(self.inputs), self.labels)
        loss.backward()
        self.optimizer.step()

    def wait(self):
        if self.options.on_gpu:
            torch.cuda.synchronize()

    def step(self):
        begin = time.monotonic_ns()
        with torch.profiler.record_function("step"):
            self.update()
            self.wait()
        end = time.monotonic_ns()
        self.step_ms.append((end - begin) / 1e6)
        if self.log:
            self.log.write(f"{end} {end - begin}\n")
            self.log.flush()

    def train(self):
        """The steps that were asked for; gives how many GPU rows torch.profiler has of those that it saw."""
        options, kernels = self.options, None
        end = time.monotonic() + options.seconds if options.seconds else None
        step = 0
        while time.monotonic() < end if end else step < options.steps:
            if options.profile and step == PROFILED[0]:
                kernels = self.profile()
                step = PROFILED[1]
                continue
            self.step()
            step += 1
        return kernels

    def profile(self):
        while self.options.after and not pathlib.Path(self.options.after).exists():
            self.step()
        activities = [torch.profiler.ProfilerActivity.CPU,
                      *([torch.profiler.ProfilerActivity.CUDA] if self.options.on_gpu else [])]
        with torch.profiler.profile(activities=activities) as profiler:
            for _ in range(*PROFILED):
                self.step()
        profiler.export_chrome_trace(self.options.profile)
        return sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profiler.events())

    def replay(self):
        """Whole steps captured once and replayed: gives the number of replays."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.update()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            loss = self.loss(self.model(self.inputs), self.labels)
            loss.backward()
            self.optimizer.step()
        for _ in range(self.options.steps):
            with torch.profiler.record_function("step"):
                graph.replay()
        torch.cuda.synchronize()
        return self.options.steps


def multiply(options):
    size = 8192 if options.on_gpu else 256
    a, b = (torch.randn(size, size, dtype=torch.bfloat16, device="cuda" if options.on_gpu else "cpu") for _ in range(2))
    end, products = time.monotonic() + options.seconds, 0
    while time.monotonic() < end:
        with torch.profiler.record_function("step"):
            for _ in range(20):
                torch.mm(a, b)
            if options.on_gpu:
                torch.cuda.synchronize()
        products += 20
    return {"products": products}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--model", choices=["small", "large"], default="small")
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to rehearse the commands without a GPU")
    parser.add_argument("--profile", metavar="FILE", help="torch.profiler over ten steps from step 20 on, its trace into FILE")
    parser.add_argument("--after", metavar="FILE", help="with --profile: not before FILE is there")
    parser.add_argument("--log", metavar="FILE")
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--gemm", action="store_true")
    parser.add_argument("--end", choices=["exit", "os_exit"], default="exit")
    options = parser.parse_args()
    options.on_gpu = options.device == "cuda"
    if options.gemm:
        print(json.dumps(multiply(options)))
        return
    job = Job(options)
    if options.graph:
        print(json.dumps({"replays": job.replay() if options.on_gpu else 0}))
        return
    kernels = job.train()
    if options.end == "os_exit":
        os._exit(3)
    if not job.distributed or dist.get_rank() == 0:
        print(json.dumps({"step_ms": [round(ms, 4) for ms in job.step_ms[WARM_UP_STEPS:]], "kernels": kernels,
                          "peak_bytes": torch.cuda.max_memory_allocated() if options.on_gpu else None}), flush=True)
    if job.distributed:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
