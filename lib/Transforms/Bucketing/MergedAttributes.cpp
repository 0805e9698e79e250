//===- MergedAttributes.cpp - What merged operations are called -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergedAttributes.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::commsched;

Location mlir::commsched::fuseLocations(ArrayRef<Operation *> members) {
  SmallVector<Location> locations;
  for (Operation *member : members)
    locations.push_back(member->getLoc());
  return FusedLoc::get(members.front()->getContext(), locations);
}

/// The longest path that both begin with, in whole components.
static StringRef getCommonPath(StringRef path, StringRef other) {
  size_t end = 0;
  for (size_t index = 0; index <= path.size(); ++index) {
    bool isEnd = index == path.size();
    bool isOtherEnd = index == other.size();
    if ((isEnd || path[index] == '.') && (isOtherEnd || other[index] == '.'))
      end = index;
    if (isEnd || isOtherEnd || path[index] != other[index])
      break;
  }
  return path.take_front(end);
}

static StringRef getModule(Operation *op) {
  auto module = op->getAttrOfType<StringAttr>(moduleAttrName);
  return module ? module.getValue() : StringRef();
}

/// The attribute of that name if all `members` have the same.
static Attribute getCommonAttribute(ArrayRef<Operation *> members,
                                    StringRef name) {
  Attribute common = members.front()->getDiscardableAttr(name);
  bool isCommon = llvm::all_of(members, [&](Operation *member) {
    return member->getDiscardableAttr(name) == common;
  });
  return isCommon ? common : Attribute();
}

void mlir::commsched::setMergedAttributes(Operation *merged,
                                          ArrayRef<Operation *> members,
                                          StringRef suffix) {
  Builder builder(merged->getContext());
  SmallVector<StringRef> names;
  StringRef module = getModule(members.front());
  for (Operation *member : members) {
    if (StringRef name = getStableName(member); !name.empty())
      names.push_back(name);
    module = getCommonPath(module, getModule(member));
  }
  if (!names.empty())
    merged->setDiscardableAttr(
        nameAttrName, builder.getStringAttr(llvm::join(names, "+") + suffix));
  if (!module.empty())
    merged->setDiscardableAttr(moduleAttrName, builder.getStringAttr(module));
  for (StringRef name : {partitionAttrName, recomputeAttrName})
    if (Attribute common = getCommonAttribute(members, name))
      merged->setDiscardableAttr(name, common);
}
