# SPDX-License-Identifier: Apache-2.0
"""What the torch source records of real training: groups, buckets, data, memory, sequence numbers."""
import json

from support import HERE, TRAINER, EndToEnd

STEPS = 6
MASK = (1 << 64) - 1
ACCUMULATE = "torch::autograd::AccumulateGrad"


class Trainer(EndToEnd):
    programs = (*EndToEnd.programs, TRAINER)

    def gradient_ends(self, trace):
        return [start + duration for start, duration in trace.ranges_named(ACCUMULATE) if duration is not None]

    def buckets(self, trace):
        return trace.rows("SELECT enqueue_ns, ready_ns, bucket, bytes, step_index FROM collective JOIN step "
                          "ON enqueue_ns BETWEEN step.start_ns AND step.end_ns "
                          "WHERE bucket IS NOT NULL ORDER BY enqueue_ns")

    def check_buckets(self, trace, steps, bytes_of_step):
        ends = self.gradient_ends(trace)
        rows = self.buckets(trace)
        for step in range(steps):
            mine = [row for row in rows if row[4] == step]
            self.assertGreater(len(mine), 2, "several buckets")
            self.assertEqual([row[2] for row in mine], list(range(len(mine))))
            self.assertEqual(sum(row[3] for row in mine), bytes_of_step)
            for enqueue, ready, *_ in mine:
                # The first after a gradient was completed by it: every bucket here.
                last = max(end for end in ends if end <= enqueue)
                self.assertIsNotNone(ready)
                self.assertLessEqual(last, ready)
                self.assertLessEqual(ready, enqueue)

    def test_members_buckets_and_batches(self):
        truth = self.record_trainer("--steps", STEPS, "--bucket-mb", "0.03", "--first-bucket-mb", "0.01")
        for rank in (0, 1):
            trace = self.trace(rank)
            self.check_whole(trace)
            self.assertEqual(trace.losses(), [])
            members = trace.rows("SELECT member, rank FROM communicator_member ORDER BY communicator_id, member")
            self.assertEqual(members, [(0, 0), (1, 1)])
            self.check_buckets(trace, STEPS, truth["ranks"][rank]["state_bytes"]["parameters"])
            ddp = json.loads(trace.meta["ddp"])
            buckets = ddp["buckets"][0]["buckets"]
            self.assertEqual(sum(bucket["bytes"] for bucket in buckets),
                             truth["ranks"][rank]["state_bytes"]["parameters"])
            self.assertEqual(sum(bucket["parameters"] for bucket in buckets), 8)
            self.check_batches(trace, truth["ranks"][rank])

    def check_batches(self, trace, truth):
        hashes = trace.rows("SELECT index_hash, epoch, queue_depth, batch_shape, duration_ns FROM loader_event ORDER BY id")
        self.assertEqual([f"{row[0] & MASK:016x}" for row in hashes], truth["index_hash"])
        for _, epoch, depth, shape, duration in hashes:
            self.assertEqual(epoch, 0)
            self.assertGreaterEqual(depth, 0)
            self.assertEqual(shape, "64x1x28x28")
            self.assertGreater(duration, 0)

    def test_accumulation_sums_to_the_truth(self):
        truth = self.record_trainer("--steps", 3, "--accumulate", 2)
        for rank in (0, 1):
            rows = self.trace(rank).rows("SELECT step_index, index_hash FROM loader_event JOIN step ON "
                                         "loader_event.start_ns BETWEEN step.start_ns AND step.end_ns")
            self.assertEqual(len(rows), 6)
            for step, want in enumerate(truth["ranks"][rank]["index_hash"]):
                total = sum(value & MASK for at, value in rows if at == step) & MASK
                self.assertEqual(f"{total:016x}", want)

    def test_nothing_is_announced_without_marks(self):
        self.record_trainer("--steps", 3, "--marks", "none")
        self.assertEqual(self.trace(0).rows("SELECT * FROM loader_event"), [])

    def test_gradients_that_are_bucket_views(self):
        truth = self.record_trainer("--steps", STEPS, "--bucket-mb", "0.03", "--first-bucket-mb", "0.01",
                                    "--bucket-view", "on")
        for rank in (0, 1):
            self.check_buckets(self.trace(rank), STEPS, truth["ranks"][rank]["state_bytes"]["parameters"])

    def test_full_detail_joins_passes_and_changes_nothing(self):
        plain = self.folder / "plain.json"
        arguments = ("--steps", STEPS, "--seed", 3)
        done = self.command(TRAINER, "--spawn", 2, "--truth", plain, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        truth = self.record_trainer(*arguments, options=("--detail", "full"))
        want = [rank["checksum"] for rank in json.loads(plain.read_text())["ranks"]]
        self.assertEqual([rank["checksum"] for rank in truth["ranks"]], want, "bit for bit")
        self.assertTrue(all(want))
        trace = self.trace(0)
        backward = trace.rows("SELECT DISTINCT sequence FROM host_range_text WHERE category = 'autograd' AND sequence >= 0 "
                              "AND name NOT LIKE '%AccumulateGrad'")
        forward = {row[0] for row in trace.rows("SELECT DISTINCT sequence FROM host_range_text WHERE category = 'op' "
                                                "AND sequence >= 0")}
        self.assertGreater(len(backward), 5 * STEPS)
        self.assertEqual([row for row in backward if row[0] not in forward], [])
        self.check_memory(trace, truth["ranks"][0])

    def check_memory(self, trace, truth):
        self.assertIn("host allocations of torch", trace.meta["memory_source"])
        kinds = dict(trace.rows("SELECT kind, count(*) FROM memory_event_text WHERE device_id = -1 GROUP BY kind"))
        self.assertGreater(kinds["alloc"], 20 * STEPS)
        self.assertGreater(kinds["free"], 20 * STEPS)
        times = [row[0] for row in trace.rows("SELECT time_ns FROM memory_event ORDER BY id")]
        self.assertEqual(times, sorted(times))
        known = dict(trace.rows("SELECT category, sum(bytes) FROM memory_event_text WHERE kind = 'registered' "
                                "GROUP BY category"))
        self.assertEqual(known["parameter"], truth["state_bytes"]["parameters"])
        self.assertEqual(known["gradient"], truth["state_bytes"]["gradients"])


class Python(EndToEnd):
    def record_script(self, *arguments, ranks=3, **how):
        python = self.need_python_torch()
        self.record(python, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}",
                    HERE / "groups.py", *arguments, **how)

    def members(self, trace):
        found = {}
        for name, member, rank in trace.rows(
                "SELECT string.value, member, rank FROM communicator_member JOIN communicator "
                "ON communicator.id = communicator_id JOIN string ON string.id = name_id ORDER BY name_id, member"):
            found.setdefault(name, []).append((member, rank))
        return sorted(found.values())

    def test_a_subgroup_has_its_global_ranks(self):
        self.record_script()
        everybody = [(0, 0), (1, 1), (2, 2)]
        hashes = set()
        for rank in range(3):
            trace = self.trace(rank)
            even = rank % 2 == 0
            self.assertEqual(sorted(self.members(trace)), sorted([[(0, 0), (1, 2)], everybody] if even else [everybody]))
            hashes |= {row[0] for row in trace.rows("SELECT hash FROM communicator WHERE size = 2")}
            # DDP begins with one bucket here and lays them out anew after the first step.
            buckets = [row[0] for row in trace.rows("SELECT bucket FROM collective WHERE bucket IS NOT NULL "
                                                    "AND ready_ns <= enqueue_ns ORDER BY enqueue_ns")]
            self.assertEqual(buckets, [0] + 3 * [0, 1, 2])
            layout = json.loads(trace.meta["ddp"])["buckets"][0]["buckets"]
            self.assertEqual([bucket["parameters"] for bucket in layout], [4, 4, 4])
            plain = trace.rows("SELECT count(*) FROM collective WHERE bytes = 40 AND bucket IS NULL")[0][0]
            self.assertEqual(plain, 4 if even else 0, "the script's own all-reduce is nobody's bucket")
        self.assertEqual(len(hashes), 1, "the same on its members")

    def test_unused_parameters_are_a_setting(self):
        self.record_script("--find-unused", ranks=2)
        self.assertEqual(json.loads(self.trace(0).meta["ddp"])["find_unused_parameters"], "true")
