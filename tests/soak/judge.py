# SPDX-License-Identifier: Apache-2.0
"""What the soak judges: whether memory grows, and whether every record that was produced is stored or counted as lost."""
import collections
import pathlib
import sqlite3
import statistics
import struct

BLOCKS = 10  # of samples; neighbours are alike, means of blocks hardly
ACCOUNT_HEAD = 16  # bytes: taken, threads
# Records that are not there. Other reasons are about texts, or ends whose begin is counted already; and rows of no thread that
# the full disk had no room for are the recorder's own, of samples and clocks.
GONE = ("ring_full", "no_ring", "disk", "recorder_killed", "bad_record")


def slope(samples, unit=60):
    """Growth per `unit` of (when, value) samples, with the half-width of its 95 % interval; None of too few.

    A line through the means of blocks of samples (Student's t of BLOCKS - 2)."""
    if len(samples) < 2 * BLOCKS:
        return None
    each = len(samples) / BLOCKS
    blocks = [samples[int(i * each):int((i + 1) * each)] for i in range(BLOCKS)]
    times = [statistics.mean(time for time, _ in block) / unit for block in blocks]
    values = [statistics.mean(value for _, value in block) for block in blocks]
    line = statistics.linear_regression(times, values)
    rest = sum((value - line.intercept - line.slope * time) ** 2 for time, value in zip(times, values))
    spread = sum((time - statistics.mean(times)) ** 2 for time in times)
    freedom = BLOCKS - 2
    quantile = 1.96 + 2.37 / freedom + 2.8 / freedom ** 2
    return line.slope, quantile * (rest / freedom / spread) ** 0.5


def steps_of(series, steps):
    """The series of one run by the step that it had come to, rather than by time."""
    if len(series) < 2:
        return []
    begin, end = series[0][0], series[-1][0]
    return [((when - begin) / (end - begin) * steps, value) for when, value in series]


def difference(found, base):
    if found is None or base is None:
        return None
    return found[0] - base[0], (found[1] ** 2 + base[1] ** 2) ** 0.5


def growth_verdict(found, limit):
    """`grows` only where the whole interval is above the limit, `flat` only where none of it is."""
    if found is None:
        return "too short to say"
    middle, half = found
    if middle - half > limit:
        return "grows"
    return "flat" if middle + half <= limit else "not decided"


def read_account(path):
    """Whether NVTX was taken (None: killed before it was tried), and what each thread id produced, as soak_probe.cpp lays it
    out."""
    with path.open("rb") as file:
        head = file.read(ACCOUNT_HEAD)
        if len(head) < ACCOUNT_HEAD:  # killed before it had made its account
            return None, collections.Counter()
        taken, threads = struct.unpack("<2Q", head)
        produced = collections.Counter()
        for tid, count in struct.iter_unpack("<2Q", file.read(16 * threads)):
            produced[tid] += count
    return {0: None, 1: True}.get(taken, False), produced


def read_trace(path):
    """(meta, stored by thread id, counted as lost by thread id; None = no thread in particular)."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        meta = dict(db.execute("SELECT key, value FROM meta"))
        stored = collections.Counter(dict(db.execute(
            "SELECT os_tid, count(*) FROM host_range JOIN thread ON thread.id = thread_id "
            "JOIN string ON string.id = host_range.name_id WHERE value IN ('mark', 'work') GROUP BY os_tid")))
        lost = collections.Counter(dict(db.execute(
            "SELECT os_tid, sum(count) FROM loss_text LEFT JOIN thread ON thread.id = thread_id "
            f"WHERE reason IN {GONE} AND (os_tid IS NOT NULL OR reason <> 'disk') GROUP BY os_tid")))
        strangers = db.execute("SELECT count(*) FROM string WHERE value = 'child'").fetchone()[0]
        broken = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    db.close()
    faults = []
    if strangers:
        faults.append("a fork child wrote into it")
    if broken != "ok":
        faults.append(f"damaged: {broken}")
    return meta, stored, lost, faults


def compare(produced, stored, lost, killed):
    """Faults of one process' account. A thread that was killed may have written one record that it did not count."""
    faults = []
    slack = 1 if killed else 0
    unplaced = lost[None]  # of some thread or other
    for tid in sorted(set(produced) | set(stored) | (set(lost) - {None})):
        missing = produced[tid] - stored[tid] - lost[tid]
        if missing < -slack:
            faults.append(f"thread {tid}: {-missing} more stored and counted than produced")
        elif missing > 0:
            unplaced -= missing
            if unplaced < 0:
                faults.append(f"thread {tid}: {missing} of {produced[tid]} neither stored nor counted")
    if unplaced > slack * len(produced):
        faults.append(f"{unplaced} more counted as lost than are missing")
    return faults


def judge_accounts(folder, run):
    """Totals, and a fault per thread whose sum is wrong. What a full disk delays must be there in the end."""
    totals, faults = collections.Counter(), []
    traces = {}
    for path in sorted(run.glob("*.dprof")):
        try:
            meta, *rest, own = read_trace(path)
        except sqlite3.Error as error:
            faults.append(f"{path.name} cannot be read: {error}")
            continue
        faults += [f"{path.name}: {fault}" for fault in own]
        if "ended" not in meta:
            faults.append(f"{path.name} has no end")
        traces[meta.get("rank")] = (meta, *rest)
    totals["traces"] = len(traces)
    missing = []
    for path in sorted(pathlib.Path(folder).glob("account-*")):
        serial = path.name.removeprefix("account-")
        taken, produced = read_account(path)
        if taken is None:
            totals["killed_at_start"] += 1
        elif not taken:
            totals["not_recorded"] += 1
        elif serial in traces:
            meta, stored, lost = traces[serial]
            totals["processes"] += 1
            totals["threads"] += len(produced)
            totals["produced"] += sum(produced.values())
            totals["stored"] += sum(stored.values())
            totals["lost"] += sum(lost.values())
            faults += [f"process {serial} ({meta.get('ended', 'not ended')}): {fault}"
                       for fault in compare(produced, stored, lost, meta.get("ended") == "process_killed")]
        elif sum(produced.values()) > 1:  # one may have been written as the process was killed
            missing.append(serial)
    if missing:
        faults.append(f"{len(missing)} processes wrote and have no trace: {' '.join(missing[:10])}")
    return dict(totals), faults
