//===- Image.cpp - Memory before and after launches -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Image.h"

#include <algorithm>
#include <cstring>

using namespace commsched::conformance;

//===----------------------------------------------------------------------===//
// Expected results of launches
//===----------------------------------------------------------------------===//

namespace {

/// Inputs repeat after so many elements: a prime, so that no two parts of a
/// tensor are alike, and few, so that large tensors cost no more to work out.
constexpr int64_t period = 4099;

uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

bool isBitwise(commsched_reduction reduction) {
  return reduction >= COMMSCHED_BAND;
}

/// The inputs of all members for one tensor of a launch.
class TensorInputs {
public:
  TensorInputs(const CaseLaunch &launch, size_t index)
      : launch(launch), tensor(launch.theCase->tensors[index]),
        seed(mix(static_cast<uint64_t>(launch.theCase->site) << 32 |
                 launch.repetition << 8 | index)) {}

  int64_t getBytes() const { return tensor.format->bytes; }
  TensorSizes getSizes(int32_t rank) const {
    return commsched::conformance::getSizes(*launch.theCase, tensor, rank,
                                            launch.getSize());
  }

  Bytes make(int32_t rank) const {
    return repeat(makePeriod(rank), getSizes(rank).inputs);
  }

  /// The reduction over all members, of as many elements as they have.
  Bytes reduceAll() const {
    commsched_reduction reduction = *launch.theCase->reduction;
    Bytes result =
        isBitwise(reduction) ? reduceBits(reduction) : reduceNumbers(reduction);
    return repeat(result, getSizes(0).inputs);
  }

private:
  Bytes repeat(const Bytes &elements, int64_t count) const {
    Bytes result(count * getBytes());
    for (size_t at = 0; at < result.size(); at += elements.size())
      std::memcpy(result.data() + at, elements.data(),
                  std::min(elements.size(), result.size() - at));
    return result;
  }

  uint64_t getBits(int32_t rank, int64_t element) const {
    return mix(seed ^ mix(static_cast<uint64_t>((*launch.row)[rank]) << 32 |
                          static_cast<uint64_t>(element)));
  }

  int64_t getPeriod(int32_t rank) const {
    return std::min(getSizes(rank).inputs, period);
  }

  Number makeNumber(int32_t rank, int64_t element) const {
    OperandSeed operand = {getBits(rank, element),
                           mix(seed + static_cast<uint64_t>(element)), rank,
                           launch.getSize()};
    return makeOperand(*tensor.format, *launch.theCase->reduction, operand);
  }

  Bytes makePeriod(int32_t rank) const {
    const Case &theCase = *launch.theCase;
    Bytes elements(getPeriod(rank) * getBytes());
    if (theCase.reduction && !isBitwise(*theCase.reduction)) {
      for (int64_t i = 0; i < getPeriod(rank); ++i)
        encode(*tensor.format, makeNumber(rank, i),
               elements.data() + i * getBytes());
      return elements;
    }
    elements = makeNoise(getBits(rank, 0), getPeriod(rank) * getBytes());
    if (tensor.format->elementClass == ElementClass::Bool)
      for (std::byte &element : elements)
        element &= std::byte{1};
    return elements;
  }

  Bytes reduceBits(commsched_reduction reduction) const {
    Bytes result = makePeriod(0);
    for (int32_t rank = 1; rank < launch.getSize(); ++rank) {
      Bytes other = makePeriod(rank);
      for (size_t i = 0; i < result.size(); ++i)
        result[i] = reduction == COMMSCHED_BAND  ? result[i] & other[i]
                    : reduction == COMMSCHED_BOR ? result[i] | other[i]
                                                 : result[i] ^ other[i];
    }
    return result;
  }

  Bytes reduceNumbers(commsched_reduction reduction) const {
    Bytes result(getPeriod(0) * getBytes());
    for (int64_t i = 0; i < getPeriod(0); ++i) {
      Number number = makeNumber(0, i);
      for (int32_t rank = 1; rank < launch.getSize(); ++rank)
        number = reduce(reduction, number, makeNumber(rank, i));
      if (reduction == COMMSCHED_AVG)
        number /= launch.getSize();
      encode(*tensor.format, number, result.data() + i * getBytes());
    }
    return result;
  }

  const CaseLaunch &launch;
  const CaseTensor &tensor;
  uint64_t seed;
};

void append(Bytes &target, const Bytes &source, int64_t begin, int64_t count) {
  target.insert(target.end(), source.begin() + begin,
                source.begin() + begin + count);
}

/// The part for `rank` of what `source` sends to all, in bytes.
void appendPart(Bytes &target, const TensorInputs &inputs, int32_t source,
                int32_t rank, int32_t size) {
  TensorSizes sizes = inputs.getSizes(source);
  std::vector<int64_t> splits = sizes.inputSplits;
  if (splits.empty())
    splits.assign(size, sizes.inputs / size);
  int64_t begin = 0;
  for (int32_t other = 0; other < rank; ++other)
    begin += splits[other];
  append(target, inputs.make(source), begin * inputs.getBytes(),
         splits[rank] * inputs.getBytes());
}

} // namespace

Bytes commsched::conformance::makeInput(const CaseLaunch &launch, size_t index,
                                        int32_t rank) {
  return TensorInputs(launch, index).make(rank);
}

Bytes commsched::conformance::makeOutput(const CaseLaunch &launch, size_t index,
                                         int32_t rank) {
  TensorInputs inputs(launch, index);
  const Case &theCase = *launch.theCase;
  int64_t bytes = inputs.getSizes(rank).outputs * inputs.getBytes();
  Bytes result;
  switch (theCase.kind) {
  case COMMSCHED_ALL_GATHER:
    for (int32_t source = 0; source < launch.getSize(); ++source) {
      Bytes part = inputs.make(source);
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  case COMMSCHED_REDUCE_SCATTER:
    append(result, inputs.reduceAll(), rank * bytes, bytes);
    return result;
  case COMMSCHED_ALL_REDUCE:
    return inputs.reduceAll();
  case COMMSCHED_ALL_TO_ALL:
    for (int32_t source = 0; source < launch.getSize(); ++source)
      appendPart(result, inputs, source, rank, launch.getSize());
    return result;
  case COMMSCHED_BROADCAST:
    return inputs.make(theCase.peer);
  case COMMSCHED_PERMUTE:
    for (auto [source, target] : theCase.pairs)
      if (target == rank)
        return inputs.make(source);
    return Bytes(bytes);
  default:
    return inputs.make(theCase.source);
  }
}

Bytes commsched::conformance::makeNoise(uint64_t seed, int64_t count) {
  Bytes noise(count);
  for (int64_t at = 0; at < count; at += 8) {
    uint64_t bits = mix(seed + static_cast<uint64_t>(at));
    std::memcpy(noise.data() + at, &bits,
                std::min<size_t>(8, static_cast<size_t>(count - at)));
  }
  return noise;
}

//===----------------------------------------------------------------------===//
// The image
//===----------------------------------------------------------------------===//

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
