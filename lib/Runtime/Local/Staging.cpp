//===- Staging.cpp - Staged inputs of collectives -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Local/LocalJob.h"

#include "Core/Program.h"
#include "Numerics/ElementTypes.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace commsched::runtime;

Staged commsched::runtime::stageInputs(const Launch &launch) {
  Staged staged;
  const Site &site = *launch.site;
  if (!sendsInputs(site, *launch.group))
    return staged;
  for (size_t i = 0; i < launch.getTensors().size(); ++i) {
    const Tensor &tensor = launch.getTensors()[i];
    StagedTensor copy;
    copy.size = tensor.getInputBytes();
    // Not initialized: it is written right here.
    copy.bytes.reset(new char[copy.size]);
    if (copy.size > 0)
      std::memcpy(copy.bytes.get(), launch.inputs[i], copy.size);
    copy.splits = tensor.inputSplits;
    staged.push_back(std::move(copy));
  }
  return staged;
}

Status commsched::runtime::checkParts(const Launch &launch,
                                      const std::vector<const Staged *> &sent) {
  if (!launch.site->hasSplitValues())
    return Status();
  const Group &group = *launch.group;
  for (size_t i = 0; i < launch.getTensors().size(); ++i) {
    const Tensor &tensor = launch.getTensors()[i];
    for (size_t rank = 0; rank < sent.size(); ++rank) {
      int64_t part = (*sent[rank])[i].splits[group.rank];
      int64_t expected = tensor.outputSplits[rank];
      if (part == expected)
        continue;
      // They differ, so that a row has elements.
      auto getRows = [&](int64_t elements) {
        return elements / tensor.rowElements;
      };
      return concat(describeLaunch(launch), ": rank ", group.members[rank],
                    " sends ", getRows(part), " rows to rank ",
                    group.members[group.rank], ", which expects ",
                    getRows(expected));
    }
  }
  return Status();
}

static void copyBytes(void *target, const char *source, int64_t bytes) {
  if (bytes > 0)
    std::memcpy(target, source, bytes);
}

/// The parts of all ranks for this one, one after the other.
static void writeAllToAll(const Launch &launch, size_t index,
                          const std::vector<const Staged *> &sent) {
  const Tensor &tensor = launch.getTensors()[index];
  char *target = static_cast<char *>(launch.outputs[index]);
  int32_t self = launch.group->rank;
  for (const Staged *staged : sent) {
    const StagedTensor &source = (*staged)[index];
    int64_t begin, part;
    if (source.splits.empty()) {
      part = source.size / static_cast<int64_t>(sent.size());
      begin = part * self;
    } else {
      auto first = source.splits.begin();
      begin = std::accumulate(first, first + self, int64_t(0)) *
              tensor.element.bytes;
      part = source.splits[self] * tensor.element.bytes;
    }
    copyBytes(target, source.bytes.get() + begin, part);
    target += part;
  }
}

static void writeOutput(const Launch &launch, size_t index,
                        const std::vector<const Staged *> &sent) {
  const Site &site = *launch.site;
  const Tensor &tensor = launch.getTensors()[index];
  char *target = static_cast<char *>(launch.outputs[index]);
  int32_t self = launch.group->rank;
  int64_t bytes = tensor.getOutputBytes();
  auto get = [&](size_t rank) { return (*sent[rank])[index].bytes.get(); };
  switch (site.kind) {
  case COMMSCHED_ALL_GATHER: {
    int64_t part = tensor.getInputBytes();
    for (size_t rank = 0; rank < sent.size(); ++rank)
      copyBytes(target + rank * part, get(rank), part);
    break;
  }
  case COMMSCHED_REDUCE_SCATTER:
  case COMMSCHED_ALL_REDUCE: {
    int64_t begin = site.kind == COMMSCHED_ALL_REDUCE ? 0 : self * bytes;
    std::vector<const void *> sources;
    for (size_t rank = 0; rank < sent.size(); ++rank)
      sources.push_back(get(rank) + begin);
    reduceInOrder(*tensor.element.type, *site.reduction, sources.data(),
                  static_cast<int64_t>(sources.size()), target, tensor.outputs);
    break;
  }
  case COMMSCHED_ALL_TO_ALL:
    writeAllToAll(launch, index, sent);
    break;
  case COMMSCHED_BROADCAST:
    copyBytes(target, get(site.peer), bytes);
    break;
  case COMMSCHED_PERMUTE: {
    auto pair = std::find_if(site.pairs.begin(), site.pairs.end(),
                             [&](const auto &p) { return p.second == self; });
    if (pair != site.pairs.end())
      copyBytes(target, get(pair->first), bytes);
    else if (bytes > 0)
      std::memset(target, 0, bytes);
    break;
  }
  case COMMSCHED_RECV:
  case COMMSCHED_OFFLOAD:
  case COMMSCHED_RELOAD:
    copyBytes(target, get(0), bytes);
    break;
  case COMMSCHED_SEND:
  case COMMSCHED_BARRIER:
    break;
  }
}

void commsched::runtime::writeOutputs(const Launch &launch,
                                      const std::vector<const Staged *> &sent) {
  for (size_t i = 0; i < launch.getTensors().size(); ++i)
    writeOutput(launch, i, sent);
}

/// Calls `visit(begin, bytes)` for the bytes of output `index` that are not
/// sent. What is in place of an output is the input of the same tensor, since
/// the core refuses other overlaps.
template <class Visit>
static void visitUnsent(const Launch &launch, const Staged &staged,
                        size_t index, Visit &&visit) {
  const Tensor &tensor = launch.getTensors()[index];
  char *begin = static_cast<char *>(launch.outputs[index]);
  char *end = begin + tensor.getOutputBytes();
  const char *sent = static_cast<const char *>(launch.inputs[index]);
  if (staged.empty() || staged[index].size == 0 || sent >= end ||
      sent + staged[index].size <= begin) {
    visit(begin, end - begin);
    return;
  }
  const char *sentEnd = sent + staged[index].size;
  if (sent > begin)
    visit(begin, sent - begin);
  if (sentEnd < end)
    visit(begin + (sentEnd - begin), end - sentEnd);
}

void commsched::runtime::spoilOutputs(const Launch &launch,
                                      const Staged &staged) {
  for (size_t i = 0; i < launch.getTensors().size(); ++i)
    visitUnsent(launch, staged, i, [](char *begin, int64_t bytes) {
      if (bytes > 0)
        std::memset(begin, spoiledByte, bytes);
    });
}

Status commsched::runtime::checkBuffers(const Launch &launch,
                                        const Staged &staged) {
  Status status;
  auto report = [&](const char *what, size_t tensor, int64_t byte) {
    if (status)
      status = concat(describeLaunch(launch), ": ", what, " ", tensor,
                      " was overwritten between start and wait, first at byte ",
                      byte);
  };
  for (size_t i = 0; i < staged.size(); ++i) {
    const char *input = static_cast<const char *>(launch.inputs[i]);
    const char *copy = staged[i].bytes.get();
    int64_t size = staged[i].size;
    if (size > 0 && std::memcmp(input, copy, size) != 0)
      report("input", i, std::mismatch(copy, copy + size, input).first - copy);
  }
  for (size_t i = 0; i < launch.getTensors().size(); ++i)
    visitUnsent(launch, staged, i, [&](const char *begin, int64_t bytes) {
      const char *found = std::find_if(begin, begin + bytes, [](char c) {
        return static_cast<unsigned char>(c) != spoiledByte;
      });
      if (found != begin + bytes)
        report("output", i,
               found - static_cast<const char *>(launch.outputs[i]));
    });
  return status;
}
