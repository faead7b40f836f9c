"""The public names of `mbd_bridge.flexible`, each with its module."""

from mbd_bridge.files.modal import (
    load_modal_basis as load_modal_basis,
    save_modal_basis as save_modal_basis,
)
from mbd_bridge.model.flexible import (
    Beam as Beam,
    Damping as Damping,
    FlexibleLink as FlexibleLink,
    ModalBasis as ModalBasis,
    Modes as Modes,
    Section as Section,
    SectionTable as SectionTable,
)
