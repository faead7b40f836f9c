"""A machine in a browser: one description of a scene, and a page that shows it without a network.

`describe` makes a plain, small dictionary of what a `Take` shows: surfaces, bodies along time, and
loads as arrows. `viewer_part` makes HTML of it, for any page; `viewer_page` a whole page. A
`WebView` is a scene to save, to show in a notebook, or to serve with live sliders.
"""

from mbd_bridge.base.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
