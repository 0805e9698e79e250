//===- NcclImplementations.cpp - Implementations by NCCL ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What NCCL needs for the implementation of a group: the configuration of its
// communicator, and, for copy engines and kernels on symmetric memory, a
// window: memory at the same offsets on all ranks, which they have registered
// together. Collectives outside of a window would run as NCCL's usual kernels
// without notice.
//
// Buffers of a program do not lie in windows. A group has one window for the
// tensors of one launch, since its stream carries out one launch after the
// other: what is sent is copied in before the calls of NCCL, and what is
// received copied out after them, both on the stream of the group.
//
//===----------------------------------------------------------------------===//

#include "Nccl/NcclBackend.h"

#include "Numerics/ElementTypes.h"

#include <algorithm>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

//===----------------------------------------------------------------------===//
// What NCCL can carry out
//===----------------------------------------------------------------------===//

ncclConfig_t
commsched::runtime::nccl::makeConfig(const Implementation &implementation) {
  // Nothing is inherited from the communicator that is split.
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (implementation.channels > 0)
    config.minCTAs = config.maxCTAs = implementation.channels;
  if (implementation.method == Method::CopyEngine)
    config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
  return config;
}

/// "2.27.3" for 22703, as ncclGetVersion codes it.
static std::string formatVersion(int version) {
  return concat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

/// The first version that has the method.
static int getFirstVersion(Method method) {
  switch (method) {
  case Method::Nccl:
    return 0;
  case Method::CopyEngine:
    return NCCL_VERSION(2, 28, 0);
  case Method::Symmetric:
    return NCCL_VERSION(2, 27, 0);
  }
  return 0;
}

/// The kinds that run otherwise than by NCCL's usual kernels; NCCL falls back
/// to those for all others, without notice.
static std::vector<commsched_kind> getKinds(Method method) {
  if (method == Method::CopyEngine)
    return {COMMSCHED_ALL_GATHER, COMMSCHED_ALL_TO_ALL};
  return {COMMSCHED_ALL_GATHER, COMMSCHED_REDUCE_SCATTER, COMMSCHED_ALL_REDUCE};
}

/// "all_gather, reduce_scatter and all_reduce".
static std::string listKinds(const std::vector<commsched_kind> &kinds) {
  std::string text;
  for (size_t i = 0; i < kinds.size(); ++i)
    text += (i == 0                  ? ""
             : i + 1 == kinds.size() ? " and "
                                     : ", ") +
            std::string(getName(kinds[i]));
  return text;
}

Status NcclBackend::checkImplementation(const Implementation &implementation,
                                        const Site &site) const {
  if (!needsWindow(implementation))
    return Status();
  int first = getFirstVersion(implementation.method);
  if (ncclVersion < first)
    return "needs NCCL " + formatVersion(first) + ", but " +
           formatVersion(ncclVersion) + " is loaded";
  std::vector<commsched_kind> kinds = getKinds(implementation.method);
  if (std::find(kinds.begin(), kinds.end(), site.kind) == kinds.end())
    return "carries out " + listKinds(kinds) + " only";
  // Parts that are listed are sends and receives.
  if (site.hasSplitValues() ||
      std::any_of(
          site.tensors.begin(), site.tensors.end(),
          [](const Tensor &tensor) { return !tensor.inputSplits.empty(); }))
    return std::string("carries out all_to_all in equal parts only");
  return Status();
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// More than any kernel needs.
static constexpr int64_t windowAlignment = 256;

static int64_t alignInWindow(int64_t bytes) {
  return (bytes + windowAlignment - 1) / windowAlignment * windowAlignment;
}

int64_t commsched::runtime::nccl::getWindowBytes(
    const std::vector<const Site *> &sites) {
  int64_t most = 0;
  for (const Site *site : sites) {
    int64_t bytes = 0;
    for (const Tensor &tensor : site->tensors)
      bytes += alignInWindow(tensor.getInputBytes()) +
               alignInWindow(tensor.getOutputBytes());
    most = std::max(most, bytes);
  }
  return most;
}

Launch commsched::runtime::nccl::moveIntoWindow(const Launch &launch,
                                                void *base) {
  Launch moved = launch;
  auto *next = static_cast<char *>(base);
  for (size_t i = 0; i < launch.getTensors().size(); ++i) {
    moved.inputs[i] = next;
    next += alignInWindow(launch.getTensors()[i].getInputBytes());
    moved.outputs[i] = next;
    next += alignInWindow(launch.getTensors()[i].getOutputBytes());
  }
  return moved;
}

Status NcclBackend::copyWindow(const Channel &channel, const Launch &launch,
                               bool isInput) {
  Launch inWindow = moveIntoWindow(launch, channel.window.buffer);
  int64_t bytes = 0;
  for (size_t i = 0; i < launch.getTensors().size(); ++i) {
    const Tensor &tensor = launch.getTensors()[i];
    int64_t count = isInput ? tensor.getInputBytes() : tensor.getOutputBytes();
    if (count == 0)
      continue;
    bytes += count;
    void *target =
        isInput ? const_cast<void *>(inWindow.inputs[i]) : launch.outputs[i];
    const void *source = isInput ? launch.inputs[i] : inWindow.outputs[i];
    COMMSCHED_TRY(CALL_CUDA(cudaMemcpyAsync, target, source, count,
                            cudaMemcpyDeviceToDevice, channel.stream));
  }
  recorder.addStagedBytes(bytes);
  return Status();
}
