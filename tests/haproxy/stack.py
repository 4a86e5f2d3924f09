# SPDX-License-Identifier: Apache-2.0
"""The whole product on loopback: engines, the agent, HAProxy as shipped.

    with Stack(services=2) as stack:
        stack.rule(stack.ports[0], fc_mode="enforce", fc_max_outstanding=8)
        ...

Everything is started on free ports in a folder of its own, is waited for, and
is stopped by its process id; what is then still there is an error. A test that
disturbs the agent or HAProxy takes a stack of its own.

The programs are found by the environment: SPOA_ADMISSION, STUB_ENGINE and
HAPROXY.
"""

import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "haproxy"
HAPROXY = os.environ.get("HAPROXY", "/usr/sbin/haproxy")
AGENT = os.environ.get(
    "SPOA_ADMISSION", str(ROOT / "build/agent/spoa-admission"))
ENGINE = os.environ.get(
    "STUB_ENGINE", str(ROOT / "build/tests/engine/stub-engine"))

# Marks the processes of a stack, so that what outlives it can be found.
MARK = "ADMISSION_STACK"


class StackError(Exception):
    """Something was not there in time, or did not go."""


def until(condition, what, timeout=10.0):
    """Returns the first true value of condition(); asks until the deadline."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise StackError(f"not within {timeout} s: {what}")
        time.sleep(0.005)


def bound_socket(address="127.0.0.1"):
    """A socket on a free port; whoever inherits it listens."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((address, 0))
    return sock


def kept_port():
    """A socket that keeps a free port for HAProxy, which shares it, and from
    all others. For a port that cannot be inherited."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.bind(("127.0.0.1", 0))
    return sock


class Process:
    """One program. Its output is kept, and ends up in a file of its name."""

    def __init__(self, name, argv, folder, env=None, pass_fds=()):
        self.name = name
        self.lines = []
        self._more = threading.Condition()
        self._ended = False
        self._log = open(folder / f"{name}.log", "ab")
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith(("ADMISSION_", "LLB_"))}
        self._popen = subprocess.Popen(
            [str(a) for a in argv], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            pass_fds=pass_fds,
            env={**clean, **(env or {}), MARK: str(folder)})
        self.pid = self._popen.pid
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._popen.stdout:
            self._log.write(line)
            self._log.flush()
            with self._more:
                self.lines.append(line.decode(errors="replace").rstrip())
                self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()

    def expect(self, pattern, timeout=10.0, start=0):
        """The first match in its output, from line number start on."""
        deadline = time.monotonic() + timeout
        seen = start
        with self._more:
            while True:
                for line in self.lines[seen:]:
                    match = re.search(pattern, line)
                    if match:
                        return match
                seen = len(self.lines)
                left = deadline - time.monotonic()
                if left <= 0 or self._ended:
                    raise StackError(f"{self.name} did not say {pattern!r}; "
                                     "its last words:\n  "
                                     + "\n  ".join(self.lines[-15:]))
                self._more.wait(left)

    def running(self):
        return self._popen.poll() is None

    def signal(self, number):
        self._popen.send_signal(number)

    def wait(self, timeout=10.0):
        """Its exit status; it must end by itself."""
        try:
            status = self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise StackError(
                f"{self.name} did not end in {timeout} s") from None
        self._reader.join(timeout)
        self._popen.stdout.close()
        self._log.close()
        return status

    def kill(self):
        self.signal(signal.SIGKILL)
        return self.wait()

    def stop(self, timeout=10.0):
        """Its exit status after SIGTERM, or an error and SIGKILL."""
        if self.running():
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
        try:
            return self.wait(timeout)
        except StackError:
            self.kill()
            raise


class Metrics:
    """One reading of the exposition."""

    SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
    LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

    def __init__(self, text):
        self.samples = {}
        for line in text.splitlines():
            match = self.SAMPLE.match(line)
            if match:
                labels = frozenset(self.LABEL.findall(match[2] or ""))
                self.samples[match[1], labels] = float(match[3])

    def get(self, family, **labels):
        """The sum of the samples that have these labels; None for none."""
        wanted = set(labels.items())
        found = [value for (name, have), value in self.samples.items()
                 if name == family and wanted <= have]
        return sum(found) if found else None


class Pool:
    """One rule's numbers, read afresh at every question."""

    def __init__(self, stack, port):
        self.stack = stack
        self.service = f"0.0.0.0:{port}"

    def get(self, family, **labels):
        return self.stack.metrics().get(
            "loxilb_ai_admission_" + family, service=self.service, **labels)

    def inflight(self, role="service"):
        return self.get("inflight", role=role)

    def queued(self):
        return self.get("queued")

    def decisions(self, *reasons):
        """The counter of a reason, or a list of several of one reading."""
        now = self.stack.metrics()
        values = [now.get("loxilb_ai_admission_decisions_total",
                          service=self.service, reason=reason)
                  for reason in reasons]
        return values[0] if len(values) == 1 else values

    def units(self):
        """Of the service, of prefill and of decode."""
        now = self.stack.metrics()
        return [now.get("loxilb_ai_admission_inflight", service=self.service,
                        role=role) for role in ("service", "prefill", "decode")]

    def until_units(self, *units):
        until(lambda: self.units() == list(units),
              f"{self.service} units {units}, but {self.units()}")

    def until(self, inflight=None, queued=None, timeout=10.0):
        """Waits until the gauges are these; a number left out may be any."""
        def reached():
            now = self.stack.metrics()
            return all(
                want is None or want == now.get(
                    "loxilb_ai_admission_" + family, service=self.service,
                    **labels)
                for family, labels, want in (
                    ("inflight", {"role": "service"}, inflight),
                    ("queued", {}, queued)))
        until(reached, f"{self.service} inflight {inflight} queued {queued}, "
              f"but {self.inflight()} and {self.queued()}", timeout)


class Engine:
    """A stub engine and its control paths."""

    def __init__(self, name, folder, args=()):
        self.process = Process(
            name, [ENGINE, "--listen", "127.0.0.1:0", *args], folder)
        self.address = self.process.expect(r"listening (\S+)")[1]
        self.host, port = self.address.rsplit(":", 1)
        self.port = int(port)

    def ask(self, path):
        """What a control path answers: JSON, or text where it is none."""
        text = fetch(self.host, self.port, "GET", "/__" + path)[1]
        try:
            return json.loads(text)
        except ValueError:
            return text


def fetch(host, port, method, path, body=None, headers=None, timeout=10.0):
    """One request of our own to the API or an engine: status and text."""
    conn = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        conn.request(method, path, body, headers or {})
        response = conn.getresponse()
        return response.status, response.read().decode()
    finally:
        conn.close()


class Stack:
    """
    services     how many public ports there are, in self.ports
    tls          one more, with TLS, in self.tls_port
    engines      how many stub engines, 1 or 2
    keys         API keys and their tenants, {"key": "tenant"}
    haproxy_env  variables of the shipped configuration, beside our own
    agent_args   options of the agent, beside our own
    agent_env    its environment, such as LLB_FC_MODE
    edit         (old, new) pairs of text in the shipped configuration
    """

    def __init__(self, services=1, tls=False, engines=2, keys=None,
                 haproxy_env=None, agent_args=(), agent_env=None,
                 engine_args=(), edit=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="admission-"))
        self.haproxy_socket = self.folder / "haproxy.sock"
        self._haproxy_env = haproxy_env or {}
        self.agent_args = list(agent_args)
        self._agent_env = agent_env or {}
        self._engine_args = engine_args
        self._edit = edit
        self._engines_wanted = engines
        self._keys = keys or {}
        self._public = [bound_socket() for _ in range(services)]
        self._public_tls = bound_socket() if tls else None
        self.ports = [sock.getsockname()[1] for sock in self._public]
        self.tls_port = (self._public_tls.getsockname()[1]
                         if self._public_tls else None)
        self._past = []  # HAProxy processes that a reload left behind
        self._nobody = bound_socket()  # where nobody ever listens
        self._hops = []  # a port of each HAProxy
        self.engines = []
        self.agent = None
        self.haproxy = None
        self.spop = self.log = "127.0.0.1:0"
        self.api = "127.0.0.1:0"

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    # ---- start and stop

    def start(self):
        try:
            for i in range(self._engines_wanted):
                self.engines.append(Engine(f"engine{i + 1}", self.folder,
                                           self._engine_args))
            self.start_agent()
            self.start_haproxy()
        except BaseException:
            self.stop()
            raise
        return self

    def start_agent(self):
        """At first on free ports; again on the ones it had. HAProxy finds it
        by itself."""
        self.agent = Process("agent", [
            AGENT, "--spop-listen", self.spop, "--log-listen", self.log,
            "--api-listen", self.api,
            "--haproxy-socket", f"unix:{self.haproxy_socket}",
            *self.agent_args], self.folder, self._agent_env)
        self.agent.expect(r"\bready\b")
        for line in list(self.agent.lines):
            if "listening" in line:
                found = dict(re.findall(r"\b(spop|log|api)=(\S+)", line))
                self.spop = found.get("spop", self.spop)
                self.log = found.get("log", self.log)
                self.api = found.get("api", self.api)

    def reload_haproxy(self):
        """A new HAProxy takes over; returns the old one, which goes on until
        its last request has ended."""
        old = self.haproxy
        self._past.append(old)
        self.start_haproxy("-sf", old.pid)
        return old

    def start_haproxy(self, *options):
        keys = self.folder / "keys.map"
        keys.write_text("".join(
            f"{hashlib.sha256(key.encode()).hexdigest()} {tenant}\n"
            for key, tenant in self._keys.items()))
        fds = [sock.fileno() for sock in self._public]
        env = {
            "ADMISSION_DIR": str(SHIPPED),
            "ADMISSION_KEYS": str(keys),
            "ADMISSION_SOCKET": str(self.haproxy_socket),
            "ADMISSION_AGENT": self.spop,
            "ADMISSION_LOG": self.log,
            "ADMISSION_BIND": ",".join(f"fd@{fd}" for fd in fds),
            "ADMISSION_ENGINE_1": self.engines[0].address,
            "ADMISSION_ENGINE_2": (
                self.engines[1].address if len(self.engines) > 1
                else f"127.0.0.1:{self._nobody.getsockname()[1]}"),
            "ADMISSION_RATE": "1000000",
        }
        if self._public_tls:
            fds.append(self._public_tls.fileno())
            env["ADMISSION_TLS_BIND"] = f"fd@{fds[-1]}"
            env["ADMISSION_TLS_CERT"] = str(self.certificate(self.folder))
        if self._needs_hop() and "ADMISSION_NO_HOP" not in self._haproxy_env:
            self._hops.append(kept_port())
            env["ADMISSION_HOP"] = "{}:{}".format(
                *self._hops[-1].getsockname())
        env.update(self._haproxy_env)
        self.haproxy = Process(
            "haproxy", [HAPROXY, "-db", "-f", self._configuration(), *options],
            self.folder, env, fds)
        until(lambda: self.servers_up() or not self.haproxy.running(),
              "HAProxy serves, and its servers are up")
        if not self.haproxy.running():
            raise StackError("HAProxy does not run:\n  "
                             + "\n  ".join(self.haproxy.lines))

    def _configuration(self):
        shipped = SHIPPED / "haproxy.cfg"
        if not self._edit:
            return shipped
        text = shipped.read_text()
        for old, new in self._edit:
            if old not in text:
                raise StackError(f"not in {shipped.name}: {old}")
            text = text.replace(old, new)
        path = self.folder / "edited.cfg"
        path.write_text(text)
        return path

    @staticmethod
    def haproxy_version():
        """Such as (2, 6)."""
        text = subprocess.run([HAPROXY, "-v"], capture_output=True,
                              text=True, check=True).stdout
        return tuple(map(int, re.search(r"version (\d+)\.(\d+)",
                                        text).groups()))

    def _needs_hop(self):
        return self.haproxy_version() >= (2, 9)

    @staticmethod
    def certificate(folder):
        """A PEM file of a key and its certificate, for loopback."""
        path = folder / "tls.pem"
        if not path.exists():
            made = subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj",
                 "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                 "-keyout", "-", "-out", "-"],
                capture_output=True, check=True)
            path.write_bytes(made.stdout)
        return path

    def stop(self):
        """Ends what was started, all of it, and says what went wrong."""
        faults = []
        for process, name in (*((old, "an old HAProxy") for old in self._past),
                              (self.haproxy, "HAProxy"),
                              (self.agent, "the agent"),
                              *((e.process, "an engine")
                                for e in self.engines)):
            if process is None or not process.running():
                continue
            try:
                status = process.stop()
                if status != 0 and process is self.agent:
                    faults.append(f"{name} ended with {status}:\n  "
                                  + "\n  ".join(process.lines[-30:]))
            except StackError as error:
                faults.append(str(error))
        for sock in filter(None, (*self._public, self._public_tls,
                                  self._nobody, *self._hops)):
            sock.close()
        left = self._left()
        if left:
            faults.append(f"left behind: {left}")
        shutil.rmtree(self.folder)
        if faults:
            raise StackError("; ".join(faults))

    def _left(self):
        mark = f"{MARK}={self.folder}".encode()
        left = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    left.append(int(entry.name))
            except OSError:
                pass
        return left

    # ---- HAProxy

    def haproxy_command(self, command):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(5)
            sock.connect(str(self.haproxy_socket))
            sock.sendall(command.encode() + b"\n")
            answer = b"".join(iter(lambda: sock.recv(65536), b""))
        return answer.decode()

    def haproxy_stat(self):
        """The rows of "show stat" as {(proxy, server): {column: value}}."""
        lines = self.haproxy_command("show stat").lstrip("# ").splitlines()
        names = lines[0].split(",")
        rows = (dict(zip(names, line.split(","))) for line in lines[1:] if line)
        return {(row["pxname"], row["svname"]): row for row in rows}

    def server_status(self, backend, server):
        try:
            return self.haproxy_stat()[backend, server]["status"]
        except OSError:
            return None

    def servers_up(self):
        """HAProxy listens, and has found the agent and each engine healthy."""
        try:
            info = self.haproxy_command("show info")
            if f"Pid: {self.haproxy.pid}\n" not in info:
                return False
            stat = self.haproxy_stat()
        except OSError:
            return False
        wanted = [("agents", "agent")]
        wanted += [("pool", engine.address) for engine in self.engines]
        return all(stat[key]["status"] == "UP" and stat[key]["check_status"]
                   not in ("", "INI") for key in wanted)

    # ---- the agent

    def request(self, method, path, body=None, headers=None):
        """One call of its API: status and parsed JSON, or text."""
        host, port = self.api.rsplit(":", 1)
        text = None if body is None else json.dumps(body)
        status, answer = fetch(host, int(port), method, path, text,
                               {"Content-Type": "application/json",
                                **(headers or {})})
        try:
            return status, json.loads(answer)
        except ValueError:
            return status, answer

    def must(self, method, path, body=None):
        status, answer = self.request(method, path, body)
        if status != 200:
            raise StackError(f"{method} {path}: {status} {answer}")
        return answer

    def rule(self, port, endpoints=None, **arguments):
        """Posts a rule of a public port; fields go by their own names. An
        endpoint is an address, or (address, role): 1 prefill, 2 decode."""
        if endpoints is None:
            endpoints = [engine.address for engine in self.engines]
        self.must("POST", "/netlox/v1/config/loadbalancer", {
            "serviceArguments": {
                "externalIP": "0.0.0.0", "port": port, "protocol": "tcp",
                "mode": 4, "sse_mode": True, **arguments},
            "endpoints": list(map(self._endpoint, endpoints))})
        return Pool(self, port)

    @staticmethod
    def _endpoint(endpoint):
        address, role = ((endpoint, 0) if isinstance(endpoint, str)
                         else endpoint)
        host, port = address.rsplit(":", 1)
        return {"endpointIP": host, "targetPort": int(port), "weight": 1,
                **({"ep_role": role} if role else {})}

    def delete_rule(self, port):
        self.must("DELETE", "/netlox/v1/config/loadbalancer/externalipaddress/"
                  f"0.0.0.0/port/{port}/protocol/tcp")

    def effective(self, port):
        """fc_effective of the rule of a port, or None."""
        rules = self.must("GET", "/netlox/v1/config/loadbalancer/all")["lbAttr"]
        for entry in rules:
            if entry["serviceArguments"]["port"] == port:
                return entry["serviceArguments"].get("fc_effective")
        return None

    def metrics(self):
        status, text = self.request("GET", "/netlox/v1/metrics")
        if status != 200:
            raise StackError(f"metrics: {status} {text}")
        return Metrics(text)

    # ---- the engines together

    def receipts(self, nonce=None):
        """How many requests reached the engines, in all or of a nonce."""
        path = "received" if nonce is None else "received/" + nonce
        return sum(engine.ask(path) for engine in self.engines)

    def release_all(self):
        for engine in self.engines:
            engine.ask("release_all")

    def reset_engines(self):
        for engine in self.engines:
            engine.ask("reset")
