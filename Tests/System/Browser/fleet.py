"""A small fleet on this machine for the browser to look at: redis-server, the sandbox, a worker, dashboards."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

# What a page must show as text and never run.
HOSTILE = '<img src=x onerror="window.hacked=1">'
# Projects, of which the worker serves two, and dead jobs of one of them.
PROJECTS = 200
DEAD = 5000


class Fleet:
    def __init__(self, fanfare, quotas=None, endpoints=None):
        """`quotas` are those of the projects that the worker serves, a minute; `endpoints` replace the sandbox's."""
        self.quotas = quotas or {"demo": 30000, "news": 30000}
        self.endpoints = endpoints or {}
        self.fanfare = str(pathlib.Path(fanfare).resolve())
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fanfare-browser-"))
        self.processes = []
        self.names = []
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
        sandbox += ["--state", str(self.folder / "sandbox")]
        sandbox += [word for name in self.quotas for word in ("--project", name)]
        self._spawn([self.fanfare, *sandbox], "sandbox")
        self.wait_for("the sandbox", lambda: "control_port" in self.output("sandbox"))
        ports = json.loads(self.output("sandbox"))
        self.control = ports["control_port"]
        settings = self.folder / "fanfare.yaml"
        # Slow enough for a fan-out to be looked at.
        project = "  %s:\n    endpoint: %s\n    quota_per_minute: %d\n    credentials: sandbox/service-account-%s.json\n"
        usual = "https://localhost:%d" % ports["port"]
        projects = "".join(project % (name, self.endpoints.get(name, usual), quota, name) for name, quota in self.quotas.items())
        settings.write_text(
            'redis: { url: "unix://%s" }\nprojects:\n%stls: { ca_file: sandbox/ca.pem }\n' % (self.socket, projects)
        )
        self.settings = settings
        self.worker("worker")
        self.wait_for("the worker", lambda: self.redis("SCARD", "fanfare:projects") == str(len(self.quotas)))

    def worker(self, name):
        """Starts one more worker."""
        self._spawn([self.fanfare, "worker", "-c", str(self.settings), "--log-level", "error", "--name", name], name)

    def end(self, name):
        """Ends a process at once."""
        process = self.processes[self.names.index(name)]
        process.kill()
        process.wait()

    def fault(self, project, status, word, times=None, retry_after=None, reason=None):
        """Lets FCM refuse sends of a project; `reason` is that of an ErrorInfo."""
        error = {"code": status, "status": word, "message": word}
        if reason:
            error["details"] = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"}]
        action = {"status": status, "body": json.dumps({"error": error})}
        if retry_after:
            action["retry_after"] = str(retry_after)
        fault = {"match": {"path": "/v1/projects/%s/" % project}, "action": action}
        if times:
            fault["times"] = times
        address = "http://127.0.0.1:%d/faults" % self.control
        urllib.request.urlopen(address, json.dumps(fault).encode(), 30).close()

    def send(self, project, job, count, *options, bad=50, kind="unregistered"):
        """Pushes a job of which each `bad`th recipient is unregistered, or fails as the sandbox's prefix `sbx-<kind>-` says."""
        tokens = self.folder / "tokens"
        rows = ("sbx-%s-%s-%d" % (kind, job, row) if row % bad == 7 else "%s-%d" % (job, row) for row in range(count))
        tokens.write_text("\n".join(rows))
        self.run("send", "--project", project, "--tokens-file", str(tokens), "--title", "x", "--id", job, *options)

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
        # The newest are refused-0 to refused-2.
        commands = []
        for count in reversed(range(DEAD)):
            bad = '"%s" 1' % HOSTILE.replace('"', '\\"') if count < 3 else "priority 11"
            message = '{"notification":{"title":"x"}}'
            commands.append("XADD fanfare:{news}:jobs * token t id refused-%d message '%s' %s" % (count, message, bad))
        for count in range(PROJECTS - 2):
            commands.append("SADD fanfare:projects quiet-%03d" % count)
            if count % 10 == 0:
                commands.append("XADD fanfare:{quiet-%03d}:jobs * token t message '{}'" % count)
        client = ["redis-cli", "-s", str(self.socket)]
        subprocess.run(client, input="\n".join(commands), capture_output=True, text=True, timeout=60, check=True)
        self.wait_for("refusals", lambda: self.redis("XLEN", "fanfare:{news}:dead") == str(DEAD))

    def proxy(self, address):
        """Starts nginx, which serves a dashboard below /fanfare/; answers the address of its overview."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (self.folder / "nginx.conf").write_text(
            "daemon off; pid %s/nginx.pid; error_log stderr; events {}\n"
            "http { access_log off; server { listen 127.0.0.1:%d; location /fanfare/ { proxy_pass %s/;"
            " proxy_set_header Host $http_host; proxy_http_version 1.1; } } }\n" % (self.folder, port, address)
        )
        self._spawn(["/usr/sbin/nginx", "-p", str(self.folder), "-c", str(self.folder / "nginx.conf")], "nginx")
        self.wait_for("nginx", lambda: socket.create_connection(("127.0.0.1", port)).close() is None)
        return "http://127.0.0.1:%d/fanfare/" % port

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
        self.names.append(name)
        with open(self.folder / (name + ".out"), "w") as out, open(self.folder / (name + ".err"), "w") as err:
            self.processes.append(subprocess.Popen(command, stdout=out, stderr=err, cwd=self.folder, env=environment))

    @staticmethod
    def wait_for(what, condition, seconds=120):
        end = time.monotonic() + seconds
        while not Fleet._holds(condition):
            if time.monotonic() > end:
                raise RuntimeError("%s: not there after %d s" % (what, seconds))
            time.sleep(0.05)

    @staticmethod
    def _holds(condition):
        try:
            return condition()
        except ConnectionRefusedError:
            return False
