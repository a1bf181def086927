# SPDX-License-Identifier: Apache-2.0
"""Measures the link between two hosts of scripts/hosts, from host 1 to host 0, before, while and after it is slowed.

    link_meter.py PROBE RATE_MBIT DELAY_MS LOSS BYTES FILE     on each host; host 1 writes FILE

A round trip is one byte there and back: the smallest of many, so that a busy machine does not count. The rate is that at
which host 0 takes BYTES off the connection, from the first of them to the last.
"""
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import time

PORT = 5001
ROUND_TRIPS = 40
STREAM, ECHO, END = b"S", b"E", b"X"


def take(connection, count):
    data = bytearray()
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise SystemExit("link_meter: the peer has gone")
        data += part
    return bytes(data)


def serve():
    with socket.create_server(("", PORT)) as server:
        connection, _ = server.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while (order := take(connection, 1)) != END:
        if order == ECHO:
            connection.sendall(order)
            continue
        count, = struct.unpack("q", take(connection, 8))
        buffer = bytearray(1 << 16)
        left, first, begin = count, 0, 0.0
        while left > 0:
            got = connection.recv_into(buffer, min(left, len(buffer)))
            if not got:
                raise SystemExit("link_meter: the peer has gone")
            left -= got
            if not begin:
                begin, first = time.monotonic(), left
        if first == 0:
            raise SystemExit("link_meter: all bytes came at once: send more of them")
        connection.sendall(struct.pack("d", first / (time.monotonic() - begin)))


class Meter:
    def __init__(self, count):
        self.count = count
        end = time.monotonic() + 20
        while True:
            try:
                self.connection = socket.create_connection((os.environ["MASTER_ADDR"], PORT), timeout=60)
                break
            except ConnectionRefusedError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def measure(self):
        trips = []
        for _ in range(ROUND_TRIPS):
            begin = time.monotonic()
            self.connection.sendall(ECHO)
            take(self.connection, 1)
            trips.append(time.monotonic() - begin)
        self.connection.sendall(STREAM + struct.pack("q", self.count))
        self.connection.sendall(bytes(self.count))
        rate, = struct.unpack("d", take(self.connection, 8))
        return {"round_trip_ms": min(trips) * 1000, "mean_round_trip_ms": sum(trips) / len(trips) * 1000,
                "rate_mbit": rate * 8 / 1e6}


def main(probe, rate, delay, loss, count, file):
    if os.environ["DPROF_HOST_INDEX"] == "0":
        serve()
        return
    meter = Meter(int(count))
    result = {"before": meter.measure()}
    with subprocess.Popen([probe, rate, delay, loss], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as slow:
        if slow.stdout.readline() != "applied\n":
            raise SystemExit("link_meter: the link could not be slowed")
        result["slow"] = meter.measure()
        slow.stdin.close()
        if slow.stdout.readline() != "lifted\n":
            raise SystemExit("link_meter: the limit could not be lifted")
    result["after"] = meter.measure()
    meter.connection.sendall(END)
    pathlib.Path(file).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
