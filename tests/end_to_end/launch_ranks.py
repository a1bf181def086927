# SPDX-License-Identifier: Apache-2.0
"""Small ranks of Python's torch, for the cases about launchers: three all-reduces over Gloo, and nothing else.

    launch_ranks.py reduce             as any launcher starts it
    launch_ranks.py spawn PORT         starts two ranks by torch.multiprocessing.spawn
    launch_ranks.py die-once FILE      rank 1 dies by SIGKILL after its all-reduces, unless FILE is there
"""
import os
import pathlib
import signal
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def all_reduces(**meeting):
    dist.init_process_group("gloo", **meeting)
    for _ in range(3):
        dist.all_reduce(torch.ones(8))
    dist.barrier()


def spawned(rank, port):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    all_reduces()
    dist.destroy_process_group()


def main():
    # torch.distributed.launch puts --local-rank before a script's own arguments.
    how, *more = [word for word in sys.argv[1:] if not word.startswith("--local")]
    if how == "spawn":
        mp.spawn(spawned, args=(int(more[0]),), nprocs=2)
        return
    if how == "reduce":
        all_reduces()
    else:
        mark = pathlib.Path(more[0])
        # A store for each attempt: that of the launcher still has the addresses of the ranks that died.
        store = f"file://{mark.resolve()}.store-{os.environ['TORCHELASTIC_RESTART_COUNT']}"
        all_reduces(init_method=store, rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
        if dist.get_rank() == 1 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
