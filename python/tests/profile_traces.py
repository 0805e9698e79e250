# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small traces of a GPU as torch.profiler writes them, made by hand."""

import itertools
import json


def complete(name, category, begin, length, thread=1, **args):
    return {"ph": "X", "name": name, "cat": category, "pid": 1, "tid": thread,
            "ts": begin, "dur": length, "args": args}


class Rank:
    """The trace of a rank; times are microseconds."""

    def __init__(self, rank=0, **group):
        self.rank, self.group = rank, group
        self.events = []
        self._ids = itertools.count(1)

    def kernel(self, begin, end, launch=None, name="gemm", stream=7,
               category="kernel", call="cudaLaunchKernel", call_end=None,
               **args):
        """Work of the device, and the call that launched it, if any."""
        number = next(self._ids)
        if launch is not None:
            self.events.append(complete(
                call, "cuda_runtime", launch, (call_end or launch + 1) - launch,
                correlation=number))
        self.events.append(complete(
            name, category, begin, end - begin, stream, stream=stream,
            correlation=number, **args))
        return self

    def collective(self, kind, begin, end, launch=None, stream=20, **args):
        known = {"Process Group Name": "0", "Group size": 2,
                 "Process Group Ranks": "[0, 1]", "dtype": "Float",
                 "In msg nelems": 256, "Collective name": kind}
        return self.kernel(begin, end, launch, f"ncclDevKernel_{kind}(x)",
                           stream, **{**known, **self.group, **args})

    def copy(self, begin, end, launch=None, **args):
        return self.kernel(begin, end, launch, "Memcpy HtoD", 9, "gpu_memcpy",
                           "cudaMemcpyAsync", **args)

    def host(self, name, begin, end, category="cuda_runtime", **args):
        self.events.append(complete(name, category, begin, end - begin, **args))
        return self

    def write(self, folder, shift=0):
        """Writes the trace, with a clock that is `shift` ahead."""
        path = folder / f"{self.rank}.json"
        events = [{**e, "ts": e["ts"] + shift} for e in self.events]
        path.write_text(json.dumps({
            "distributedInfo": {"rank": self.rank}, "traceEvents": events}))
        return str(path)
