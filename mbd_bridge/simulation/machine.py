"""The machine that a user gives, and for how many trajectories things are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.model import Model


class HasModel(Protocol):
    """A mechanism as its user holds it."""

    @property
    def model(self) -> Model:
        """The immutable model."""


def agreed(numbers: Mapping[str, int]) -> int:
    """Return the number of trajectories that all that is given agrees on, or 1."""
    several = set(numbers.values()) - {1}
    if len(several) > 1:
        listed = ", ".join(f"{name}: {count}" for name, count in numbers.items())
        raise StateError(f"expected the same N everywhere, or one for all, got {listed}")
    return max(several, default=1)


def model_of(mechanism: HasModel | Model, call: str = "System") -> Model:
    """Return the model of what a user holds and gives to a function `call`."""
    if isinstance(mechanism, Model):
        return mechanism
    model = getattr(mechanism, "model", None)
    if not isinstance(model, Model):
        raise ModelError(
            f"expected a Mechanism or a System, got {type(mechanism).__name__}; load it first: "
            f'mbd.{call}(mbd.load("robot.urdf"), ...)'
        )
    return model
