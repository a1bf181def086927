# SPDX-License-Identifier: Apache-2.0
"""A plain DistributedDataParallel script that ends in a way of your choice on one rank. It knows nothing of a profiler.

    torchrun --nproc-per-node=2 ending.py --ending exception --rank 1 --step 5
    ending.py --spawn 2 --ending exception       starts its ranks by torch.multiprocessing.spawn
"""
import argparse
import atexit
import ctypes
import datetime
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __init__(self, count, fault=None, fault_at=0):
        self.count, self.fault, self.fault_at = count, fault, fault_at

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.fault and index >= self.fault_at:
            self.fault()
        return torch.randn(32)


def fail():
    raise RuntimeError("the sample cannot be read")


def fail_slowly():
    """Its process outlives the others' patience, as on a busy machine."""
    atexit.register(time.sleep, 20)
    fail()


def be_killed():
    os.kill(os.getpid(), signal.SIGKILL)


def take_all_memory():
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    used = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
    torch.empty(1 << 30).fill_(1)


def lock_twice():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def loop():
    while True:
        pass


def read_nothing():
    reader, _writer = os.pipe()
    os.read(reader, 1)


def other_collective():
    dist.all_reduce(torch.ones(7))


def overflow_the_stack():
    sys.setrecursionlimit(1 << 30)
    threading.stack_size(1 << 20)

    def deeper(n):
        return sorted([n], key=deeper)

    thread = threading.Thread(target=deeper, args=(0,))
    thread.start()
    thread.join()


def pause():
    """As SIGSTOP and, 2 s later, SIGCONT from outside."""
    subprocess.Popen(["sh", "-c", f"sleep 2; kill -CONT {os.getpid()}"])
    os.kill(os.getpid(), signal.SIGSTOP)


def save_to_a_full_disk():
    torch.save(torch.ones(1 << 20), "/dev/full")


def save_to_a_disk_that_stalls():
    path = f"{tempfile.mkdtemp()}/model.pt"
    os.mkfifo(path)  # nobody reads it: the write never returns
    torch.save(torch.ones(1 << 20), path)


def cut_the_network():
    """On a host of scripts/hosts alone: the interface of the machine is another one."""
    if "DPROF_HOST_INDEX" not in os.environ:
        sys.exit("ending.py: `cut` wants scripts/hosts")
    subprocess.run(["ip", "link", "set", "eth0", "down"], check=True)


ENDINGS = {
    "exception": fail,
    "slowly": fail_slowly,
    "exit0": lambda: sys.exit(0),
    "exit3": lambda: sys.exit(3),
    "_exit3": lambda: os._exit(3),
    "_exit0": lambda: os._exit(0),
    "keyboard": lambda: (_ for _ in ()).throw(KeyboardInterrupt()),
    "abort": os.abort,
    "segv": lambda: ctypes.string_at(0),
    "kill": be_killed,
    "term": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "memory": take_all_memory,
    "deadlock": lock_twice,
    "loop": loop,
    "sleep": lambda: time.sleep(1000),
    "read": read_nothing,
    "other": other_collective,
    "overflow": overflow_the_stack,
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "pause": pause,
    "disk": save_to_a_full_disk,
    "storage": save_to_a_disk_that_stalls,
    "cut": cut_the_network,
}

LOADER = {"loader": fail, "worker": be_killed}  # in a process of the loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ending", choices=[*ENDINGS, *LOADER, "good", "all-early", "late"], default="good")
    parser.add_argument("--rank", type=int, default=1)
    parser.add_argument("--step", type=int, default=5)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--timeout", type=float, default=4, help="seconds that a collective may take")
    parser.add_argument("--spawn", type=int, metavar="RANKS")
    options = parser.parse_args()
    if options.spawn:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), WORLD_SIZE=str(options.spawn))
        torch.multiprocessing.spawn(spawned, (options,), options.spawn)
    else:
        train(options)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def spawned(rank, options):
    os.environ["RANK"] = str(rank)
    train(options)


def train(options):
    # To meet, here and when the model is wrapped, may take longer on a busy machine.
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    torch.manual_seed(1)
    chosen = dist.get_rank() == options.rank
    samples = Samples(8 * options.steps, LOADER.get(options.ending) if chosen else None, 8 * options.step)
    loader = DataLoader(samples, batch_size=8, num_workers=1 if options.ending in LOADER else 0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)))
    dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=options.timeout))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, batch in enumerate(loader):
        if options.ending == "all-early" and step == options.step:
            break
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        if chosen and step == options.step and options.ending in ENDINGS:
            ENDINGS[options.ending]()
        loss.backward()
        optimizer.step()
        time.sleep(0.01)
    if options.ending == "late" and chosen:
        time.sleep(2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
