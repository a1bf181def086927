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
    "gui": ["gui", "analyzer", "base"],
    "cli": ["cli", "collector/recorder", "analyzer", "schema", "base"],
    "trainer_harness": ["trainer_harness"],
}
# A target may link these of ours.
MAY_LINK = {
    "dprof_base": [],
    "dprof_schema": ["dprof_base"],
    "dprof-schema": [],
    "dprof_recorder": ["dprof_schema", "dprof_base"],
    "dprof_analyzer": ["dprof_schema", "dprof_base"],
    "dprof-rules": ["dprof_analyzer"],
    "dprof_synth": ["dprof_schema", "dprof_base"],
    "dprof-synth": ["dprof_synth"],
    "dprof_gui_view": ["dprof_analyzer", "dprof_base"],
    "dprof_gui_widgets": ["dprof_gui_view", "dprof_analyzer", "dprof_base"],
    "dprof-gui": ["dprof_gui_widgets", "dprof_gui_view", "dprof_analyzer", "dprof_base"],
    "dprof_cli": ["dprof_recorder", "dprof_analyzer", "dprof_base"],
    "dprof-program": ["dprof_cli"],
    "dprof_inject_core": [],
    "dprof": ["dprof_inject_core"],
    "dprof_torch": [],
    "dprof_trainer_settings": [],
    "dprof-trainer": ["dprof_trainer_settings"],
    "dprof_trainer_nccl": [],
}
# Programs that tests start.
TEST_PROGRAMS = ["origin_probe", "torch_probe", "recorder_writer", "recorder_hostile", "slow_link_probe", "nccl_real"]
# Foreign headers and the only folders that may include them.
ONLY_IN = [
    (re.compile(r"sqlite3\.h"), ["schema"]),
    (re.compile(r"(torch|ATen|c10)/"), ["collector/inject/torch", "trainer_harness"]),
    (re.compile(r"cupti"), ["collector/inject/cuda"]),
    (re.compile(r"Q[A-Z]\w*"), ["gui/widgets", "gui/main.cpp"]),
]
WHERE = "(layers: CONTRIBUTING.md)"


def check(tree):
    for name in tree.names:
        if is_cpp(name):
            check_includes(tree, name)
        elif name.endswith("CMakeLists.txt"):
            check_links(tree, name)


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
