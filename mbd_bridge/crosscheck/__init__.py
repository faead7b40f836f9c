"""One state, several providers, a table of relative errors and a verdict."""

from mbd_bridge.crosscheck.compare import crosscheck
from mbd_bridge.crosscheck.report import Report, Row

__all__ = ["Report", "Row", "crosscheck"]
