"""Has a command run by `command_server`, with the streams, folder and environment of this process.

It imports little, so that it starts in no time; it ends with the command's exit code.
"""

import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
    server.connect(sys.argv[1])
    request = {"words": sys.argv[2:], "folder": os.getcwd(), "environment": dict(os.environ)}
    socket.send_fds(server, [json.dumps(request).encode()], [0, 1, 2])
    for number in (0, 1, 2):
        os.close(number)  # the command alone holds them: a pipe closes with it
    code = server.recv(1)
sys.exit(code[0] if code else 1)
