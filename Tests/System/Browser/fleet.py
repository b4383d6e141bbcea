"""A small fleet on this machine for the browser to look at: redis-server, the sandbox, a worker, dashboards."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

# What a page must show as text and never run.
HOSTILE = '<img src=x onerror="window.hacked=1">'


class Fleet:
    def __init__(self, fanfare):
        self.fanfare = fanfare
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fanfare-browser-"))
        self.processes = []
        self.socket = self.folder / "redis.sock"

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self):
        redis = ["redis-server", "--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir", str(self.folder)]
        self._spawn(redis, "redis")
        self.wait_for("redis-server", lambda: self.redis("PING") == "PONG")
        sandbox = ["sandbox", "--port", "0", "--xmpp-port", "0", "--control-port", "0", "--json"]
        sandbox += ["--state", str(self.folder / "sandbox"), "--project", "demo", "--project", "news"]
        self._spawn([self.fanfare, *sandbox], "sandbox")
        self.wait_for("the sandbox", lambda: "control_port" in self.output("sandbox"))
        port = json.loads(self.output("sandbox"))["port"]
        settings = self.folder / "fanfare.yaml"
        # Slow enough for a fan-out to be looked at.
        project = "    endpoint: https://localhost:%d\n    quota_per_minute: 30000\n    credentials: sandbox/service-account-%s.json\n"
        projects = "".join("  %s:\n%s" % (name, project % (port, name)) for name in ("demo", "news"))
        settings.write_text(
            'redis: { url: "unix://%s" }\nprojects:\n%stls: { ca_file: sandbox/ca.pem }\n' % (self.socket, projects)
        )
        self.settings = settings
        self._spawn([self.fanfare, "worker", "-c", str(settings), "--log-level", "error"], "worker")
        self.wait_for("the worker", lambda: self.redis("SCARD", "fanfare:projects") == "2")

    def fill(self):
        """A fan-out that is sent, two that wait, a job that is over, and jobs that were refused."""
        tokens = self.folder / "tokens"
        for name, count, start in (("spring-sale", 60000, 0), ("newsletter-7", 5000, 1), ("weather", 3000, 2)):
            rows = ("sbx-unregistered-%d" % row if row % 50 == start else "%s-%d" % (name, row) for row in range(count))
            tokens.write_text("\n".join(rows))
            self.run("send", "--project", "demo", "--tokens-file", str(tokens), "--title", "x", "--id", name)
            self.wait_for(name, lambda: self.redis("HGET", "fanfare:{demo}:job:" + name, "state") != "")
        tokens.write_text("\n".join("sbx-unregistered-%d" % row if row % 7 == 0 else "t%d" % row for row in range(230)))
        self.run("send", "--project", "news", "--tokens-file", str(tokens), "--title", "x", "--id", "morning", "--wait", check=False)
        for count in range(3):
            self.redis("XADD", "fanfare:{news}:jobs", "*", "token", "t", "id", "refused-%d" % count, "message", "{}", HOSTILE, "1")
        self.wait_for("refusals", lambda: self.redis("XLEN", "fanfare:{news}:dead") == "3")

    def dashboard(self, name, *options, token=None):
        """Starts one more; answers its address."""
        environment = dict(os.environ, **({"FANFARE_DASHBOARD_TOKEN": token} if token else {}))
        command = [self.fanfare, "dashboard", "-c", str(self.settings), "--listen", "127.0.0.1:0", *options]
        self._spawn(command, name, environment)
        self.wait_for(name, lambda: "dashboard: http" in self.output(name, "err"))
        return re.search(r"dashboard: (http\S+)", self.output(name, "err")).group(1)

    def run(self, *arguments, check=True):
        command = [self.fanfare, *arguments, "-c", str(self.settings)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=180)
        if check and result.returncode != 0:
            raise RuntimeError("%s: %s" % (arguments, result.stderr))
        return result.stdout

    def redis(self, *words):
        command = ["redis-cli", "-s", str(self.socket), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()

    def output(self, name, kind="out"):
        return (self.folder / ("%s.%s" % (name, kind))).read_text()

    def _spawn(self, command, name, environment=None):
        with open(self.folder / (name + ".out"), "w") as out, open(self.folder / (name + ".err"), "w") as err:
            self.processes.append(subprocess.Popen(command, stdout=out, stderr=err, cwd=self.folder, env=environment))

    @staticmethod
    def wait_for(what, condition, seconds=120):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError("%s: not there after %d s" % (what, seconds))
            time.sleep(0.05)
