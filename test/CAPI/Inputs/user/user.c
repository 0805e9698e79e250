//===- user.c - User of the installed C interface -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include <commsched-c/Schedule.h>

#include <stdio.h>

int main(void) {
  CommSchedProblem *problem = commschedProblemCreate();
  commschedProblemAddNode(problem, COMMSCHED_COMPUTE, 50, COMMSCHED_NO_STREAM);
  int32_t start = commschedProblemAddNode(problem, COMMSCHED_START, 50, 0);
  commschedProblemAddWait(problem, start);
  CommSchedResult *result = NULL;
  char *error = NULL;
  if (commschedProblemFinalize(problem, &error) != COMMSCHED_SUCCESS ||
      commschedSchedule(problem, NULL, &result, &error) != COMMSCHED_SUCCESS) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  printf("%lld ns\n", (long long)commschedResultGetStepNs(result));
  commschedResultDestroy(result);
  commschedProblemDestroy(problem);
  return 0;
}
