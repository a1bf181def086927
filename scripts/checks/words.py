# SPDX-License-Identifier: Apache-2.0
"""Words that read like a translation, in pages and in what programs print. docs/glossary.md has the words to use."""
import re

from checks.prose import is_page
from checks.tree import is_generated

# (what not to write, what to write)
WORDS = [(re.compile(rf"\b(?:{what})\b", re.I), instead) for what, instead in (
    (r"dearest|costliest", "most expensive"),
    (r"of what could be read", "from the readable traces"),
    (r"nothing hides|hid(?:e|es|den) (?:by|behind) nothing|no computation hides", "exposed"),
    (r"makes? (?:a|an|one) [^.;]{1,40} of it", "formats it as …, turns it into …"),
    (r"(?:is|are|was|were|be|not) told", "reports, shows, records"),
    (r"told apart", "distinguished"),
    (r"tells? (?:of|its|their|what|why|who|where|how|which|whether)|(?:that|who) tells?|to tell",
     "knows, shows, says, decides"),
    (r"(?:stands?|stood) (?:in|at|beside|behind|under|below|for itself|on|there|here)|stands? still",
     "is in, waits in, follows"),
    (r"for want of", "for lack of"),
    (r"runs? dry", "is idle"),
    (r"in vain", "for ever, without success"),
    (r"anew", "again, from scratch"),
    (r"in the mean", "on average"),
    (r"begin of", "start of"),
    (r"seldom", "rarely"),
    (r"(?:can|could|to) be won|won back|wins? back", "gained, recovered"),
    (r"is for who", "is for whoever, for those who"),
    (r"back ends?", "backend"),
    (r"of its own doing", "own delay"),
    (r"is to be (?:\w+ed|seen|read|done|known)", "must be, will be"),
    (r"for [\w ]{0,20}there is none", "if there is none"),
    (r"(?:most|least) of it lies", "is mostly in"),
)]
# What users read: titles, messages, help.
SPOKEN = re.compile(r"(analyzer|base|cli|collector/recorder|gui|schema)/.*\.(cpp|h)$")
UNSPOKEN = re.compile(r"_test\.cpp$|/test_support/|^analyzer/import/")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"(?:^|(?<=[;{}(,\s]))//.*$", re.M)


def check(tree):
    for name in tree.names:
        if is_page(name) and name != "docs/glossary.md" and not is_generated(name):
            for number, line in enumerate(tree.text(name).splitlines(), 1):
                check_text(tree, f"{name}:{number}", line)
        elif SPOKEN.match(name) and not UNSPOKEN.search(name):
            for number, line in enumerate(COMMENT.sub("", tree.text(name)).splitlines(), 1):
                for literal in LITERAL.findall(line):
                    if " " in literal:
                        check_text(tree, f"{name}:{number}", literal)


def check_text(tree, where, text):
    text = text.replace("unknown group", "")  # a name in traces
    for what, instead in WORDS:
        if found := what.search(text):
            tree.problem(where, f"'{found.group(0)}' reads like a translation: {instead}")
