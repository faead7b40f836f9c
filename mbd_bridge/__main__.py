"""``python -m mbd_bridge``: the command line."""

import sys

from mbd_bridge.cli import main

sys.exit(main())
