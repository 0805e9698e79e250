//===- CheckedCalls.cpp - Checks of what MPI is given ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MPI's profiling interface lets these functions take the place of its own:
// they end the process where a call gets more than the limit, or one buffer
// twice instead of MPI's in-place form.
//===----------------------------------------------------------------------===//

#include "Mpi/MpiBackend.h"

#include <cstdio>
#include <cstdlib>

static void check(const char *call, int64_t count, const void *in = nullptr,
                  const void *out = nullptr) {
  if (count <= commsched::runtime::mpi::maxCount && (in != out || !in))
    return;
  std::fprintf(stderr, "%s of %lld%s\n", call, static_cast<long long>(count),
               in == out ? ", not in place" : "");
  std::abort();
}

int MPI_Iallgather(const void *in, int inCount, MPI_Datatype inType, void *out,
                   int outCount, MPI_Datatype outType, MPI_Comm comm,
                   MPI_Request *request) {
  int rank = 0;
  MPI_Aint size = 0, begin = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Type_get_extent(outType, &begin, &size);
  check(__func__, outCount, in,
        static_cast<char *>(out) + rank * outCount * size);
  return PMPI_Iallgather(in, inCount, inType, out, outCount, outType, comm,
                         request);
}

int MPI_Iallreduce(const void *in, void *out, int count, MPI_Datatype type,
                   MPI_Op op, MPI_Comm comm, MPI_Request *request) {
  check(__func__, count, in, out);
  return PMPI_Iallreduce(in, out, count, type, op, comm, request);
}

int MPI_Ireduce(const void *in, void *out, int count, MPI_Datatype type,
                MPI_Op op, int root, MPI_Comm comm, MPI_Request *request) {
  check(__func__, count, in, out);
  return PMPI_Ireduce(in, out, count, type, op, root, comm, request);
}

int MPI_Ireduce_scatter_block(const void *in, void *out, int count,
                              MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request *request) {
  int numRanks = 0;
  MPI_Comm_size(comm, &numRanks);
  check(__func__, int64_t(count) * numRanks, in, out);
  return PMPI_Ireduce_scatter_block(in, out, count, type, op, comm, request);
}

int MPI_Ialltoall(const void *in, int inCount, MPI_Datatype inType, void *out,
                  int outCount, MPI_Datatype outType, MPI_Comm comm,
                  MPI_Request *request) {
  check(__func__, outCount);
  return PMPI_Ialltoall(in, inCount, inType, out, outCount, outType, comm,
                        request);
}

int MPI_Ibcast(void *data, int count, MPI_Datatype type, int root,
               MPI_Comm comm, MPI_Request *request) {
  check(__func__, count);
  return PMPI_Ibcast(data, count, type, root, comm, request);
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request) {
  check(__func__, count);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag,
              MPI_Comm comm, MPI_Request *request) {
  check(__func__, count);
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}
