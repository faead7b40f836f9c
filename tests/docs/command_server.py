"""Runs `mbd` commands of the pages in forks of one process that has imported what they need.

    python -m tests.docs.command_server ADDRESS
    python -SE tests/docs/command_client.py ADDRESS info urdf/kuka_iiwa.urdf

Imports take half of a short command's time, and the pages show some sixty. Each command has a
process of its own, with the streams, the folder and the environment of its client, so pipes and
redirections of a shell are what they are for `mbd`. `tests/cli` starts processes from nothing.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import signal
import socket
import sys
import traceback

from mbd_bridge.cli import main

IMPORTED = (
    "llvmlite.binding",
    "matplotlib.pyplot",
    "scipy.interpolate",
    "scipy.signal",
    "rich.table",
)


def serve(address: str) -> None:
    """Run commands until this process is ended."""
    for name in IMPORTED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for children
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(address)
        door.listen()
        while True:
            client, _ = door.accept()
            with client:
                if os.fork() == 0:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    run(client)


def run(client: socket.socket) -> None:
    """Run a client's command in this process, which ends with it."""
    code = 1
    try:
        content, streams, _, _ = socket.recv_fds(client, 1 << 20, 3)
        request = json.loads(content)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(number, "w", False), "utf-8", write_through=True)
            for number in (1, 2)
        )
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        sys.argv = ["mbd", *request["words"]]
        code = main()
    except BaseException:
        traceback.print_exc()
    finally:
        client.sendall(bytes([code]))
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
