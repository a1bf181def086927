# SPDX-License-Identifier: Apache-2.0
"""Snapshots as torch.cuda.memory._dump_snapshot writes them, of an allocator whose every moment is known."""
import pickle
import random

START_US = 1_760_000_000_000_000
MIB = 1 << 20


def rounded(size):
    return size + -size % 512


class Allocator:
    """First fit in segments of 20 MiB; free segments may be given back. It keeps the newest `most` events, and of all of them
    what was allocated and reserved after it."""

    def __init__(self, most=None, device=0, seed=1):
        self.most, self.device, self.random = most, device, random.Random(seed)
        self.segments = {}  # address: {offset: (size, requested, frames)}
        self.events, self.truth = [], []
        self.now = START_US
        self.next_address = 0x7f0000000000
        self.annotations = []

    def held(self):
        return {at + offset: block for at, blocks in self.segments.items() for offset, block in blocks.items()}

    def levels(self):
        return sum(block[0] for block in self.held().values()), 20 * MIB * len(self.segments)

    def note(self, action, address, size, frames):
        self.now += self.random.choice((0, 0, 3, 40))
        self.events.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.now,
                            "frames": frames})
        self.truth.append((action, address) + self.levels())

    def room(self, size):
        for at, blocks in self.segments.items():
            free = 0
            for offset in sorted(blocks):
                if offset - free >= size:
                    return at, free
                free = offset + blocks[offset][0]
            if 20 * MIB - free >= size:
                return at, free
        return None

    def alloc(self, requested, frames):
        size = rounded(requested)
        found = self.room(size)
        if found is None:
            at, self.next_address = self.next_address, self.next_address + 20 * MIB
            self.segments[at] = {}
            self.note("segment_alloc", at, 20 * MIB, frames)
            found = (at, 0)
        self.segments[found[0]][found[1]] = (size, requested, frames)
        self.note("alloc", sum(found), requested, frames)
        return sum(found)

    def free(self, address, frames=()):
        at = next(at for at in self.segments if at <= address < at + 20 * MIB)
        requested = self.segments[at][address - at][1]
        self.note("free_requested", address, requested, list(frames))
        del self.segments[at][address - at]
        self.note("free_completed", address, requested, list(frames))

    def give_back(self):
        for at in [at for at, blocks in self.segments.items() if not blocks]:
            del self.segments[at]
            self.note("segment_free", at, 20 * MIB, [])

    def run_at_random(self, events, stacks):
        while len(self.events) < events:
            held = list(self.held())
            if held and self.random.random() < 0.48:
                self.free(self.random.choice(held))
            else:
                self.alloc(self.random.choice((100, 4096, 70_000, 3 * MIB, 11 * MIB)), self.random.choice(stacks))
            if self.random.random() < 0.02:
                self.give_back()

    def segment(self, at, blocks):
        parts, free = [], 0
        for offset in sorted(blocks) + [20 * MIB]:
            if offset > free:
                parts.append({"address": at + free, "size": offset - free, "requested_size": 0, "state": "inactive",
                              "frames": []})
            if offset < 20 * MIB:
                size, requested, frames = blocks[offset]
                parts.append({"address": at + offset, "size": size, "requested_size": requested, "state": "active_allocated",
                              "frames": frames})
                free = offset + size
        active = sum(size for size, *_ in blocks.values())
        return {"device": self.device, "address": at, "total_size": 20 * MIB, "allocated_size": active, "active_size": active,
                "requested_size": active, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
                "is_expandable": False, "frames": [], "blocks": parts}

    def kept(self):
        return self.events[-self.most:] if self.most else self.events

    def snapshot(self):
        traces = [[] for _ in range(self.device)] + [self.kept()]
        return {"segments": [self.segment(at, blocks) for at, blocks in self.segments.items()], "device_traces": traces,
                "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1},
                "external_annotations": self.annotations}

    def write(self, path, protocol=4):
        with open(path, "wb") as file:
            pickle.dump(self.snapshot(), file, protocol=protocol)
        return path


def frame(name, file, line):
    return {"name": name, "filename": file, "line": line}


MAIN = frame("<module>", "/job/train.py", 90)
TORCH = frame("empty_like", "/usr/lib/python3/site-packages/torch/_refs.py", 12)
STACKS = [[TORCH, frame("forward", "/job/model.py", 41), frame("step", "/job/train.py", 12), MAIN],
          [frame("c10::Allocator::allocate(unsigned long)", "??", 0), frame("embed", "/job/model.py", 17), MAIN],
          [frame("keep", "/job/cache.py", 5), MAIN]]
