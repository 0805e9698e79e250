//===- ChunkAttribute.cpp - The attribute of chunks -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedAttributes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::commsched;

static constexpr StringLiteral ofKey = "of";
static constexpr StringLiteral countKey = "count";
static constexpr StringLiteral partKey = "part";
static constexpr StringLiteral indexKey = "index";
static constexpr StringLiteral axisKey = "axis";
static constexpr StringLiteral blocksKey = "blocks";

static StringRef getText(ChunkPart part) {
  switch (part) {
  case ChunkPart::Chunk:
    return "chunk";
  case ChunkPart::Slice:
    return "slice";
  case ChunkPart::Whole:
    return "whole";
  case ChunkPart::Ring:
    return "ring";
  }
  llvm_unreachable("unknown part");
}

static std::optional<ChunkPart> parsePart(StringRef text) {
  return llvm::StringSwitch<std::optional<ChunkPart>>(text)
      .Case("slice", ChunkPart::Slice)
      .Case("whole", ChunkPart::Whole)
      .Case("ring", ChunkPart::Ring)
      .Default(std::nullopt);
}

static std::optional<int64_t> getInteger(DictionaryAttr dict, StringRef key) {
  if (auto attr = dict.getAs<IntegerAttr>(key))
    return attr.getInt();
  return std::nullopt;
}

std::optional<ChunkInfo> mlir::commsched::getChunkInfo(Operation *op) {
  auto dict = dyn_cast_if_present<DictionaryAttr>(
      op->getDiscardableAttr(chunkAttrName));
  if (!dict)
    return std::nullopt;
  ChunkInfo info;
  info.of = dict.getAs<StringAttr>(ofKey);
  info.count = getInteger(dict, countKey).value_or(0);
  if (auto part = dict.getAs<StringAttr>(partKey))
    info.part = parsePart(part.getValue()).value_or(ChunkPart::Chunk);
  info.index = getInteger(dict, indexKey);
  info.axis = getInteger(dict, axisKey);
  info.blocks = getInteger(dict, blocksKey);
  return info;
}

void mlir::commsched::setChunkInfo(Operation *op, const ChunkInfo &info) {
  Builder builder(op->getContext());
  NamedAttrList entries;
  auto setInteger = [&](StringRef key, std::optional<int64_t> value) {
    if (value)
      entries.set(key, builder.getI64IntegerAttr(*value));
  };
  entries.set(ofKey, info.of);
  setInteger(countKey, info.count);
  setInteger(indexKey, info.index);
  setInteger(axisKey, info.axis);
  setInteger(blocksKey, info.blocks);
  if (info.part != ChunkPart::Chunk)
    entries.set(partKey, builder.getStringAttr(getText(info.part)));
  op->setDiscardableAttr(builder.getStringAttr(chunkAttrName),
                         entries.getDictionary(op->getContext()));
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static InFlightDiagnostic emitAttrError(Operation *op) {
  return op->emitOpError() << "attribute '" << chunkAttrName << "' ";
}

static LogicalResult verifyEntry(Operation *op, NamedAttribute entry) {
  StringRef key = entry.getName();
  Attribute value = entry.getValue();
  if (key == ofKey || key == partKey) {
    auto text = dyn_cast<StringAttr>(value);
    if (!text || text.empty())
      return emitAttrError(op) << "has '" << key << "', which must be a "
                               << "string that is not empty, not " << value;
    if (key == partKey && !parsePart(text.getValue()))
      return emitAttrError(op)
             << "has the part " << value << "; parts are slice, whole and ring";
    return success();
  }
  if (!llvm::is_contained({countKey, indexKey, axisKey, blocksKey}, key))
    return emitAttrError(op) << "has the unknown key '" << key << "'";
  auto number = dyn_cast<IntegerAttr>(value);
  int64_t least = key == countKey ? 2 : key == blocksKey ? 1 : 0;
  if (!number || !number.getType().isInteger(64) || number.getInt() < least)
    return emitAttrError(op) << "has '" << key << "', which must be an i64 of "
                             << "at least " << least << ", not " << value;
  return success();
}

LogicalResult mlir::commsched::verifyChunkAttribute(Operation *op,
                                                    Attribute attr) {
  auto dict = dyn_cast<DictionaryAttr>(attr);
  if (!dict)
    return emitAttrError(op) << "must be a dictionary, not " << attr;
  for (NamedAttribute entry : dict)
    if (failed(verifyEntry(op, entry)))
      return failure();
  for (StringRef key : {ofKey, countKey})
    if (!dict.contains(key))
      return emitAttrError(op) << "lacks the key '" << key << "'";
  std::optional<ChunkInfo> info = getChunkInfo(op);
  if (info->part != ChunkPart::Whole && !info->index)
    return emitAttrError(op) << "lacks the key '" << indexKey << "'";
  if (info->part == ChunkPart::Chunk && (!info->axis || !info->blocks))
    return emitAttrError(op) << "lacks the keys '" << axisKey << "' and '"
                             << blocksKey << "' of a chunk";
  if (info->index && *info->index >= info->count)
    return emitAttrError(op) << "has the index " << *info->index << ", but "
                             << info->count << " is the number of chunks";
  return success();
}
