// Two programs on the same inputs, result by result on every rank.

// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: %python %S/Inputs/npy.py make x.npy '<f4' 1x2 1 2
// RUN: %python %S/Inputs/npy.py make y0.npy '<i4' 3 1 1 0
// RUN: %python %S/Inputs/npy.py make y1.npy '<i4' 3 1 1 1
// RUN: commsched-opt base.mlir --commsched-pipeline -o scheduled.mlir
// RUN: commsched-run scheduled.mlir --compare=base.mlir --ranks 4 \
// RUN:   | FileCheck %s --check-prefix=EQUAL
// RUN: commsched-run same-on-rank0.mlir --compare=same-on-rank0.mlir \
// RUN:   -o /dev/null | FileCheck %s --check-prefix=ONE

// Both tables, then one line.
// EQUAL: base.mlir: @step on 4 ranks, backend local, one run without warm-up
// EQUAL: scheduled.mlir: @step on 4 ranks
// EQUAL: {{^}}equal: all 48 elements on 4 ranks{{$}}
// ONE: {{^}}equal: all 3 elements on 1 rank{{$}}

// The first difference is that of the first rank that has one.
// RUN: sed 's/4.0, 4.0/5.0, 4.0/' base.mlir > other.mlir
// RUN: not commsched-run other.mlir --compare=base.mlir --ranks 4 \
// RUN:   --input=0=x.npy -o /dev/null | FileCheck %s --check-prefix=OTHER
// OTHER: {{^}}different: result 1[1, 0] on rank 0 is 4 in 'base.mlir', but 5 in 'other.mlir'; 4 of 48 elements differ{{$}}
// RUN: sed 's/addi/muli/' same-on-rank0.mlir > squared.mlir
// RUN: not commsched-run same-on-rank0.mlir --compare=squared.mlir \
// RUN:   --ranks 2 --input=0=y%%r.npy -o /dev/null | FileCheck %s --check-prefix=RANK1
// RANK1: {{^}}different: argument 0[2] on rank 1 is 1 in 'squared.mlir', but 2 in 'same-on-rank0.mlir'; 1 of 6 elements differ{{$}}

// Within the tolerance, of which unittests/Run has the rules.
// RUN: %prints commsched-run other.mlir --compare=base.mlir --ranks 4 --input=0=x.npy -o /dev/null --tolerance=0.1667 '{{^}}equal: all 48 elements on 4 ranks{{$}}'

// The same types, or it makes no sense.
// RUN: %fails commsched-run narrow.mlir --compare=base.mlir --ranks 4 "{{^}}commsched-run: cannot compare: @step of 'base.mlir' has 1 argument, but @step of 'narrow.mlir' has 0 arguments{{$}}"
// RUN: %fails commsched-run same-on-rank0.mlir --compare=base.mlir --ranks 4 "{{^}}commsched-run: cannot compare: @step of 'base.mlir' has 2 results, but @step of 'same-on-rank0.mlir' has 0 results{{$}}"
// RUN: %fails commsched-run wide.mlir --compare=narrow.mlir \
// RUN:   "{{^}}commsched-run: cannot compare: @step of 'narrow.mlir' has result 0 of type tensor<4xf32>, but @step of 'wide.mlir' has result 0 of type tensor<2x2xf32>{{$}}"

//--- base.mlir
commsched.group @dp size(4)

func.func @step(%x: tensor<1x2xf32>) -> (tensor<4x2xf32>, tensor<2x2xf32>) {
  %gather = commsched.all_gather %x on @dp dim(0)
      : tensor<1x2xf32> -> !commsched.future<tensor<4x2xf32>>
  %all = commsched.wait %gather : !commsched.future<tensor<4x2xf32>>
  %two = arith.constant dense<[[1.0, 2.0], [4.0, 4.0]]> : tensor<2x2xf32>
  return %all, %two : tensor<4x2xf32>, tensor<2x2xf32>
}

//--- same-on-rank0.mlir
func.func @step(%x: memref<3xi32>) {
  %last = arith.constant 2 : index
  %value = memref.load %x[%last] : memref<3xi32>
  %sum = arith.addi %value, %value : i32
  memref.store %sum, %x[%last] : memref<3xi32>
  return
}

//--- narrow.mlir
func.func @step() -> tensor<4xf32> {
  %x = arith.constant dense<0.0> : tensor<4xf32>
  return %x : tensor<4xf32>
}

//--- wide.mlir
func.func @step() -> tensor<2x2xf32> {
  %x = arith.constant dense<0.0> : tensor<2x2xf32>
  return %x : tensor<2x2xf32>
}
