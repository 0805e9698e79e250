//===- Devices.cpp - How many devices a program has -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module says how many replicas and partitions it has, or does not: what XLA
// converts to StableHLO lacks the number of replicas. What the module does not
// say follows from the ids and types of its collectives.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

LogicalResult DeviceGroups::initialize(int64_t option) {
  if (option < 0 || option > maxNumDevices)
    return module.emitError("the option 'devices' is ")
           << option << ", but there are from 1 to " << maxNumDevices
           << " devices";
  numDevices = option;
  if (failed(readCount(module, numReplicasName, numReplicas, hasNumReplicas)) ||
      failed(readCount(module, numPartitionsName, numPartitions,
                       hasNumPartitions)))
    return failure();
  if (hasNumReplicas)
    knownReplicas = numReplicas;
  if (hasNumPartitions)
    knownPartitions = numPartitions;
  if (numDevices == 0)
    return success();
  int64_t said = numReplicas * numPartitions;
  bool isComplete = hasNumReplicas && hasNumPartitions;
  if (isComplete ? said == numDevices : numDevices % said == 0)
    return success();
  InFlightDiagnostic diag = module.emitError("the option 'devices' is ")
                            << numDevices << ", but the module has ";
  if (hasNumReplicas)
    diag << numReplicas << " replicas ('" << numReplicasName << "')";
  if (isComplete)
    diag << " of ";
  if (hasNumPartitions)
    diag << numPartitions << " partitions ('" << numPartitionsName << "')";
  return diag;
}

/// The replicas of `numPartitions` partitions each that `evidence` needs.
static int64_t countReplicas(const DeviceEvidence &evidence,
                             int64_t numPartitions) {
  int64_t count = std::max(int64_t(1), evidence.numReplicas);
  if (evidence.numDevices % numPartitions == 0)
    count = std::max(count, evidence.numDevices / numPartitions);
  return count;
}

void DeviceGroups::infer(const DeviceEvidence &evidence) {
  int64_t most = std::max({int64_t(1), evidence.numReplicas,
                           evidence.numPartitions, evidence.numDevices});
  bool hasBoth = evidence.usesReplicas && evidence.usesPartitions;
  hasEvidence = evidence.numReplicas || evidence.numPartitions ||
                evidence.numDevices || numDevices != 0;
  if (knownReplicas && knownPartitions)
    return;
  if (knownReplicas || knownPartitions) {
    std::optional<int64_t> &other =
        knownReplicas ? knownPartitions : knownReplicas;
    int64_t known = knownReplicas.value_or(1) * knownPartitions.value_or(1);
    int64_t &assumed = knownReplicas ? numPartitions : numReplicas;
    if (numDevices != 0)
      other = assumed = numDevices / known;
    else if (knownReplicas && evidence.partitionsOfReplica > 1)
      assumed = evidence.partitionsOfReplica;
    else if (known == 1)
      assumed = most;
    else
      assumed = knownReplicas ? 1 : countReplicas(evidence, known);
    // XLA's default, unless the ids need more.
    if (assumed == 1)
      other = 1;
    return;
  }
  if (numDevices != 0) {
    knownDevices = most = numDevices;
    isFlat = hasBoth;
    if (!hasBoth)
      (evidence.usesReplicas ? knownPartitions : knownReplicas) = 1;
    if (!hasBoth)
      (evidence.usesReplicas ? knownReplicas : knownPartitions) = most;
  } else if (evidence.partitionsOfReplica > 1) {
    numPartitions =
        std::max(evidence.partitionsOfReplica, evidence.numPartitions);
    numReplicas = std::max(int64_t(1), evidence.numReplicas);
    return;
  } else {
    isFlat = hasBoth;
  }
  (evidence.usesReplicas ? numReplicas : numPartitions) = most;
}

std::optional<int64_t> DeviceGroups::getNumIds(DeviceIds ids) const {
  if (isFlat)
    return knownDevices;
  switch (ids) {
  case DeviceIds::Replicas:
  case DeviceIds::WholeReplicas:
    return knownReplicas;
  case DeviceIds::Partitions:
    return knownPartitions;
  case DeviceIds::Flattened:
    if (knownReplicas && knownPartitions)
      return *knownReplicas * *knownPartitions;
    return std::nullopt;
  }
  return std::nullopt;
}

DeviceIds DeviceGroups::unify(DeviceIds ids) const {
  bool isDevice = isFlat;
  // With one replica, partitions are devices, and the other way round.
  if (ids == DeviceIds::Partitions)
    isDevice |= numReplicas == 1;
  else
    isDevice |= knownPartitions == 1;
  return isDevice ? DeviceIds::Flattened : ids;
}

std::optional<int64_t> DeviceGroups::countIds(DeviceIds ids,
                                              int64_t factor) const {
  if (std::optional<int64_t> known = getNumIds(ids))
    return known;
  bool isWhole = ids == DeviceIds::WholeReplicas && !isFlat;
  if (factor > 0 && (!isWhole || factor % numPartitions == 0))
    return isWhole ? factor / numPartitions : factor;
  if (!hasEvidence)
    return std::nullopt;
  if (ids == DeviceIds::Partitions && !isFlat)
    return numPartitions;
  bool hasReplicas =
      ids == DeviceIds::Replicas || ids == DeviceIds::WholeReplicas;
  return hasReplicas && !isFlat ? numReplicas : numReplicas * numPartitions;
}

std::string DeviceGroups::describeMissing(DeviceIds ids) const {
  bool hasReplicas = ids != DeviceIds::Partitions;
  bool hasPartitions =
      ids == DeviceIds::Partitions || ids == DeviceIds::Flattened;
  StringRef name;
  if (hasPartitions && !hasNumPartitions)
    name = numPartitionsName;
  else if (hasReplicas && !hasNumReplicas)
    name = numReplicasName;
  // Without any attribute, there is no number that one could take for another.
  if (name.empty() || !(hasNumReplicas || hasNumPartitions))
    return {};
  return ("; the attribute '" + name + "' of the module is missing").str();
}
