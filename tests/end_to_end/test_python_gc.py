# SPDX-License-Identifier: Apache-2.0
"""Python's garbage collections in the trace, against what a callback of the program counts beside ours."""
import json

from support import DPROF, EndToEnd, Trace

PYTHON = 8  # RangeCategory
# Ours comes while torch is loaded or after it, at most 10 s; collections are counted from the first "some work" on.
SCRIPT = """
import collections, gc, json, sys, time
import torch
gc.disable()
def own_before(phase, info): pass
gc.callbacks.append(own_before)
for _ in range(500):
    if len(gc.callbacks) > 1 or not RECORDED: break
    with torch.profiler.record_function("waiting"): time.sleep(.02)
seen, gone = collections.Counter(), 0
def own_after(phase, info):
    global gone
    if phase == "start": seen[info["generation"]] += 1
    else: gone += info["collected"]
gc.callbacks.append(own_after)
class Node: pass
def litter(count):
    for _ in range(count):
        a, b = Node(), Node()
        a.other, b.other = b, a
for step in range(20):
    with torch.profiler.record_function("some work"):
        litter(200)
        gc.collect(step % 3)
ours = [f for f in gc.callbacks if f not in (own_before, own_after)]
print(json.dumps({"seen": seen, "gone": gone, "ours": len(ours), "at": gc.callbacks.index(own_after)}))
"""


class PythonGc(EndToEnd):
    programs = (DPROF,)

    def counted(self, *options):
        script = self.folder / "collects.py"
        script.write_text(SCRIPT.replace("RECORDED", str("gc=off" not in options)))
        python = self.need_python_torch()
        done = self.command(DPROF, "record", "--overwrite", "-o", self.run_folder, *options, "--", python, script)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.strip().splitlines()[-1])

    def collections(self):
        with Trace(next(self.run_folder.glob("*.dprof"))) as trace:
            return trace.rows(
                "SELECT s.value, d.payload FROM host_range r JOIN string s ON s.id = r.name_id "
                "LEFT JOIN range_detail d ON d.range_id = r.id "
                "WHERE r.category = ? AND s.value LIKE 'gc.collect%' AND r.duration_ns >= 0 AND r.start_ns >= "
                "(SELECT min(start_ns) FROM host_range JOIN string t ON t.id = name_id WHERE t.value = 'some work') "
                "ORDER BY r.start_ns", PYTHON)

    def test_each_collection_is_a_range(self):
        counted = self.counted()
        self.assertEqual((counted["ours"], counted["at"]), (1, 2), "the program's own callbacks stay as they are")
        rows = self.collections()
        names = [name for name, _ in rows]
        for generation, count in counted["seen"].items():
            self.assertEqual(names.count(f"gc.collect generation {generation}"), count, names)
        self.assertEqual(sum(int.from_bytes(payload, "little") for _, payload in rows), counted["gone"])
        self.assertGreater(counted["gone"], 4000)

    def test_switched_off_it_is_not_there(self):
        counted = self.counted("--python", "gc=off")
        self.assertEqual(counted["ours"], 0)
        self.assertEqual(self.collections(), [])
