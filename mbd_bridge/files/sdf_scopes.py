"""Where everything in a model is: SDF's frames, relative to each other by name.

A model is a scope of names: its links, joints, frames and models in it. ``a::b`` is b in the model
a. A pose is relative to what `relative_to` names; without it that of a joint to its child, that of
a frame to what it is attached to, any other to the model. All is returned in the axes of the world
in which the outermost model stands.

An included model is one in the model; its ``<include>`` may give name, pose, placement frame and
whether it is static. If it is merged, its names are the including model's as well, and what is
relative to "the model" in it stays so; that frame's name is ``_merged__NAME__model__``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mbd_bridge.files.document import Document, quote, unknown
from mbd_bridge.files.sdf_document import IncludedFile, flag, only_model, pose_of, text
from mbd_bridge.files.xml_reader import Element
from mbd_bridge.model.spatial import Frame

MODEL = "__model__"
NAMED = ("link", "frame", "model", "joint")
DEEPEST = 200
"""Frames that are relative to each other in a row: more are a circle or a joke."""

NESTED = 20
"""Models in models, at most."""


def is_world(element: Element) -> bool:
    """Return whether an element is a link of older files that stands for the world."""
    return element.tag == "link" and element.get("name") == "world" and element.find("pose") is None


@dataclass(eq=False)
class Scope:
    """A model and the names in it.

    Attributes
    ----------
    source : its file
    prefix : of the names of its links and joints among all: "" of the outermost, "arm::" inside
    include : the file and the element that includes it
    elements : by name
    inner : the models in it, by name
    merged : included models whose names are this one's, too
    """

    source: IncludedFile
    model: Element
    prefix: str = ""
    outer: Scope | None = None
    include: tuple[IncludedFile, Element] | None = None
    elements: dict[str, Element] = field(default_factory=dict)
    inner: dict[str, Scope] = field(default_factory=dict)
    merged: list[Scope] = field(default_factory=list)
    known: dict[str, Frame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if sum(1 for _ in self._above()) > NESTED:
            raise self.document.error(self.model, "models are nested too deep; flatten them")
        joints: set[str] = set()
        for tag in NAMED:
            for element in self.model.findall(tag):
                name = self.document.attribute(element, "name")
                if is_world(element):
                    self.document.remark_at("a link named world is the world itself", element)
                    continue
                if tag == "joint" and self.source.separate and name not in joints:
                    joints.add(name)
                    self.elements.setdefault(name, element)
                    continue
                self._add(name, element, element)
                if tag == "model":
                    self.inner[name] = Scope(self.source, element, f"{self.prefix}{name}::", self)
        for element in self.model.findall("include"):
            self._include(element)

    @property
    def document(self) -> Document:
        """The file, for messages."""
        return self.source.document

    @property
    def name(self) -> str:
        """The model's name, or the one that its ``<include>`` gives."""
        name = ""
        if self.include is not None:
            name = text(self.include[0].document, self.include[1], "name", "")
        return name or self.model.get("name") or ""

    @property
    def static(self) -> bool:
        """Whether the model, or one that it is in, cannot move."""
        static = flag(self.document, self.model, "static")
        if self.include is not None and self.include[1].find("static") is not None:
            static = flag(self.include[0].document, self.include[1], "static")
        return static or (self.outer is not None and self.outer.static)

    def scopes(self) -> Iterator[Scope]:
        """Yield this model and those in it."""
        yield self
        for scope in (*self.merged, *self.inner.values()):
            yield from scope.scopes()

    def _above(self) -> Iterator[IncludedFile]:
        """Yield the files of this model and of those that it is in."""
        scope: Scope | None = self
        while scope is not None:
            yield scope.source
            scope = scope.outer

    def _add(self, name: str, element: Element, at: Element) -> None:
        """Note what has a name; `at` is the element that gives it."""
        if name in self.elements:
            raise self.document.error(
                at,
                f"another <{self.elements[name].tag}> is named {quote(name)} too; rename one of "
                f"them",
            )
        if "::" in name or name in (MODEL, "world"):
            raise self.document.error(at, f"the name {quote(name)} is SDF's own; choose another")
        self.elements[name] = element

    def _include(self, element: Element) -> None:
        """Add a model of another file."""
        source = self.source.files.include(self.source, element, self._above())
        model, include = only_model(source, element, self.source), (self.source, element)
        if (element.get("merge") or "false").lower() not in ("1", "true"):
            name = text(self.document, element, "name", "") or source.document.attribute(
                model, "name"
            )
            self._add(name, model, element)
            self.inner[name] = Scope(source, model, f"{self.prefix}{name}::", self, include)
            return
        merged = Scope(source, model, self.prefix, self, include)
        double = sorted(self._names() & merged._names())
        if double:
            raise self.document.error(
                element,
                f"the model that is merged has {quote(double[0])} too; rename one of them, or "
                f"include it without merge",
            )
        self.merged.append(merged)

    def _names(self) -> set[str]:
        """Return the names in this model, with those merged into it."""
        names = {*self.elements}
        for scope in self.merged:
            names |= {*scope._names(), scope._proxy()}
        return names

    def _proxy(self) -> str:
        """Return the name that the frame of a merged model has in the including one."""
        return f"_merged__{self.name}__model__"

    def _holder(self, name: str) -> tuple[Scope, str] | None:
        """Return the merged model that a name is of, and the name there."""
        if name in self.elements:
            return None
        for scope in self.merged:
            if name == scope._proxy():
                return scope, MODEL
            if name in scope._names():
                return scope, name
        return None

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
        if held := self._holder(name):
            return held[0].frame(held[1], at, depth + 1)
        if name not in self.elements:
            raise self.document.error(at, unknown("frame", name, (*self._names(), MODEL, "world")))
        if name in self.inner:
            return self.inner[name].frame(MODEL, at, depth + 1)
        return self.frame_of(self.elements[name], depth)

    def frame_of(self, element: Element, depth: int = 0) -> Frame:
        """Return the frame of a link, joint or frame of this model in the world."""
        pose, relative = pose_of(self.document, element)
        if not relative and element.tag == "joint":
            relative = text(self.document, element, "child")
        if not relative and element.tag == "frame":
            relative = element.get("attached_to") or ""
        return self.frame(relative or MODEL, element, depth + 1) @ pose

    def _own(self, at: Element, depth: int) -> Frame:
        """Return the frame of the model itself."""
        pose, relative = pose_of(self.document, self.model)
        placed = self.model.get("placement_frame") or ""
        if self.include is not None:
            by, element = self.include
            if element.find("pose") is not None:
                pose, relative = pose_of(by.document, element)
            if frame_name := text(by.document, element, "placement_frame", ""):
                placed = frame_name
                if element.find("pose") is None:
                    raise by.document.error(element, "<placement_frame> needs a <pose>; write one")
        if self.outer is None:
            if relative and relative != "world":
                raise self.document.error(
                    self.model, f"its pose is relative to {quote(relative)}; only to the world"
                )
            carrier = Frame.identity()
        else:
            carrier = self.outer.frame(relative or MODEL, self.model, depth + 1)
        if not placed:
            return carrier @ pose
        self.known[MODEL] = Frame.identity()  # where the placement frame is in the model
        inside = self.frame(placed, self.model, depth + 1)
        for scope in self.scopes():
            scope.known.clear()
        return carrier @ pose @ inside.inverse()

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
        if held := self._holder(name):
            return held[0].link(held[1], at, depth + 1)
        if name not in self.elements:
            raise self.document.error(at, unknown("link or frame", name, self._names()))
        if name in self.inner:
            return self.inner[name].canonical(at, depth + 1)
        element = self.elements[name]
        if element.tag == "link":
            return self.prefix + name
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
        for scope in (*self.merged, *self.inner.values()):
            return scope.canonical(at, depth + 1)
        raise self.document.error(self.model, "the model has no link; add one")

    def _inner(self, name: str, at: Element) -> Scope:
        for scope in (self, *self.merged):
            if name in scope.inner:
                return scope.inner[name]
            if scope is not self and scope.merged and name in scope._names():
                return scope._inner(name, at)
        raise self.document.error(at, unknown("model", name, self.inner))
