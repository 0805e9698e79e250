//===- NcclImplementations.h - Implementations by NCCL ----------*- C++ -*-===//
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

#ifndef COMMSCHED_RUNTIME_NCCL_NCCLIMPLEMENTATIONS_H
#define COMMSCHED_RUNTIME_NCCL_NCCLIMPLEMENTATIONS_H

#include "CommSched/Runtime/Backend.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace commsched::runtime::nccl {

/// The configuration of the communicator of a group with `implementation`.
ncclConfig_t makeConfig(const Implementation &implementation);

/// Whether the collectives of the implementation work on a window.
inline bool needsWindow(const Implementation &implementation) {
  return implementation.method != Method::Nccl;
}

/// "2.27.3" for 22703, as ncclGetVersion codes it.
std::string formatVersion(int version);

/// An error if NCCL of `version` cannot carry out the site by the
/// implementation; see Backend::checkImplementation for its form.
Status checkImplementation(const Implementation &implementation,
                           const Site &site, int version);

/// An error unless all members of the group are on one node. `nodes` has the
/// names of the nodes of all ranks.
Status checkNodes(const Group &group, const std::vector<std::string> &nodes);

/// The bytes of a window for any one of the sites.
int64_t getWindowBytes(const std::vector<const Site *> &sites);

/// The launch with its buffers in the window at `base`. Tensors begin at
/// multiples of 256 bytes.
Launch moveIntoWindow(const Launch &launch, void *base);

/// Enqueues the copies of what the launch sends (`isInput`) into the window, of
/// which `inWindow` has the buffers, or of what it receives out of it, and adds
/// them to `bytes`.
Status copyWindow(const Launch &inWindow, const Launch &launch, bool isInput,
                  cudaStream_t stream, int64_t &bytes);

} // namespace commsched::runtime::nccl

#endif // COMMSCHED_RUNTIME_NCCL_NCCLIMPLEMENTATIONS_H
