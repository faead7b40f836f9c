"""What a user holds and calls; the names are in `mbd_bridge`."""
