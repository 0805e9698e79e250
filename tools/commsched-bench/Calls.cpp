//===- Calls.cpp - Calls of a collective and their buffers ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace commsched::bench {

/// The bytes that the slots of one point may take, unless two take more.
static constexpr int64_t slotBudget = int64_t(32) << 20;
/// Of a slot, in bytes: at least what vector units and copy engines like.
static constexpr int64_t slotAlignment = 512;

PointView::PointView(const Plan &plan, const Point &point, int32_t rank,
                     int32_t launches)
    : point(&point), members(plan.groups[point.group].getMembers(rank)),
      self(llvm::find(members, rank) - members.begin()),
      parts(getPartCounts(point.operation, members.size())),
      partBytes(point.partElements * point.element->bytes) {
  int64_t fitting = std::max<int64_t>(slotBudget / point.bytes, 2);
  slots = std::min<int64_t>({fitting, launches, Peer::maxSlots});
}

bool PointView::sends() const {
  return point->operation != Operation::SendRecv || self == 0;
}

bool PointView::receives() const {
  return point->operation != Operation::SendRecv || self == 1;
}

/// Of all slots of one buffer.
static int64_t getBytes(const PointView &view) {
  return view.slots * llvm::alignTo(view.point->bytes, slotAlignment);
}

Buffers::~Buffers() {
  commsched_release(inputs);
  commsched_release(outputs);
}

bool Buffers::allocate(const Plan &plan, int32_t rank, int32_t launches) {
  int64_t capacity = 0;
  for (const Point &point : plan.points)
    capacity =
        std::max(capacity, getBytes(PointView(plan, point, rank, launches)));
  inputs = static_cast<char *>(commsched_allocate(capacity, slotAlignment));
  outputs = static_cast<char *>(commsched_allocate(capacity, slotAlignment));
  return inputs && outputs;
}

bool Buffers::clear(const PointView &view) {
  int64_t bytes = getBytes(view);
  return commsched_zero(inputs, bytes) == 0 &&
         commsched_zero(outputs, bytes) == 0 && commsched_synchronize() == 0;
}

CallBuffers Buffers::get(const PointView &view, Place place,
                         int32_t slot) const {
  int64_t offset = slot * llvm::alignTo(view.point->bytes, slotAlignment);
  CallBuffers buffers = {inputs + offset, outputs + offset};
  if (place == Place::OutOfPlace)
    return buffers;
  int64_t own = view.self * view.partBytes;
  switch (view.point->operation) {
  case Operation::AllGather:
    buffers.input = buffers.output + own;
    break;
  case Operation::ReduceScatter:
    buffers.output = buffers.input + own;
    break;
  default:
    buffers.input = buffers.output;
    break;
  }
  return buffers;
}

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

DirectCalls::DirectCalls(const PointView &view, const Buffers &buffers,
                         Place place, Peer &peer, int32_t group)
    : peer(peer), active(view.sends() || view.receives()) {
  PeerCall call;
  call.kind = getKind(view.point->operation);
  if (call.kind == COMMSCHED_SEND && !view.sends())
    call.kind = COMMSCHED_RECV;
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
