//===- ProgramDescription.cpp - What the runtime loads --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../RuntimeTypes.h"
#include "RuntimeCalls.h"

#include "CommSched/Analysis/OperationTexts.h"
#include "llvm/Support/ScopedPrinter.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::commsched;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static json::Object describeGroup(GroupOp group) {
  json::Object object{{"name", group.getSymName()},
                      {"size", int64_t(group.getSize())}};
  if (group.getRanks()) {
    json::Array rows;
    auto values = group.getRanks()->getValues<int64_t>();
    for (auto [index, rank] : llvm::enumerate(values)) {
      if (index % group.getSize() == 0)
        rows.push_back(json::Array());
      rows.back().getAsArray()->push_back(rank);
    }
    object["ranks"] = std::move(rows);
  } else {
    object["stride"] = group.getStride() ? int64_t(*group.getStride()) : 1;
  }
  return object;
}

ProgramDescription::ProgramDescription(ModuleOp module) {
  module.walk([&](GroupOp group) {
    groupIndices[group.getSymNameAttr()] = groups.size();
    groups.push_back(describeGroup(group));
  });
}

FailureOr<int32_t> ProgramDescription::getGroup(Operation *op,
                                                FlatSymbolRefAttr symbol) {
  auto found = groupIndices.find(symbol.getAttr());
  if (found == groupIndices.end())
    return op->emitError("group ") << symbol << " does not exist";
  return found->second;
}

FailureOr<int32_t>
ProgramDescription::getGroup(Operation *op, FlatSymbolRefAttr symbol,
                             rt::ImplementationAttr implementation) {
  FailureOr<int32_t> plain = getGroup(op, symbol);
  if (failed(plain) || !implementation)
    return plain;
  auto [entry, isNew] = implementedGroups.try_emplace(
      {*plain, implementation}, static_cast<int32_t>(groups.size()));
  if (!isNew)
    return entry->second;
  json::Object group = *groups[*plain].getAsObject();
  json::Object object{{"name", implementation.getName()},
                      {"method", implementation.getMethod()}};
  if (implementation.getChannels() > 0)
    object["channels"] = implementation.getChannels();
  if (StringAttr stream = implementation.getStream())
    object["stream"] = stream.getValue();
  group["implementation"] = std::move(object);
  groups.push_back(std::move(group));
  return entry->second;
}

//===----------------------------------------------------------------------===//
// Collectives and operators
//===----------------------------------------------------------------------===//

json::Object ProgramDescription::getSite(StringRef name, Location loc,
                                         CollectiveKind kind,
                                         std::optional<int32_t> group,
                                         IntegerAttr runtimeNs) {
  json::Object site{{"name", name},
                    {"location", getLocationText(loc)},
                    {"kind", stringifyCollectiveKind(kind)}};
  if (group)
    site["group"] = *group;
  if (runtimeNs)
    site["runtime_ns"] = runtimeNs.getInt();
  return site;
}

FailureOr<int32_t> ProgramDescription::addSite(rt::StartOp op) {
  std::optional<int32_t> group;
  if (op.getGroupAttr()) {
    FailureOr<int32_t> found =
        getGroup(op, op.getGroupAttr(), op.getImplementationAttr());
    if (failed(found))
      return failure();
    group = *found;
  }
  json::Object site = getSite(op.getName(), op.getLoc(), op.getKind(), group,
                              op.getRuntimeNsAttr());
  if (op.getReduction())
    site["reduction"] = stringifyReductionKind(*op.getReduction());
  if (op.getPeer())
    site["peer"] = int64_t(*op.getPeer());
  if (op.getTag())
    site["tag"] = int64_t(*op.getTag());
  if (op.getPairs()) {
    json::Array pairs;
    auto values = op.getPairs()->getValues<int64_t>();
    for (auto it = values.begin(), end = values.end(); it != end;) {
      int64_t source = *it++, target = *it++;
      pairs.push_back(json::Array{source, target});
    }
    site["pairs"] = std::move(pairs);
  }
  auto addSplits = [&](StringRef key, std::optional<ArrayAttr> lists) {
    if (!lists)
      return;
    json::Array splits;
    for (auto list : lists->getAsRange<DenseI64ArrayAttr>())
      splits.push_back(json::Array(list.asArrayRef()));
    site[key] = std::move(splits);
  };
  addSplits("input_splits", op.getInputSplits());
  addSplits("output_splits", op.getOutputSplits());
  if (op.getInputValues())
    site["input_splits"] = "values";
  if (op.getOutputValues())
    site["output_splits"] = "values";
  OperandRange buffers =
      op.getOutputs().empty() ? op.getInputs() : op.getOutputs();
  json::Array tensors;
  for (auto [index, buffer, sent, received] :
       llvm::enumerate(buffers, op.getSent(), op.getReceived())) {
    json::Object tensor{
        {"type", getRuntimeTypeName(
                     cast<ShapedType>(buffer.getType()).getElementType())},
        {"inputs", sent},
        {"outputs", received}};
    if (op.hasSplitValues())
      tensor["row"] = (*op.getRow())[index];
    tensors.push_back(std::move(tensor));
  }
  site["tensors"] = std::move(tensors);
  sites.push_back(std::move(site));
  return sites.size() - 1;
}

FailureOr<int32_t> ProgramDescription::addSite(rt::BarrierOp op) {
  FailureOr<int32_t> group =
      getGroup(op, op.getGroupAttr(), op.getImplementationAttr());
  if (failed(group))
    return failure();
  json::Object site =
      getSite(op.getName(), op.getLoc(), CollectiveKind::Barrier, *group,
              op.getRuntimeNsAttr());
  site["tensors"] = json::Array();
  sites.push_back(std::move(site));
  return sites.size() - 1;
}

int32_t ProgramDescription::addOperator(StringRef name, Location loc,
                                        ValueRange inputs, ValueRange outputs) {
  auto describe = [](ValueRange buffers) {
    json::Array list;
    for (Value buffer : buffers) {
      auto type = cast<MemRefType>(buffer.getType());
      list.push_back(
          json::Object{{"type", getRuntimeTypeName(type.getElementType())},
                       {"elements", type.getNumElements()}});
    }
    return list;
  };
  operators.push_back(json::Object{
      {"name", json::isUTF8(name) ? name.str() : json::fixUTF8(name)},
      {"location", getLocationText(loc)},
      {"inputs", describe(inputs)},
      {"outputs", describe(outputs)}});
  return operators.size() - 1;
}

int32_t ProgramDescription::addOperator(rt::ComputeOp op) {
  return addOperator(op.getName(), op.getLoc(), op.getInputs(),
                     op.getOutputs());
}

int32_t ProgramDescription::addOperator(rt::AccountOp op) {
  return addOperator(op.getName(), op.getLoc(), {}, {});
}

void ProgramDescription::addHostCode(Operation *op) {
  if (hostCode.empty())
    hostCode = op->getName().getStringRef().str() + " at " +
               getLocationText(op->getLoc());
}

std::string ProgramDescription::getText() const {
  json::Object program{{"version", 1},
                       {"groups", json::Array(groups)},
                       {"sites", json::Array(sites)},
                       {"operators", json::Array(operators)}};
  if (!hostCode.empty())
    program["host_code"] = hostCode;
  return llvm::to_string(json::Value(std::move(program)));
}
