//===- SteadyFunctions.h - Functions of a steady state ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the functions of a steady state of the loop that the pipeliner makes of
// a step.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_STEADYFUNCTIONS_H
#define COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_STEADYFUNCTIONS_H

#include "CommSched/Analysis/Cyclic/StepLoop.h"

namespace mlir::commsched {

/// Adds the functions `@<step>_prologue`, `@<step>_steady` and
/// `@<step>_epilogue` behind the step. `kernel` is the loop of `steps` after
/// the pipeliner has put `depth` repetitions into it, at least 2, with all
/// input ports in the first stage and all output ports in the last. Linear in
/// the operations.
void createSteadyFunctions(const StepLoop &steps, scf::ForOp kernel,
                           int64_t depth);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_STEADYFUNCTIONS_H
