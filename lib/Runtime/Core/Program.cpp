//===- Program.cpp - The description of a program ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Program.h"

#include "Core/Describe.h"
#include "Core/JsonReader.h"
#include "Core/SiteCheck.h"
#include "Numerics/Types.h"

#include <set>

using namespace commsched::runtime;

/// Keeps bytes of buffers, and sums of a few of them, within an int64_t.
static constexpr int64_t maxElements = int64_t(1) << 48;
static constexpr int64_t maxRanks = 1 << 24;
static constexpr int64_t maxNs = int64_t(1) << 60;

static ElementType readType(const JsonReader &reader) {
  ElementType element;
  if (Error error = parseElementType(reader.getString("type"), element))
    reader.fail(*error);
  return element;
}

static GroupDescription readGroup(JsonReader &reader,
                                  std::set<std::string> &names) {
  reader.expectObject({"name", "size", "stride", "ranks"});
  GroupDescription group;
  group.name = reader.getString("name");
  reader.addName(group.name);
  if (!names.insert(group.name).second)
    reader.fail("another group has this name");
  group.size = reader.getInt("size", 1, maxRanks);
  if (reader.has("stride")) {
    if (reader.has("ranks"))
      reader.fail("has both 'stride' and 'ranks'");
    group.stride = reader.getInt("stride", 1, maxRanks);
  }
  if (!reader.has("ranks"))
    return group;
  std::set<int64_t> seen;
  for (const JsonReader &row : reader.getArray("ranks")) {
    std::vector<int64_t> ranks = row.asInts(0, maxRanks);
    if (static_cast<int64_t>(ranks.size()) != group.size)
      row.fail("lists " + std::to_string(ranks.size()) +
               " ranks, but 'size' is " + std::to_string(group.size));
    for (int64_t rank : ranks)
      if (!seen.insert(rank).second)
        row.fail("rank " + std::to_string(rank) + " is listed twice");
    group.ranks.emplace_back(ranks.begin(), ranks.end());
  }
  if (group.ranks.empty())
    reader.fail("'ranks' has no row");
  return group;
}

static Tensor readTensor(const JsonReader &reader) {
  reader.expectObject({"type", "inputs", "outputs"});
  Tensor tensor;
  tensor.element = readType(reader);
  if (reader.has("inputs"))
    tensor.inputs = reader.getInt("inputs", 0, maxElements);
  if (reader.has("outputs"))
    tensor.outputs = reader.getInt("outputs", 0, maxElements);
  return tensor;
}

/// One list for each tensor.
static std::vector<std::vector<int64_t>>
readSplits(const JsonReader &reader, const char *key, size_t numTensors) {
  std::vector<std::vector<int64_t>> splits;
  for (const JsonReader &list : reader.getArray(key))
    splits.push_back(list.asInts(0, maxElements));
  if (splits.size() != numTensors)
    reader.fail(std::string("'") + key + "' has " +
                std::to_string(splits.size()) + " lists for " +
                std::to_string(numTensors) + " tensors");
  return splits;
}

/// Splits in equal parts, for the side of an all_to_all that lists none.
static std::vector<int64_t> splitEvenly(const JsonReader &reader,
                                        const char *key, int64_t elements,
                                        int64_t size) {
  if (elements % size != 0)
    reader.fail(std::to_string(size) + " ranks do not divide '" + key +
                "' = " + std::to_string(elements) + ", and no splits say how");
  return std::vector<int64_t>(size, elements / size);
}

static void readAllSplits(const JsonReader &reader, Site &site, int64_t size) {
  bool hasInputs = reader.has("input_splits");
  bool hasOutputs = reader.has("output_splits");
  if (!hasInputs && !hasOutputs)
    return;
  if (site.kind != COMMSCHED_ALL_TO_ALL)
    reader.fail("only all_to_all has splits");
  size_t count = site.tensors.size();
  std::vector<std::vector<int64_t>> inputs(count), outputs(count);
  if (hasInputs)
    inputs = readSplits(reader, "input_splits", count);
  if (hasOutputs)
    outputs = readSplits(reader, "output_splits", count);
  for (size_t i = 0; i < count; ++i) {
    Tensor &tensor = site.tensors[i];
    tensor.inputSplits =
        hasInputs ? inputs[i]
                  : splitEvenly(reader, "inputs", tensor.inputs, size);
    tensor.outputSplits =
        hasOutputs ? outputs[i]
                   : splitEvenly(reader, "outputs", tensor.outputs, size);
  }
}

static Site readSite(JsonReader &reader, const Program &program) {
  reader.expectObject({"name", "location", "kind", "group", "runtime_ns",
                       "tensors", "reduction", "peer", "tag", "input_splits",
                       "output_splits", "pairs"});
  Site site;
  site.name = reader.getString("name");
  reader.addName(site.name);
  if (reader.has("location"))
    site.location = reader.getString("location");
  std::string kind = reader.getString("kind");
  std::optional<commsched_kind> parsedKind = parseKind(kind);
  if (!parsedKind)
    reader.fail("unknown kind '" + kind + "'");
  site.kind = *parsedKind;
  site.group = static_cast<int32_t>(reader.getInt(
      "group", 0, static_cast<int64_t>(program.groups.size()) - 1));
  int64_t size = program.groups[site.group].size;
  if (reader.has("reduction")) {
    std::string reduction = reader.getString("reduction");
    site.reduction = parseReduction(reduction);
    if (!site.reduction)
      reader.fail("unknown reduction '" + reduction + "'");
  }
  if (reader.has("peer"))
    site.peer = static_cast<int32_t>(reader.getInt("peer", 0, size - 1));
  if (reader.has("tag"))
    site.tag = static_cast<int32_t>(reader.getInt("tag", 0, INT32_MAX));
  if (reader.has("runtime_ns"))
    site.runtimeNs = reader.getInt("runtime_ns", -1, maxNs);
  if (reader.has("tensors"))
    for (const JsonReader &tensor : reader.getArray("tensors"))
      site.tensors.push_back(readTensor(tensor));
  readAllSplits(reader, site, size);
  if (reader.has("pairs")) {
    for (const JsonReader &pair : reader.getArray("pairs")) {
      std::vector<int64_t> ranks = pair.asInts(0, size - 1);
      if (ranks.size() != 2)
        pair.fail("a pair has a source and a target");
      site.pairs.emplace_back(ranks[0], ranks[1]);
    }
  }
  if (Error error = checkSiteDescription(site, size, reader.has("pairs")))
    reader.fail(*error);
  return site;
}

static std::vector<OperatorBuffer> readBuffers(const JsonReader &reader,
                                               const char *key) {
  std::vector<OperatorBuffer> buffers;
  if (!reader.has(key))
    return buffers;
  for (const JsonReader &buffer : reader.getArray(key)) {
    buffer.expectObject({"type", "elements"});
    buffers.push_back(
        {readType(buffer), buffer.getInt("elements", 0, maxElements)});
  }
  return buffers;
}

static Operator readOperator(JsonReader &reader) {
  reader.expectObject({"name", "location", "inputs", "outputs"});
  Operator op;
  op.name = reader.getString("name");
  reader.addName(op.name);
  if (reader.has("location"))
    op.location = reader.getString("location");
  op.inputs = readBuffers(reader, "inputs");
  op.outputs = readBuffers(reader, "outputs");
  return op;
}

static Program readProgram(const JsonReader &reader) {
  reader.expectObject({"version", "groups", "sites", "operators", "host_code"});
  Program program;
  // There is one version so far.
  reader.getInt("version", 1, 1);
  std::set<std::string> names;
  if (reader.has("groups"))
    for (JsonReader &group : reader.getArray("groups"))
      program.groups.push_back(readGroup(group, names));
  if (reader.has("sites")) {
    for (JsonReader &site : reader.getArray("sites")) {
      program.sites.push_back(readSite(site, program));
      program.sites.back().index =
          static_cast<int32_t>(program.sites.size() - 1);
    }
  }
  if (reader.has("operators")) {
    for (JsonReader &op : reader.getArray("operators")) {
      program.operators.push_back(readOperator(op));
      program.operators.back().index =
          static_cast<int32_t>(program.operators.size() - 1);
    }
  }
  if (reader.has("host_code"))
    program.hostCode = reader.getString("host_code");
  return program;
}

Error commsched::runtime::parseProgram(const std::string &json,
                                       Program &program) {
  const std::string prefix = "program description: ";
  try {
    JsonReader::Json document = JsonReader::Json::parse(json);
    program = readProgram(JsonReader(document, ""));
    return std::nullopt;
  } catch (const JsonError &error) {
    return prefix + error.what();
  } catch (const JsonReader::Json::exception &error) {
    return prefix + error.what();
  }
}

bool commsched::runtime::isUnevenAllToAll(const Site &site) {
  return !site.tensors.empty() && !site.tensors.front().inputSplits.empty();
}
