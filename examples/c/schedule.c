//===- schedule.c - Example that schedules a step in C --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step of four layers whose parameters are sharded: each layer gathers its
// own, waits for them, and computes. The scheduler moves the gathers so that
// the computation hides them, within a limit of memory.
//===----------------------------------------------------------------------===//

#include "commsched-c/Schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NumLayers = 4, NumNodes = 3 * NumLayers };

static const char *const names[] = {"gather", "wait", "compute"};

/// Ends the program if a function of the scheduler has failed.
static void check(CommSchedStatus status, char **error) {
  if (status == COMMSCHED_SUCCESS)
    return;
  fprintf(stderr, "error: %s\n", *error ? *error : "out of memory");
  commschedErrorDestroy(*error);
  exit(EXIT_FAILURE);
}

/// The nodes of layer i are 3 * i (gather), 3 * i + 1 (wait), 3 * i + 2.
static CommSchedProblem *createStep(void) {
  CommSchedProblem *problem = commschedProblemCreate();
  for (int layer = 0; layer < NumLayers; ++layer) {
    int32_t gather = commschedProblemAddNode(problem, COMMSCHED_START,
                                             /*costNs=*/30000, /*stream=*/0);
    int32_t wait = commschedProblemAddWait(problem, gather);
    int32_t compute =
        commschedProblemAddNode(problem, COMMSCHED_COMPUTE,
                                /*costNs=*/40000, COMMSCHED_NO_STREAM);
    commschedProblemAddDependence(problem, wait, compute, COMMSCHED_DATA);
    if (layer > 0)
      commschedProblemAddDependence(problem, compute - 3, compute,
                                    COMMSCHED_DATA);

    // The gathered parameters live from the gather to the computation.
    int32_t parameters = commschedProblemAddBuffer(problem, /*bytes=*/1 << 20,
                                                   gather, /*isFreed=*/1);
    commschedProblemAddUse(problem, parameters, wait);
    commschedProblemAddUse(problem, parameters, compute);
  }
  char *error = NULL;
  check(commschedProblemFinalize(problem, &error), &error);
  return problem;
}

static void print(const char *title, const CommSchedResult *result) {
  printf("%s: %" PRId64 " us, %" PRId64 " us exposed, %" PRId64 " MiB\n", title,
         commschedResultGetStepNs(result) / 1000,
         commschedResultGetExposedCommNs(result) / 1000,
         commschedResultGetPeakBytes(result) >> 20);
}

int main(void) {
  CommSchedProblem *problem = createStep();
  CommSchedOptions *options = commschedOptionsCreate();
  commschedOptionsSetMemoryLimit(options, 2 << 20);

  char *error = NULL;
  CommSchedResult *before = NULL, *after = NULL;
  check(commschedSimulate(problem, options, NULL, 0, &before, &error), &error);
  check(commschedSchedule(problem, options, &after, &error), &error);
  print("before", before);
  print("after", after);
  const int32_t *order = commschedResultGetOrder(after);
  for (int position = 0; position < NumNodes; ++position)
    printf("  %s %d\n", names[order[position] % 3], order[position] / 3);

  commschedResultDestroy(before);
  commschedResultDestroy(after);
  commschedOptionsDestroy(options);
  commschedProblemDestroy(problem);
  return EXIT_SUCCESS;
}
