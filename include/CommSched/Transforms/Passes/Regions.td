//===- Regions.td - Passes on marked regions ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_REGIONS_TD
#define COMMSCHED_TRANSFORMS_PASSES_REGIONS_TD

include "mlir/Pass/PassBase.td"

def CompileRegions : Pass<"commsched-compile-regions", "::mlir::ModuleOp"> {
  let summary = "compile marked regions by pipelines of their own";
  let description = [{
    Outlines operations with `commsched.compile_with = {pipeline = "…", region =
    "…"}` to private functions `@__marked_region_0` and so on, numbered in the
    program order of their calls. Then runs the pipeline on each of these
    functions, on several in parallel.

    The operations of one block and one region form sets that are as large as
    possible: no path of dependences leaves a set and returns to it, also not
    through other sets, and no two sets could be merged. A set may have a single
    operation. Marks without a region name form one region. An operation with
    regions is outlined as a whole, with the marks inside of it; marked operations
    in an unmarked operation form sets of their own block. A call takes the place
    of the first operation of its set, after the operations that the set depends
    on.

    A function takes the values that its operations use, also those that regions
    inside of them capture, and returns those that others use. Constants and
    empty tensors are copied. Views that others use as well stay outside, with a
    copy in the function if it needs one, where they would make a result a view
    of an argument or return one storage twice. Starts go with their waits or
    stay: futures cannot cross a call. Terminators, symbols and stack
    allocations stay, too. Remarks report what was outlined and what was not.

    A mark may lack `pipeline`: then those of other marks of the region count, and
    if there is none the function is outlined and stays as it is. What a mark
    asks of other compilers (`settings`) has no effect, which a remark says of
    each key.

    A pipeline is a list of passes on `func.func`, wrapped in `func.func(…)` or
    not. One that is not valid, that needs a dialect that nothing has loaded, or
    a region with two different pipelines, is an error before anything changes.
    A pipeline that fails is an error at the first operation of its set.

    Outlined operations lose their marks. A call gets `commsched.pure` if the
    function has no effects and returns storage of its own, so that communication
    may cross the call, and `commsched.runtime_ns`, the simulated time of the
    function, if operations of the set had pinned times.
  }];
  // The dialects that pipelines are likely to need.
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
