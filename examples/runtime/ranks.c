//===- ranks.c - Two ranks add up their vectors -------------------*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a host does around a program, here with the built-in backend, whose ranks
// are threads. "ranks 3" fails, in words: its group has two ranks.
//===----------------------------------------------------------------------===//

#include "CommSched/Runtime/Runtime.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char *program =
    "{\"version\": 1,"
    " \"groups\": [{\"name\": \"dp\", \"size\": 2}],"
    " \"sites\": [{\"name\": \"gradients\", \"kind\": \"all_reduce\","
    "              \"group\": 0, \"reduction\": \"sum\","
    "              \"tensors\": [{\"type\": \"bf16\", \"inputs\": 4,"
    "                             \"outputs\": 4}]}]}";

static int numRanks = 2;

/* What lowered code does: it looks at no result. */
static void runProgram(float *host) {
  void *buffer = commsched_allocate(4 * 2, 0);
  commsched_copy(buffer, COMMSCHED_BF16, 0, host, COMMSCHED_F32, 0, 1, 4);
  int64_t request = commsched_start(0, (const void *const *)&buffer, &buffer);
  /* Here the program computes. */
  commsched_wait(request);
  commsched_copy(host, COMMSCHED_F32, 0, buffer, COMMSCHED_BF16, 0, 1, 4);
  commsched_release(buffer);
}

static void *runRank(void *argument) {
  int32_t rank = *(int32_t *)argument;
  commsched_options options;
  commsched_default_options(&options);
  options.rank = rank;
  options.num_ranks = numRanks;
  options.deadline_ms = 10000;

  float host[4] = {1.0f, 2.0f, 0.5f, (float)rank};
  commsched_init(&options);
  if (commsched_load_program(program) == 0)
    runProgram(host);
  /* Once at the end: the first error stopped everything behind it. */
  if (commsched_finalize() != 0) {
    fprintf(stderr, "rank %d: error: %s\n", (int)rank, commsched_last_error());
    return argument;
  }
  if (rank == 0)
    printf("%g %g %g %g\n", host[0], host[1], host[2], host[3]);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[16];
  int32_t ranks[16];
  int failed = 0;
  if (argc > 1)
    numRanks = atoi(argv[1]);
  if (numRanks < 1 || numRanks > 16) {
    fprintf(stderr, "error: expected 1 to 16 ranks\n");
    return 1;
  }
  for (int i = 0; i < numRanks; ++i) {
    ranks[i] = i;
    pthread_create(&threads[i], NULL, runRank, &ranks[i]);
  }
  for (int i = 0; i < numRanks; ++i) {
    void *result;
    pthread_join(threads[i], &result);
    failed |= result != NULL;
  }
  return failed;
}
