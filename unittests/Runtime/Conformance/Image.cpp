//===- Image.cpp - Memory before and after launches -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Image.h"

#include <algorithm>

using namespace commsched::conformance;

/// Bytes between tensors.
static constexpr int64_t guardBytes = 32;

/// The alignment of elements: the largest power of two that divides their size.
/// Programs pass slices of buffers, so nothing more can be relied on.
static int64_t getAlignment(const ElementFormat &format) {
  int64_t bytes = format.elementClass == ElementClass::Complex
                      ? format.bytes / 2
                      : format.bytes;
  return bytes & -bytes;
}

void Image::addGuard(int64_t bytes) {
  Bytes guard =
      makeNoise(seed ^ 0xabcdef ^ static_cast<uint64_t>(before.size()), bytes);
  before.insert(before.end(), guard.begin(), guard.end());
  after.insert(after.end(), guard.begin(), guard.end());
}

int64_t Image::addRegion(Region region, const Bytes &start, const Bytes &end) {
  int64_t alignment = getAlignment(*region.format);
  auto size = static_cast<int64_t>(before.size());
  // An odd multiple, so that nothing is aligned better by chance.
  int64_t begin = (size + guardBytes) / alignment * alignment + alignment;
  if (begin / alignment % 2 == 0)
    begin += alignment;
  addGuard(begin - size);
  region.begin = begin;
  region.end = begin + static_cast<int64_t>(start.size());
  before.insert(before.end(), start.begin(), start.end());
  after.insert(after.end(), end.begin(), end.end());
  regions.push_back(std::move(region));
  addGuard(guardBytes);
  return begin;
}

void Image::addInPlace(const CaseLaunch &launch, size_t index, int32_t rank,
                       size_t owner, LaunchBuffers &buffers) {
  const Case &theCase = *launch.theCase;
  Bytes input = makeInput(launch, index, rank);
  Bytes output = makeOutput(launch, index, rank);
  Region region = {owner,
                   "buffer " + std::to_string(index),
                   theCase.tensors[index].format,
                   0,
                   0,
                   theCase.reduction.has_value()};
  Bytes start = input;
  if (theCase.kind == COMMSCHED_BROADCAST && rank != theCase.peer)
    start = makeNoise(seed, static_cast<int64_t>(input.size()));
  if (theCase.kind == COMMSCHED_ALL_GATHER) {
    start = makeNoise(seed, static_cast<int64_t>(output.size()));
    auto own = static_cast<int64_t>(input.size()) * rank;
    std::copy(input.begin(), input.end(), start.begin() + own);
    int64_t begin = addRegion(std::move(region), start, output);
    buffers.inputs.push_back(begin + own);
    buffers.outputs.push_back(begin);
    return;
  }
  if (theCase.kind == COMMSCHED_REDUCE_SCATTER) {
    auto own = static_cast<int64_t>(output.size()) * rank;
    Bytes end = input;
    std::copy(output.begin(), output.end(), end.begin() + own);
    int64_t begin = addRegion(std::move(region), start, end);
    free.push_back({begin, begin + own});
    free.push_back({begin + own + static_cast<int64_t>(output.size()),
                    begin + static_cast<int64_t>(input.size())});
    buffers.inputs.push_back(begin);
    buffers.outputs.push_back(begin + own);
    return;
  }
  int64_t begin = addRegion(std::move(region), start, output);
  buffers.inputs.push_back(begin);
  buffers.outputs.push_back(begin);
}

LaunchBuffers Image::add(const CaseLaunch &launch, int32_t rank, size_t owner) {
  const Case &theCase = *launch.theCase;
  LaunchBuffers buffers;
  for (size_t i = 0; i < theCase.tensors.size(); ++i) {
    if (theCase.inPlace) {
      addInPlace(launch, i, rank, owner, buffers);
      continue;
    }
    bool isSend = theCase.kind == COMMSCHED_SEND;
    const ElementFormat *format = theCase.tensors[i].format;
    std::string index = std::to_string(i);
    if (!isSend || rank == theCase.source) {
      Bytes input = makeInput(launch, i, rank);
      int64_t begin = addRegion({owner, "input " + index, format, 0, 0, false},
                                input, input);
      // Tensors without bytes have either null or any address.
      bool null = input.empty() && theCase.site % 2;
      buffers.inputs.push_back(null ? -1 : begin);
    } else {
      buffers.inputs.push_back(-1);
    }
    if (!isSend || rank == theCase.peer) {
      Bytes output = makeOutput(launch, i, rank);
      int64_t begin = addRegion(
          {owner, "output " + index, format, 0, 0,
           theCase.reduction.has_value()},
          makeNoise(seed ^ i, static_cast<int64_t>(output.size())), output);
      bool null = output.empty() && theCase.site % 2;
      buffers.outputs.push_back(null ? -1 : begin);
    } else {
      buffers.outputs.push_back(-1);
    }
  }
  return buffers;
}

static std::string toHex(const Bytes &bytes, int64_t begin, int64_t count) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "0x";
  // The most significant digit first.
  for (int64_t i = begin + count; i-- > begin;) {
    text += digits[std::to_integer<int>(bytes[i]) >> 4];
    text += digits[std::to_integer<int>(bytes[i]) & 15];
  }
  return text;
}

std::vector<Image::Defect> Image::findDefects(Bytes found) const {
  for (const Region &region : regions)
    if (region.isReduced)
      dropSignsOfZeros(*region.format, found.data() + region.begin,
                       (region.end - region.begin) / region.format->bytes);
  for (auto [begin, end] : free)
    std::copy(after.begin() + begin, after.begin() + end,
              found.begin() + begin);
  std::vector<Defect> defects;
  if (found == after)
    return defects;
  // Each region and the guard before it; what follows the last is a guard too.
  int64_t begin = 0;
  for (const Region &region : regions) {
    auto differs = [&](int64_t from, int64_t to) {
      return std::mismatch(found.begin() + from, found.begin() + to,
                           after.begin() + from)
                 .first -
             found.begin();
    };
    int64_t at = differs(begin, region.begin);
    if (at < region.begin)
      defects.push_back(
          {region.owner, "overwrites what comes before " + region.name});
    at = differs(region.begin, region.end);
    int64_t bytes = region.format->bytes;
    int64_t element = (at - region.begin) / bytes;
    int64_t start = region.begin + element * bytes;
    if (at < region.end)
      defects.push_back(
          {region.owner,
           region.name + ": element " + std::to_string(element) + " of " +
               std::to_string((region.end - region.begin) / bytes) + " is " +
               toHex(found, start, bytes) + " instead of " +
               toHex(after, start, bytes)});
    begin = region.end + guardBytes;
    at = differs(region.end, begin);
    if (at < begin)
      defects.push_back({region.owner, "overwrites what follows " +
                                           region.name + ", from byte " +
                                           std::to_string(at - region.end)});
  }
  return defects;
}
