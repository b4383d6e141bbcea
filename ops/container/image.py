"""The image as its Containerfile describes it, built in a root made by debootstrap, without a container engine.

For ops/container/try and ops/container/oci, which run as root in a mount namespace of their own.
"""
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
MIRROR = os.environ.get("FANFARE_MIRROR", "http://deb.debian.org/debian")
# What Debian's slim images leave out, except for licences.
SLIM = ["/usr/share/doc/*", "/usr/share/info/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/lintian/*"]
LICENCES = "/usr/share/doc/*/copyright"


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def instructions(text, stage=None):
    """A stage of a Containerfile, the last one unless named: pairs of an instruction and its arguments."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    pairs = [tuple(line.strip().split(None, 1)) for line in joined.splitlines() if line.strip()]
    starts = [index for index, pair in enumerate(pairs) if pair[0] == "FROM"] + [len(pairs)]
    start = next(index for index in reversed(starts[:-1]) if stage is None or pairs[index][1].endswith(" AS " + stage))
    return pairs[start + 1:starts[starts.index(start) + 1]]


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m)", text).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60}[unit]


class Image:
    """A root in layers, the lowest first, and what its Containerfile says about running it."""

    def __init__(self, layers):
        self.layers = layers
        self.user, self.folder = "0:0", "/"
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.entrypoint, self.command, self.health = [], [], None
        self.ports, self.signal, self.labels = [], "SIGTERM", {}

    def describe(self, name, words, arguments):
        """Takes up an instruction that changes no file. `arguments` holds build arguments in place of the defaults."""
        if name == "USER":
            self.user = words
        elif name == "WORKDIR":
            self.folder = words
        elif name == "ENV":
            self.environment.update(word.split("=", 1) for word in shlex.split(words))
        elif name == "ENTRYPOINT":
            self.entrypoint = json.loads(words)
        elif name == "CMD":
            self.command = json.loads(words)
        elif name == "HEALTHCHECK":
            options, command = words.split("CMD", 1)
            self.health = dict(re.findall(r"--(\S+?)=(\S+)", options), test=["CMD"] + json.loads(command))
        elif name == "EXPOSE":
            self.ports += words.split()
        elif name == "STOPSIGNAL":
            self.signal = words
        elif name == "ARG":
            for argument, value in (word.split("=", 1) for word in shlex.split(words)):
                arguments.setdefault(argument, value)
        elif name == "LABEL":
            labels = (word.split("=", 1) for word in shlex.split(words))
            self.labels.update((key, re.sub(r"\$\{?(\w+)\}?", lambda m: arguments[m[1]], value)) for key, value in labels)
        else:
            raise SystemExit("the Containerfile's %s is not known here" % name)


def overlay(layers, upper, root):
    for folder in (upper, pathlib.Path(str(upper) + ".work"), root):
        folder.mkdir(parents=True, exist_ok=True)
    lower = ":".join(str(layer) for layer in reversed(layers))
    run("mount", "-t", "overlay", "overlay", "-o",
        "lowerdir=%s,upperdir=%s,workdir=%s.work" % (lower, upper, upper), root)


def fresh(*folders):
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)


def make_base(work, release):
    """A minimal root, made as Debian's images for Docker are."""
    base = work / (release + ".base")
    if not (base / ".made").exists():
        if not (base / "etc/debian_version").exists():
            run("debootstrap", "--variant=minbase", release, base, MIRROR, stdout=subprocess.DEVNULL)
        suites = ((MIRROR, release), (MIRROR, release + "-updates"), (MIRROR + "-security", release + "-security"))
        (base / "etc/apt/sources.list").write_text("".join("deb %s %s main\n" % suite for suite in suites))
        (base / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (base / "usr/sbin/policy-rc.d").chmod(0o755)
        (base / "etc/dpkg/dpkg.cfg.d/docker").write_text(
            "".join("path-exclude %s\n" % path for path in SLIM) + "path-include %s\n" % LICENCES)
        folders = [base / path[1:-2] for path in SLIM if (base / path[1:-2]).exists()]
        run("find", *folders, "-mindepth", "1", "(", "!", "-type", "d", "!", "-path", "*" + LICENCES,
            "-o", "-type", "d", "-empty", ")", "-delete")
        run("chroot", base, "apt-get", "update", "-q", stdout=subprocess.DEVNULL)
        run("chroot", base, "apt-get", "upgrade", "-y", "-q", stdout=subprocess.DEVNULL)
        run("chroot", base, "sh", "-c", "apt-get clean; rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin")
        (base / ".made").touch()
    return base


def in_root(root, script, binds=()):
    """Runs a script of the shell in a root that reaches the network."""
    resolver = root / "etc/resolv.conf"
    before = resolver.read_bytes() if resolver.exists() else None
    resolver.write_bytes(pathlib.Path("/etc/resolv.conf").read_bytes())
    run("mount", "-t", "proc", "proc", root / "proc")
    for source, target in binds:
        (root / target).mkdir(parents=True)
        run("mount", "--bind", source, root / target)
    try:
        result = subprocess.run(["chroot", root, "/bin/sh", "-ec", "export DEBIAN_FRONTEND=noninteractive; " + script],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"})
        if result.returncode != 0:
            raise SystemExit("FAILED: %s\n%s" % (script, result.stdout))
    finally:
        for _, target in binds:
            run("umount", root / target)
            (root / target).rmdir()
        run("umount", root / "proc")
        if before is None:
            resolver.unlink()
        else:
            resolver.write_bytes(before)


def build(work, base, package, **arguments):
    """The last stage of the Containerfile, its layer apart from the base. `arguments` are its build arguments."""
    layer, root = work / "image", work / "image.root"
    fresh(layer, work / "image.work", work / "given", root)
    shutil.copy(package, work / "given")
    overlay([base], layer, root)
    image = Image([base, layer])
    for name, words in instructions((HERE / "Containerfile").read_text()):
        if name == "RUN":
            target = re.match(r"--mount=type=bind,from=package,target=/(\S+)", words)
            binds = [(work / "given", target.group(1))] if target else []
            in_root(root, words[target.end():] if target else words, binds)
        elif name == "COPY" and words.startswith("--from="):
            stage, source, place = words[len("--from="):].split()
            shutil.copytree(build_stage(work, base, stage) / source[1:], root / place[1:], symlinks=True, dirs_exist_ok=True)
        elif name == "COPY":
            source, place = words.split()
            shutil.copy(TOP / source, root / place[1:])
        else:
            image.describe(name, words, arguments)
    run("umount", root)
    return image


def build_stage(work, base, name):
    """The root of a stage before the last one. It is kept, for what copies from it next."""
    layer, root = work / name, work / (name + ".root")
    if not layer.exists():
        overlay([base], layer, root)
        for word, script in instructions((HERE / "Containerfile").read_text(), name):
            assert word == "RUN", word
            in_root(root, script)
        run("umount", root)
    return layer


def unpack(work, file):
    """The image of an OCI archive, its layers unpacked into one root. Every blob must have its digest."""
    root = work / "unpacked"
    fresh(root)
    with tarfile.open(file) as archive:
        def blob(descriptor):
            kind, expected = descriptor["digest"].split(":")
            content = archive.extractfile("blobs/%s/%s" % (kind, expected)).read()
            if hashlib.new(kind, content).hexdigest() != expected or len(content) != descriptor["size"]:
                raise SystemExit("FAILED: %s: the blob %s is damaged" % (file, expected))
            return content

        manifest = json.loads(blob(json.load(archive.extractfile("index.json"))["manifests"][0]))
        config = json.loads(blob(manifest["config"]))["config"]
        for layer in manifest["layers"]:
            run("tar", "--numeric-owner", "--xattrs", "-xz", "-C", root, input=blob(layer))
    image = Image([root])
    image.user, image.folder = config["User"], config["WorkingDir"]
    image.environment = dict(word.split("=", 1) for word in config["Env"])
    image.entrypoint, image.command, image.labels = config["Entrypoint"], config["Cmd"], config["Labels"]
    image.health = {"test": config["Healthcheck"]["Test"], "timeout": "%dms" % (config["Healthcheck"]["Timeout"] // 1_000_000)}
    return image
