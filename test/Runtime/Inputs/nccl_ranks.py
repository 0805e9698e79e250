#!/usr/bin/env python3
"""Starts a program as several ranks that share one GPU, as torchrun would.

Returns the first exit code that is not zero, and ends the other ranks then.
"""

import argparse
import os
import socket
import subprocess
import sys
import time


def start(command, rank, ranks, port):
    environment = dict(
        os.environ, RANK=str(rank), WORLD_SIZE=str(ranks),
        LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
        # To NCCL each rank is a machine of its own.
        NCCL_HOSTID=f"rank{rank}", NCCL_NET="Socket",
        NCCL_SOCKET_IFNAME="lo", NCCL_PROTO="Simple")
    return subprocess.Popen(command, env=environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = [start(arguments.command, rank, arguments.ranks, port)
                 for rank in range(arguments.ranks)]
    end = time.monotonic() + arguments.timeout
    codes = [None] * arguments.ranks
    while None in codes and not any(codes) and time.monotonic() < end:
        time.sleep(0.02)
        codes = [process.poll() for process in processes]
    # The others have a little while to say what they see.
    grace = time.monotonic() + 10
    while None in codes and time.monotonic() < min(grace, end):
        time.sleep(0.02)
        codes = [process.poll() for process in processes]
    for process in processes:
        process.kill()
    if None in codes:
        print(f"ranks hang: {codes}")
        return 1
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
