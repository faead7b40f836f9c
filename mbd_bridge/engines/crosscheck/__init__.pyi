"""The public names of `mbd_bridge.engines.crosscheck`, each with its module."""

from mbd_bridge.engines.crosscheck.compare import (
    Report as Report,
    Row as Row,
    crosscheck as crosscheck,
)
