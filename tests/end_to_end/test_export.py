# SPDX-License-Identifier: Apache-2.0
"""A run in the formats of other tools, from the command line: what each tool would read."""
import collections
import csv
import gzip
import json
import os
import pathlib
import subprocess

from support import BIN, DPROF, ROOT, EndToEnd, Trace

SYNTH = BIN / "dprof-synth"
# Reads a Perfetto trace by Perfetto's own schema, and prints what the test asks for. Unknown fields at any depth are counted.
DECODE = r"""
import collections, gzip, json, sys
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

def unknown_in(message):
    count = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        for part in ([value] if hasattr(value, "ListFields") else value):
            count += unknown_in(part)
    return count

trace = perfetto_trace_pb2.Trace()
trace.ParseFromString(gzip.open(sys.argv[1]).read())
categories, names, tracks, depth = {}, {}, {}, collections.Counter()
events, flows, unknown, begun = [], collections.Counter(), unknown_in(trace), collections.Counter()
for packet in trace.packet:
    for entry in packet.interned_data.event_categories:
        categories[packet.trusted_packet_sequence_id, entry.iid] = entry.name
    for entry in packet.interned_data.event_names:
        names[packet.trusted_packet_sequence_id, entry.iid] = entry.name
    if packet.HasField("track_descriptor"):
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor
    if packet.HasField("track_event"):
        events.append(packet)
events.sort(key=lambda packet: packet.timestamp)
bad = 0
open_slices, ns = collections.defaultdict(list), collections.Counter()
for packet in events:
    event, sequence = packet.track_event, packet.trusted_packet_sequence_id
    bad += event.track_uuid not in tracks
    flows.update(event.flow_ids)
    flows.update(event.terminating_flow_ids)
    category = categories[sequence, event.category_iids[0]] if event.category_iids else None
    if event.name_iid:
        names[sequence, event.name_iid]
    if event.type == event.TYPE_SLICE_BEGIN:
        begun[category] += 1
        open_slices[event.track_uuid].append((category, packet.timestamp))
    elif event.type == event.TYPE_SLICE_END:
        category, start = open_slices[event.track_uuid].pop()
        ns[category] += packet.timestamp - start
print(json.dumps({"unknown": unknown, "bad": bad, "open": sum(map(len, open_slices.values())), "begun": begun, "ns": ns,
                  "single_flows": sum(count < 2 for count in flows.values()), "flows": len(flows),
                  "processes": [track.process.process_name for track in tracks.values() if track.HasField("process")]}))
"""

# Each table's columns and rows, as a CSV has them.
DECODE_PARQUET = r"""
import json, pathlib, sys
import pyarrow.parquet

def text(value):
    return "" if value is None else value.hex().upper() if isinstance(value, bytes) else str(value)

tables = {}
for path in pathlib.Path(sys.argv[1]).iterdir():
    table = pyarrow.parquet.read_table(path)
    assert path.suffix == ".parquet" and not any(str(kind) == "null" for kind in table.schema.types), path
    tables[path.stem] = [table.column_names, [list(map(text, row.values())) for row in table.to_pylist()]]
print(json.dumps(tables))
"""


class Export(EndToEnd):
    def make(self, *arguments, ranks=2, steps=8):
        done = self.command(SYNTH, "-o", self.run_folder, "--ranks", ranks, "--steps", steps, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)

    def export(self, kind, *arguments, want=0):
        done = self.command(DPROF, "export", self.run_folder, "--format", kind, *arguments)
        self.assertEqual(done.returncode, want, done.stderr)
        return done

    def test_perfetto_is_as_perfetto_says(self):
        """Decoded by Perfetto's own schema: nothing unknown, every row once and as long as it was."""
        python = os.environ.get("DPROF_PERFETTO_PYTHON", "python3")
        if subprocess.run([python, "-c", "from perfetto.protos.perfetto.trace import perfetto_trace_pb2"],
                          capture_output=True).returncode != 0:
            self.skipTest("Python's `perfetto` is not installed: pip install perfetto protobuf, and DPROF_PERFETTO_PYTHON")
        self.make("--shape", "gpu", "--hosts", 2, "--fault", "sleep-forward:rank=1,ms=20", "--clock", "host1:offset_ms=3000")
        self.export("perfetto")
        done = self.command(python, "-c", DECODE, self.folder / "run.perfetto.gz")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((found["unknown"], found["bad"], found["open"], found["single_flows"]), (0, 0, 0, 0))
        self.assertEqual(len(found["processes"]), 3, found["processes"])  # two ranks, and dprof's findings
        expected, launches = collections.Counter(), 0
        for rank in range(2):
            trace = self.trace(rank)
            for table, kind in (("host_range", "category"), ("gpu_activity", "kind")):
                expected.update(dict(trace.rows(f"SELECT {kind}, count(*) FROM {table}_text WHERE {kind} <> 'nvtx_mark' "
                                                "GROUP BY 1")))
            launches += trace.value("SELECT count(DISTINCT correlation) FROM gpu_activity WHERE correlation IN "
                                    "(SELECT correlation FROM host_range)")
        self.assertEqual({word: found["begun"].get(word) for word in expected}, dict(expected))
        kernel_ns = sum(self.trace(rank).value("SELECT sum(duration_ns) FROM gpu_activity_text WHERE kind = 'kernel'")
                        for rank in range(2))
        # Two clocks are put on one axis: a length may change by their drift.
        self.assertLess(abs(found["ns"]["kernel"] - kernel_ns), 1e-4 * kernel_ns)
        self.assertGreaterEqual(found["flows"], launches)

    def test_kineto_and_back_gives_equal_rows(self):
        """Kineto → dprof → Kineto → dprof, as PyTorch's profiler would have written the first."""
        made = self.folder / "made"
        done = self.command(SYNTH, "-o", made, "--ranks", 2, "--steps", 8, "--shape", "gpu", "--format", "kineto")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.command(DPROF, "import", made, "-o", self.run_folder).returncode, 0)
        self.export("chrome", "-o", self.folder / "again")
        done = self.command(DPROF, "import", self.folder / "again", "-o", self.folder / "run2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.compare(self.run_folder, self.folder / "run2", ranks=2)

    def test_recordings_of_pytorch_and_back(self):
        """The same of recordings that PyTorch's profiler did write."""
        shared = pathlib.Path(os.environ.get("DPROF_SHARED_TRACES", ROOT.parent / "shared/traces"))
        names = ("critical_path/cuda_event_sync_multi_stream.json.gz", "dlrm_8gpu", "h100_inference", "mi300_ddp",
                 "nanosecond_times", "resnet50_1gpu/resnet50_num_workers_0", "two_worker_small/distributed_gloo_cpu",
                 "two_worker_small/distributed_nccl")
        files = [shared / name for name in names if (shared / name).exists()]
        if not files:
            self.skipTest("the recordings are not beside the project")
        for number, path in enumerate(files):
            run, again = self.folder / f"run{number}", self.folder / f"again{number}"
            done = self.command(DPROF, "import", path, "-o", run)
            self.assertIn(done.returncode, (0, 3), done.stderr)
            done = self.command(DPROF, "export", run, "--format", "chrome", "-o", again)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = self.command(DPROF, "import", again, "-o", self.folder / f"run{number}b")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.compare(run, self.folder / f"run{number}b")

    TABLES = (
        "SELECT t.os_tid, start_ns, duration_ns, s.value, category, sequence, correlation FROM host_range "
        "JOIN thread t ON t.id = thread_id JOIN string s ON s.id = host_range.name_id",
        "SELECT a.device_id, cuda_stream, start_ns, duration_ns, s.value, kind, bytes, correlation, graph_node, graph, grid_x, "
        "grid_y, grid_z, block_x, block_y, block_z, registers, static_shared_bytes FROM gpu_activity a "
        "JOIN stream ON stream.id = stream_id JOIN string s ON s.id = a.name_id "
        "LEFT JOIN kernel_shape k ON k.activity_id = a.id",
        "SELECT event, record_ns, wait_ns, correlation FROM gpu_dependency",
        "SELECT hash, backend, size, own_rank, function, group_sequence, bytes, count, dtype, peer, enqueue_ns, start_ns, "
        "end_ns, state, captured, correlation, reduction FROM collective c "
        "JOIN communicator ON communicator.id = communicator_id",
        "SELECT step_index, start_ns, end_ns, source FROM step",
        "SELECT device_id, time_ns, kind, address, bytes, allocated_bytes, reserved_bytes FROM memory_event")

    def compare(self, first, second, ranks=None):
        traces = sorted(path.name for path in first.glob("rank-*.dprof"))
        self.assertEqual(traces, sorted(path.name for path in second.glob("rank-*.dprof")))
        self.assertTrue(traces)
        if ranks:
            self.assertEqual(len(traces), ranks)
        for name in traces:
            with Trace(first / name) as a, Trace(second / name) as b:
                for sql in self.TABLES:
                    before, after = collections.Counter(a.rows(sql)), collections.Counter(b.rows(sql))
                    self.assertEqual(sum(before.values()), sum(after.values()), f"{name}: {sql}")
                    self.assertEqual(before - after, collections.Counter(), f"{name}: {sql}\n{list((after - before))[:3]}")

    def test_csv_has_the_rows_of_the_tables(self):
        self.make("--shape", "gpu")
        self.export("csv", "-o", self.folder / "tables")
        for table in ("host_range", "gpu_activity", "collective", "step", "memory_event", "meta"):
            with open(self.folder / "tables" / f"{table}.csv", newline="") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual(len(rows), sum(self.trace(rank).value(f"SELECT count(*) FROM {table}") for rank in range(2)))
        with open(self.folder / "tables/gpu_activity.csv", newline="") as file:
            found = sum(int(row["duration_ns"]) for row in csv.DictReader(file))
        self.assertEqual(found, sum(self.trace(rank).value("SELECT sum(duration_ns) FROM gpu_activity") for rank in range(2)))

    def test_parquet_holds_what_csv_does(self):
        """Every value of every table, read by pyarrow, is that of the CSV."""
        self.make("--shape", "gpu")
        command = (DPROF, "export", self.run_folder, "--format", "parquet")
        done = self.command(*command, "-o", "none", DPROF_PYTHON="/bin/false")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("pip install pyarrow", done.stderr)
        self.assertFalse((self.folder / "none").exists())
        python = os.environ.get("DPROF_PYARROW_PYTHON", "python3")
        if subprocess.run([python, "-c", "import pyarrow"], capture_output=True).returncode != 0:
            self.skipTest("Python's `pyarrow` is not installed: pip install pyarrow, and DPROF_PYARROW_PYTHON")
        for raw in ([], ["--raw"]):
            parquet, tables = self.folder / f"parquet{raw}", self.folder / f"csv{raw}"
            done = self.command(*command, "-o", parquet, *raw, DPROF_PYTHON=python)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.export("csv", "-o", tables, *raw)
            self.assertEqual(sorted(path.stem for path in parquet.iterdir()), sorted(path.stem for path in tables.iterdir()))
            decoded = subprocess.run([python, "-c", DECODE_PARQUET, parquet], capture_output=True, text=True, check=True)
            for name, (head, rows) in json.loads(decoded.stdout).items():
                with open(tables / f"{name}.csv", newline="") as file:
                    found = list(csv.reader(file))
                self.assertEqual(found, [head, *rows], name)
                self.assertEqual(len(set(head)), len(head), name)

    def test_flame_graphs_hold_all_of_the_time(self):
        self.make("--shape", "gpu")
        self.export("speedscope", "-o", "out.json")
        profiles = json.loads((self.folder / "out.json").read_text())["profiles"]
        kernels = sum(event["type"] == "O" for profile in profiles if " GPU " in profile["name"]
                      for event in profile["events"])
        rows = "SELECT count(*), sum(duration_ns) FROM gpu_activity_text WHERE kind <> 'sync'"
        counts = [self.trace(rank).rows(rows)[0] for rank in range(2)]
        self.assertEqual(kernels, sum(count for count, _ in counts))
        done = self.export("folded", "-o", "-")
        lines = [line.rsplit(" ", 1) for line in done.stdout.splitlines()]
        self.assertEqual(sum(int(ns) for stack, ns in lines if ";GPU " in stack), sum(ns for _, ns in counts))

    def test_steps_and_ranks_narrow_it(self):
        self.make()
        self.export("chrome", "--ranks", "1", "--steps", "3:5", "-o", "part")
        files = list((self.folder / "part").iterdir())
        self.assertEqual(len(files), 1)
        found = json.loads(gzip.open(files[0]).read())
        self.assertEqual(found["distributedInfo"]["rank"], 1)
        steps = {event["name"] for event in found["traceEvents"] if event["name"].startswith("ProfilerStep#")}
        self.assertEqual(steps, {"ProfilerStep#3", "ProfilerStep#4"})

    def test_what_cannot_be_done_is_said(self):
        self.make()
        done = self.export("csv", "--ranks", "7", want=3)
        self.assertIn("no trace of rank 7", done.stderr)
        done = self.export("csv", "--steps", "90:95", want=3)
        self.assertIn("no step of those", done.stderr)
        self.export("csv", "-o", "tables")
        done = self.export("csv", "-o", "tables", want=2)
        self.assertIn("not empty", done.stderr)
        self.export("perfetto", "--raw", want=2)
        done = self.command(DPROF, "export", self.run_folder)
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_a_damaged_rank_costs_only_itself(self):
        self.make()
        path = self.run_folder / "rank-00001.dprof"
        path.write_bytes(path.read_bytes()[:path.stat().st_size // 2])
        done = self.export("perfetto", "-o", "out.gz", want=3)
        self.assertGreater(len(gzip.open(self.folder / "out.gz").read()), 1000, done.stderr)
        self.export("chrome", "-o", "part", want=3)
        self.assertEqual([path.name[:10] for path in (self.folder / "part").iterdir()], ["rank-00000"])
