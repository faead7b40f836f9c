"""One state, several providers, a table of relative errors and a verdict."""

from mbd_bridge.engines.crosscheck.compare import Report, Row, crosscheck

__all__ = ["Report", "Row", "crosscheck"]
