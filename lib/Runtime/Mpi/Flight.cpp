//===- Flight.cpp - What MPI has been asked for ---------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flight.h"

#include "Session.h"

#include "Core/Describe.h"

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

MpiRequest::~MpiRequest() {
  if (numPending > 0)
    flight.abandon(*this);
}

void Flight::add(MPI_Request handle, MpiRequest &owner, int64_t bytes) {
  handles.push_back(handle);
  entries.push_back({&owner, bytes});
  ++owner.numPending;
}

void Flight::abandon(MpiRequest &owner) {
  for (Entry &entry : entries)
    if (entry.owner == &owner)
      entry.owner = nullptr;
  for (Staged &staged : owner.staged)
    abandoned.push_back(std::move(staged));
}

Error Flight::checkReceived(const MPI_Status &status, size_t place) const {
  MPI_Count bytes = 0;
  MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  if (entries[place].bytes < 0 || bytes == entries[place].bytes)
    return {};
  return "received " + std::to_string(bytes) + " bytes instead of " +
         std::to_string(entries[place].bytes);
}

Error Flight::poll(std::vector<MpiRequest *> &ended) {
  if (handles.empty())
    return {};
  places.resize(handles.size());
  statuses.resize(handles.size());
  int numEnded = 0;
  int code = MPI_Testsome(static_cast<int>(handles.size()), handles.data(),
                          &numEnded, places.data(), statuses.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
    return checkMpi(code, "MPI_Testsome");
  if (numEnded == 0)
    return {};

  Error error;
  for (int i = 0; i != numEnded; ++i) {
    MpiRequest *owner = entries[places[i]].owner;
    Error one;
    if (code == MPI_ERR_IN_STATUS && statuses[i].MPI_ERROR != MPI_ERR_PENDING)
      one = checkMpi(statuses[i].MPI_ERROR, "MPI");
    if (!one)
      one = checkReceived(statuses[i], places[i]);
    if (!owner)
      continue;
    if (one && !error)
      error = describeLaunch(owner->launch) + ": " + *one;
    if (--owner->numPending == 0)
      ended.push_back(owner);
  }

  size_t kept = 0;
  for (size_t i = 0; i != handles.size(); ++i) {
    if (handles[i] == MPI_REQUEST_NULL)
      continue;
    handles[kept] = handles[i];
    entries[kept++] = entries[i];
  }
  handles.resize(kept);
  entries.resize(kept);
  return error;
}
