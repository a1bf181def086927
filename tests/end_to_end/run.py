# SPDX-License-Identifier: Apache-2.0
"""Runs one end-to-end case, or lists them all. Needs only Python's standard library.

    run.py --list                     MODULE.CASE, a line each
    run.py MODULE.CASE                runs it; exit code 0 passed, 1 failed, 77 skipped

What is tested is found through DPROF_BIN_DIR (default: build/release/bin); a case's files are left in
DPROF_SCRATCH_DIR/MODULE.CASE (default: build/end_to_end).
"""
import ast
import importlib
import os
import pathlib
import resource
import sys
import unittest

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent


def case_names(module="*"):
    for file in sorted(HERE.glob(f"test_{module}.py")):
        for node in ast.parse(file.read_text()).body:
            if not isinstance(node, ast.ClassDef):
                continue
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name.startswith("test_"):
                    yield file.stem.removeprefix("test_"), node.name, item.name


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    if arguments == ["--list"]:
        return list_cases()
    # Only its own module is read: each of 500 cases is a process, and reading all of them takes 0.4 s.
    module, _, name = arguments[0].partition(".")
    found = [(group, test) for _, group, test in case_names(module) if test == f"test_{name}"]
    if not found or not module.isidentifier():
        print(f"run.py: no such case: {arguments[0]}\nhint: run.py --list names them", file=sys.stderr)
        return 2
    group, test = found[0]
    os.environ["DPROF_CASE"] = arguments[0]
    sys.path.insert(0, str(HERE))
    case = getattr(importlib.import_module(f"test_{module}"), group)(test)
    result = unittest.TextTestRunner(verbosity=2).run(case)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"CPU time: {sum(part.ru_utime + part.ru_stime for part in used):.1f} s")
    for _, reason in result.skipped:
        print(f"skipped: {reason}")
    if not result.wasSuccessful():
        return 1
    return SKIPPED if result.skipped else 0


def list_cases():
    seen = set()
    for module, _, test in case_names():
        name = f"{module}.{test.removeprefix('test_')}"
        if name in seen:
            print(f"run.py: two cases are named {name}", file=sys.stderr)
            return 2
        seen.add(name)
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
