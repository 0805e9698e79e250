//===- ChakraRanks.h - Ranks and their groups in traces ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which ranks there are, which process groups each is in, and the numbers by
// which execution traces name these groups.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_REPORT_CHAKRA_CHAKRARANKS_H
#define COMMSCHED_LIB_REPORT_CHAKRA_CHAKRARANKS_H

#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::commsched {

/// The ranks of a module: as many as the groups that it declares need.
class ChakraRanks {
public:
  /// A rank's place in what one declaration makes.
  struct Place {
    /// Which of its groups.
    int64_t row;
    /// Which of the group's ranks.
    int64_t index;
  };

  /// Emits an error if the groups have more than `maxRanks` ranks.
  static FailureOr<ChakraRanks> create(ModuleOp module);

  int64_t getNumRanks() const { return numRanks; }

  /// The index of a declaration in the module.
  std::optional<unsigned> find(GroupOp op) const;

  /// None if the rank is in none of the groups. O(1).
  std::optional<Place> getPlace(unsigned group, int64_t rank) const;

  /// The rank at `place`. O(1).
  int64_t getRank(unsigned group, Place place) const;

  /// The number of a group, at least 1 and different for all groups of the
  /// module.
  int64_t getId(unsigned group, Place place) const {
    return declarations[group].firstId + place.row;
  }

  /// If strides and sizes divide the ranks into a grid, and not all groups have
  /// all ranks, by axis, whether the group extends along it; the axis of
  /// consecutive ranks is the first. Otherwise empty.
  const std::vector<bool> &getAxes(unsigned group) const {
    return declarations[group].axes;
  }

  /// Writes the ranks of each group by its number, as JSON.
  void writeGroups(raw_ostream &os) const;

  static constexpr int64_t maxRanks = 1 << 16;

private:
  struct Declaration {
    GroupOp op;
    int64_t size;
    int64_t stride;
    int64_t numRows = 0;
    int64_t firstId = 0;
    std::vector<bool> axes;
    /// If the ranks are listed, row by row.
    std::vector<int64_t> listed;
    /// By listed rank.
    DenseMap<int64_t, Place> places;
  };

  LogicalResult add(GroupOp op);
  LogicalResult countRanks();
  void findAxes();

  std::vector<Declaration> declarations;
  DenseMap<Operation *, unsigned> indexOf;
  int64_t numRanks = 1;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_REPORT_CHAKRA_CHAKRARANKS_H
