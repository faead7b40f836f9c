"""See what the pins of a linkage carry while it turns: a film, and its worst moment."""

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import mbd_bridge as mbd

linkage = mbd.load(Path(__file__).parents[1] / "urdf" / "crank_rocker.urdf")
start = linkage.assemble(near={"crank": 0.0}, fixed="crank").q
run = linkage.simulate(1.0, q=start, every=10, prescribed={"crank": lambda t: 2.0 * np.pi * t})

loads = run.joint_loads(["coupler_pin"])
size = np.linalg.norm(np.where(loads.unique, loads.wrench, 0.0)[:, 0, :3], axis=-1)
worst = run.time[size.argmax()]
print(f"the pin carries most at {worst:.2f} s: {size.max():.1f} N")

joints = ["crank", "coupler_pin"]
with tempfile.TemporaryDirectory() as folder:
    film, picture = Path(folder) / "linkage.gif", Path(folder) / "worst.png"
    run.render(film, loads=joints, size=(320, 240), fps=8)
    seen = run.render(picture, time=worst, loads=joints, size=(640, 480))
    with Image.open(film) as opened:
        print(f"{opened.n_frames} pictures in the film, {film.stat().st_size // 1000} kB")
    print("the worst moment:", seen.shape)

# run.show(loads=joints) opens a window and plays it
