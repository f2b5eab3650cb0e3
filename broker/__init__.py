"""Sockets in: listener, connection, dispatch, one file per API, configuration, wiring."""
