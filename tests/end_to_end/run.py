# SPDX-License-Identifier: Apache-2.0
"""Runs one end-to-end case, or lists them all. Needs nothing but Python's standard library.

    run.py --list                     MODULE.CASE, a line each
    run.py MODULE.CASE                runs it; exit code 0 passed, 1 failed, 77 skipped

What is tested is found through DPROF_BIN_DIR (default: build/release/bin); a case's files are left in
DPROF_SCRATCH_DIR/MODULE.CASE (default: build/end_to_end).
"""
import ast
import importlib
import os
import pathlib
import sys
import unittest

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent


def case_names():
    for file in sorted(HERE.glob("test_*.py")):
        for node in ast.parse(file.read_text()).body:
            if not isinstance(node, ast.ClassDef):
                continue
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name.startswith("test_"):
                    yield file.stem.removeprefix("test_"), node.name, item.name


def main(arguments):
    cases = {}
    for module, group, test in case_names():
        name = f"{module}.{test.removeprefix('test_')}"
        if name in cases:
            print(f"run.py: two cases are named {name}", file=sys.stderr)
            return 2
        cases[name] = (module, group, test)
    if arguments == ["--list"]:
        print("\n".join(cases))
        return 0
    if len(arguments) != 1 or arguments[0] not in cases:
        print(f"run.py: no such case: {' '.join(arguments)}\nhint: run.py --list names them", file=sys.stderr)
        return 2
    module, group, test = cases[arguments[0]]
    os.environ["DPROF_CASE"] = arguments[0]
    sys.path.insert(0, str(HERE))
    case = getattr(importlib.import_module(f"test_{module}"), group)(test)
    result = unittest.TextTestRunner(verbosity=2).run(case)
    for _, reason in result.skipped:
        print(f"skipped: {reason}")
    if not result.wasSuccessful():
        return 1
    return SKIPPED if result.skipped else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
