"""A TCP port on which a test's rank 0 can listen."""

import random
import socket


def find_free_port():
    """A port below those that systems hand out to connecting programs: one of
    these could be taken between the choice and the listening."""
    for port in random.sample(range(20000, 32000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no port is free")
