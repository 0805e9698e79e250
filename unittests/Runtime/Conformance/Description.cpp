//===- Description.cpp - Program descriptions of cases --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include <nlohmann/json.hpp>

using namespace commsched::conformance;
using nlohmann::json;

static json describeGroup(const ProcessGroup &group) {
  json value = {{"name", group.name}, {"size", group.getSize()}};
  if (group.stride)
    value["stride"] = group.stride;
  else
    value["ranks"] = group.rows;
  if (const Implementation *implementation = group.implementation) {
    value["implementation"] = {{"name", implementation->name},
                               {"method", implementation->method}};
    if (implementation->channels)
      value["implementation"]["channels"] = implementation->channels;
  }
  return value;
}

/// The site of `theCase` as a rank sees that is member `rank` of its group.
static json describeSite(const Case &theCase, const ProcessGroup &group,
                         int32_t rank, commsched_kind kind, int32_t site) {
  json value = {
      {"name", std::string(getName(kind)) + "#" + std::to_string(site)},
      {"location", "conformance.mlir:" + std::to_string(site + 1) + ":1"},
      {"kind", getName(kind)},
      {"group", theCase.group}};
  json tensors = json::array();
  json inputSplits = json::array();
  json outputSplits = json::array();
  for (const CaseTensor &tensor : theCase.tensors) {
    TensorSizes sizes = getSizes(theCase, tensor, rank, group.getSize());
    tensors.push_back(
        {{"type", tensor.format->name},
         {"inputs", kind == COMMSCHED_RECV ? 0 : sizes.inputs},
         {"outputs", kind == COMMSCHED_SEND ? 0 : sizes.outputs}});
    if (theCase.hasSplitValues())
      tensors.back()["row"] = tensor.count;
    if (theCase.inputValues)
      tensors.back().erase("inputs");
    if (theCase.outputValues)
      tensors.back().erase("outputs");
    inputSplits.push_back(sizes.inputSplits);
    outputSplits.push_back(sizes.outputSplits);
  }
  value["tensors"] = std::move(tensors);
  if (theCase.uneven) {
    value["input_splits"] = std::move(inputSplits);
    value["output_splits"] = std::move(outputSplits);
  }
  if (theCase.inputValues)
    value["input_splits"] = "values";
  if (theCase.outputValues)
    value["output_splits"] = "values";
  if (theCase.reduction)
    value["reduction"] = getName(*theCase.reduction);
  if (theCase.peer >= 0)
    value["peer"] = kind == COMMSCHED_RECV ? theCase.source : theCase.peer;
  if (theCase.kind == COMMSCHED_SEND)
    value["tag"] = theCase.tag;
  if (kind == COMMSCHED_PERMUTE)
    value["pairs"] = theCase.pairs;
  return value;
}

std::string commsched::conformance::makeDescription(const Plan &plan,
                                                    int32_t rank) {
  json groups = json::array();
  for (const ProcessGroup &group : plan.groups)
    groups.push_back(describeGroup(group));
  json sites = json::array();
  for (const Case &theCase : plan.cases) {
    const ProcessGroup &group = plan.groups[theCase.group];
    int32_t member = 0;
    if (const std::vector<int32_t> *row = group.findRow(rank))
      while ((*row)[member] != rank)
        ++member;
    sites.push_back(
        describeSite(theCase, group, member, theCase.kind, theCase.site));
    if (theCase.kind == COMMSCHED_SEND)
      sites.push_back(describeSite(theCase, group, member, COMMSCHED_RECV,
                                   theCase.site + 1));
  }
  return json{{"version", 1},
              {"groups", std::move(groups)},
              {"sites", std::move(sites)}}
      .dump();
}
