# SPDX-License-Identifier: Apache-2.0
"""Memory snapshots of PyTorch, from the command line."""
import pickle

from memory_snapshots import MIB, START_US, STACKS, Allocator, rounded
from support import DPROF, EndToEnd

KINDS = {"alloc": 0, "free_completed": 1, "segment_alloc": 2, "segment_free": 3}


class ImportMemory(EndToEnd):
    def bring(self, *files, want=0, more=()):
        done = self.command(DPROF, "import", *files, "-o", self.run_folder, *more)
        self.assertEqual(done.returncode, want, done.stderr)
        return done.stderr

    def check_levels(self, rank, allocator, device=0):
        """Every kept event leaves the levels that the allocator had; the last ones are those of the final state."""
        trace = self.trace(rank)
        true_rows = [row for row in allocator.truth if row[0] != "free_requested"]
        kept = [event for event in allocator.kept() if event["action"] != "free_requested"]
        rows = trace.rows("SELECT kind, address, allocated_bytes, reserved_bytes FROM memory_event WHERE device_id = ? "
                          "ORDER BY id", device)
        self.assertGreaterEqual(len(rows), len(kept))
        want = [(KINDS[action], *rest) for action, *rest in true_rows[-len(kept):]]
        self.assertEqual([tuple(row) for row in rows[-len(kept):]], want)
        self.assertEqual(trace.rows("SELECT allocated_bytes, reserved_bytes FROM memory_sample WHERE device_id = ?", device),
                         [allocator.levels()])
        self.assertEqual(tuple(rows[-1][2:]), allocator.levels())
        sums = trace.rows("SELECT sum(CASE kind WHEN 0 THEN bytes WHEN 1 THEN -bytes END), "
                          "sum(CASE kind WHEN 2 THEN bytes WHEN 3 THEN -bytes END) FROM memory_event WHERE device_id = ?",
                          device)
        self.assertEqual(sums, [allocator.levels()])

    def test_the_replay_is_exact_whatever_the_ring_has_kept(self):
        for rank, (most, protocol) in enumerate(((None, 4), (2000, 2), (700, 5), (1, 4))):
            allocator = Allocator(most, seed=rank)
            allocator.run_at_random(4000, STACKS)
            file = allocator.write(self.folder / f"snapshot_rank{rank}.pickle", protocol)
            said = self.bring(file, more=("--overwrite",))
            self.assertEqual("memory_history_late" in said, most is not None, said)
            self.check_levels(rank, allocator)

    def test_the_peak_by_stack(self):
        allocator = Allocator()
        stays = [allocator.alloc(2 * MIB, STACKS[2]) for _ in range(3)]
        peak = [allocator.alloc(5 * MIB, STACKS[0]) for _ in range(4)] + [allocator.alloc(100, STACKS[1])]
        for address in peak:
            allocator.free(address)
        self.bring(allocator.write(self.folder / "snapshot.pickle"))
        memory = self.report()["memory"]["per_rank"][0]
        self.assertEqual(memory["peak_allocated"], 26 * MIB + rounded(100))
        self.assertEqual(memory["peak_reserved"], 40 * MIB)
        self.assertEqual([(holder["bytes"], holder["blocks"]) for holder in memory["at_peak"]],
                         [(20 * MIB, 4), (6 * MIB, 3), (512, 1)])
        self.assertEqual(memory["at_peak"][0]["site"],
                         "forward (model.py:41), called by step (train.py:12), called by <module> (train.py:90)")
        self.assertIn("embed (model.py:17)", memory["at_peak"][2]["site"])
        self.assertEqual(memory["free_at_end"], 34 * MIB)
        self.assertEqual(memory["largest_free_at_end"], 20 * MIB)
        text = self.command(DPROF, "report", self.run_folder, "--sections", "memory").stdout
        self.assertIn("forward (model.py:41)", text)
        self.assertIn("the largest piece 21.0 MB", text)
        self.assertEqual(len(stays), 3)

    def test_what_grows_step_by_step(self):
        allocator = Allocator()
        for step in range(30):
            begin = allocator.now
            allocator.alloc(MIB, STACKS[2])
            used = [allocator.alloc(3 * MIB, STACKS[0]) for _ in range(2)]
            for address in used:
                allocator.free(address)
            allocator.now += 10_000
            for stage, time in (("START", begin), ("END", allocator.now)):
                allocator.annotations.append({"stage": stage, "name": f"ProfilerStep#{step}", "device": 0, "time_us": time})
            allocator.now += 5
        self.bring(allocator.write(self.folder / "snapshot.pickle"))
        self.assertEqual(self.report()["run"]["steps"]["count"], 30)
        leak, = self.report()["memory"]["leaks"]
        self.assertAlmostEqual(leak["bytes_per_step"], MIB, delta=MIB / 50)
        self.assertIn("keep (cache.py:5)", leak["sites"][0]["site"])

    def test_several_files_are_several_ranks_and_devices_stay_apart(self):
        allocators = [Allocator(seed=rank, device=rank) for rank in range(3)]
        files = []
        for rank, allocator in enumerate(allocators):
            allocator.run_at_random(300, STACKS)
            files.append(allocator.write(self.folder / f"host_{rank}.pickle"))
        self.bring(*files, more=("--ranks", "2,1,0"))
        for place, allocator in enumerate(allocators):
            self.check_levels(2 - place, allocator, device=place)
        self.assertEqual(self.trace(0).meta["imported_format"], "memory_snapshot")
        self.assertEqual(int(self.trace(2).meta["origin_realtime_ns"]), allocators[0].events[0]["time_us"] * 1000)
        self.assertGreaterEqual(allocators[0].events[0]["time_us"], START_US)

    def test_expandable_segments_and_a_block_that_is_waited_for(self):
        base = 0x7f0000000000
        events = [("segment_map", base, 4 * MIB), ("segment_map", base + 4 * MIB, 2 * MIB), ("alloc", base, 5 * MIB),
                  ("alloc", base + 5 * MIB, 100), ("free_requested", base + 5 * MIB, 100),
                  ("segment_unmap", base + 3 * MIB, MIB), ("oom", 7 * MIB, 50 * MIB), ("snapshot", 0, 0)]
        segments = [{"device": 0, "address": base, "total_size": 3 * MIB, "blocks": []},
                    {"device": 0, "address": base + 4 * MIB, "total_size": 2 * MIB, "blocks": [
                        {"address": base + 5 * MIB, "size": 512, "state": "active_pending_free", "frames": []}]}]
        events.insert(5, ("free_completed", base, 5 * MIB))
        file = self.folder / "snapshot.pickle"
        with open(file, "wb") as out:
            pickle.dump({"segments": segments, "device_traces": [[
                {"action": action, "addr": at, "size": size, "stream": 0, "time_us": START_US + i, "frames": []}
                for i, (action, at, size) in enumerate(events)]]}, out)
        said = self.bring(file)
        self.assertIn("device 0 had 7.34 MB free when an allocation of 52.4 MB failed", said)
        rows = self.trace(0).rows("SELECT allocated_bytes, reserved_bytes FROM memory_event ORDER BY id DESC LIMIT 1")
        self.assertEqual(rows, [(512, 5 * MIB)])
        self.assertEqual(self.trace(0).value("SELECT count(*) FROM memory_event"), 7)

    def test_hostile_and_damaged_files(self):
        class Harm:
            def __reduce__(self):
                return print, ("harm",)
        for name, data in (("code.pickle", {"segments": [], "device_traces": Harm()}),
                           ("empty.pickle", {"segments": [], "device_traces": [[]]})):
            with open(self.folder / name, "wb") as out:
                pickle.dump(data, out)
            said = self.bring(self.folder / name, want=3)
            self.assertNotIn("harm\n", said)
            self.assertFalse(self.run_folder.exists())
        whole = Allocator()
        whole.run_at_random(50, STACKS)
        bytes_ = whole.write(self.folder / "whole.pickle").read_bytes()
        (self.folder / "cut.pickle").write_bytes(bytes_[:-30])
        self.assertIn("cut off", self.bring(self.folder / "cut.pickle", want=3))
