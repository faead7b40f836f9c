"""Pictures and films in files: PNG, GIF, MP4."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.errors import FileError, StateError
from mbd_bridge.base.extras import needed
from mbd_bridge.files.whole_file import DOTS, check_place, whole_path
from mbd_bridge.model.spatial import Array
from mbd_bridge.view import arrows as look
from mbd_bridge.view.camera import Camera, direction, framing
from mbd_bridge.view.draw_loads import Overlays, Take
from mbd_bridge.view.marks import CENTRE, CUT
from mbd_bridge.view.picture import Painter, Pixels
from mbd_bridge.view.source import Source

FILMS = (".gif", ".mp4")
"""Endings of films."""

MOST_FRAMES = 5000
"""Pictures of one film: more, and something is wrong with times or speed."""

LARGEST = 4096
"""Width and height of a picture, pixels."""

COLOURS, SWATCH = 128, 3
"""Of a GIF; and how many rows of pixels a colour counts that every picture may need."""


class Shot(NamedTuple):
    """How a film or a picture is taken.

    Attributes
    ----------
    size : width and height, pixels
    fps : pictures per second of the film
    speed : seconds of the motion in one second of the film
    view : yaw and pitch of the camera, degrees (`camera.direction`); None: chosen for the machine
    """

    size: tuple[int, int] = (960, 720)
    fps: float = 25.0
    speed: float = 1.0
    view: tuple[float, float] | None = None


def camera_of(take: Take, shot: Shot) -> Camera:
    """Return the camera that sees the whole motion."""
    if shot.view is None:
        yaw, pitch = favourable(take)
    else:
        yaw, pitch = shot.view
    return framing(take.seen, direction(yaw, pitch), shot.size)


def favourable(take: Take) -> tuple[float, float]:
    """Return yaw and pitch from which a machine is seen well in its first state, degrees.

    A planar one, all of whose axes are parallel and level, is seen along them.
    """
    bodies = take.bodies(take.source.q[:1])[0]
    turning = [k for k, b in enumerate(take.model.bodies) if k and b.type.name != "prismatic"]
    axes = bodies[turning][:, :3, 2] if turning else np.zeros((0, 3))
    if len(axes) and np.abs(np.abs(axes @ axes[0]) - 1.0).max() < 1e-6 and abs(axes[0, 2]) < 0.1:
        axis = axes[0]
        axis = axis if axis[1] + 0.5 * axis[0] > 0.0 else -axis
        return float(np.rad2deg(np.arctan2(-axis[0], axis[1]))) + 18.0, 12.0
    return 40.0, 20.0


def check_shot(shot: Shot, path: str | os.PathLike[str] | None) -> None:
    """Refuse what cannot be recorded, before work is done."""
    width, height = shot.size
    if not (16 <= width <= LARGEST and 16 <= height <= LARGEST):
        raise StateError(f"size: expected width and height from 16 to {LARGEST}, got {shot.size}")
    for name, value in (("fps", shot.fps), ("speed", shot.speed)):
        if not 0.0 < value < np.inf:
            raise StateError(f"{name}: expected a positive number, got {value}")
    if path is None:
        return
    ending = Path(path).suffix.lower()
    if ending not in (*FILMS, *DOTS):
        known = ", ".join((*DOTS, *FILMS))
        raise FileError(
            f"expected a name that ends with one of {known} (a page, .html, is written by mbd view "
            f"--record or robot.web_view(...).save)",
            os.fspath(path),
        )
    if ending == ".mp4" and (width % 2 or height % 2):
        even = width + width % 2, height + height % 2
        raise StateError(f"size: of an MP4 expected even numbers, got {shot.size}; take {even}")
    if ending == ".mp4":
        needed("imageio_ffmpeg", "MP4 films (unlike .gif) need imageio-ffmpeg", "mbd_bridge[video]")
    check_place(path)


def is_film(path: str | os.PathLike[str] | None) -> bool:
    """Return whether a file of this name holds many pictures."""
    return path is not None and Path(path).suffix.lower() in FILMS


def frame_times(time: Array, shot: Shot) -> Array:
    """Return the times (N,) s of a film's pictures, from the first to the last state."""
    length = float(time[-1] - time[0])
    count = round(length / shot.speed * shot.fps) + 1
    if count > MOST_FRAMES:
        raise StateError(
            f"the film would have {count} pictures, expected at most {MOST_FRAMES}: show it "
            f"faster (speed), with fewer pictures a second (fps), or a part of it"
        )
    return np.asarray(np.minimum(time[0] + np.arange(count) * shot.speed / shot.fps, time[-1]))


def still(
    source: Source, shot: Shot, overlays: Overlays, path: str | os.PathLike[str] | None = None
) -> Pixels:
    """Return the picture of a source's only state, written to `path` if there is one."""
    take = Take(source, overlays)
    take.tell()
    picture = Painter(take, camera_of(take, shot), shot.size).paint(take.of(source))
    if path is not None:
        from PIL import Image

        with whole_path(path) as part:
            Image.fromarray(picture).save(part, format=DOTS[Path(path).suffix.lower()])
    return picture


def film(
    source: Source,
    shot: Shot,
    overlays: Overlays,
    path: str | os.PathLike[str],
    progress: Callable[[float], None] | None = None,
) -> Pixels:
    """Write a film of all of a source's states; return its last picture.

    Parameters
    ----------
    progress : called with 1 for each picture that is done
    """
    take, times = Take(source, overlays), frame_times(source.time, shot)
    take.tell()
    last: list[Pixels] = []

    def pictures() -> Iterator[Pixels]:
        painter = Painter(take, camera_of(take, shot), shot.size)
        for time in times:
            picture = painter.paint(take.moment(float(time)))
            last[:] = [picture]
            if progress is not None:
                progress(1.0)
            yield picture

    write = _write_gif if Path(path).suffix.lower() == ".gif" else _write_mp4
    with whole_path(path) as part:
        write(part, pictures(), shot)
    return last[0]


def _write_gif(path: Path, pictures: Iterator[Pixels], shot: Shot) -> None:
    """Write a GIF that repeats, all in the colours of its first picture, of arrows and of marks."""
    from PIL import Image

    palette: Any = None
    images = []
    for picture in pictures:
        image = Image.fromarray(picture)
        if palette is None:
            sample = Image.fromarray(np.concatenate([picture, _swatches(picture.shape[1])]))
            palette = sample.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        images.append(image.quantize(palette=palette, dither=Image.Dither.NONE))
    images[0].save(
        path,
        format="GIF",
        save_all=True,
        append_images=images[1:],
        duration=max(20, round(1000.0 / shot.fps)),
        loop=0,
        optimize=False,
    )


def _swatches(width: int) -> Pixels:
    """Return stripes (height, width, 3) of the colours of arrows and marks in light and shade.

    Of those that only later pictures show the first one has no colours.
    """
    colours = np.array([look.FORCE, look.MOMENT, look.ACTUATION, look.UNDETERMINED, CUT, CENTRE])[
        :, :3
    ]
    shades = (255 * np.array([0.55, 0.75, 0.95])[:, None, None] * colours).astype(np.uint8)
    return np.repeat(np.repeat(shades.reshape(-1, 1, 3), width, axis=1), SWATCH, axis=0)


def _write_mp4(path: Path, pictures: Iterator[Pixels], shot: Shot) -> None:
    """Write an MP4 (H.264) by ffmpeg, whose exit code says whether it is whole."""
    from imageio_ffmpeg import get_ffmpeg_exe

    size = "x".join(map(str, shot.size))
    taken = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", f"{shot.fps:g}", "-i", "-"]
    made = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "25", "-f", "mp4", str(path)]
    with (
        tempfile.TemporaryFile() as messages,
        subprocess.Popen(
            [get_ffmpeg_exe(), "-y", "-v", "error", *taken, *made],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=messages,
            process_group=0,  # Ctrl-C is for us to decide
        ) as ffmpeg,
    ):
        assert ffmpeg.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError):  # it has said why
                for picture in pictures:
                    ffmpeg.stdin.write(picture.tobytes())
        except BaseException:
            ffmpeg.kill()
            raise
        finally:
            with contextlib.suppress(BrokenPipeError):
                ffmpeg.stdin.close()
        if ffmpeg.wait() != 0:
            messages.seek(0)
            words = (
                messages.read().decode(errors="replace").strip() or f"exit code {ffmpeg.returncode}"
            )
            full = os.strerror(errno.ENOSPC)
            raise OSError(errno.EIO, full if full in words else f"ffmpeg: {words.splitlines()[-1]}")
