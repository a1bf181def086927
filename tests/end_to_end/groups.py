# SPDX-License-Identifier: Apache-2.0
"""Process groups and gradient buckets in a plain script: the group of all ranks, and one of the even ranks.

    torchrun --nproc-per-node=3 groups.py --steps 4
"""
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--bucket-view", action="store_true")
    parser.add_argument("--find-unused", action="store_true")
    options = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(1)
    even = list(range(0, dist.get_world_size(), 2))
    group = dist.new_group(even)
    net = nn.Sequential(*[nn.Linear(128, 128) for _ in range(6)]).to(options.device)
    model = DistributedDataParallel(net, bucket_cap_mb=0.1, gradient_as_bucket_view=options.bucket_view,
                                    find_unused_parameters=options.find_unused)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(options.steps):
        optimizer.zero_grad(set_to_none=not options.bucket_view)
        model(torch.randn(8, 128, device=options.device)).square().mean().backward()
        optimizer.step()
        if dist.get_rank() in even:
            dist.all_reduce(torch.ones(10), group=group)
    dist.barrier()


if __name__ == "__main__":
    main()
