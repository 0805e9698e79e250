//===- ChakraRanks.cpp - Ranks and their groups in traces -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ChakraSteps.h"

#include "llvm/Support/JSON.h"
#include <numeric>

using namespace mlir;
using namespace mlir::commsched;

static InFlightDiagnostic emitTooMany(GroupOp op, int64_t numRanks) {
  return op.emitOpError("needs ")
         << numRanks << " ranks, but no more than " << ChakraRanks::maxRanks
         << " traces are written";
}

LogicalResult ChakraRanks::add(GroupOp op) {
  Declaration declaration;
  declaration.op = op;
  declaration.size = op.getSize();
  declaration.stride = op.getStride().value_or(1);
  for (int64_t factor : {declaration.size, declaration.stride})
    if (factor > maxRanks)
      return emitTooMany(op, factor);
  if (std::optional<DenseIntElementsAttr> ranks = op.getRanks()) {
    for (int64_t rank : ranks->getValues<int64_t>()) {
      if (rank >= maxRanks)
        return op.emitOpError("lists rank ")
               << rank << ", but no more than " << maxRanks
               << " traces are written";
      int64_t position = static_cast<int64_t>(declaration.listed.size());
      declaration.places[rank] = {position / declaration.size,
                                  position % declaration.size};
      declaration.listed.push_back(rank);
    }
  }
  indexOf[op] = static_cast<unsigned>(declarations.size());
  declarations.push_back(std::move(declaration));
  return success();
}

/// Every rank is in a group of each declaration with a stride: the number of
/// ranks is a multiple of size times stride of all of these.
LogicalResult ChakraRanks::countRanks() {
  int64_t most = 1;
  for (const Declaration &declaration : declarations) {
    if (declaration.listed.empty())
      numRanks = std::lcm(numRanks, declaration.size * declaration.stride);
    for (int64_t rank : declaration.listed)
      most = std::max(most, rank + 1);
    int64_t needed = static_cast<int64_t>(llvm::alignTo(most, numRanks));
    if (needed > maxRanks)
      return emitTooMany(declaration.op, needed);
  }
  numRanks = static_cast<int64_t>(llvm::alignTo(most, numRanks));
  int64_t nextId = 1;
  for (Declaration &declaration : declarations) {
    int64_t numMembers = declaration.listed.empty()
                             ? numRanks
                             : static_cast<int64_t>(declaration.listed.size());
    declaration.numRows = numMembers / declaration.size;
    declaration.firstId = nextId;
    nextId += declaration.numRows;
  }
  return success();
}

/// Ranks form a grid if of the strides and the products of stride and size each
/// divides the next larger one.
void ChakraRanks::findAxes() {
  SmallVector<int64_t> ends = {1, numRanks};
  for (const Declaration &declaration : declarations) {
    if (!declaration.listed.empty())
      return;
    ends.push_back(declaration.stride);
    ends.push_back(declaration.stride * declaration.size);
  }
  llvm::sort(ends);
  ends.erase(llvm::unique(ends), ends.end());
  for (size_t i = 1; i < ends.size(); ++i)
    if (ends[i] % ends[i - 1] != 0)
      return;
  auto isWhole = [&](const Declaration &declaration) {
    return declaration.size == numRanks;
  };
  if (llvm::all_of(declarations, isWhole))
    return;
  for (Declaration &declaration : declarations)
    for (size_t axis = 0; axis + 1 < ends.size(); ++axis)
      declaration.axes.push_back(ends[axis] >= declaration.stride &&
                                 ends[axis + 1] <=
                                     declaration.stride * declaration.size);
}

FailureOr<ChakraRanks> ChakraRanks::create(ModuleOp module) {
  ChakraRanks ranks;
  for (GroupOp op : module.getOps<GroupOp>())
    if (failed(ranks.add(op)))
      return failure();
  if (failed(ranks.countRanks()))
    return failure();
  ranks.findAxes();
  return ranks;
}

std::optional<unsigned> ChakraRanks::find(GroupOp op) const {
  auto it = indexOf.find(op);
  if (it == indexOf.end())
    return std::nullopt;
  return it->second;
}

std::optional<ChakraRanks::Place> ChakraRanks::getPlace(unsigned group,
                                                        int64_t rank) const {
  const Declaration &declaration = declarations[group];
  if (!declaration.listed.empty()) {
    auto it = declaration.places.find(rank);
    if (it == declaration.places.end())
      return std::nullopt;
    return it->second;
  }
  int64_t stride = declaration.stride;
  int64_t block = declaration.size * stride;
  return Place{rank / block * stride + rank % stride, rank % block / stride};
}

int64_t ChakraRanks::getRank(unsigned group, Place place) const {
  const Declaration &declaration = declarations[group];
  if (!declaration.listed.empty())
    return declaration.listed[place.row * declaration.size + place.index];
  int64_t stride = declaration.stride;
  return place.row / stride * declaration.size * stride + place.row % stride +
         place.index * stride;
}

void ChakraRanks::writeGroups(raw_ostream &os) const {
  llvm::json::OStream json(os);
  json.object([&] {
    for (unsigned group = 0; group < declarations.size(); ++group)
      for (int64_t row = 0; row < declarations[group].numRows; ++row)
        json.attributeArray(std::to_string(getId(group, {row, 0})), [&] {
          for (int64_t index = 0; index < declarations[group].size; ++index)
            json.value(getRank(group, {row, index}));
        });
  });
  os << "\n";
}
