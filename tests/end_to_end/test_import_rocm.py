# SPDX-License-Identifier: Apache-2.0
"""AMD's rocprofv3, from the command line."""
import json

from support import DPROF, EndToEnd

KINDS = [{"kind": "NONE", "operations": []},
         {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipMemcpyAsync", "hipDeviceSynchronize"]},
         {"kind": "RCCL_API", "operations": ["ncclAllReduce"]},
         {"kind": "MARKER_CORE_API", "operations": ["roctxRangePushA"]}]
CPU, GPU = {"handle": 1}, {"handle": 17}


def row(kind, operation, correlation, start, length, **more):
    return {"size": 64, "kind": kind, "operation": operation, "thread_id": 4711, "start_timestamp": start,
            "end_timestamp": start + length, "correlation_id": {"internal": correlation, "external": 0}, **more}


def process(steps=12, pid=4711):
    """Steps of 10 ms: a copy, a kernel of 4 ms, an all-reduce of 2 ms."""
    records = {name: [] for name in ("kernel_dispatch", "memory_copy", "hip_api", "rccl_api", "marker_api", "hsa_api")}
    texts = []

    def kernel(correlation, start, length, kernel_id):
        records["hip_api"].append(row(1, 0, correlation, start - 50_000, 20_000))
        records["kernel_dispatch"].append(row(11, 0, correlation, start, length, dispatch_info={
            "agent_id": GPU, "queue_id": {"handle": 3}, "kernel_id": kernel_id, "group_segment_size": 1024,
            "workgroup_size": {"x": 256, "y": 1, "z": 1}, "grid_size": {"x": 25600, "y": 2, "z": 1}}))

    for step in range(steps):
        begin, number = 1_000_000_000 + step * 10_000_000, 10 * step + 1
        records["marker_api"].append(row(3, 0, number, begin, 9_900_000))
        texts.append({"key": number, "value": f"step {step}"})
        records["hip_api"].append(row(1, 1, number + 1, begin + 1000, 20_000))
        records["memory_copy"].append(row(15, 2, number + 1, begin + 30_000, 200_000, src_agent_id=CPU, dst_agent_id=GPU,
                                          bytes=1 << 20))
        kernel(number + 2, begin + 500_000, 4_000_000, 7)
        records["rccl_api"].append(row(2, 0, number + 3, begin + 5_000_000, 100_000))
        kernel(number + 4, begin + 5_080_000, 2_000_000, 8)
        records["hip_api"].append(row(1, 2, number + 5, begin + 5_200_000, 1_900_000))
        records["hsa_api"].append(row(0, 0, number + 6, begin + 6_000_000, 1000))
    for rows in records.values():
        rows.reverse()  # no order is promised
    return {"metadata": {"pid": pid, "node": {"hostname": "amd0"}, "init_time": 900_000_000,
                         "command": ["train", "--key=hush"]},
            "agents": [{"id": CPU, "type": 1, "name": "EPYC"}, {"id": GPU, "type": 2, "name": "gfx942",
                                                                "product_name": "AMD Instinct MI300X"}],
            "kernel_symbols": [{"kernel_id": 7, "formatted_kernel_name": "gemm(float*)", "kernel_name": "_Z4gemmPf"},
                               {"kernel_id": 8, "formatted_kernel_name": "ncclDevKernel_Generic_4(ncclDevKernelArgs)"}],
            "strings": {"buffer_records": KINDS, "marker_api": texts}, "buffer_records": records}


class ImportRocm(EndToEnd):
    def test_kernels_copies_calls_and_collectives(self):
        file = self.folder / "1_results.json"
        file.write_text(json.dumps({"rocprofiler-sdk-tool": [process()]}))
        done = self.command(DPROF, "import", file, "-o", self.run_folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        trace = self.trace(0)
        self.assertEqual(trace.meta["imported_format"], "rocprofv3")
        self.assertEqual(trace.meta["host"], "amd0")
        self.assertNotIn(b"hush", trace.path.read_bytes())
        self.assertEqual(trace.rows("SELECT value, count(*), sum(duration_ns) FROM gpu_activity "
                                    "JOIN string ON string.id = name_id GROUP BY 1 ORDER BY 1"),
                         [("Memcpy HtoD", 12, 2_400_000), ("gemm(float*)", 12, 48_000_000),
                          ("ncclDevKernel_Generic_4(ncclDevKernelArgs)", 12, 24_000_000)])
        self.assertEqual(trace.rows("SELECT DISTINCT grid_x, grid_y, block_x FROM kernel_shape"), [(100, 2, 256)])
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_activity k JOIN host_range r "
                                     "ON r.correlation = k.correlation"), 36)
        self.assertEqual(trace.rows("SELECT function, count(*), sum(end_ns - start_ns) FROM collective_text GROUP BY 1"),
                         [("all_reduce", 12, 24_000_000)])
        self.assertEqual([count for _, _, count in trace.losses()], [12])
        self.assertEqual(self.report()["run"]["steps"]["count"], 12)

    def test_several_processes_and_damage(self):
        file = self.folder / "results.json"
        file.write_text(json.dumps({"rocprofiler-sdk-tool": [process(pid=10), process(pid=11)]}))
        done = self.command(DPROF, "import", file, "-o", self.run_folder, "--ranks", "1,0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.trace(1).meta["pid"], "10")
        file.write_text(file.read_text()[:-5000])
        done = self.command(DPROF, "import", file, "-o", self.folder / "other")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertFalse((self.folder / "other").exists())
