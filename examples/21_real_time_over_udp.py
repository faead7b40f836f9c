"""A machine at wall-clock pace whose motor is controlled by another program, over UDP.

Here the other program is a thread; it could be anything that sends and receives eight bytes. Each
step sends the speed of the crank and takes the newest torque that has come.
"""

import socket
import struct
import threading
from pathlib import Path

import mbd_bridge as mbd

robot = mbd.load(Path(__file__).parents[1] / "urdf" / "crank_rocker.urdf")
start = robot.assemble(near={"crank": 0.5}, fixed="crank")
system = mbd.System(robot, torque={"crank": mbd.Input("motor")})
machine = mbd.RealTime(system, step=1e-3, q=start.q, v=start.v)

plant = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
plant.bind(("127.0.0.1", 0))
plant.setblocking(False)
remote = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
remote.bind(("127.0.0.1", 0))


def controller():
    """Hold the crank at 6 rad/s; an empty message ends it."""
    while message := remote.recv(8):
        (speed,) = struct.unpack("d", message)
        remote.sendto(struct.pack("d", 0.4 * (6.0 - speed)), plant.getsockname())


def newest_torque(t, now):
    plant.sendto(struct.pack("d", now["v.crank"]), remote.getsockname())
    found = None
    while True:
        try:
            found = plant.recv(8)
        except BlockingIOError:
            return None if found is None else {"motor": struct.unpack("d", found)[0]}


thread = threading.Thread(target=controller)
thread.start()
run = machine.run(1.0, inputs=newest_torque)
plant.sendto(b"", remote.getsockname())
thread.join()
plant.close()
remote.close()
print(f"{run.steps} steps, {run.status}")
print("the motor has turned it:", abs(run.q[-1, 0] - start.q[0]) > 1.0)
