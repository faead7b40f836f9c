"""A page about a machine and a motion: what it carries, what its actuators need, who agrees."""

from mbd_bridge.reports.title import TitleBlock
from mbd_bridge.reports.write import Subject, report_page, write_report

__all__ = ["Subject", "TitleBlock", "report_page", "write_report"]
