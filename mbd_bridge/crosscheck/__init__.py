"""One state, several providers, a table of relative errors and a verdict."""

from mbd_bridge.crosscheck.compare import TOLERANCE, crosscheck
from mbd_bridge.crosscheck.report import Report, Row

__all__ = ["TOLERANCE", "Report", "Row", "crosscheck"]
