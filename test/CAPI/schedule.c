//===- schedule.c - Test of the C interface of the scheduler --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: commsched-capi-schedule-test 2>&1 | FileCheck %s
//===----------------------------------------------------------------------===//

#include "commsched-c/Schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Evaluates `call`, which uses `&error`; prints its status and its text.
#define REPORT(what, call)                                                     \
  do {                                                                         \
    char *error = NULL;                                                        \
    int status = (int)(call);                                                  \
    printf("%s: %d %s\n", what, status, error ? error : "-");                  \
    commschedErrorDestroy(error);                                              \
  } while (0)

    /// One gather of 100 ns in front of two computations of 60 ns each, of
    /// which the second reads it.
    static CommSchedProblem *makeStep(void) {
  CommSchedProblem *problem = commschedProblemCreate();
  int32_t first = commschedProblemAddNode(problem, COMMSCHED_COMPUTE, 60, -1);
  int32_t start = commschedProblemAddNode(problem, COMMSCHED_START, 100, 0);
  int32_t wait = commschedProblemAddWait(problem, start);
  int32_t second = commschedProblemAddNode(problem, COMMSCHED_COMPUTE, 60, -1);
  commschedProblemAddDependence(problem, wait, second, COMMSCHED_DATA);
  commschedProblemSetExpensive(problem, first);
  int32_t shard = commschedProblemAddBuffer(problem, 8, COMMSCHED_NO_NODE, 0);
  commschedProblemAddUse(problem, shard, start);
  commschedProblemAddUse(problem, shard, wait);
  int32_t whole = commschedProblemAddBuffer(problem, 64, start, 1);
  commschedProblemAddUse(problem, whole, wait);
  commschedProblemAddUse(problem, whole, second);
  return problem;
}

static void printResult(const CommSchedResult *result) {
  printf("step %lld compute %lld comm %lld exposed %lld peak %lld origin %d\n",
         (long long)commschedResultGetStepNs(result),
         (long long)commschedResultGetComputeNs(result),
         (long long)commschedResultGetCommNs(result),
         (long long)commschedResultGetExposedCommNs(result),
         (long long)commschedResultGetPeakBytes(result),
         (int)commschedResultGetOrigin(result));
}

/// Orders that are none. Legal ones, from either kind of function, are compared
/// with the C++ interface in unittests/CAPI.
static void testOrders(void) {
  CommSchedProblem *problem = makeStep();
  commschedProblemFinalize(problem, NULL);
  printf("%d nodes, %d buffers, partners %d %d %d %d\n",
         (int)commschedProblemGetNumNodes(problem),
         (int)commschedProblemGetNumBuffers(problem),
         (int)commschedProblemGetPartner(problem, 0),
         (int)commschedProblemGetPartner(problem, 1),
         (int)commschedProblemGetPartner(problem, 2),
         (int)commschedProblemGetPartner(problem, 9));
  // CHECK: 4 nodes, 2 buffers, partners -1 2 1 -1
  CommSchedResult *result = NULL;
  int32_t illegal[] = {1, 0, 3, 2};
  REPORT("short",
         commschedSimulate(problem, NULL, illegal, 3, &result, &error));
  // CHECK-NEXT: short: 3 the order has 3 entries for a problem of 4 nodes
  commschedProblemDestroy(problem);
}

static void testArrays(void) {
  const uint8_t kinds[] = {0, 1, 2, 0};
  const int64_t costs[] = {60, 100, 0, 60};
  const int32_t streams[] = {-1, 0, -1, -1};
  const int32_t starts[] = {-1, -1, 1, -1};
  CommSchedProblem *problem = commschedProblemCreate();
  REPORT("nodes", commschedProblemAddNodes(problem, 4, kinds, costs, streams,
                                           NULL, &error));
  // CHECK: nodes: 1 there are waits, but the array of starts is NULL
  REPORT("nodes", commschedProblemAddNodes(problem, 4, kinds, NULL, streams,
                                           starts, &error));
  // CHECK-NEXT: nodes: 1 an array that is needed is NULL
  REPORT("nodes", commschedProblemAddNodes(problem, SIZE_MAX, kinds, costs,
                                           streams, starts, &error));
  // CHECK-NEXT: nodes: 1 there are 18446744073709551615 elements, more than an index can name
  commschedProblemDestroy(problem);
}

/// Makes one wrong addition to a problem, and finalizes it.
#define MISTAKE(addition)                                                      \
  do {                                                                         \
    CommSchedProblem *problem = makeStep();                                    \
    CommSchedResult *result = NULL;                                            \
    addition;                                                                  \
    REPORT("mistake", commschedProblemFinalize(problem, &error));              \
    if (commschedSchedule(problem, NULL, &result, NULL) !=                     \
            COMMSCHED_INVALID_PROBLEM ||                                       \
        result)                                                                \
      printf("scheduled in spite of this\n");                                  \
    commschedProblemDestroy(problem);                                          \
  } while (0)

/// What only this interface can be given; unittests/Schedule has the errors of
/// problems.
static void testMistakes(void) {
  MISTAKE(commschedProblemAddNode(problem, 7, 1, -1));
  MISTAKE(commschedProblemAddNode(problem, -1, 1, -1));
  MISTAKE(commschedProblemAddNode(problem, COMMSCHED_WAIT, 0, -1));
  MISTAKE(commschedProblemAddNode(problem, COMMSCHED_WAIT, 3, -1));
  MISTAKE(commschedProblemAddDependence(problem, 0, 3, 5));
  MISTAKE(commschedProblemAddUse(problem, 0, 99));
  MISTAKE(commschedProblemAddUse(problem, -3, 0));
  MISTAKE(commschedProblemSetExpensive(problem, 4));
  // CHECK: mistake: 2 node 4 has kind 7, but kinds are numbered from 0 to 3
  // CHECK-NEXT: mistake: 2 node 4 has kind -1
  // CHECK-NEXT: mistake: 2 node 4 (wait) has no start
  // CHECK-NEXT: mistake: 2 node 4 (wait) has a cost of 3 ns and stream -1
  // CHECK-NEXT: mistake: 2 the dependence of node 3 on node 0 has kind 5
  // CHECK-NEXT: mistake: 2 buffer 0 is used by node 99
  // CHECK-NEXT: mistake: 2 node 0 (compute) uses buffer -3
  // CHECK-NEXT: mistake: 2 node 4 is marked as expensive; the problem has 4 nodes
}

static void testNull(void) {
  CommSchedResult *result = NULL;
  int64_t bound = 0;
  CommSchedProblem *problem = commschedProblemCreate();
  REPORT("not finalized", commschedSchedule(problem, NULL, &result, &error));
  // CHECK: not finalized: 2 the problem is not finalized
  REPORT("null", commschedSchedule(NULL, NULL, &result, &error));
  REPORT("null", commschedSchedule(problem, NULL, NULL, &error));
  REPORT("null", commschedProblemFinalize(NULL, &error));
  REPORT("null", commschedComputeLowerBound(problem, NULL, &error));
  REPORT("null", commschedComputeTightLowerBound(NULL, &bound, NULL));
  REPORT("null", commschedProblemAddUses(NULL, 0, NULL, NULL, &error));
  // CHECK-NEXT: null: 1 the problem is NULL
  // CHECK-NEXT: null: 1 the place for the result is NULL
  // CHECK-NEXT: null: 1 the problem is NULL
  // CHECK-NEXT: null: 1 the place for the bound is NULL
  // CHECK-NEXT: null: 1 -
  // CHECK-NEXT: null: 1 the problem is NULL
  printf("%d %d %d %d %d %d\n",
         (int)commschedProblemAddNode(NULL, COMMSCHED_COMPUTE, 1, -1),
         (int)commschedProblemAddWait(NULL, 0),
         (int)commschedProblemAddUse(NULL, 0, 0),
         (int)commschedProblemGetNumNodes(NULL),
         commschedOptionsSetEffort(NULL, 1),
         commschedResultGetOrder(NULL) == NULL);
  // CHECK-NEXT: -1 -1 -1 0 -1 1
  REPORT("empty", commschedProblemFinalize(problem, &error));
  REPORT("empty", commschedSchedule(problem, NULL, &result, &error));
  printResult(result);
  commschedResultDestroy(result);
  // CHECK-NEXT: empty: 0 -
  // CHECK-NEXT: empty: 0 -
  // CHECK-NEXT: step 0 compute 0 comm 0 exposed 0 peak 0 origin 0
  CommSchedOptions *options = commschedOptionsCreate();
  commschedOptionsSetMemoryLimit(options, -1);
  REPORT("limit", commschedSchedule(problem, options, &result, &error));
  // CHECK-NEXT: limit: 1 the memory limit must not be negative, but is -1
  commschedOptionsDestroy(options);
  commschedProblemDestroy(problem);
  commschedProblemDestroy(NULL);
  commschedOptionsDestroy(NULL);
  commschedResultDestroy(NULL);
  commschedErrorDestroy(NULL);
}

/// Costs near the end of the range: slack must not take them past it.
static void testExtremes(void) {
  CommSchedProblem *problem = commschedProblemCreate();
  commschedProblemAddNode(problem, COMMSCHED_COMPUTE, 1000, -1);
  int32_t start =
      commschedProblemAddNode(problem, COMMSCHED_START, INT64_MAX - 1000, 0);
  commschedProblemAddWait(problem, start);
  commschedProblemFinalize(problem, NULL);
  CommSchedOptions *options = commschedOptionsCreate();
  commschedOptionsSetSlackPercent(options, INT32_MAX);
  CommSchedResult *result = NULL;
  REPORT("extreme", commschedSchedule(problem, options, &result, &error));
  printf("%lld ns\n", (long long)commschedResultGetStepNs(result));
  // CHECK: extreme: 0 -
  // CHECK-NEXT: 9223372036854774807 ns
  commschedResultDestroy(result);
  commschedOptionsDestroy(options);
  commschedProblemDestroy(problem);
}

int main(void) {
  testOrders();
  testArrays();
  testMistakes();
  testNull();
  testExtremes();
  printf("version %s\n", commschedGetVersion());
  // CHECK: version {{[0-9]+\.[0-9]+\.[0-9]+$}}
  return 0;
}
