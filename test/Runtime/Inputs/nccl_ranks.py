#!/usr/bin/env python3
"""Starts a program as several ranks that share one GPU, as torchrun would.

With --standins one process does, which finds libraries in that folder instead
of CUDA's and NCCL's own. Returns the first exit code that is not zero, and ends
the other ranks then.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def make_environment(arguments, rank, folder, port):
    environment = dict(os.environ, COMMSCHED_RENDEZVOUS=f"{folder}/ranks")
    if arguments.standins:
        return dict(environment, LD_LIBRARY_PATH=arguments.standins)
    return dict(
        environment, RANK=str(rank), WORLD_SIZE=str(arguments.ranks),
        LOCAL_RANK="0",
        # Where ranks of PyTorch meet.
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
        # To NCCL each rank is a machine of its own.
        NCCL_HOSTID=f"rank{rank}", NCCL_NET="Socket",
        NCCL_SOCKET_IFNAME="lo", NCCL_PROTO="Simple")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--standins")
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return run(arguments, folder)


def run(arguments, folder):
    port = free_port()
    processes = [
        subprocess.Popen(arguments.command,
                         env=make_environment(arguments, rank, folder, port))
        for rank in range(arguments.ranks)
    ]
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
