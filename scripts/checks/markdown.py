# SPDX-License-Identifier: Apache-2.0
"""A page's blocks, as far as the rules for prose need them."""
import re
from dataclasses import dataclass, field

FENCE = re.compile(r"\s*(```|~~~)")
ITEM = re.compile(r"(\s*)([-*+]|\d+[.)])(\s+)")
SPAN = re.compile(r"(`+)(.+?)\1", re.S)
LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+(?:\([^()]*\))?)\)")


@dataclass
class Block:
    kind: str  # prose, code, table, heading
    first: int  # line, from 1
    lines: list = field(default_factory=list)

    @property
    def text(self):
        return "\n".join(self.lines)


def blocks(text):
    """Paragraphs and items of lists are `prose`, one block each."""
    found, fenced, in_list, after_blank = [], False, False, True

    def put(kind, number, line, joins):
        if joins and found and found[-1].kind == kind and found[-1].first + len(found[-1].lines) == number:
            found[-1].lines.append(line)
        else:
            found.append(Block(kind, number, [line]))

    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line) or fenced:
            put("code", number, line, joins=True)
            fenced = fenced != bool(FENCE.match(line))
        elif not line.strip():
            after_blank = True
            continue
        elif ITEM.match(line) and (in_list or not line.startswith("    ")):
            put("prose", number, line, joins=False)
            in_list = True
        elif line.startswith("    ") and (not in_list or line.startswith("      ")) and after_blank:
            put("code", number, line, joins=True)
            continue  # the next line of this block is code, too
        elif line.lstrip().startswith("|"):
            put("table", number, line, joins=True)
        elif line.startswith("#"):
            put("heading", number, line, joins=False)
            in_list = False
        else:
            in_list = in_list and (not after_blank or line.startswith("  "))
            put("prose", number, line, joins=not after_blank)
        after_blank = False
    return found


def anchor(heading):
    """As GitHub makes it of a heading's text."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().strip("#").strip())
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def anchors(text):
    found = {}
    for block in blocks(text):
        if block.kind == "heading":
            name = anchor(block.lines[0])
            found[name] = found.get(name, -1) + 1
    return {name if n == 0 else f"{name}-{n}" for name, count in found.items() for n in range(count + 1)}
