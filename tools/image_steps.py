"""Does the steps of deploy/Dockerfile in a fresh root of Debian, as root: `make image-steps`.

The root is made by debootstrap, with Debian's Python instead of that of the base image. Then the server is started as
the image starts it, on a root that cannot be written, and asked for its health.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx

from sleuth.surfaces.http import add_key

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
PACKAGES = "python3,python3-venv,python3-dev,ca-certificates"
SERVE = """
mount --bind {root} {root}
mount -o remount,bind,ro {root}
mount -t tmpfs tmpfs {root}/tmp
mount --bind {data} {root}/data
mount -o bind,ro {keys} {root}/keys
exec chroot --userspec={user} {root} env -i {environment} {command} --port 8399
"""
HEALTH = "http://127.0.0.1:8399/readyz"


def instructions(text: str) -> list[tuple[str, str]]:
    """Return name and arguments of each instruction of a Dockerfile whose instructions are lines."""
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition(" ") for line in lines if line and not line.startswith("#"))
    return [(name, arguments) for name, _, arguments in pairs]


def make_root(folder: Path) -> None:
    """Make a root with Debian's Python, which reaches packages as this machine does."""
    release = dict(
        line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line
    )
    suite = release["VERSION_CODENAME"].strip('"')
    subprocess.run(
        ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, str(folder)], check=True
    )
    for name in (
        "etc/apt/sources.list.d",
        "etc/apt/apt.conf.d",
        "etc/pip.conf",
        "etc/xdg/pip",
        "etc/ssl/certs/ca-certificates.crt",
    ):
        source = Path("/", name)
        if source.is_dir():
            shutil.copytree(source, folder / name, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy(source, folder / name)
    shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")


def copy_source(target: Path) -> None:
    """Copy what the image is built from: the files under version control that the list of ignored ones lets in."""
    rules = (DOCKERFILE.parent / "Dockerfile.dockerignore").read_text().split()
    allowed = [rule[1:] for rule in rules if rule.startswith("!")]
    listing = subprocess.run(
        ["git", "ls-files", *allowed], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in listing.stdout.split():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, path)


def do_steps(folder: Path) -> dict[str, str]:
    """Do all instructions in one root, and return the environment that the image has."""
    build = dict(os.environ)
    image: dict[str, str] = {}
    for name, arguments in instructions(DOCKERFILE.read_text()):
        print(f"{name} {arguments}", flush=True)
        if name == "RUN":
            subprocess.run(
                ["chroot", str(folder), "sh", "-ec", arguments], check=True, env={**build, **image}
            )
        elif name == "COPY" and not arguments.startswith("--from"):
            copy_source(folder / "source")
        elif name in ("ARG", "ENV"):
            key, _, value = arguments.partition("=")
            (build if name == "ARG" else image)[key] = value
    return image


def check_server(folder: Path, image: dict[str, str]) -> None:
    """Start the server as the image does, and ask it for its health.

    Raises:
        SystemExit: it does not answer within a minute.
    """
    steps = dict(instructions(DOCKERFILE.read_text()))
    command = [*json.loads(steps["ENTRYPOINT"]), *json.loads(steps["CMD"]), "--create"]
    data, keys = folder.parent / "data", folder.parent / "keys"
    data.mkdir(exist_ok=True)
    keys.mkdir(exist_ok=True)
    if not (keys / "keys.json").exists():
        add_key(keys / "keys.json", "image")
    for path in (data, keys, keys / "keys.json"):
        os.chown(path, 10001, 10001)
    script = SERVE.format(
        root=folder,
        data=data,
        keys=keys,
        user=steps["USER"],
        environment=shlex.join(f"{key}={value}" for key, value in image.items()),
        command=shlex.join(command),
    )
    server = subprocess.Popen(["unshare", "--mount", "sh", "-ec", script])
    try:
        for _ in range(60):
            time.sleep(1)
            try:
                print("the server is ready:", httpx.get(HEALTH, timeout=4).raise_for_status().text)
            except httpx.HTTPError as error:
                reason = str(error)
            else:
                return
            if server.poll() is not None:
                break
        raise SystemExit(f"the server does not answer: {reason}")
    finally:
        server.terminate()
        server.wait(60)


def main() -> None:
    """Make the root in the folder that is named, do the steps, and start the server."""
    folder = Path(sys.argv[1]).absolute()
    if os.geteuid():
        raise SystemExit("a fresh root needs root: sudo make image-steps")
    if not (folder / "opt").exists():
        make_root(folder)
    check_server(folder, do_steps(folder))


if __name__ == "__main__":
    main()
