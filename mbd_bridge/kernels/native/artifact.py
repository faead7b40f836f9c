"""What is kept of a compiled kernel: its machine code and what is known of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

_LENGTH_BYTES = 8


@dataclass(frozen=True, slots=True)
class Artifact:
    """Machine code with the facts that would else need the graph.

    Attributes
    ----------
    code : object code for this host
    name : of the kernel
    inputs : sizes of the inputs by name
    outputs, shapes : names and shapes of the outputs
    counts : operations by kind
    lanes : states in a vector
    stage_bytes : memory that the code wants for the values of one group of states
    compile_seconds : what making it took, tracing included
    """

    code: bytes
    name: str
    inputs: Mapping[str, int]
    outputs: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    counts: Mapping[str, int]
    lanes: int
    stage_bytes: int
    compile_seconds: float

    @property
    def signature(self) -> str:
        """What goes in and comes out, in a line."""
        takes = ", ".join(f"{name}[{size}]" for name, size in self.inputs.items())
        gives = ", ".join(
            f"{name}{list(shape)}" for name, shape in zip(self.outputs, self.shapes, strict=True)
        )
        return f"{self.name}({takes}) -> {gives}"

    def pack(self) -> bytes:
        """Return the artifact as bytes."""
        facts = asdict(self)
        del facts["code"]
        facts["inputs"] = list(self.inputs.items())
        head = json.dumps(facts).encode()
        return len(head).to_bytes(_LENGTH_BYTES, "little") + head + self.code

    @classmethod
    def unpack(cls, content: bytes) -> Artifact:
        """Return the artifact that `pack` made these bytes of."""
        end = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
        facts = json.loads(content[_LENGTH_BYTES:end])
        facts["inputs"] = dict(facts["inputs"])
        facts["outputs"] = tuple(facts["outputs"])
        facts["shapes"] = tuple(tuple(shape) for shape in facts["shapes"])
        return cls(code=content[end:], **facts)
