//===- Calls.cpp - Two ways to call a collective --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include "llvm/Support/ErrorHandling.h"

namespace commsched::bench {

//===----------------------------------------------------------------------===//
// RuntimeCalls
//===----------------------------------------------------------------------===//

RuntimeCalls::RuntimeCalls(const PointView &view, const Buffers &buffers,
                           Place place)
    : site(view.point->site), active(view.sends() || view.receives()) {
  for (int32_t slot = 0; slot < view.slots; ++slot) {
    CallBuffers call = buffers.get(view, place, slot);
    slots.push_back({view.sends() ? call.input : nullptr,
                     view.receives() ? call.output : nullptr});
  }
  // The site of the receive follows that of the send.
  if (!view.sends())
    ++site;
}

bool RuntimeCalls::start(int32_t slot) {
  if (!active)
    return true;
  Slot &call = slots[slot];
  call.request = commsched_start(site, &call.input, &call.output);
  return call.request != 0;
}

bool RuntimeCalls::wait(int32_t slot) {
  return !active || commsched_wait(slots[slot].request) == 0;
}

bool RuntimeCalls::synchronize() { return commsched_synchronize() == 0; }

//===----------------------------------------------------------------------===//
// DirectCalls
//===----------------------------------------------------------------------===//

static commsched_kind getKind(const PointView &view) {
  switch (view.point->operation) {
  case Operation::AllGather:
    return COMMSCHED_ALL_GATHER;
  case Operation::ReduceScatter:
    return COMMSCHED_REDUCE_SCATTER;
  case Operation::AllReduce:
    return COMMSCHED_ALL_REDUCE;
  case Operation::AllToAll:
    return COMMSCHED_ALL_TO_ALL;
  case Operation::Broadcast:
    return COMMSCHED_BROADCAST;
  case Operation::Permute:
    return COMMSCHED_PERMUTE;
  case Operation::SendRecv:
    return view.sends() ? COMMSCHED_SEND : COMMSCHED_RECV;
  }
  llvm_unreachable("unknown operation");
}

DirectCalls::DirectCalls(const PointView &view, const Buffers &buffers,
                         Place place, Peer &peer, int32_t group)
    : peer(peer), active(view.sends() || view.receives()) {
  PeerCall call;
  call.kind = getKind(view);
  call.group = group;
  call.type = view.point->element->type;
  call.elementBytes = view.point->element->bytes;
  call.reduction = view.point->reduction.value_or(COMMSCHED_SUM);
  call.elements = view.point->partElements;
  call.peer = call.kind == COMMSCHED_SEND ? 1 : 0;
  call.inPlace = place == Place::InPlace;
  for (int32_t slot = 0; slot < view.slots; ++slot) {
    CallBuffers slotBuffers = buffers.get(view, place, slot);
    call.input = slotBuffers.input;
    call.output = slotBuffers.output;
    calls.push_back(call);
  }
}

/// Makes an error of the peer one of the runtime.
static bool check(const std::string &error) {
  if (error.empty())
    return true;
  commsched_fail(error.c_str());
  return false;
}

bool DirectCalls::start(int32_t slot) {
  return !active || check(peer.start(calls[slot], slot));
}

bool DirectCalls::wait(int32_t slot) {
  return !active || check(peer.wait(slot));
}

bool DirectCalls::synchronize() { return check(peer.synchronize()); }

} // namespace commsched::bench
