#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of scripts/check fails on a small tree that breaks it, and on none that keeps it."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from checks import compiled, layers, made, markdown, prose, sources  # noqa: E402
from checks.tree import Tree  # noqa: E402

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
WIDE = "word " * 30


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def tree(self, **files):
        """Of texts by name; `/` and `.` in names are written as in `{"a/b.h": text}`."""
        return self.tree_of(files)

    def tree_of(self, files):
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if name.startswith("scripts/"):
                path.chmod(0o755)
        names = [str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()]
        return Tree(self.root, names)

    def found(self, rule, files):
        tree = self.tree_of(files)
        rule(tree)
        return tree.problems

    def assert_finds(self, rule, files, *parts):
        """One problem, which says all of `parts`."""
        problems = self.found(rule, files)
        self.assertEqual(len(problems), 1, problems)
        for part in parts:
            self.assertIn(part, problems[0])

    def assert_passes(self, rule, files):
        self.assertEqual(self.found(rule, files), [])


class LayersTest(Case):
    def test_a_module_includes_those_below_it(self):
        self.assert_finds(layers.check, {"base/a.h": '#include "schema/b.h"\n'}, "base/a.h:1",
                          "base may not include schema/b.h")
        self.assert_passes(layers.check, {"base/a.h": '#include "base/b.h"\n'})

    def test_an_exception_has_a_reason(self):
        self.assert_passes(layers.check, {"base/a.h": '#include "schema/b.h"  // layer-exception: why\n'})

    def test_an_internal_header_is_for_its_folder(self):
        include = '#include "analyzer/rules/x_internal.h"\n'
        self.assert_passes(layers.check, {"analyzer/rules/a.cpp": include, "analyzer/rules/a_test.cpp": include,
                                          "analyzer/rules/test_support/b.h": include})

    def test_and_not_for_the_folder_above_or_below(self):
        for name in ("analyzer/a.cpp", "analyzer/rules/more/a.cpp", "analyzer/steps/a_test.cpp", "tests/generated/a_test.cpp"):
            with self.subTest(name):
                self.assert_finds(layers.check, {name: '#include "analyzer/rules/x_internal.h"\n'}, "only in analyzer/rules/")
                (self.root / name).unlink()

    def test_a_foreign_header_has_its_place(self):
        self.assert_finds(layers.check, {"cli/a.cpp": "#include <sqlite3.h>\n"}, "only in schema")
        (self.root / "cli/a.cpp").unlink()
        self.assert_finds(layers.check, {"gui/view/a.cpp": "#include <QWidget>\n"}, "only in gui/widgets")

    def test_a_stage_includes_those_before_it(self):
        self.assert_passes(layers.check, {"analyzer/match/a.cpp": '#include "analyzer/digest/b.h"\n'})
        self.assert_finds(layers.check, {"analyzer/match/a.cpp": '#include "analyzer/waits/b.h"\n'}, "analyzer/match/a.cpp:1",
                          "analyzer/match may not include analyzer/waits/b.h")

    def test_and_not_what_is_above_or_beside(self):
        for header in ("analyzer/analysis.h", "analyzer/import/import.h"):
            with self.subTest(header):
                self.assert_finds(layers.check, {"analyzer/rules/a.cpp": f'#include "{header}"\n'}, header)
        self.assert_passes(layers.check, {"analyzer/rules/a.cpp": "",
                                          "analyzer/analysis.cpp": '#include "analyzer/rules/b.h"\n',
                                          "analyzer/import/a.cpp": '#include "analyzer/vocabulary/b.h"\n'})

    def test_what_is_beside_the_stages_knows_no_neighbour(self):
        self.assert_passes(layers.check, {"analyzer/compare/a.cpp": '#include "analyzer/lanes/b.h"\n'})
        self.assert_finds(layers.check, {"analyzer/compare/a.cpp": '#include "analyzer/import/b.h"\n'},
                          "analyzer/compare may not")

    def test_two_folders_do_not_include_each_other(self):
        self.assert_finds(layers.check, {"analyzer/import/x/a.h": '#include "analyzer/import/y/b.h"\n',
                                         "analyzer/import/y/c.h": '#include "analyzer/import/x/d.h"\n'},
                          "analyzer/import/x: includes analyzer/import/y")

    def test_nor_do_two_files_above_the_stages(self):
        self.assert_finds(layers.check, {"gui/view/a.h": '#include "gui/view/b.h"\n',
                                         "gui/view/b.cpp": '#include "gui/view/b.h"\n#include "gui/view/a.h"\n'},
                          "gui/view/a: includes gui/view/b")
        (self.root / "gui/view/a.h").unlink()
        self.assert_passes(layers.check, {"base/a.h": '#include "base/b.h"\n', "base/b.cpp": '#include "base/a.h"\n'})

    def test_of_what_is_put_together_the_parts_are_taken(self):
        whole = '#include "gui/view/session/session.h"\n'
        self.assert_passes(layers.check, {"gui/view/a.cpp": whole, "gui/widgets/a.cpp": whole,
                                          "gui/view/docks/a_test.cpp": whole,
                                          "gui/view/pages/a.cpp": '#include "gui/view/session/viewport.h"\n'})
        for folder in ("timeline", "docks", "pages"):
            with self.subTest(folder):
                self.assert_finds(layers.check, {f"gui/view/{folder}/a.h": whole}, f"gui/view/{folder}/a.h:1", "take the parts")
                (self.root / f"gui/view/{folder}/a.h").unlink()

    def test_the_size_of_a_folder(self):
        files = {f"base/a{number}.h": "" for number in range(layers.MOST_FILES)}
        self.assert_passes(layers.check, files)
        self.assert_finds(layers.check, {"base/b.h": ""}, "base: holds 61 sources")

    def test_a_target_links_those_below_it(self):
        text = "dprof_library(dprof_schema SOURCES a.cpp LINK dprof_analyzer)\n"
        self.assert_finds(layers.check, {"schema/CMakeLists.txt": text}, "dprof_schema may not link dprof_analyzer")

    def test_a_target_is_in_the_table(self):
        self.assert_finds(layers.check, {"base/CMakeLists.txt": "dprof_library(dprof_new SOURCES a.cpp)\n"}, "MAY_LINK")


class SourcesTest(Case):
    def test_the_licence(self):
        for name in ("base/a.h", "base/CMakeLists.txt", "cmake/a.cmake", "scripts/a", "bench/a.py"):
            with self.subTest(name):
                self.assert_finds(sources.check, {name: "\n"}, name, "SPDX")
                (self.root / name).unlink()

    def test_the_length(self):
        tree = self.tree_of({"base/a.h": LICENCE + "\n" * 800, "base/b.h": LICENCE + "\n" * 799})
        sources.check(tree)
        self.assertEqual(tree.problems, [])
        self.assertEqual(tree.notes, ["base/a.h: 801 lines: is it one thing?"])

    def test_what_is_banned(self):
        for name, text in (("base/a.cpp", "// TODO\n"), ("base/a.h", "using namespace std;\n"), ("cli/a.cpp", "  throw 1;\n"),
                           ("collector/wire/a.h", "#include <vector>\n"),
                           ("collector/inject/torch/a.h", "#include <sstream>\n"),
                           ("schema/a.cpp", "std::cout << 1;\n"), ("base/a.cpp", "assert(true);\n"),
                           ("gui/a.cpp", "sprintf(a, b);\n")):
            with self.subTest(text):
                self.assert_finds(sources.check, {name: LICENCE + text}, f"{name}:2", text.strip())
                (self.root / name).unlink()

    def test_a_generated_file_is_as_it_is(self):
        self.assert_passes(sources.check, {"schema/generated/rows.h": "using namespace std;\n" * 600})

    def test_two_types_of_one_name(self):
        text = LICENCE + "namespace dprof {\nstruct Twice {\n};\n}  // namespace dprof\n"
        self.assert_finds(sources.check, {"base/a.h": text, "base/b.h": text}, "base/a, base/b", "dprof::Twice")

    def test_a_type_and_its_source_are_one(self):
        text = LICENCE + "namespace dprof {\nstruct Once {\n};\n}  // namespace dprof\n"
        self.assert_passes(sources.check, {"base/a.h": text, "base/a.cpp": text})

    def test_names_that_are_local_to_a_file(self):
        text = LICENCE + "namespace dprof {\nnamespace {\n\n%s\n\n}  // namespace\n}  // namespace dprof\n"
        for one in ("constexpr int kTwice = 1;", "struct Twice {};", "const std::string kTwice[] = {};"):
            with self.subTest(one):
                self.assert_finds(sources.check, {"base/a.cpp": text % one, "base/b.cpp": text % one}, "base/a.cpp, base/b.cpp")
        self.assert_passes(sources.check, {"base/a.cpp": text % "struct One {};", "base/b.cpp": text % "struct Two {};"})

    def test_and_are_the_same_elsewhere(self):
        text = LICENCE + "namespace {\nstruct Twice {};\n}  // namespace\n"
        self.assert_passes(sources.check, {"base/a.cpp": text, "schema/a.cpp": text, "base/a_test.cpp": text})

    def test_the_format(self):
        shutil.copy(ROOT / ".clang-format", self.root)
        rule = lambda tree: sources.check_format(tree, fix=False)
        self.assert_finds(rule, {"base/a.h": "int  a;\n", "base/b.h": "int b;\n"}, "base/a.h: is not formatted")
        sources.check_format(self.tree(), fix=True)
        self.assert_passes(rule, {})

    def test_the_format_of_texts_and_labels(self):
        shutil.copy(ROOT / ".clang-format", self.root)
        text = f'const char* kText =\n    "{WIDE}";\n// Cost       {WIDE.strip()}\n// Threading  {WIDE.strip()}\n'
        self.assert_passes(lambda tree: sources.check_format(tree, fix=False), {"base/a.h": text})


class WidthsTest(Case):
    def test_prose(self):
        self.assert_finds(prose.check_widths, {"docs/a.md": f"short\n{WIDE}\n"}, "docs/a.md:2", "150 characters", "128")
        (self.root / "docs/a.md").unlink()
        self.assert_finds(prose.check_widths, {"docs/a.md": f"- short\n- {WIDE}\n"}, "docs/a.md:2")

    def test_what_may_be_wide(self):
        for text in (f"# {WIDE}", f"| {WIDE} |", f"```\n{WIDE}\n```", f"    {WIDE}", f"[{'x' * 130}](a)", f"- {'x' * 130}"):
            with self.subTest(text):
                self.assert_passes(prose.check_widths, {"docs/a.md": text + "\n", "docs/rules.md": WIDE + "\n"})

    def test_scripts_and_comments(self):
        self.assert_finds(prose.check_widths, {"bench/a.py": f"# {WIDE}\n"}, "bench/a.py:1", "128")
        self.assert_finds(prose.check_widths, {"bench/a.py": "", "scripts/a": f"x {WIDE}\n"}, "scripts/a:1")
        self.assert_finds(prose.check_widths, {"scripts/a": "", "base/a.h": f"// {'word ' * 20}\n"}, "base/a.h:1", "100")
        self.assert_passes(prose.check_widths, {"base/a.h": f'"{WIDE}"\n'})

    def test_editors_are_configured_the_same(self):
        said = re.findall(r"max_line_length = (\d+)", (ROOT / ".editorconfig").read_text())
        self.assertEqual([int(width) for width in said], [prose.CPP_WIDTH, prose.PROSE_WIDTH, prose.SCRIPT_WIDTH])
        self.assertIn(f"ColumnLimit: {prose.CPP_WIDTH}", (ROOT / ".clang-format").read_text())


class ReferencesTest(Case):
    def test_links(self):
        self.assert_finds(prose.check_references, {"docs/a.md": "see\n[it](gone.md)\n"}, "docs/a.md:2", "gone.md")
        self.assert_finds(prose.check_references, {"docs/a.md": "[it](b.md#gone)", "docs/b.md": "# Here\n"}, "no heading")
        self.assert_passes(prose.check_references, {"docs/a.md": "[it](b.md#here-1) [web](https://x.y/z) [a `b`](../docs/b.md)",
                                                    "docs/b.md": "# Here\n\n## Here\n"})

    def test_a_link_that_is_code_is_none(self):
        self.assert_passes(prose.check_references, {"docs/a.md": "`[it](gone.md)`\n\n    [it](gone.md)\n"})

    def test_paths(self):
        for name, text in (("docs/a.md", "`base/gone.h`"), ("docs/a.md", "x\n\n    base/gone.h\n"),
                           ("docs/a.md", "`base/gone`"),
                           ("base/a.h", "// See base/gone.h."), ("bench/a.py", '"""As base/gone.h."""'),
                           ("bench/a.py", "# docs/gone.md"), ("scripts/a", "true  # docs/gone.md"),
                           ("docs/a.md", "`base/{b,gone}.h`")):
            with self.subTest(text):
                self.assert_finds(prose.check_references, {"base/b.h": "", "docs/c.md": "", name: text}, name, "gone")
                (self.root / name).unlink()

    def test_paths_that_are_there(self):
        self.assert_passes(prose.check_references, {
            "gui/view/b.h": "", "gui/texts/dprof_en.ts": "", "tests/golden/report/healthy/spec.json": "",
            "docs/a.md": "`gui/view/b.h`, `view/b.h`, `gui/view/`, `gui/view/b`, `gui/texts/dprof_XX.ts`, `gui/*/b.h`, "
                         "`tests/golden/<area>/<case>/spec.json`, `c10d/Ops.cpp`, `RUN/gui/gone.json`, `build/gone`, `a/b`"})

    def test_commands(self):
        script = "#!/bin/sh\n# SPDX\necho '--known, --known-too N'\n"
        for said in ("`scripts/gone`", "`scripts/it --unknown`", "    scripts/it --know\n", "`scripts/it [--unknown N]`"):
            with self.subTest(said):
                self.assert_finds(prose.check_references, {"scripts/it": script, "docs/a.md": said}, "docs/a.md:1")
        said = "`scripts/it --known --known-too=3 x`, `scripts/it N -- CMD --others`\n\n    scripts/it   as --this\n"
        self.assert_passes(prose.check_references, {"docs/a.md": said})

    def test_documents_outside(self):
        for text in ("the rule" " book", "analysis" ".md section 7", "collector" ".md 8.3", "`peers" ".md`"):
            with self.subTest(text):
                self.assert_finds(prose.check_outside, {"base/a.h": f"// As in {text}.\n"}, "base/a.h:1", "no page of ours")
        self.assert_passes(prose.check_outside, {"base/a.h": "// docs/analysis.md, docs/design/architecture.md\n"})


class ArchitectureTest(unittest.TestCase):
    def test_the_page_says_where_forty_things_happen(self):
        page = (ROOT / "docs/design/architecture.md").read_text()
        rows = [line for line in page.splitlines() if line.startswith("| ") and "`" in line]
        self.assertGreaterEqual(len(rows), 40)
        for row in rows:
            paths = re.findall(r"`([\w.]+/[\w/.]+)`", row)
            self.assertTrue(paths, row)
            for path in paths:
                self.assertTrue((ROOT / path).is_file(), path)


class MarkdownTest(unittest.TestCase):
    def test_blocks(self):
        text = "# Head\n\ntwo\nlines\n\n- one\n  more\n- two\n\n    code\n\n| a |\n| b |\n\n```\ncode\n\ncode\n```\nend\n"
        kinds = [(block.kind, block.first, len(block.lines)) for block in markdown.blocks(text)]
        self.assertEqual(kinds, [("heading", 1, 1), ("prose", 3, 2), ("prose", 6, 2), ("prose", 8, 1), ("prose", 10, 1),
                                 ("table", 12, 2), ("code", 15, 5), ("prose", 20, 1)])

    def test_anchors(self):
        self.assertEqual(markdown.anchors("# A `b_c`: d, [e](f)\n"), {"a-b_c-d-e"})


class MadeTest(Case):
    def test_a_generated_file_that_differs(self):
        tree = self.tree_of({"docs/rules.md": "old\n", "maker": "#!/bin/sh\necho new\n"})
        (self.root / "maker").chmod(0o755)
        compare = lambda fix: made.compare(tree, fix, self.root / "maker", "docs", "docs/rules.md", "analyzer/rules")
        compare(False)
        self.assertEqual(len(tree.problems), 1)
        compare(True)
        tree.problems.clear()
        compare(False)
        self.assertEqual(tree.problems, [])


class CompiledCase(Case):
    def setUp(self):
        super().setUp()
        os.environ["DPROF_CACHE"] = str(self.root / "cache")
        self.addCleanup(os.environ.pop, "DPROF_CACHE")
        shutil.copy(ROOT / ".clang-tidy", self.root)

    def built(self, files, as_one=()):
        """A tree with the commands of its sources; those of `as_one` are compiled together."""
        tree = self.tree_of(files)
        command = f"/usr/bin/c++ -I{self.root} -Wall -std=c++20 -o base/CMakeFiles/base.dir/%s.o -c %s"
        unity = self.root / "build/dev/base/CMakeFiles/base.dir/Unity/unity_base_0_cxx.cxx"
        alone = [self.root / name for name in files if name.endswith(".cpp") and name not in as_one]
        if as_one:
            alone.append(unity)
            unity.parent.mkdir(parents=True)
            unity.write_text("".join(f'#include "{self.root / name}"\n' for name in as_one))
        (self.root / "build/dev").mkdir(parents=True, exist_ok=True)
        entries = [{"directory": str(self.root / "build/dev"), "command": command % (path.name, path), "file": str(path)}
                   for path in alone]
        (self.root / "build/dev/compile_commands.json").write_text(json.dumps(entries))
        return tree

    def look(self, rule, tree, **more):
        tree.notes.clear()
        rule(tree, Changed(list(tree.names)), **more)
        return tree.problems


class Changed:
    """In place of compiled.Release."""
    said = "then"

    def __init__(self, names):
        self.changed = [name for name in names if name.endswith((".h", ".cpp"))]


class AloneTest(CompiledCase):
    def test_a_source_includes_what_it_uses(self):
        tree = self.built({"base/a.cpp": "#include <vector>\n", "base/b.cpp": "std::vector<int> used;\n"},
                          as_one=("base/a.cpp", "base/b.cpp"))
        problems = self.look(compiled.check_alone, tree)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn("base/b.cpp: does not compile alone: base/b.cpp:1", problems[0])

    def test_and_so_does_a_header(self):
        tree = self.built({"base/a.h": "std::vector<int> used;\n", "base/b.cpp": '#include <vector>\n\n#include "base/a.h"\n'})
        problems = self.look(compiled.check_alone, tree)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn("base/a.h: does not compile alone", problems[0])

    def test_results_are_kept_until_something_changes(self):
        files = {"base/a.h": "#pragma once\nint a;\n", "base/b.cpp": '#include "base/a.h"\n', "base/c.cpp": "int c;\n"}
        tree = self.built(files)
        for changes, looked_at in (({}, 3), ({}, 0), ({"base/a.h": "#pragma once\nbad a;\n"}, 2), ({}, 0)):
            tree = self.tree_of(changes)
            problems = self.look(compiled.check_alone, tree)
            self.assertIn(f"{looked_at} looked at now", tree.notes[0])
        self.assertEqual(len(problems), 2)

    def test_the_rest_is_reported(self):
        tree = self.built({"base/a.cpp": "", "base/b.cpp": "", "base/c.cpp": "", "base/d.h": ""})
        self.look(compiled.check_alone, tree, most=3)
        self.assertEqual(len(tree.notes), 1)
        said = "4 files changed since then, {} looked at now, 1 older files not (scripts/check --alone looks at all)"
        self.assertIn(said.format(3), tree.notes[0])

    def test_a_second_look_is_at_the_same_files(self):
        tree = self.built({"base/a.cpp": "", "base/b.cpp": "", "base/c.cpp": "bad\n"})
        for looked_at in (2, 0):
            tree = self.tree_of({})
            self.assertEqual(self.look(compiled.check_alone, tree, most=2), [])
            self.assertIn(f"{looked_at} looked at now, 1 older files not", tree.notes[0])

    def test_no_build_is_reported(self):
        tree = self.tree_of({"base/a.cpp": ""})
        self.look(compiled.check_alone, tree)
        self.assertIn("not looked at", tree.notes[0])

    def test_what_is_not_built_is_reported(self):
        tree = self.built({"base/a.cpp": ""})
        tree = self.tree_of({"gui/b.cpp": "bad\n"})
        self.assertEqual(self.look(compiled.check_alone, tree), [])
        self.assertIn("1 are not built here", tree.notes[0])


@unittest.skipUnless(shutil.which("clang-tidy-14"), "clang-tidy-14 is not installed")
class TidyTest(CompiledCase):
    BAD = "int Pointer() {\n  return 0;\n}\n"
    SAID = "invalid case style for function"

    def test_files_that_are_read_as_one_have_lines_of_their_own(self):
        tree = self.built({"base/a.cpp": "int a();\n\nint a() { return 1; }\n", "base/b.cpp": "int b;\n" + self.BAD,
                           "base/c.cpp": "int c;\n"})
        problems = self.look(compiled.check_tidy, tree)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(f"base/b.cpp:2: {self.SAID} 'Pointer' [readability-identifier-naming", problems[0])
        self.look(compiled.check_tidy, tree)
        self.assertIn("3 files changed since then, 0 looked at now", tree.notes[0])

    def test_a_header_is_looked_at_with_its_source(self):
        tree = self.built({"base/a.h": "inline int Pointer() { return 0; }\n", "base/a.cpp": '#include "base/a.h"\n'})
        compiled.check_tidy(tree, Changed(["base/a.h"]))
        self.assertEqual(len(tree.problems), 1, tree.problems)
        self.assertIn(f"base/a.h:1: {self.SAID}", tree.problems[0])

    def test_names_that_clash_are_looked_at_one_by_one(self):
        tree = self.built({"base/a.cpp": "static int twice() { return 1; }\nint a = twice();\n",
                           "base/b.cpp": "static int twice() { return 0; }\nint B() { return twice(); }\n"})
        problems = self.look(compiled.check_tidy, tree)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(f"base/b.cpp:2: {self.SAID}", problems[0])

    def test_what_it_cannot_read_is_a_problem(self):
        tree = self.built({"base/a.cpp": "bad\n"})
        self.assertIn("clang-diagnostic-error", "".join(self.look(compiled.check_tidy, tree)))


class ReleaseTest(Case):
    def git(self, *arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"]
        subprocess.run(["git", *who, *arguments], cwd=self.root, check=True, capture_output=True)

    def commit(self, **files):
        for name, text in files.items():
            (self.root / name.replace("_h", ".h").replace("CMakeLists", "CMakeLists.txt")).write_text(text)
        self.git("add", ".")
        self.git("commit", "-m", "a")

    def setUp(self):
        super().setUp()
        self.git("init", "-b", "main")
        self.commit(old_h="1", CMakeLists="project(dprof VERSION 0.1.0)\n")
        self.commit(first_h="1")
        self.commit(second_h="1")

    def test_the_commit_that_set_the_version(self):
        release = compiled.Release(Tree(self.root))
        self.assertEqual(release.changed, ["second.h", "first.h"])
        self.assertIn("set the version", release.said)

    def test_a_tag_before_it(self):
        self.git("tag", "v0.1.0", "HEAD~1")
        release = compiled.Release(Tree(self.root))
        self.assertEqual((release.changed, release.said), (["second.h"], "v0.1.0"))

    def test_what_is_not_committed_comes_first(self):
        (self.root / "first.h").write_text("2")
        (self.root / "new.h").write_text("1")
        self.assertEqual(compiled.Release(Tree(self.root)).changed, ["first.h", "new.h", "second.h"])

    def test_a_shallow_clone_says_so(self):
        clone = self.root / "clone"
        self.git("clone", "--depth", "1", f"file://{self.root}", str(clone))
        release = compiled.Release(Tree(clone))
        self.assertIn("not in this clone", release.said)
        self.assertEqual(release.changed, ["first.h", "old.h", "second.h"])


class TestResultsTest(unittest.TestCase):
    """scripts/test_results, where one of CTest's tests is a whole GoogleTest program."""

    def counts(self, first, again=None):
        return self.results("counts", first, again).strip()

    def results(self, what, first, again=None):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "cases").mkdir()
            (folder / "cases/program.xml").write_text(
                '<testsuites><testsuite><testcase classname="A" name="x"/><testcase classname="A" name="y"/>'
                '<testcase classname="A" name="z"><skipped/></testcase></testsuite></testsuites>')
            for suffix, status in (("", first), (".again", again)):
                if status:
                    (folder / f"cases.xml{suffix}").write_text(
                        f'<testsuite><testcase name="program" status="{status}"><system-out>said{suffix}</system-out>'
                        '</testcase></testsuite>')
            script = pathlib.Path(__file__).parents[2] / "scripts/test_results"
            return subprocess.run([script, what, folder / "cases.xml"], capture_output=True, text=True).stdout

    def test_its_cases_count(self):
        self.assertEqual(self.counts("run"), "2 0 1 0")

    def test_one_that_fails_is_one_failure(self):
        self.assertEqual(self.counts("fail"), "0 1 0 0")
        self.assertEqual(self.counts("fail", again="fail"), "0 1 0 0")

    def test_one_that_passes_in_a_second_go_is_unstable(self):
        self.assertEqual(self.counts("fail", again="run"), "1 0 0 1")
        self.assertEqual(self.counts("run", again="run"), "2 0 1 0")
        shown = self.results("failures", "fail", again="run")
        self.assertIn("UNSTABLE (failed, then passed) program", shown)
        self.assertTrue(shown.endswith("\n  said\n"), shown)
        self.assertIn("FAILED program", self.results("failures", "fail", again="fail"))


class CommandLineTest(unittest.TestCase):
    def check(self, *arguments):
        return subprocess.run([ROOT / "scripts/check", *arguments], capture_output=True, text=True)

    def test_help_names_every_option(self):
        done = self.check("--help")
        self.assertEqual(done.returncode, 0)
        options = re.findall(r'"(--[\w-]+)"', re.search(r"OPTIONS = \((.*)\)", (ROOT / "scripts/check").read_text()).group(1))
        guide = (ROOT / "CONTRIBUTING.md").read_text()
        for option in options:
            self.assertIn(f"scripts/check {option} ", done.stdout)
            self.assertIn(f"scripts/check {option} ", guide)

    def test_an_unknown_option(self):
        self.assertEqual(self.check("--unknown").returncode, 2)


if __name__ == "__main__":
    unittest.main()
