//===- Regions.td - Passes on marked regions ---------------*- tablegen -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_REGIONS_TD
#define COMMSCHED_TRANSFORMS_PASSES_REGIONS_TD

include "mlir/Pass/PassBase.td"

def CompileRegions : Pass<"commsched-compile-regions", "::mlir::ModuleOp"> {
  let summary = "compile marked regions by pipelines of their own";
  let description = [{
    Operations with `commsched.compile_with = {pipeline = "…", region = "…"}`
    leave their functions for private ones, `@__marked_region_0` and so on in
    program order of the calls in their places; then the pipeline runs on each
    of these, on several at once.

    Operations of one block and one region come together in sets as large as can
    be: no path of dependences leaves a set and comes back, be it through other
    sets, and no two sets could be merged. One operation may be a set. Marks
    without a region are one region. An operation with regions is taken as a
    whole, marks inside of it included; marked operations in an unmarked one
    become sets of their own block. A call stands where the first operation of
    its set stood, behind what the set depends on.

    A function takes the values that its operations use, also those that regions
    inside of them capture, and returns those that others use. Constants and
    empty tensors are copied. Views that others use as well stay outside, with a
    copy in the function if it needs one, where they would make a result a view
    of an argument or return one storage twice. Starts go with their waits or
    stay: futures cross no call. What ends a block, defines a symbol, or
    allocates memory that goes with its function stays, too. Remarks tell what
    became of operations.

    A pipeline is a list of passes on `func.func`, wrapped in `func.func(…)` or
    not. One that is not valid, that needs a dialect that nothing has loaded, or
    a region with two different pipelines, is an error before anything changes.
    A pipeline that fails is an error at the first operation of its set.

    What was outlined has no marks any more. A call says `commsched.pure` if the
    function has no effect and results of their own, so that communication may
    cross it, and has as `commsched.runtime_ns` what the function's schedule
    takes, if operations of the set had pinned times.
  }];
  // Those that pipelines are likely to need.
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::commsched::CommSchedDialect",
    "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect",
  ];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_REGIONS_TD
