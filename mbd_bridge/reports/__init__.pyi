"""The public names of `mbd_bridge.reports`, each with its module."""

from mbd_bridge.reports.title import TitleBlock as TitleBlock
from mbd_bridge.reports.write import (
    Subject as Subject,
    report_page as report_page,
    write_report as write_report,
)
