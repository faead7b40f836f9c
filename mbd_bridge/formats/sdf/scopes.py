"""Where everything in a model is: SDF's frames, relative to each other by name.

A model is a scope of names: its links, joints, frames and models in it. ``a::b`` is b in the model
a. A pose is relative to what `relative_to` names; without it that of a joint to its child, that of
a frame to what it is attached to, any other to the model. All is returned in the axes of the world
in which the outermost model stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mbd_bridge.formats.document import Document, quote, unknown
from mbd_bridge.formats.sdf.values import pose_of, text
from mbd_bridge.formats.xml_reader import Element
from mbd_bridge.spatial import Frame

MODEL = "__model__"
NAMED = ("link", "frame", "model", "joint")
DEEPEST = 200
"""Frames that are relative to each other in a row: more are a circle or a joke."""


def is_world(element: Element) -> bool:
    """Return whether an element is a link of older files that stands for the world."""
    return element.tag == "link" and element.get("name") == "world" and element.find("pose") is None


@dataclass(eq=False)
class Scope:
    """A model and the names in it.

    Attributes
    ----------
    prefix : of the names of its links and joints among all: "" of the outermost, "arm::" inside
    separate : joints have names of their own, as before version 1.7: a link may have the same
    elements : by name
    inner : the models in it, by name
    """

    document: Document
    model: Element
    prefix: str = ""
    separate: bool = False
    outer: Scope | None = None
    elements: dict[str, Element] = field(default_factory=dict)
    inner: dict[str, Scope] = field(default_factory=dict)
    known: dict[str, Frame] = field(default_factory=dict)
    attached: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.prefix.count("::") > DEEPEST // 10:
            raise self.document.error(self.model, "models are nested too deep; flatten them")
        joints: set[str] = set()
        for tag in NAMED:
            for element in self.model.findall(tag):
                name = self.document.attribute(element, "name")
                if is_world(element):
                    self.document.remark_at("a link named world is the world itself", element)
                    continue
                if tag == "joint" and self.separate and name not in joints:
                    joints.add(name)
                    self.elements.setdefault(name, element)
                    continue
                if name in self.elements:
                    first = self.elements[name]
                    raise self.document.error(
                        element,
                        f"another <{first.tag}> is named {quote(name)} too; rename one of them",
                    )
                if "::" in name or name in (MODEL, "world"):
                    raise self.document.error(
                        element, f"the name {quote(name)} is SDF's own; choose another one"
                    )
                self.elements[name] = element
                if tag == "model":
                    prefix = f"{self.prefix}{name}::"
                    self.inner[name] = Scope(self.document, element, prefix, self.separate, self)

    def scopes(self) -> Iterator[Scope]:
        """Yield this model and those in it."""
        yield self
        for scope in self.inner.values():
            yield from scope.scopes()

    def frame(self, name: str, at: Element, depth: int = 0) -> Frame:
        """Return the frame of a name in the world; `at` is who asks."""
        if depth > DEEPEST:
            raise self.document.error(at, f"the frame {quote(name)} is relative to itself")
        if name == "world":
            return Frame.identity()
        head, inside, rest = name.partition("::")
        if inside:
            return self._inner(head, at).frame(rest, at, depth + 1)
        if name not in self.known:
            self.known[name] = self._found(name, at, depth)
        return self.known[name]

    def _found(self, name: str, at: Element, depth: int) -> Frame:
        if name == MODEL:
            return self._own(at, depth)
        if name not in self.elements:
            raise self.document.error(at, unknown("frame", name, (*self.elements, MODEL, "world")))
        element = self.elements[name]
        if element.tag == "model":
            return self.inner[name].frame(MODEL, at, depth + 1)
        return self.frame_of(element, depth)

    def frame_of(self, element: Element, depth: int = 0) -> Frame:
        """Return the frame of a link, joint or frame of this model in the world."""
        own, relative = pose_of(self.document, element)
        if not relative and element.tag == "joint":
            relative = text(self.document, element, "child")
        if not relative and element.tag == "frame":
            relative = element.get("attached_to") or ""
        return self.frame(relative or MODEL, element, depth + 1) @ own

    def _own(self, at: Element, depth: int) -> Frame:
        """Return the frame of the model itself."""
        own, relative = pose_of(self.document, self.model)
        if self.outer is None:
            if relative and relative != "world":
                raise self.document.error(
                    self.model, f"its pose is relative to {quote(relative)}; only to the world"
                )
            carrier = Frame.identity()
        else:
            carrier = self.outer.frame(relative or MODEL, self.model, depth + 1)
        placed = self.model.get("placement_frame")
        if not placed:
            return carrier @ own
        self.known[MODEL] = Frame.identity()  # where the placement frame is in the model
        inside = self.frame(placed, self.model, depth + 1)
        for scope in self.scopes():
            scope.known.clear()
        return carrier @ own @ inside.inverse()

    def link(self, name: str, at: Element, depth: int = 0) -> str:
        """Return the full name of the link that carries what is named, or "world"."""
        if depth > DEEPEST:
            raise self.document.error(at, f"the frame {quote(name)} is attached to itself")
        if name == "world":
            return name
        head, inside, rest = name.partition("::")
        if inside:
            return self._inner(head, at).link(rest, at, depth + 1)
        if name == MODEL:
            return self.canonical(at, depth + 1)
        if name not in self.elements:
            raise self.document.error(at, unknown("link or frame", name, self.elements))
        element = self.elements[name]
        if element.tag == "link":
            return self.prefix + name
        if element.tag == "model":
            return self.inner[name].canonical(at, depth + 1)
        if element.tag == "joint":
            return self.link(text(self.document, element, "child"), element, depth + 1)
        return self.link(element.get("attached_to") or MODEL, element, depth + 1)

    def canonical(self, at: Element, depth: int = 0) -> str:
        """Return the link to which the model's own frame belongs."""
        named = self.model.get("canonical_link")
        if named and named != MODEL:
            return self.link(named, at, depth + 1)
        for name, element in self.elements.items():
            if element.tag == "link":
                return self.prefix + name
        for scope in self.inner.values():
            return scope.canonical(at, depth + 1)
        raise self.document.error(self.model, "the model has no link; add one")

    def _inner(self, name: str, at: Element) -> Scope:
        if name not in self.inner:
            raise self.document.error(at, unknown("model", name, self.inner))
        return self.inner[name]
