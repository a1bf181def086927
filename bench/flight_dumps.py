# SPDX-License-Identifier: Apache-2.0
"""Writes flight-recorder dumps as PyTorch's NCCL back end leaves them when a job hangs, one file per rank.

  flight_dumps.py FOLDER --ranks 10000 [--calls 64] [--tensor-ranks 8] [--missing 4321]

Ranks call an all-reduce of their tensor-parallel group, then one of everybody, in turn. Of the last all-reduce of everybody the
rank `--missing` knows nothing: it did not join, and all the others wait for it.
"""
import argparse
import pathlib
import pickle

START_NS = 1_760_000_000_000_000_000
CALL_NS = 5_000_000


def entry(number, group, sequence, state, elements):
    created = START_NS + number * CALL_NS
    done = created + CALL_NS // 2 if state == "completed" else None
    return {
        "frames": [{"name": "step", "filename": "/job/train.py", "line": 123}], "record_id": number,
        "pg_id": int(group[0] != "0"), "process_group": group, "collective_seq_id": sequence, "p2p_seq_id": 0, "op_id": number,
        "profiling_name": "nccl:all_reduce", "time_created_ns": created, "duration_ms": None, "input_sizes": [[elements]],
        "input_dtypes": ["Float"], "output_sizes": [[elements]], "output_dtypes": ["Float"], "state": state,
        "time_discovered_started_ns": created if state != "scheduled" else None, "time_discovered_completed_ns": done,
        "retired": state == "completed", "timeout_ms": 600_000, "is_p2p": False}


def dump(rank, options, everybody):
    block = rank // options.tensor_ranks
    peers = list(range(block * options.tensor_ranks, min(options.ranks, (block + 1) * options.tensor_ranks)))
    tensor = str(1 + block)
    entries = []
    for call in range(options.calls):
        last = call + 1 == options.calls
        if last and rank == options.missing:
            break
        world = call % 2 == 1 or last
        entries.append(entry(call, ("0", "default_pg") if world else (tensor, "tensor"), call // 2 + 1,
                             "scheduled" if last else "completed", 1 << 20 if world else 4096))
    groups = {"0": {"name": "0", "desc": "default_pg", "ranks": everybody},
              tensor: {"name": tensor, "desc": "tensor", "ranks": str(peers)}}
    return {"version": "2.10", "nccl_version": "2.27.5", "pg_config": groups, "pg_status": {}, "entries": entries}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--calls", type=int, default=64)
    parser.add_argument("--tensor-ranks", type=int, default=8)
    parser.add_argument("--missing", type=int)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    everybody = str(list(range(options.ranks)))
    for rank in range(options.ranks):
        with open(options.folder / f"nccl_trace_rank_{rank}", "wb") as file:
            pickle.dump(dump(rank, options, everybody), file, protocol=2)


if __name__ == "__main__":
    main()
