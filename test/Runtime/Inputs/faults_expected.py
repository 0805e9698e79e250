"""What every rank must say in each scenario of commsched-faults."""

import dataclasses

CULPRIT = 1
REDUCE = ["all_reduce", "'reduce'", r"step\.mlir:5:8", "'dp'"]
TIMED_OUT = ["timed out after [0-9]+ ms"]
RANK_1 = ["rank 1"]
ANYTHING = [""]
HANG = "stuck=ncclAllGather;stuck=ncclAllReduce"
GONE = ["rank 1 (failed: its thread ended|is gone)"]


@dataclasses.dataclass
class Expected:
    # Patterns for the errors of all ranks; none: they have no error.
    errors: list = dataclasses.field(default_factory=list)
    # The same for the culprit, where they differ.
    culprit: list = None
    # The same for those after the culprit, where they differ.
    others: list = None
    vanishes: bool = False
    # The launch that flight records must show as not completed.
    pending: str = ""
    pending_on: tuple = (0, 2)
    backends: tuple = ("local", "mpi", "nccl")
    # What the stand-ins for CUDA and NCCL do, see their Settings.cpp.
    standins: str = ""

    def get_errors(self, rank):
        if rank == CULPRIT and self.culprit is not None:
            return self.culprit
        if rank > CULPRIT and self.others is not None:
            return self.others
        return self.errors


SCENARIOS = {
    "fine": Expected(),
    # Ranks that end.
    "vanishes": Expected(REDUCE + GONE, vanishes=True, pending="reduce"),
    "killed": Expected(REDUCE + GONE, vanishes=True, pending="reduce",
                       backends=("mpi",)),
    "fails": Expected(RANK_1 + ["the disk is full"], ["the disk is full"],
                      pending="reduce"),
    "vanishes-before-loading": Expected(GONE, vanishes=True),
    # It may wait for the others, and then learns what they say.
    "leaves-early": Expected(REDUCE + RANK_1, ANYTHING, pending="reduce"),
    # Ranks that are late, or never come.
    "late": Expected(REDUCE + TIMED_OUT + [
        r"rank 1 has not started it \(its last: launch 0 on group 'dp', "
        "all_gather 'gather'"], [r"rank [02]"], pending="reduce"),
    "late-at-barrier": Expected(
        ["barrier", "'meet'", r"step\.mlir:7:8", "'dp'"] + RANK_1 + TIMED_OUT,
        [r"rank [02]"], pending="meet"),
    "late-to-join": Expected(RANK_1 + TIMED_OUT, ["."]),
    "late-to-step": Expected(RANK_1 + TIMED_OUT, [r"rank [02]"]),
    # Programs that differ.
    "other-order": Expected(["'gather'", "'reduce'", "rank 0", "rank 1"]),
    "other-shape": Expected(["'gather'", r"\b256\b", r"\b257\b", "rank 0", "rank 1"]),
    "other-type": Expected(["'reduce'", "f32", "i32", "rank 0", "rank 1"]),
    "fewer-sites": Expected(["'reduce'", "rank 0", "rank 1"]),
    "other-groups": Expected(["'dp'", "'tp'", "rank 0", "rank 1"]),
    "one-cannot-load": Expected(["rank 1", "all_guess"], ["'gather'", "all_guess"]),
    # Ranks that run the same program in another way, where NCCL would hang.
    "runs-in-another-order": Expected(
        ["'gather'", "'reduce'", "'dp'", "rank [012]", "in its place"],
        standins=HANG),
    "skips-one": Expected(["'gather'", "'reduce'", "'dp'", "rank [012]"],
                          standins=HANG),
    "missing-send": Expected(
        ["recv 'take'", r"step\.mlir:11:8", "'dp'"] + RANK_1 + TIMED_OUT,
        ["rank 0"], others=["rank 0"], pending="take", pending_on=(0,)),
    # Mistakes of one rank with its own requests.
    "waits-twice": Expected(["'reduce'", r"step\.mlir:5:8"]),
    "waits-for-nothing": Expected(["12345"]),
    "forgets-to-wait": Expected(["'reduce'", r"step\.mlir:5:8"]),
    "leaves-in-flight": Expected(["'reduce'", r"step\.mlir:5:8"], ["rank"]),
    "unknown-site": Expected(["99"]),
    "meets-at-a-gather": Expected(["all_gather 'gather'", "no barrier"]),
    "starts-a-barrier": Expected(["barrier 'meet'", "commsched_barrier"]),
    "no-buffer": Expected(["'reduce'", "null"]),
    "starts-before-loading": Expected(["program"]),
    # Programs that do not fit, on all ranks alike.
    "absent-ranks": Expected(["'odd'", "rank 7", "3"]),
    "larger-group": Expected(["'odd'", "8", "3"]),
    "uneven-groups": Expected(["'odd'", "2", "3"]),
    "unknown-type": Expected(["'reduce'", "f6E3M2FN"]),
    "unknown-kind": Expected(["'reduce'", "all_guess"]),
    "no-json": Expected(["program description"]),
    "newer-version": Expected(["version", "2"]),
    # Hosts that cannot join.
    "no-backend": Expected(["'telegraph'", "'local'"]),
    "other-number-of-ranks": Expected(["5", "3"], backends=("mpi",)),
    "joins-twice": Expected(["already"]),
}
