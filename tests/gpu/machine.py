# SPDX-License-Identifier: Apache-2.0
"""What the machine has: GPUs for a driver that answers, a Python with torch, versions."""
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import struct
import subprocess
import sys

# Where drivers put their libraries on machines whose loader does not know them.
DRIVER_FOLDERS = ("/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64",
                  "/usr/lib/wsl/lib")
TOOL_FOLDERS = ("/usr/local/nvidia/bin", "/usr/local/cuda/bin", "/opt/nvidia/nsight-compute", "/opt/nvidia/nsight-systems")
PT_NOTE = 4
BUILD_ID = re.compile(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})", re.S)
COUNT = """
import ctypes, sys
cuda = ctypes.CDLL(sys.argv[1])
count = ctypes.c_int(0)
code = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
print(code, count.value)
"""


def output_of(*words, timeout=90, **environment):
    """What it prints; None where it cannot be run or fails."""
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=timeout,
                              env={**os.environ, **environment})
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def gpus_seen():
    """How many GPUs CUDA has, and why none. In a process of its own: a broken driver may hang or crash."""
    why = "libcuda.so.1 is not there"
    for folder in ("", *DRIVER_FOLDERS):
        if folder and not pathlib.Path(folder, "libcuda.so.1").exists():
            continue
        path = f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}".strip(":") if folder else os.environ.get("LD_LIBRARY_PATH",
                                                                                                            "")
        said = output_of(sys.executable, "-c", COUNT, "libcuda.so.1", **({"LD_LIBRARY_PATH": path} if path else {}))
        if said is None:
            continue
        code, count = map(int, said.split())
        if code == 0 and count > 0:
            if folder:  # the jobs need it as well
                os.environ["LD_LIBRARY_PATH"] = path
            return count, None
        why = f"cuInit answered {code}" if code else "the driver shows no GPU"
    return 0, why


def find_tools():
    """Adds the folders of NVIDIA's programs to PATH, behind what is there."""
    path = os.environ.get("PATH", "").split(":")
    for folder in TOOL_FOLDERS:
        path += [folder, *map(str, sorted(pathlib.Path(folder).glob("20*"), reverse=True))]
    os.environ["PATH"] = ":".join(one for one in dict.fromkeys(path) if one)


def has_torch(python):
    return output_of(python, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)") is not None


def find_python():
    """The first python3 that has torch; this one if none has."""
    given = (os.environ.get("DPROF_GPU_PYTHON"), sys.executable, shutil.which("python3"))
    patterns = ("*/.venv/bin/python3", "*/bin/python3")
    others = [str(path) for pattern in patterns for path in sorted(pathlib.Path("/opt").glob(pattern))]
    for candidate in dict.fromkeys([*filter(None, given), *others]):
        if has_torch(candidate):
            return candidate
    return sys.executable


def torch_folder(python):
    """The folder of that Python's torch, or None."""
    said = output_of(python, "-c", "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])")
    return pathlib.Path(said) if said else None


def library_folders(torch):
    """Where torch's libraries lie, and NVIDIA's beside it."""
    return [torch / "lib", *sorted(torch.parent.glob("nvidia/*/lib"))] if torch else []


def build_id(file):
    """Of a 64-bit ELF file, from its notes; None where it has none."""
    try:
        with open(file, "rb") as opened:
            head = opened.read(64)
            if head[:5] != b"\x7fELF\x02":
                return None
            start, size, count = (*struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54))
            opened.seek(start)
            table = opened.read(size * count)
            for number in range(count):
                kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", table, number * size)
                if kind != PT_NOTE:
                    continue
                opened.seek(offset)
                if found := BUILD_ID.search(opened.read(min(length, 1 << 16))):
                    return found.group(1).hex()
    except (OSError, struct.error):
        pass
    return None


def facts(bundle, python, gpus, why):
    """What the figures were taken on; None = could not be found out."""
    torch = torch_folder(python)
    about = pathlib.Path(bundle, "about.json")
    smi = output_of("nvidia-smi", "--query-gpu=name,driver_version,memory.total,power.limit", "--format=csv,noheader")
    versions = output_of(python, "-c", "import torch; print(torch.__version__, torch.version.cuda or '', "
                         "'.'.join(map(str, torch.cuda.nccl.version())))") if torch else None
    cupti = sorted(library.name for folder in library_folders(torch) for library in folder.glob("libcupti.so.*"))
    return {
        "GPU, driver, memory, power limit": smi.splitlines() if smi else None,
        "GPUs seen by CUDA": gpus if gpus else f"0: {why}",
        "torch, CUDA, NCCL": versions,
        "torch's build id": build_id(torch / "lib/libtorch_cpu.so") if torch else None,
        "CUPTI": cupti[-1] if cupti else None,
        "Python": output_of(python, "--version"),
        "kernel": platform.release(),
        "glibc": platform.libc_ver()[1],
        "cores": len(os.sched_getaffinity(0)),
        "profilers": [name for name in ("nsys", "ncu") if shutil.which(name)],
        "dprof": json.loads(about.read_text()) if about.exists() else None,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }
