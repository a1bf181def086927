# SPDX-License-Identifier: Apache-2.0
"""Who may include and link whom. The tables are the layers of CONTRIBUTING.md."""
import re

from checks.tree import is_cpp, is_test

# A folder (longest match counts) may include these folders of ours.
MAY_INCLUDE = {
    "base": ["base"],
    "schema": ["schema", "base"],
    "collector/wire": ["collector/wire"],
    "collector/inject": ["collector/inject", "collector/wire"],
    "collector/recorder": ["collector/recorder", "collector/wire", "schema", "base"],
    "analyzer": ["analyzer", "schema", "base"],
    "synth": ["synth", "schema", "base"],
    "gui/view": ["gui/view", "analyzer", "base"],
    "gui/html": ["gui/html", "gui/view", "analyzer", "base"],
    "gui": ["gui", "analyzer", "base"],
    "cli/mpi": ["cli/mpi", "analyzer", "base"],
    "cli": ["cli", "gui/html", "collector/recorder", "analyzer", "schema", "base"],
    "trainer_harness": ["trainer_harness"],
}
# Within these folders data goes one way: a part includes only those before it. What is beside them (or in the folder
# itself) may include them all, and none of them includes it.
ORDERS = {
    "analyzer": ["vocabulary", "run", "digest/memory", "digest", "match", "align", "waits", "steps", "breakdown", "memory",
                 "replay", "stragglers", "hang", "ending", "report", "rules", "render"],
    "collector/recorder": ["common", "ranks", "rows", "run", "clocks", "system", "control", "hang", "recording", "doctor"],
    "gui/view": ["drawing", "model", "figures", "session", "timeline", "docks", "pages"],
    "trainer_harness": ["common", "nccl", "ranks", "faults", "settings", "data", "models", "techniques", "strategies",
                        "activities", "launch"],
}
# What is beside the parts of an order, and which of its neighbours each may include.
BESIDE = {
    "analyzer": {"import": [], "export": ["import"], "lanes": [], "compare": ["lanes"], "diff": [], "check": ["diff"],
                 "sql": []},
}
# What is put together of parts, and where it may not be included: what is there takes those of the parts that it needs.
WHOLES = {"gui/view/session/session.h": ["gui/view/timeline", "gui/view/docks", "gui/view/pages"]}
# Folders whose own files are looked at one by one: they know all that is below, and each other in one direction only.
FILE_BY_FILE = ["analyzer", "gui/view"]
MOST_FILES = 60  # production sources directly in a folder
# A target may link these of ours.
MAY_LINK = {
    "dprof_base": [],
    "dprof_schema": ["dprof_base"],
    "dprof-schema": [],
    "dprof_recorder": ["dprof_schema", "dprof_base"],
    "dprof_analyzer": ["dprof_schema", "dprof_base"],
    "dprof_analyzer_output": ["dprof_analyzer", "dprof_schema", "dprof_base"],
    "dprof-rules": ["dprof_analyzer"],
    "dprof_synth": ["dprof_schema", "dprof_base"],
    "dprof-synth": ["dprof_synth"],
    "dprof_gui_view": ["dprof_analyzer_output", "dprof_base"],
    "dprof_gui_html": ["dprof_gui_view", "dprof_analyzer_output", "dprof_base"],
    "dprof_gui_widgets": ["dprof_gui_view", "dprof_analyzer_output", "dprof_base"],
    "dprof-gui": ["dprof_gui_widgets", "dprof_gui_view", "dprof_analyzer_output", "dprof_base"],
    "dprof_cli_mpi": ["dprof_analyzer", "dprof_base"],
    "dprof_cli": ["dprof_cli_mpi", "dprof_gui_html", "dprof_recorder", "dprof_analyzer_output", "dprof_base"],
    "dprof_mpi": [],
    "dprof-program": ["dprof_cli"],
    "dprof-manual": ["dprof_cli"],
    "dprof_portable_program": ["dprof_cli"],
    "dprof_portable_preload": [],
    "dprof_portable_torch": ["dprof_torch"],
    "dprof_portable_gui": ["dprof_gui_widgets"],
    "external_": [],
    "dprof_inject_core": [],
    "dprof": ["dprof_inject_core"],
    "dprof_torch": [],
    "dprof_trainer_settings": [],
    "dprof-trainer": ["dprof_trainer_settings"],
    "dprof_trainer_nccl": [],
}
# Programs that tests start.
TEST_PROGRAMS = ["origin_probe", "torch_probe", "recorder_writer", "recorder_hostile", "recorder_record", "slow_link_probe",
                 "nccl_real"]
# Foreign headers and the only folders that may include them.
ONLY_IN = [
    (re.compile(r"sqlite3\.h"), ["schema"]),
    (re.compile(r"(torch|ATen|c10)/"), ["collector/inject/torch", "trainer_harness"]),
    (re.compile(r"cupti"), ["collector/inject/cuda"]),
    (re.compile(r"mpi\.h"), ["cli/mpi/library.cpp"]),
    (re.compile(r"Q[A-Z]\w*"), ["gui/widgets", "gui/main.cpp"]),
]
WHERE = "(layers: CONTRIBUTING.md)"


def check(tree):
    for name in tree.names:
        if is_cpp(name):
            check_includes(tree, name)
        elif name.endswith("CMakeLists.txt"):
            check_links(tree, name)
    check_circles(tree)
    check_sizes(tree)


def folder_of(name):
    """A file's own folder; what helps its tests is part of it."""
    return name.rpartition("/")[0].removesuffix("/test_support")


def module_of(name):
    matches = [folder for folder in MAY_INCLUDE if name.startswith(folder + "/")]
    return max(matches, key=len) if matches else None


def check_includes(tree, name):
    module = module_of(name)
    for number, line in enumerate(tree.text(name).splitlines(), 1):
        include = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if not include or "layer-exception:" in line:
            continue
        header = include.group(1)
        where = f"{name}:{number}"
        if header.endswith("_internal.h") and folder_of(header) != folder_of(name):
            tree.problem(where, f"{header} may be included only in {folder_of(header)}/: rename it if it is for others, too")
        for pattern, folders in ONLY_IN:
            foreign = pattern.match(header) and not header.endswith("_test.h")
            if foreign and not is_test(name) and not name.startswith(tuple(folders)):
                tree.problem(where, f"{header} may be included only in {', '.join(folders)}")
        if module and not is_test(name) and line.strip().endswith('"'):
            if not any(header.startswith(folder + "/") for folder in MAY_INCLUDE[module]):
                tree.problem(where, f"{module} may not include {header} {WHERE}")
            check_order(tree, where, name, header)
            if name.startswith(tuple(folder + "/" for folder in WHOLES.get(header, []))):
                tree.problem(where, f"{header} may not be included here: take the parts of it that are needed {WHERE}")


def part_of(root, name):
    """Which part of `root` a file belongs to; None = it is in `root` itself."""
    inner = name[len(root) + 1:]
    parts = [part for part in [*ORDERS[root], *BESIDE.get(root, {})] if inner.startswith(part + "/")]
    return max(parts, key=len) if parts else None


def check_order(tree, where, name, header):
    for root, order in ORDERS.items():
        if not (name.startswith(root + "/") and header.startswith(root + "/")):
            continue
        part, other = part_of(root, name), part_of(root, header)
        beside = BESIDE.get(root, {})
        if part is None or part == other:
            continue
        if part in order:
            good = other in order[:order.index(part)]
            before = ", ".join(order[:order.index(part)]) or "none"
            also = f"only those before it: {before}"
        else:
            good = other in order or other in beside.get(part, [])
            also = "only the stages" + "".join(f" and {one}" for one in beside.get(part, []))
        if not good:
            tree.problem(where, f"{root}/{part} may not include {header}, {also} {WHERE}")


def check_circles(tree):
    """No two folders include each other, and no two files of FILE_BY_FILE (a header and its source count as one)."""
    graph = {}
    for name in tree.names:
        if not is_cpp(name) or is_test(name):
            continue
        for line in tree.text(name).splitlines():
            include = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if not include or "layer-exception:" in line:
                continue
            header = include.group(1)
            here, there = box_of(name), box_of(header)
            if here != there:
                graph.setdefault(here, set()).add(there)
    for one, others in sorted(graph.items()):
        for other in sorted(others):
            # A part of a folder may use what is in it, and that its part.
            nested = one.startswith(other + "/") or other.startswith(one + "/")
            if one < other and one in graph.get(other, ()) and not nested:
                tree.problem(one, f"includes {other}, and that includes it: find what both need, or join them")


def box_of(name):
    """What may not include each other: folders, or where these are looked at file by file, a header with its source."""
    folder = folder_of(name)
    return re.sub(r"(_internal)?\.(h|cpp)$", "", name) if folder in FILE_BY_FILE else folder


def check_sizes(tree):
    counts = {}
    for name in tree.names:
        if is_cpp(name) and not is_test(name):
            folder = name.rpartition("/")[0]
            counts[folder] = counts.get(folder, 0) + 1
    for folder, count in sorted(counts.items()):
        if count > MOST_FILES:
            tree.problem(folder, f"holds {count} sources, more than {MOST_FILES}: divide it by what each does")


def check_links(tree, name):
    text = tree.text(name)
    for call in re.finditer(r"dprof_(?:library|program|shared)\(\s*([\w-]+)(.*?)\)", text, re.S):
        links = re.search(r"\bLINK\b(.*)", call.group(2), re.S)
        check_target(tree, name, call.group(1), re.findall(r"\bdprof_\w+", links.group(1)) if links else [])
    for call in re.finditer(r"target_link_libraries\(\s*([\w-]+)(.*?)\)", text, re.S):
        check_target(tree, name, call.group(1), re.findall(r"\bdprof_\w+", call.group(2)))


def check_target(tree, name, target, linked):
    if "test" in target or is_test(name) or target in TEST_PROGRAMS:
        return
    if target not in MAY_LINK:
        tree.problem(name, f"target {target} is not in MAY_LINK of scripts/checks/layers.py: add it with what it may link")
        return
    for other in linked:
        if other not in MAY_LINK[target]:
            tree.problem(name, f"{target} may not link {other} {WHERE}")
