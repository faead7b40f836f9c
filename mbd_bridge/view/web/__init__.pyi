"""The public names of `mbd_bridge.view.web`, each with its module."""

from mbd_bridge.view.web.description import describe as describe
from mbd_bridge.view.web.web_view import (
    WebView as WebView,
    viewer_page as viewer_page,
    viewer_part as viewer_part,
)
