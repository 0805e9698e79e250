//===- Cases.cpp - Cases of the suite -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace commsched::conformance;
using nlohmann::json;

const std::vector<int32_t> *ProcessGroup::findRow(int32_t rank) const {
  for (const std::vector<int32_t> &row : rows)
    if (std::find(row.begin(), row.end(), rank) != row.end())
      return &row;
  return nullptr;
}

/// Rows from `source` to `target`: not symmetric, and often none.
static int64_t getRows(int32_t source, int32_t target) {
  return (source * 3 + target * 5 + 1) % 4;
}

std::vector<int64_t> commsched::conformance::getInputRows(int32_t rank,
                                                          int32_t size) {
  std::vector<int64_t> rows;
  for (int32_t other = 0; other < size; ++other)
    rows.push_back(getRows(rank, other));
  return rows;
}

std::vector<int64_t> commsched::conformance::getOutputRows(int32_t rank,
                                                           int32_t size) {
  std::vector<int64_t> rows;
  for (int32_t other = 0; other < size; ++other)
    rows.push_back(getRows(other, rank));
  return rows;
}

TensorSizes commsched::conformance::getSizes(const Case &theCase,
                                             const CaseTensor &tensor,
                                             int32_t rank, int32_t size) {
  int64_t one = tensor.count;
  int64_t all = one * size;
  switch (theCase.kind) {
  case COMMSCHED_ALL_GATHER:
    return {one, all, {}, {}};
  case COMMSCHED_REDUCE_SCATTER:
    return {all, one, {}, {}};
  case COMMSCHED_ALL_TO_ALL:
    break;
  case COMMSCHED_BARRIER:
    return {};
  default:
    return {one, one, {}, {}};
  }
  if (!theCase.uneven)
    return {all, all, {}, {}};
  // Whole rows, if the numbers of rows are values.
  int64_t divisor = theCase.hasSplitValues() ? 1 : 2;
  TensorSizes sizes;
  for (int32_t other = 0; other < size; ++other) {
    sizes.inputSplits.push_back(one * getRows(rank, other) / divisor);
    sizes.outputSplits.push_back(one * getRows(other, rank) / divisor);
    sizes.inputs += sizes.inputSplits.back();
    sizes.outputs += sizes.outputSplits.back();
  }
  return sizes;
}

const char *commsched::conformance::getName(commsched_kind kind) {
  constexpr std::array<const char *, COMMSCHED_RELOAD + 1> names = {
      "all_gather", "reduce_scatter", "all_reduce", "all_to_all",
      "broadcast",  "permute",        "send",       "recv",
      "barrier",    "offload",        "reload"};
  return names[kind];
}

const char *commsched::conformance::getName(commsched_reduction reduction) {
  constexpr std::array<const char *, numReductions> names = {
      "sum", "avg", "prod", "min", "max", "band", "bor", "bxor"};
  return names[reduction];
}

std::string commsched::conformance::describe(const Case &theCase,
                                             const Plan &plan) {
  std::string text = getName(theCase.kind);
  if (theCase.reduction)
    text += std::string("(") + getName(*theCase.reduction) + ")";
  text += " of";
  for (const CaseTensor &tensor : theCase.tensors)
    text += std::string(" ") + tensor.format->name + "*" +
            std::to_string(tensor.count);
  const ProcessGroup &group = plan.groups[theCase.group];
  text += " on '" + group.name + "'" +
          (group.implementation
               ? " (" + std::string(group.implementation->name) + ")"
               : "") +
          " of " + std::to_string(group.getSize());
  if (theCase.source >= 0)
    text += " from " + std::to_string(theCase.source);
  if (theCase.peer >= 0)
    text += " peer " + std::to_string(theCase.peer) + " tag " +
            std::to_string(theCase.tag);
  for (auto [source, target] : theCase.pairs)
    text += " " + std::to_string(source) + "->" + std::to_string(target);
  if (theCase.uneven)
    text += " uneven";
  if (theCase.inputValues)
    text += ", inputs by value";
  if (theCase.outputValues)
    text += ", outputs by value";
  if (theCase.inPlace)
    text += " in place";
  return text + " (site " + std::to_string(theCase.site) + " of '" + plan.name +
         "')";
}

/// Whether a reduction is defined for a type: truth values do not add up, only
/// fractions have an average, complex numbers no order, and only integers bits.
static bool isDefined(const ElementFormat &format,
                      commsched_reduction reduction) {
  if (format.elementClass == ElementClass::Opaque)
    return false;
  switch (reduction) {
  case COMMSCHED_SUM:
  case COMMSCHED_PROD:
    return format.elementClass != ElementClass::Bool;
  case COMMSCHED_AVG:
    return format.isFractional();
  case COMMSCHED_MIN:
  case COMMSCHED_MAX:
    return format.elementClass != ElementClass::Complex;
  case COMMSCHED_BAND:
  case COMMSCHED_BOR:
  case COMMSCHED_BXOR:
    return format.isInteger();
  }
  return false;
}

bool commsched::conformance::canReduce(const std::string &backend,
                                       const ElementFormat &format,
                                       commsched_reduction reduction) {
  if (!isDefined(format, reduction))
    return false;
  if (backend != "nccl")
    return true;
  // NCCL has no types of truth values or 16-bit integers, and no bitwise
  // reductions; parts of complex numbers can be summed alone.
  switch (format.elementClass) {
  case ElementClass::Signed:
  case ElementClass::Unsigned:
    return format.bytes != 2 && reduction < COMMSCHED_BAND;
  case ElementClass::Complex:
    return reduction == COMMSCHED_SUM || reduction == COMMSCHED_AVG;
  case ElementClass::Float:
    return true;
  default:
    return false;
  }
}

/// The backends that have it, for a cell of the table.
static std::string listBackends(const ElementFormat &format,
                                commsched_reduction reduction) {
  std::string names;
  int count = 0;
  for (const char *backend : {"local", "mpi", "nccl"})
    if (canReduce(backend, format, reduction))
      names += (count++ ? ", " : "") + std::string(backend);
  return count == 3 ? "all" : names;
}

void commsched::conformance::printSupport() {
  std::string header = "| type |";
  std::string line = "|---|";
  for (int i = 0; i < numReductions; ++i) {
    header +=
        std::string(" ") + getName(static_cast<commsched_reduction>(i)) + " |";
    line += "---|";
  }
  std::printf("%s\n%s\n", header.c_str(), line.c_str());
  for (const ElementFormat &format : getElementFormats()) {
    if (format.elementClass == ElementClass::Opaque)
      continue;
    std::string row = std::string("| `") + format.name + "` |";
    for (int i = 0; i < numReductions; ++i)
      row += " " + listBackends(format, static_cast<commsched_reduction>(i)) +
             " |";
    std::printf("%s\n", row.c_str());
  }
}

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
