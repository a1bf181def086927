# SPDX-License-Identifier: Apache-2.0
"""What scripts/hosts is made of: namespaces of hosts, and a forwarding process that delays and loses their frames."""
import collections
import ctypes
import fcntl
import os
import random
import select
import signal
import socket
import struct
import subprocess
import time
import traceback

INTERFACE = "eth0"
BRIDGE = "br0"
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWNET, CLONE_NEWTIME = 0x00020000, 0x04000000, 0x40000000, 0x00000080
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """The kernel or the machine does not allow it: the run is skipped."""


def call(name, *arguments):
    if getattr(libc, name)(*arguments) == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def mount(source, target, kind, flags):
    call("mount", os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), None)


def mount_own_sys():
    """/sys/class/net shows the network in which /sys was mounted."""
    mount("none", "/", "none", MS_REC | MS_PRIVATE)
    groups = os.open("/sys/fs/cgroup", os.O_PATH) if os.path.isdir("/sys/fs/cgroup") else None
    mount("sysfs", "/sys", "sysfs", 0)
    if groups is not None and os.path.isdir("/sys/fs/cgroup"):
        mount(f"/proc/self/fd/{groups}", "/sys/fs/cgroup", "none", MS_BIND | MS_REC)


def fork(work):
    """Runs `work` in a child that ends with its parent; gives its process id."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)  # the parent says when
            call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL)
            work()
            status = 0
        except BaseException:  # the parent's handlers must not run here
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


class Space:
    """The namespaces of one host, or of the switch. They live as long as the file descriptors or a process in them."""

    def __init__(self, prepare, kinds):
        """`prepare` runs in a child that makes them. A link needs the id of a process: the child waits for settle()."""
        theirs, self.hold = socket.socketpair()
        self.pid = fork(lambda: self.make(prepare, theirs))
        theirs.close()
        answer = self.hold.recv(4096).decode()
        if answer != "ok":
            self.settle()
            raise Refused(answer)
        self.files = [os.open(f"/proc/{self.pid}/ns/{kind}", os.O_RDONLY) for kind in kinds]

    def make(self, prepare, channel):
        self.hold.close()  # so that the end of the parent ends the wait
        try:
            prepare()
            channel.send(b"ok")
        except OSError as error:
            channel.send(f"the kernel refuses: {error}".encode())
        channel.recv(1)

    def settle(self):
        self.hold.send(b"x")  # its end alone is no sign: later children have a copy
        self.hold.close()
        os.waitpid(self.pid, 0)

    def enter(self):
        """Moves the calling process; for a child that has one thread."""
        folder = os.getcwd()
        for file in self.files:
            call("setns", file, 0)
        os.chdir(folder)  # another mount namespace begins at /

    def ip(self, *lines):
        done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True, capture_output=True,
                              preexec_fn=self.enter)
        if done.returncode != 0:
            raise Refused(f"ip: {done.stderr.strip()}")

    def keep_order(self, interface):
        """Received frames of one connection go to one core. Else they overtake each other and TCP sends many of them again."""
        full, rest = divmod(os.cpu_count(), 32)
        mask = ",".join([f"{(1 << rest) - 1:x}"] * (rest > 0) + ["ffffffff"] * full)
        self.set(f"/sys/class/net/{interface}/queues/rx-0/rps_cpus", mask)

    def set(self, file, text):
        subprocess.run(["tee", file], input=text, text=True, capture_output=True, preexec_fn=self.enter,
                       check=False)  # not every kernel has it


class Host:
    def __init__(self, index, offset, folder):
        self.index, self.name, self.address = index, f"host{index}", f"10.0.0.{index + 1}"
        self.offset, self.folder = offset, folder
        self.space = Space(self.prepare, ["net", "uts", "mnt"] + (["time_for_children"] if offset is not None else []))
        self.network = os.fstat(self.space.files[0]).st_ino

    def prepare(self):
        call("unshare", CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS)
        socket.sethostname(self.name)
        mount_own_sys()
        if os.path.exists("/etc/hosts"):
            mount(self.folder / "hosts", "/etc/hosts", "none", MS_BIND)
        if self.offset is None:
            return
        call("unshare", CLONE_NEWTIME)
        seconds, fraction = divmod(self.offset, 1)
        lines = [f"{clock} {int(seconds)} {int(fraction * 1e9)}\n" for clock in ("monotonic", "boottime")]
        with open("/proc/self/timens_offsets", "w", encoding="ascii") as file:
            file.write("".join(lines))

    def set_offload(self, enabled):
        """Of checksums and segments, by the calling process within the host: a forwarder sees frames as they are sent."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            for command in (0x17, 0x1f, 0x24):  # ETHTOOL_STXCSUM, _STSO, _SGSO
                value = ctypes.create_string_buffer(struct.pack("II", command, enabled), 8)
                request = struct.pack("16sP16x", INTERFACE.encode(), ctypes.addressof(value))
                fcntl.ioctl(any_socket, 0x8946, request)  # SIOCETHTOOL


def prepare_switch():
    call("unshare", CLONE_NEWNET | CLONE_NEWNS)
    mount_own_sys()


class Forwarder:
    """A process in place of one host's port on the bridge, which delays and loses the frames that the host sends.

    Only for the time of a limit: it takes processor time, and a bridge in the kernel is faster."""

    def __init__(self, host, switch):
        self.host, self.switch = host, switch
        self.port, self.tap_name = f"port{host.index}", f"tap{host.index}"
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = fork(lambda: self.run(theirs))
        theirs.close()

    def limit(self, delay_ms, loss):
        self.channel.send(struct.pack("dd", delay_ms / 1000, loss))
        return self.channel.recv(4096).decode() or "error the forwarding process has died"

    def close(self):
        self.channel.close()
        os.waitpid(self.pid, 0)

    def run(self, channel):
        self.channel.close()
        try:
            self.replace_port(channel)
        except (OSError, Refused) as error:
            channel.send(f"error the link cannot be forwarded: {error}".encode())

    def replace_port(self, channel):
        os.nice(-15)  # a link does not wait for the ranks' work
        call("setns", self.host.space.files[0], CLONE_NEWNET)
        self.host.set_offload(False)
        try:
            call("setns", self.switch.files[0], CLONE_NEWNET)
            tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH22x", self.tap_name.encode(), 0x1002))  # TUNSETIFF: TAP, NO_PI
            wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
            wire.setsockopt(263, 23, 1)  # SOL_PACKET, PACKET_IGNORE_OUTGOING
            wire.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE
            self.switch.ip(f"link set {self.tap_name} txqueuelen 10000 up", f"link set {self.tap_name} master {BRIDGE}",
                           f"link set {self.port} nomaster")
            wire.bind((self.port, 0))
            wire.setblocking(False)
            self.pass_frames(channel, wire, tap)
            self.switch.ip(f"link set {self.port} master {BRIDGE}")
        finally:
            call("setns", self.host.space.files[0], CLONE_NEWNET)
            self.host.set_offload(True)

    @staticmethod
    def pass_frames(channel, wire, tap):
        chance = random.Random(1)  # the same frames are lost in each run
        delay = loss = 0.0
        waiting = collections.deque()  # (when due, frame); a delay that gets shorter does not overtake
        while True:
            timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
            ready, _, _ = select.select([wire, tap, channel], [], [], timeout)
            now = time.monotonic()
            if channel in ready:
                request = channel.recv(16)
                if not request:
                    break
                delay, loss = struct.unpack("dd", request)
                channel.send(b"ok")
            if wire in ready:
                for frame in frames(wire.recv):
                    if chance.random() >= loss:
                        waiting.append((now + delay, frame))
            while waiting and waiting[0][0] <= now:
                os.write(tap, waiting.popleft()[1])
            if tap in ready:
                for frame in frames(lambda size: os.read(tap, size)):
                    try:
                        wire.send(frame)
                    except BlockingIOError:
                        pass  # a full queue loses a frame, as any link does
        for _, frame in waiting:
            os.write(tap, frame)


def frames(read):
    for _ in range(64):
        try:
            yield read(2048)
        except BlockingIOError:
            return
