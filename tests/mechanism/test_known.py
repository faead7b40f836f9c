"""What follows from a model is found once for each model, and goes with it."""

import gc
import weakref

import mbd_bridge as mbd
from mbd_bridge.model.model import once_a_model


def pendulum():
    b = mbd.Builder("pendulum").link("bob", 1.0, (0, 0, -1))
    return mbd.Mechanism.build(b.joint("pin", "revolute", "base", "bob")).model


def test_a_model_is_asked_once_and_each_for_itself():
    asked = []

    @once_a_model
    def massive(model):
        asked.append(model)
        return len(asked) > 1

    one, other = pendulum(), pendulum()
    assert [massive(x) for x in (one, one, other, other)] == [False, False, True, True]
    assert asked == [one, other]


def test_what_is_known_of_a_model_does_not_keep_it():
    @once_a_model
    def size(model):
        return model.size

    model = pendulum()
    size(model)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
