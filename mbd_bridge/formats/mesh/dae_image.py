"""COLLADA: the file of the image that an effect names, through its sampler and surface."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from mbd_bridge.formats.xml_reader import Element

STEPS = 4
"""From a texture through its sampler and its surface to the image: more, and it is a circle."""


def image_of(effect: Element, by_id: Mapping[str | None, Element]) -> str | None:
    """Return the name of an effect's diffuse image, relative to the file; None if it has none."""
    texture = effect.find(".//diffuse/texture")
    if texture is None:
        return None
    parameters = {one.get("sid"): one for one in effect.iter("newparam")}
    name = texture.get("texture")
    for _ in range(STEPS):
        parameter = parameters.get(name)
        if parameter is None:
            break
        instance = parameter.find(".//instance_image")  # of COLLADA 1.5
        if instance is not None:
            name = (instance.get("url") or "").removeprefix("#")
            break
        said = parameter.findtext("sampler2D/source") or parameter.findtext("surface/init_from")
        name = (said or "").strip()
    image = by_id.get(name)
    if image is None or image.tag != "image":
        return None
    said = image.findtext("init_from/ref") or image.findtext("init_from")
    return _file_name((said or "").strip())


def _file_name(uri: str) -> str | None:
    """Return the path that an image's address means."""
    if uri.startswith("file:"):
        return unquote(urlsplit(uri).path) or None
    return unquote(uri).replace("\\", "/") or None
