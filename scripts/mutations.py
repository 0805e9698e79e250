# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mutations of `mutate.py`: faults that the tests have to find.

A test is one of "unit PROGRAM FILTER", of the GoogleTest program
CommSchedPROGRAMTests; "lit PATH", below test/; "pytest PATH", below
python/tests/. The cheapest that has to find the fault comes first.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """`old`, which occurs once in `file`, becomes `new`. `words` say what the
    program does then; one of `tests` has to fail."""
    file: str
    old: str
    new: str
    words: str
    tests: tuple[str, ...]

    @property
    def area(self):
        """The part of the project: lib/AREA, or commsched/torch/AREA."""
        parts = self.file.split("/")
        return parts[1] if parts[0] == "lib" else parts[3]


MUTATIONS = [
    # Schedule: the model.
    Mutation(
        "lib/Schedule/Model/Problem.cpp",
        "  addDependence(start, wait, DependenceKind::Data);\n", "",
        "a wait may move above its start",
        ("unit Schedule Verify.*",)),
    Mutation(
        "lib/Schedule/Model/Verify.cpp",
        "positions[predecessor.node] > positions[node]",
        "positions[predecessor.node] > positions[node] + 1",
        "an operation may come directly before what it depends on",
        ("unit Schedule Verify.*",)),
    Mutation(
        "lib/Schedule/Model/Verify.cpp",
        "if (positions[user] < positions[producer])",
        "if (positions[user] < 0)",
        "a buffer may be used before it is made",
        ("unit Schedule Verify.*",)),
    Mutation(
        "lib/Schedule/Model/Simulator.cpp",
        "stream.last = behind[stream.last] = collective;",
        "stream.first = stream.last = collective;\n    beginFirst(id);",
        "with contention, a stream begins a collective while another one of "
        "it is in flight",
        ("unit Schedule ContendedSimulator*",)),
    Mutation(
        "lib/Schedule/Model/Simulator.cpp",
        "WideTime parts = (end - clock) * inFlight.size();",
        "WideTime parts = end - clock;",
        "collectives that share a link are as fast as each alone",
        ("unit Schedule ContendedSimulator*",)),
    Mutation(
        "lib/Schedule/Model/MemoryTimeline.cpp",
        "position == 0 || allocated > timeline.peakBytes",
        "position == 0 || live.bytes() > timeline.peakBytes",
        "the peak leaves out what an operation frees itself",
        ("unit Schedule MemoryTimeline*",)),
    Mutation(
        "lib/Schedule/Model/MovingGroup.cpp",
        "if (NodeId producer = problem.buffer(buffer).producer; "
        "producer != noNode)",
        "if (NodeId producer = problem.buffer(buffer).producer; "
        "producer < noNode)",
        "a moving collective passes the operation that makes its buffer",
        ("unit Schedule IterativeReordering*",)),
    Mutation(
        "lib/Schedule/Model/EditableSchedule.cpp",
        "if (lastPosition < place || "
        "(lastPosition >= end && lastPosition < to))",
        "if (lastPosition < place)",
        "a collective that moves down leaves the freeing of its buffers "
        "where it was",
        ("unit Schedule EditableSchedule*",)),
    # Schedule: the schedulers and their bounds.
    Mutation(
        "lib/Schedule/Step/StepConstruction.cpp",
        "if (bytes <= 0 || due <= position)",
        "if (bytes <= options.limitBytes || due <= position)",
        "the constructor's memory check is true for every collective",
        ("unit Schedule StepConstruction*",)),
    Mutation(
        "lib/Schedule/Step/StepConstruction.cpp",
        "bool exceeds = predictPeak() > options.limitBytes;",
        "bool exceeds = predictPeak() > unlimited;",
        "the constructor waits for no collective to free memory",
        ("unit Schedule StepConstruction*",)),
    Mutation(
        "lib/Schedule/Step/ListScheduling.cpp",
        "  clocks.issue(node);\n", "",
        "list scheduling takes operations without advancing the clocks",
        ("unit Schedule ListScheduling*",)),
    Mutation(
        "lib/Schedule/Cyclic/Period.cpp",
        "isSteady = period >= schedule.depth() && next == state;",
        "isSteady = period >= schedule.depth();",
        "the first period that runs all stages is taken for the steady one",
        ("unit Schedule Period*",)),
    Mutation(
        "lib/Schedule/Bounds/LowerBounds.cpp",
        "bool carriesCost = !isStart || successor.node == "
        "problem.waitOf(node);",
        "bool carriesCost = true;\n      (void)isStart;",
        "the lower bound makes what follows a start wait for its end",
        ("unit Schedule LowerBound*",)),
    Mutation(
        "lib/Schedule/Allocator/CachingAllocator.cpp",
        "    mergeWithNext(previous);\n    block = previous;\n",
        "    pool.free.insert(placeOf(previous));\n",
        "the allocator does not join a freed block with the one before it",
        ("unit Schedule CachingAllocator*",)),
    Mutation(
        "lib/Schedule/Inductor/IterativeReordering.cpp",
        "if (joins && moved.grouped < options.maxGroupSize) {",
        "if (joins) {",
        "a collective takes more operations along than its limit allows",
        ("unit Schedule IterativeReordering*",)),
    Mutation(
        "lib/Schedule/Inductor/IterativeReordering.cpp",
        "if (!options.reorderCollectives)\n      return stop(",
        "if (false)\n      return stop(",
        "a wait passes collectives with a blocking one that it takes along",
        ("unit Schedule IterativeReordering*",)),
    Mutation(
        "lib/Schedule/Inductor/Exposure.cpp",
        ": schedule.position(problem.waitOf(met)) < wait;",
        ": false;",
        "the window of a collective, seen from its wait, goes on behind others",
        ("unit Schedule Exposure*",)),
    Mutation(
        "lib/Schedule/Inductor/ListScheduler.cpp",
        "if (reorderForOverlap && problem.isCollective(node))",
        "if (reorderForOverlap && problem.kind(node) == NodeKind::Start)",
        "no computation is put behind blocking collectives",
        ("unit Schedule *ListScheduler*",)),
    Mutation(
        "lib/Schedule/Model/EditableSchedule.cpp",
        "if (allocated == memory->allocatedBytes[place] &&",
        "if (true ||",
        "the check of live bytes sees only the peak",
        ("unit Schedule EditableSchedule*",)),
    Mutation(
        "lib/Schedule/Exposure/ExposureReasons.cpp",
        "behind[wait == noNode ? node : wait];",
        "behind[wait == noNode ? node : node];",
        "what depends on a wait counts as independent of the collective",
        ("unit Schedule ExposureReasons*",)),
    Mutation(
        "lib/Schedule/Step/StepCandidates.cpp",
        "if (!memory || !timeline) {", "if (!memory || timeline) {",
        "no step takes what is constructed for a look-ahead",
        ("unit Schedule StepScheduler.IsAsShort*",)),
    Mutation(
        "lib/Schedule/Cyclic/Period.cpp",
        "record(node, interval, beginNs);",
        "record(node, interval, lastBeginNs);",
        "with contention, the period begins with the one before",
        ("unit Schedule Period*",)),
    Mutation(
        "lib/Schedule/Implementations/Implementations.cpp",
        "wholePpm = 1'000'000;", "wholePpm = 1'000'1;",
        "prices of implementations are shares of another whole",
        ("unit Schedule Implementations.*",)),
    # Schedule: merging and splitting.
    Mutation(
        "lib/Schedule/Bucketing/BucketKeys.cpp",
        "keys[node] = std::max(keys[node], std::min(key, limits[node]));",
        "keys[node] = std::max(keys[node], key);",
        "what follows a merged wait moves down past its own users",
        ("unit Schedule Bucket*",)),
    Mutation(
        "lib/Schedule/Bucketing/BucketedProblem.cpp",
        "    merged.addUse(packed, bucket.wait);\n", "",
        "the buffer of a bucket is freed while its collective is in flight",
        ("unit Schedule Bucket*",)),
    Mutation(
        "lib/Schedule/Graphs/ConvexSets.cpp",
        "level = std::max(level, levels[from] + leaves);",
        "level = std::max(level, levels[from] + (leaves ? 0 : 0));",
        "a region may be entered again after a path has left it",
        ("unit Schedule ConvexSets*",)),
    Mutation(
        "lib/Schedule/Graphs/ContractedGraph.cpp",
        "labels[before] >= begin", "labels[before] > begin",
        "the range that makes room in an order leaves out its first node",
        ("unit Schedule LinkedOrder*",)),
    Mutation(
        "lib/Schedule/Graphs/ContractedGraph.cpp",
        "          merge(problem->waitOf(startA), problem->waitOf(startB)))\n"
        "    return path;\n",
        "          merge(problem->waitOf(startA), problem->waitOf(startB)))\n"
        "    return std::nullopt;\n",
        "collectives are merged although a path joins their waits",
        ("unit Schedule ContractedGraph*",)),
    Mutation(
        "lib/Schedule/Splitting/SplitBuffers.cpp",
        "      wholeBuffers.push_back(firsts[whole.source]);\n"
        "      continue;\n",
        "      wholeBuffers.push_back(firsts[whole.source]);\n",
        "a whole that chunks are written into is allocated a second time",
        ("unit Schedule SplitProblem*",)),
    Mutation(
        "lib/Schedule/Splitting/SplitPipelines.cpp",
        "        ++section;\n", "",
        "a region stays one section where all chunks are needed",
        ("unit Schedule SplitProblem*",)),
    # What collectives cost, and what a step saves.
    Mutation(
        "lib/CostModel/CollectiveCost.cpp",
        "    return *measured;\n  return estimate(query).timeNs;",
        "    return *measured;\n  return 0;",
        "every collective costs nothing",
        ("unit CostModel CollectiveCost*",)),
    Mutation(
        "lib/CostModel/NcclModel.cpp",
        "double us = group.extraTime(algorithm, protocol, bytes) +\n",
        "double us =\n",
        "NCCL's work beside the algorithm costs nothing",
        ("unit CostModel NcclModel*",)),
    Mutation(
        "lib/Partition/Split.cpp",
        "hasBackwardEffect[node] |= hasBackwardEffect[operand];\n", "",
        "a collective that the backward starts is not waited for",
        ("unit Partition Split*",)),
    Mutation(
        "lib/Partition/MinCut.cpp",
        "  if (data.operatorClass == OperatorClass::Random)\n"
        "    return BanReason::Random;\n", "",
        "random numbers may be drawn again in the backward",
        ("unit Partition *Bans*",)),
    Mutation(
        "lib/Partition/Classification.cpp",
        "graph[node].policy == RecomputePolicy::PreferRecompute ||\n", "",
        "a preference to compute again leaves the default as it is",
        ("lit Transforms/Joint/partition-joint-marked.mlir",)),
    # Analysis.
    Mutation(
        "lib/Analysis/Joint/JointFunction.cpp",
        "JointNodeKind::BackwardSeed", "JointNodeKind::Primal",
        "the forward takes the random states of the backward",
        ("lit Transforms/Joint/partition-joint-seeds.mlir",
         "lit Transforms/Joint/partition-joint-invalid.mlir")),
    Mutation(
        "lib/Analysis/Problem/Dependences.cpp",
        "  for (NodeId reader : last.readers)\n    depend(reader, node);\n",
        "",
        "a write does not stay behind the reads before it",
        ("lit Analysis/dependences.mlir",)),
    Mutation(
        "lib/Analysis/Problem/Dependences.cpp",
        "  if (auto wait = dyn_cast<WaitOpInterface>(op))\n"
        "    collective = dyn_cast_if_present<CollectiveOpInterface>"
        "(wait.getStart());\n", "",
        "a collective stops writing its destinations before its wait",
        ("lit Analysis/dependences.mlir",)),
    Mutation(
        "lib/Analysis/Problem/BlockProblem.cpp",
        "if (op->getNumRegions() == 0)",
        "if (op->getNumRegions() <= 4)",
        "an operation does not depend on what its regions use",
        ("lit Analysis/dependences.mlir",)),
    Mutation(
        "lib/Analysis/Problem/StorageAnalysis.cpp",
        "    for (Value operand : block.getTerminator()->getOperands())\n"
        "      keep(operand);\n",
        "    (void)block.getTerminator();\n",
        "results of a function are freed after their last use",
        ("lit Analysis/peak-memory.mlir",)),
    Mutation(
        "lib/Analysis/Costs/RegionRuns.cpp",
        "    } else if (!chosen || cost.timeNs > dearest.timeNs) {\n",
        "    } else {\n",
        "a branch costs what its last alternative does",
        ("lit Analysis/costs-regions.mlir",)),
    Mutation(
        "lib/Analysis/Costs/GroupContention.cpp",
        "apart < a.getBlock() && apart < b.getBlock()",
        "apart < a.getBlock() || apart < b.getBlock()",
        "groups that share one rank are taken to exclude each other",
        ("unit Analysis GroupContention*",)),
    Mutation(
        "lib/Analysis/Fsdp/EqualGathers.cpp",
        "  if (earlier.writer || later.writer)\n"
        "    return earlier.writer ? earlier.writer : later.writer;\n", "",
        "gathers are equal although one result is written in place",
        ("lit Transforms/Fsdp/deduplicate-gathers-kept.mlir",)),
    # Transforms.
    Mutation(
        "lib/Transforms/MoveCollectives.cpp",
        "if (after <= before)", "if (after >= before)",
        "a pass that never makes a step longer does",
        ("lit Transforms/reorder-comms-never-longer.mlir",)),
    Mutation(
        "lib/Transforms/Inductor/OrderCollectives.cpp",
        "    last = op;\n", "",
        "collectives may contradict the order that is fixed for them",
        ("lit Transforms/order-contradicted.mlir",)),
    Mutation(
        "lib/Analysis/Bucketing/Mergeability.cpp",
        "      if (writes(user, view) && runsBetween(user))\n"
        "        return true;\n",
        "      if (writes(user, view) && runsBetween(user) && !user)\n"
        "        return true;\n",
        "a copy-in takes over a cast although its operand is written between",
        ("lit Transforms/Bucketing/merge-casts-and-writes.mlir",)),
    Mutation(
        "lib/Transforms/Bucketing/DeduplicateGathers.cpp",
        "return ancestor && !ancestor->hasTrait<OpTrait::IsTerminator>();",
        "return ancestor != nullptr;",
        "what only prepared a dropped gather is removed although the "
        "function returns it",
        ("lit Transforms/Fsdp/deduplicate-gathers.mlir",
         "lit Transforms/Fsdp/deduplicate-gathers-kept.mlir")),
    Mutation(
        "lib/Transforms/Inductor/EnforceFsdpOrder.cpp",
        "return end.node < copyIn && !members.contains(end.node) && "
        "!goesElsewhere;",
        "(void)goesElsewhere;\n    return false;",
        "a gather's group takes in what another operation needs before",
        ("lit Transforms/Fsdp/fsdp-order-members.mlir",)),
    Mutation(
        "lib/Transforms/Schedule/PricedBlock.cpp",
        "  result.numCollectives -= countTransfers(problem);\n",
        "  (void)countTransfers;\n",
        "transfers to the host count as collectives",
        ("lit Transforms/Schedule/transfers.mlir",)),
    Mutation(
        "lib/Transforms/Joint/SavedValues.cpp",
        "  llvm::sort(proposal.saved);\n", "",
        "a value that a proposal saves twice is found only beside itself",
        ("lit Transforms/Joint/sync-partition-invalid.test",
         "lit Transforms/Joint/sync-partition.test")),
    Mutation(
        "lib/Analysis/Cyclic/StepLoop.cpp",
        "carriedResults.push_back(*result);",
        "carriedResults.push_back(index);",
        "a repetition takes the result with the number of its argument",
        ("lit Transforms/SteadyState/steady-state.mlir",)),
    # Conversion.
    Mutation(
        "lib/Conversion/CommSchedToRuntime/LowerCollectives.cpp",
        "launch.inputs.push_back(pack(input, op.getDim(), parts));",
        "launch.inputs.push_back(input);",
        "a reduce-scatter along an inner dimension sends unpacked chunks",
        ("lit Conversion/CommSchedToRuntime/requests.mlir",)),
    Mutation(
        "lib/Conversion/RuntimeToCalls/PackRequestBuffers.cpp",
        "return user == hold || user->isBeforeInBlock(hold);",
        "return user != nullptr;",
        "the runtime frees a buffer that the program still uses",
        ("lit Conversion/CommSchedToRuntime/carried-futures.mlir",)),
    Mutation(
        "lib/Conversion/ShardToCommSched/ShardToCommSched.cpp",
        "    if (step != span)\n      return std::nullopt;\n",
        "    (void)step;\n",
        "groups along axes that are no neighbours get a wrong stride",
        ("lit Conversion/ShardToCommSched/group-members.test",)),
    Mutation(
        "lib/Conversion/StableHloToCommSched/ReadGroups.cpp",
        "    if (failed(context.groups.verifyComplete(op, **group)))\n"
        "      return Reading::Failed;\n",
        "",
        "groups may leave out devices",
        ("lit Conversion/StableHloToCommSched/invalid.mlir",)),
    Mutation(
        "lib/Conversion/CommSchedToStableHlo/Groups.cpp",
        "first < block + stride", "first < block + 1",
        "of groups with a stride only the first is written",
        ("lit Conversion/CommSchedToStableHlo/groups.mlir",)),
    # Rewriting.
    Mutation(
        "python/commsched/torch/rewriting/dependences.py",
        "            for reader in reads.pop(key, ()):\n"
        "                found.add(node, reader)\n", "",
        "a write does not stay behind the reads before it",
        ("pytest test_apply_dependences.py",)),
    Mutation(
        "python/commsched/torch/rewriting/dependences.py",
        "        if is_start(node) or (\n", "        if is_start(node) and (\n",
        "communication crosses a collective of which nothing is known",
        ("pytest test_apply_dependences.py",)),
    Mutation(
        "python/commsched/torch/rewriting/dependences.py",
        "            yield from start.all_input_nodes\n",
        "            yield start\n",
        "what a collective sends may be written before its wait",
        ("pytest test_apply_order.py",)),
    Mutation(
        "python/commsched/torch/rewriting/verify.py",
        "        if was != now:\n            names",
        "        if len(was) != len(now):\n            names",
        "memory may have been written by another operation than before",
        ("pytest test_apply_faults.py",)),
    Mutation(
        "python/commsched/torch/rewriting/buckets.py",
        "if identify(arguments[key]) != identify(found[0][key]):",
        "if key != \"group_name\" and arguments[key] != found[0][key]:",
        "collectives of different groups are merged",
        ("pytest test_apply_faults.py",)),
    Mutation(
        "python/commsched/torch/rewriting/quantize.py",
        "value = emit(_aten.div.Tensor, value, scale_input)",
        "value = emit(_aten.mul.Tensor, value, scale_input)",
        "values in 8 bits are multiplied by their scale instead of divided",
        ("pytest test_torch_quantize.py::test_numbers_are_within_their_bound",)),
    # Compiling.
    Mutation(
        "python/commsched/torch/compiling/confirmation.py",
        "while self._job.add(base + \"count\", 0) < size:",
        "while self._job.add(base + \"count\", 0) < size - 1:",
        "one rank is forgotten when all have to confirm a plan",
        ("pytest test_agreement_store.py",)),
    Mutation(
        "python/commsched/torch/compiling/agreement.py",
        "if decided[\"order\"] == own.entry[\"order\"]:",
        "if True:",
        "a rank keeps its own plan although another launches otherwise",
        ("pytest test_agreement_store.py",)),
    Mutation(
        "python/commsched/torch/compiling/reshard.py",
        "if node.op != \"call_function\" or \"recompute\" in node.meta:",
        "if node.op != \"call_function\":",
        "marks of activation checkpointing are overwritten",
        ("pytest test_torch_reshard.py::test_marks_of_checkpointing_stay",)),
    Mutation(
        "python/commsched/torch/compiling/memory.py",
        "if total is None or least <= total - reserved:",
        "if total is None or least <= total:",
        "a graph may take the bytes that are reserved",
        ("pytest test_torch_device_memory.py::"
         "test_what_does_not_fit_is_said",)),
]

#: Changes that are no faults: file, change, why no test can find it.
EQUIVALENT = [
    ("lib/Schedule/Splitting/SplitPipelines.cpp",
     "a region's first section is 1 instead of 0",
     "sections are only compared within one region, and all of them are one "
     "higher"),
    ("lib/Schedule/Bucketing/BucketKeys.cpp",
     "`bucket <= 0` for `bucket < 0` in `findBounds`",
     "the bound of the first bucket's copy-in is set, which nothing reads, "
     "since no operation of the program before merging becomes a copy-in"),
]

#: What `mutate.py --random` has shown, for the page.
RANDOM = """\
`scripts/mutate.py --random 100 --seed 1` drew 100 mutations of one token from
17,000 places on 2026-11-27. 43 were tried: the 31 in `Schedule`, `Partition` and
`CostModel`, by unit tests alone, and 12 in `rewriting`. Of `--random 60 --seed 50`,
on 2026-11-29, the 34 in `Transforms`, `Conversion` and `Analysis` were, built into
one program. Of these 77 three do not compile, tests found 52, and 22 were not found:

- Nine changed results; tests were added. In the table: what is constructed for a
  look-ahead, the period under contention, prices of implementations, a collective
  of which nothing is known. Besides: pairs and channels in StableHLO, loops with
  four iterations in progress, transpositions of `linalg`, and a number in a remark.
- Eight are equal: a second check in `scheduleCyclic`, a unit of two bytes in
  `MemoryBudget.cpp`, `>=` of numbers that differ in `ExposureReasons.cpp`, `<=` of
  equal values in `IterativeReordering.cpp`, placeholders in `history.py`, which read
  nothing, the version of plans, which the same constant writes and reads, a dimension
  that `Launches.cpp` does not read, and a check in `SavedValues.cpp` that is gone.
- Four change how a search goes on: the limits of `scheduleCyclic` (of 2,200 answers
  for random loops four became shorter, none longer), a look-ahead in
  `StepCandidates.cpp`, a limit of `MergingSketch.cpp`, an order in `MemoryPlan.cpp`.
- One reads behind a vector in `BucketedProblem.cpp`. A test makes it do so; what is
  there happens to lead to the same error.
"""
