"""One state, several providers, a table of relative errors and a verdict."""

from mbd_bridge.engines.crosscheck.compare import crosscheck
from mbd_bridge.engines.crosscheck.report import Report, Row

__all__ = ["Report", "Row", "crosscheck"]
