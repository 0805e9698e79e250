//===- MpiRank.cpp - One rank of a test of the MPI backend ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiRank.h"

#include "Numerics/ElementTypes.h"

#include <algorithm>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

Calls &mpi::getCalls() {
  static Calls calls;
  return calls;
}

static void count(int64_t count, const void *input) {
  Calls &calls = getCalls();
  ++calls.num;
  calls.largestCount = std::max(calls.largestCount, count);
  calls.numInPlace += input == MPI_IN_PLACE;
}

int MPI_Iallgather(const void *in, int inCount, MPI_Datatype inType, void *out,
                   int outCount, MPI_Datatype outType, MPI_Comm comm,
                   MPI_Request *request) {
  count(outCount, in);
  return PMPI_Iallgather(in, inCount, inType, out, outCount, outType, comm,
                         request);
}

int MPI_Iallreduce(const void *in, void *out, int size, MPI_Datatype type,
                   MPI_Op op, MPI_Comm comm, MPI_Request *request) {
  count(size, in);
  return PMPI_Iallreduce(in, out, size, type, op, comm, request);
}

int MPI_Ireduce(const void *in, void *out, int size, MPI_Datatype type,
                MPI_Op op, int root, MPI_Comm comm, MPI_Request *request) {
  count(size, in);
  return PMPI_Ireduce(in, out, size, type, op, root, comm, request);
}

int MPI_Ireduce_scatter_block(const void *in, void *out, int size,
                              MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request *request) {
  int numRanks = 0;
  MPI_Comm_size(comm, &numRanks);
  count(static_cast<int64_t>(size) * numRanks, in);
  return PMPI_Ireduce_scatter_block(in, out, size, type, op, comm, request);
}

int MPI_Ialltoall(const void *in, int inCount, MPI_Datatype inType, void *out,
                  int outCount, MPI_Datatype outType, MPI_Comm comm,
                  MPI_Request *request) {
  count(outCount, in);
  return PMPI_Ialltoall(in, inCount, inType, out, outCount, outType, comm,
                        request);
}

int MPI_Ibcast(void *data, int size, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request *request) {
  count(size, nullptr);
  return PMPI_Ibcast(data, size, type, root, comm, request);
}

int MPI_Isend(const void *data, int size, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request) {
  count(size, nullptr);
  return PMPI_Isend(data, size, type, to, tag, comm, request);
}

int MPI_Irecv(void *data, int size, MPI_Datatype type, int from, int tag,
              MPI_Comm comm, MPI_Request *request) {
  count(size, nullptr);
  return PMPI_Irecv(data, size, type, from, tag, comm, request);
}

void MpiRank::join(int64_t maxCount) {
  commsched_options options;
  commsched_default_options(&options);
  BackendConfig config;
  config.options = &options;
  config.recorder = &records;
  backend = std::make_unique<MpiBackend>(config, maxCount);
  ASSERT_EQ(backend->join(getDeadline()), Status());
  rank = group.rank = backend->getRank();
  numRanks = backend->getNumRanks();
  group.name = "all";
  for (int32_t member = 0; member != numRanks; ++member)
    group.members.push_back(member);
  ASSERT_EQ(backend->createGroup(group, getDeadline()), Status());
  getCalls() = {};
}

void MpiRank::TearDown() {
  if (!backend)
    return;
  EXPECT_EQ(backend->shutdown(/*failed=*/false, getDeadline()), Status());
}

Site &MpiRank::makeSite(commsched_kind kind, commsched_type type,
                        int64_t inputs, int64_t outputs) {
  Site &site = *sites.emplace_back(std::make_unique<Site>());
  site.index = static_cast<int32_t>(sites.size() - 1);
  site.collective = site.index;
  site.name = "site" + std::to_string(site.index);
  site.kind = kind;
  Tensor tensor;
  tensor.element = {type, getByteSize(type), getName(type)};
  tensor.inputs = inputs;
  tensor.outputs = outputs;
  site.tensors = {tensor};
  return site;
}

std::unique_ptr<Request> MpiRank::start(const Site &site, const void *input,
                                        void *output) {
  Launch launch;
  launch.site = &site;
  launch.group = &group;
  launch.sequence = numLaunches++;
  launch.inputs.assign(site.tensors.size(), input);
  launch.outputs.assign(site.tensors.size(), output);
  Status status;
  auto request = backend->start(std::move(launch), status);
  EXPECT_EQ(status, Status());
  return request;
}

void MpiRank::finish(std::unique_ptr<Request> request) {
  ASSERT_TRUE(request);
  EXPECT_EQ(backend->wait(*request, getDeadline()), Status());
}
