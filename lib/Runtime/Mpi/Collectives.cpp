//===- Collectives.cpp - Collectives as MPI's calls -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"

#include "Starter.h"

#include "Core/Describe.h"
#include "Numerics/Reduction.h"

#include <climits>
#include <cstring>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

Error mpi::checkLimits(const Site &site) {
  if (!isPointToPoint(site.kind))
    return {};
  int *upperBound = nullptr;
  int isSet = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upperBound, &isSet);
  int limit = (isSet ? *upperBound : SHRT_MAX) - firstUserTag;
  if (site.tag >= 0 && site.tag <= limit)
    return {};
  return "'mpi' has tags from 0 to " + std::to_string(limit) + ", not " +
         std::to_string(site.tag);
}

Error Starter::start(size_t index) {
  tensor = &site.tensors[index];
  in = static_cast<const char *>(request.launch.inputs[index]);
  out = static_cast<char *>(request.launch.outputs[index]);
  inBytes = tensor->inputs * tensor->element.bytes;
  outBytes = tensor->outputs * tensor->element.bytes;
  switch (site.kind) {
  case COMMSCHED_ALL_GATHER:
    return allGather();
  case COMMSCHED_REDUCE_SCATTER:
    return reduceScatter();
  case COMMSCHED_ALL_REDUCE:
    return allReduce();
  case COMMSCHED_ALL_TO_ALL:
    return tensor->inputSplits.empty() && tensor->outputSplits.empty()
               ? allToAll()
               : unevenAllToAll();
  case COMMSCHED_BROADCAST:
    return broadcast();
  case COMMSCHED_PERMUTE:
    return permute();
  case COMMSCHED_SEND:
    return send(in, inBytes, site.peer, firstUserTag + site.tag);
  case COMMSCHED_RECV:
    return receive(out, outBytes, site.peer, firstUserTag + site.tag);
  case COMMSCHED_BARRIER:
    break;
  }
  return {};
}

Error Starter::startBarrier() {
  return add(MPI_Ibarrier(communicator, &handle), "MPI_Ibarrier");
}

Error mpi::startCollective(MpiRequest &request, MPI_Comm communicator,
                           Types &types) {
  Starter starter(request, communicator, types);
  if (request.launch.site->kind == COMMSCHED_BARRIER)
    return starter.startBarrier();
  for (size_t i = 0; i != request.launch.site->tensors.size(); ++i)
    if (Error error = starter.start(i))
      return error;
  return {};
}

void mpi::finishCollective(MpiRequest &request) {
  for (const Staged &staged : request.staged)
    std::memcpy(staged.target, staged.data.get(), staged.bytes);
  const Site &site = *request.launch.site;
  if (site.reduction != COMMSCHED_AVG)
    return;
  for (size_t i = 0; i != site.tensors.size(); ++i)
    divideElements(*site.tensors[i].element.type, request.launch.outputs[i],
                   site.tensors[i].outputs,
                   request.launch.group->members.size());
}
