//===- commsched-c/Schedule.h - C interface of the scheduler ------*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scheduler without MLIR: a problem in, an order and its times out. The
// library is libCommSchedC; neither it nor this header needs MLIR or LLVM.
//
// A problem has operations (nodes), dependences between them, and buffers.
// Nodes and buffers are numbered from 0 as they are added; the numbers of
// the nodes are also the order of the program. Times are in nanoseconds,
// sizes in bytes.
//
// Errors. A function that can fail returns a CommSchedStatus. Its parameter
// `error` may be NULL; otherwise it receives NULL on success, and on failure
// a text that the caller releases with commschedErrorDestroy() (or NULL if
// there was no memory for it). What a function returns through pointers is
// written on success only. No function throws, and no argument makes one
// crash, except a pointer that is neither NULL nor valid.
//
// Threads. Functions that take a `const CommSchedProblem *` may run at once
// on one problem in several threads. Functions that change an object must
// not run at the same time as another function on that object.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_C_SCHEDULE_H
#define COMMSCHED_C_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define COMMSCHED_C_EXPORTED
#else
#define COMMSCHED_C_EXPORTED __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The limit in bytes that nothing exceeds.
#define COMMSCHED_UNLIMITED INT64_MAX
/// No node: the producer of a buffer that is live from the start.
#define COMMSCHED_NO_NODE (-1)
/// No stream: of a node that is not a collective.
#define COMMSCHED_NO_STREAM (-1)

typedef enum CommSchedStatus {
  COMMSCHED_SUCCESS = 0,
  /// An argument is NULL or out of its range.
  COMMSCHED_INVALID_ARGUMENT = 1,
  /// The problem is not finalized, or finalizing it has found an error.
  COMMSCHED_INVALID_PROBLEM = 2,
  /// An order lacks nodes, repeats nodes, or violates a dependence.
  COMMSCHED_INVALID_ORDER = 3,
  /// Memory could not be allocated.
  COMMSCHED_OUT_OF_MEMORY = 4,
  /// The verification of a result failed: a mistake in this library.
  COMMSCHED_INTERNAL_ERROR = 5
} CommSchedStatus;

/// What a node is. Functions take it as an int, so that any value is defined.
typedef enum CommSchedNodeKind {
  /// Runs on the compute stream.
  COMMSCHED_COMPUTE = 0,
  /// Starts a collective on its stream; the compute stream continues.
  COMMSCHED_START = 1,
  /// Holds the compute stream until the collective of its start has ended.
  COMMSCHED_WAIT = 2,
  /// A collective that holds the compute stream and its own until it ends.
  COMMSCHED_BLOCKING = 3
} CommSchedNodeKind;

/// Why one node has to come after another. Texts of errors name it.
typedef enum CommSchedDependenceKind {
  /// It reads a result of the other.
  COMMSCHED_DATA = 0,
  /// Both access the same memory, and at least one writes it.
  COMMSCHED_MEMORY = 1,
  /// Both are collectives whose relative order is kept.
  COMMSCHED_ORDER = 2,
  /// One of them may communicate in an unknown way.
  COMMSCHED_BARRIER = 3,
  /// The other, a start, is on a stream that this one, a compute with
  /// collectives inside, uses: it begins when that collective has ended.
  COMMSCHED_STREAM = 4
} CommSchedDependenceKind;

/// The kind of candidate that a schedule was chosen from.
typedef enum CommSchedOrigin {
  /// The order of the program.
  COMMSCHED_ORIGIN_PROGRAM = 0,
  /// Starts as early and waits as late as possible.
  COMMSCHED_ORIGIN_SIMPLE_OVERLAP = 1,
  /// An order that the scheduler constructed and improved.
  COMMSCHED_ORIGIN_CONSTRUCTED = 2,
  /// The order that needs the least memory: all others exceed the limit.
  COMMSCHED_ORIGIN_LEAST_MEMORY = 3
} CommSchedOrigin;

/// A scheduling problem.
typedef struct CommSchedProblem CommSchedProblem;
/// How to schedule and simulate.
typedef struct CommSchedOptions CommSchedOptions;
/// A legal order with its times and its memory.
typedef struct CommSchedResult CommSchedResult;

/// The version of the library, such as "0.1.0". Static storage.
COMMSCHED_C_EXPORTED const char *commschedGetVersion(void);

/// Releases the text of an error. NULL is allowed.
COMMSCHED_C_EXPORTED void commschedErrorDestroy(char *error);

//===----------------------------------------------------------------------===//
// Problems
//
// The functions that add return the index of what they have added, or -1 if
// the problem is NULL or memory is exhausted. They check nothing else:
// commschedProblemFinalize() checks everything. An addition reopens a problem
// that was finalized.
//===----------------------------------------------------------------------===//

/// Returns an empty problem, or NULL if there is no memory for it.
COMMSCHED_C_EXPORTED CommSchedProblem *commschedProblemCreate(void);

/// Releases a problem. NULL is allowed.
COMMSCHED_C_EXPORTED void commschedProblemDestroy(CommSchedProblem *problem);

/// Adds a node at the end of the program. `kind` is a CommSchedNodeKind other
/// than COMMSCHED_WAIT; `costNs` is its duration; `stream` is the stream of a
/// start or a blocking collective, one per process group and numbered from 0,
/// or COMMSCHED_NO_STREAM for a computation.
COMMSCHED_C_EXPORTED int32_t commschedProblemAddNode(CommSchedProblem *problem,
                                                     int kind, int64_t costNs,
                                                     int32_t stream);

/// Adds the one wait of `start` at the end of the program, and the dependence
/// between the two.
///
/// A collective reads and writes its operands until it is waited for, so the
/// caller adds the wait as a user of every buffer that the start uses.
COMMSCHED_C_EXPORTED int32_t commschedProblemAddWait(CommSchedProblem *problem,
                                                     int32_t start);

/// Requires that `to` runs after `from`. `kind` is a CommSchedDependenceKind.
/// Several dependences of one pair are allowed. Returns 0, or -1 as above.
COMMSCHED_C_EXPORTED int32_t commschedProblemAddDependence(
    CommSchedProblem *problem, int32_t from, int32_t to, int kind);

/// Adds storage. `producer`: the node that allocates it, or COMMSCHED_NO_NODE
/// if it is live from the start. `isFreed`: not 0 if its last user frees it; 0
/// if it stays to the end.
COMMSCHED_C_EXPORTED int32_t commschedProblemAddBuffer(
    CommSchedProblem *problem, int64_t bytes, int32_t producer, int isFreed);

/// Adds `node` as a user of `buffer`. The producer need not be added. Returns
/// 0, or -1 as above.
COMMSCHED_C_EXPORTED int32_t commschedProblemAddUse(CommSchedProblem *problem,
                                                    int32_t buffer,
                                                    int32_t node);

/// Marks `node` as one of the large computations that hide communication.
/// Returns 0, or -1 as above.
COMMSCHED_C_EXPORTED int32_t
commschedProblemSetExpensive(CommSchedProblem *problem, int32_t node);

/// Adds `count` nodes at once. `kinds`, `costsNs` and `streams` have `count`
/// elements each. `starts` has the start of each wait, and is not read for
/// other nodes; it may be NULL if there is no wait. The cost of a wait has to
/// be 0 and its stream COMMSCHED_NO_STREAM. Errors: COMMSCHED_INVALID_ARGUMENT,
/// which adds nothing; COMMSCHED_OUT_OF_MEMORY, after which a part may be
/// there.
COMMSCHED_C_EXPORTED CommSchedStatus commschedProblemAddNodes(
    CommSchedProblem *problem, size_t count, const uint8_t *kinds,
    const int64_t *costsNs, const int32_t *streams, const int32_t *starts,
    char **error);

/// Adds `count` dependences at once. `kinds` may be NULL: all are
/// COMMSCHED_DATA. The dependence of a wait on its start is there already.
/// Errors as above.
COMMSCHED_C_EXPORTED CommSchedStatus commschedProblemAddDependences(
    CommSchedProblem *problem, size_t count, const int32_t *from,
    const int32_t *to, const uint8_t *kinds, char **error);

/// Adds `count` buffers at once. `isFreed` may be NULL: all are freed. Errors
/// as above.
COMMSCHED_C_EXPORTED CommSchedStatus commschedProblemAddBuffers(
    CommSchedProblem *problem, size_t count, const int64_t *bytes,
    const int32_t *producers, const uint8_t *isFreed, char **error);

/// Adds `count` uses at once: nodes[i] uses buffers[i]. Errors as above.
COMMSCHED_C_EXPORTED CommSchedStatus commschedProblemAddUses(
    CommSchedProblem *problem, size_t count, const int32_t *buffers,
    const int32_t *nodes, char **error);

/// Checks a problem and closes it. COMMSCHED_INVALID_PROBLEM with a text that
/// names the node or the buffer: an index is out of range, a kind is unknown, a
/// cost or a size is negative or their sum does not fit 64 bits, a start does
/// not have exactly one wait, the dependences have a cycle, and so on.
COMMSCHED_C_EXPORTED CommSchedStatus
commschedProblemFinalize(CommSchedProblem *problem, char **error);

/// The number of nodes; 0 for NULL.
COMMSCHED_C_EXPORTED int32_t
commschedProblemGetNumNodes(const CommSchedProblem *problem);

/// The number of buffers; 0 for NULL.
COMMSCHED_C_EXPORTED int32_t
commschedProblemGetNumBuffers(const CommSchedProblem *problem);

//===----------------------------------------------------------------------===//
// Options
//
// Where a function takes options, NULL stands for the defaults. Values are
// checked where the options are used. The setters return 0, or -1 if the
// options are NULL or memory is exhausted.
//===----------------------------------------------------------------------===//

/// Returns the defaults, or NULL if there is no memory for them.
COMMSCHED_C_EXPORTED CommSchedOptions *commschedOptionsCreate(void);

/// Releases options. NULL is allowed.
COMMSCHED_C_EXPORTED void commschedOptionsDestroy(CommSchedOptions *options);

/// The live bytes that a schedule should not exceed. Default:
/// COMMSCHED_UNLIMITED.
COMMSCHED_C_EXPORTED int
commschedOptionsSetMemoryLimit(CommSchedOptions *options, int64_t bytes);

/// Reads a number of bytes, such as "68719476736", "4.5GiB" or "640MB", as the
/// options of the passes do. The units are B, the powers of 1000 KB, MB, GB and
/// TB, and the powers of 1024 KiB, MiB, GiB and TiB. Errors:
/// COMMSCHED_INVALID_ARGUMENT, with a text that goes on after what the number
/// is called: "must not be negative, but is '-5'".
COMMSCHED_C_EXPORTED CommSchedStatus commschedParseBytes(const char *text,
                                                         int64_t *bytes,
                                                         char **error);

/// Reads a memory budget, the bytes that a program may take whose peak is
/// `peakBytes`: a number of bytes as above, or a percentage over that peak,
/// such as "5%". Errors likewise.
COMMSCHED_C_EXPORTED CommSchedStatus commschedParseMemoryBudget(
    const char *text, int64_t peakBytes, int64_t *bytes, char **error);

/// By how many percent longer than their costs collectives are taken to be,
/// where that makes the step longer by no more than a thousandth. Default: 40.
COMMSCHED_C_EXPORTED int
commschedOptionsSetSlackPercent(CommSchedOptions *options, int32_t percent);

/// How many nodes the simulations of the improvement phase may run through
/// together. Default: 4194304.
COMMSCHED_C_EXPORTED int commschedOptionsSetEffort(CommSchedOptions *options,
                                                   int64_t nodes);

/// No collective of one of the two streams runs together with one of the other.
COMMSCHED_C_EXPORTED int
commschedOptionsAddExclusiveStreams(CommSchedOptions *options, int32_t stream,
                                    int32_t otherStream);

/// The link that the collectives of each stream travel over, or -1 for one of
/// its own; `count` has to be the number of streams of the problem. Collectives
/// that are on one link at once share its speed. Default: no link is shared.
COMMSCHED_C_EXPORTED int commschedOptionsSetLinks(CommSchedOptions *options,
                                                  size_t count,
                                                  const int32_t *links);

/// By how many millionths of its own time a computation takes longer while a
/// collective is in flight. Default: 0.
COMMSCHED_C_EXPORTED int
commschedOptionsSetComputeSlowdown(CommSchedOptions *options,
                                   int64_t partsPerMillion);

//===----------------------------------------------------------------------===//
// Scheduling and simulation
//===----------------------------------------------------------------------===//

/// Schedules a finalized problem: of the candidates within the memory limit
/// the one with the shortest step; if none is within the limit, the one that
/// needs the least memory (compare commschedResultGetPeakBytes() with the
/// limit). The order is verified. The result is the caller's, who releases it
/// with commschedResultDestroy().
///
/// Equal problems and options have equal results, on every machine. Errors:
/// COMMSCHED_INVALID_ARGUMENT, COMMSCHED_INVALID_PROBLEM (also if the program
/// is itself no legal order), COMMSCHED_OUT_OF_MEMORY,
/// COMMSCHED_INTERNAL_ERROR.
COMMSCHED_C_EXPORTED CommSchedStatus commschedSchedule(
    const CommSchedProblem *problem, const CommSchedOptions *options,
    CommSchedResult **result, char **error);

/// Verifies and simulates an order of a finalized problem: position -> node.
/// `order` may be NULL with a `count` of 0: the order of the program. Of
/// `options` only exclusive streams, links and the slowdown matter. Errors: as
/// above, and COMMSCHED_INVALID_ORDER with a text that names the nodes and
/// positions.
COMMSCHED_C_EXPORTED CommSchedStatus commschedSimulate(
    const CommSchedProblem *problem, const CommSchedOptions *options,
    const int32_t *order, size_t count, CommSchedResult **result, char **error);

/// Computes a time that no order of a finalized problem falls below: the
/// longest of all computation, the collectives of the busiest stream, and the
/// longest chain of dependences. Linear time.
COMMSCHED_C_EXPORTED CommSchedStatus commschedComputeLowerBound(
    const CommSchedProblem *problem, int64_t *boundNs, char **error);

/// The same, at least as large, from how long each node has to come after the
/// beginning and before the end of the step. Takes longer.
COMMSCHED_C_EXPORTED CommSchedStatus commschedComputeTightLowerBound(
    const CommSchedProblem *problem, int64_t *boundNs, char **error);

//===----------------------------------------------------------------------===//
// Results
//
// The arrays belong to the result. All functions return 0 or NULL for NULL;
// the arrays may be NULL if the problem has no nodes, too.
//===----------------------------------------------------------------------===//

/// Releases a result. NULL is allowed.
COMMSCHED_C_EXPORTED void commschedResultDestroy(CommSchedResult *result);

/// The number of nodes: the size of all arrays.
COMMSCHED_C_EXPORTED int32_t
commschedResultGetNumNodes(const CommSchedResult *result);

/// Position -> node.
COMMSCHED_C_EXPORTED const int32_t *
commschedResultGetOrder(const CommSchedResult *result);

/// The time of the whole step.
COMMSCHED_C_EXPORTED int64_t
commschedResultGetStepNs(const CommSchedResult *result);

/// The sum of the costs of all computations.
COMMSCHED_C_EXPORTED int64_t
commschedResultGetComputeNs(const CommSchedResult *result);

/// The sum of the costs of all collectives.
COMMSCHED_C_EXPORTED int64_t
commschedResultGetCommNs(const CommSchedResult *result);

/// The time of the step beyond its computation.
COMMSCHED_C_EXPORTED int64_t
commschedResultGetExposedCommNs(const CommSchedResult *result);

/// The most bytes that are live at once.
COMMSCHED_C_EXPORTED int64_t
commschedResultGetPeakBytes(const CommSchedResult *result);

/// Where the order comes from; COMMSCHED_ORIGIN_PROGRAM for a simulation.
COMMSCHED_C_EXPORTED CommSchedOrigin
commschedResultGetOrigin(const CommSchedResult *result);

/// By node: when it begins. Of a start: when the collective begins on its
/// stream. Of a wait: when the compute stream reaches it.
COMMSCHED_C_EXPORTED const int64_t *
commschedResultGetBeginNs(const CommSchedResult *result);

/// By node: when it ends. Of a start: when the collective ends on its stream.
/// Of a wait: when the compute stream continues.
COMMSCHED_C_EXPORTED const int64_t *
commschedResultGetEndNs(const CommSchedResult *result);

/// By node: how long it stalls the compute stream. The stall of a wait is
/// stored for its start, too. 0 for a computation.
COMMSCHED_C_EXPORTED const int64_t *
commschedResultGetExposedNs(const CommSchedResult *result);

/// The start of a wait, and the wait of a start; COMMSCHED_NO_NODE for other
/// nodes, for an index out of range, and before the problem is finalized.
COMMSCHED_C_EXPORTED int32_t
commschedProblemGetPartner(const CommSchedProblem *problem, int32_t node);

#ifdef __cplusplus
}
#endif

#endif // COMMSCHED_C_SCHEDULE_H
