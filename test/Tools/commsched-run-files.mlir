// Results come from what the ranks are given, by files of their own or of all.

// RUN: rm -rf %t && mkdir -p %t/in/rank0 %t/in/rank1
// RUN: %python %S/Inputs/npy.py make %t/in/rank0/arg0.npy '<f4' 1x2 1 2
// RUN: %python %S/Inputs/npy.py make %t/in/rank1/arg0.npy '<f4' 1x2 10 20
// RUN: %python %S/Inputs/npy.py make %t/in/arg1.npy '<f8' 2 0.5 0.25
// RUN: commsched-run %s --ranks 2 --inputs-dir=%t/in --output-dir=%t/out
// RUN: %python %S/Inputs/npy.py show %t/out/rank0/*.npy %t/out/rank1/*.npy | FileCheck %s

// Memref arguments are outputs too, as long as their content means something.
// CHECK: rank0/arg1.npy <f8 (2,) 0.5 0.5{{$}}
// CHECK-NOT: arg2
// CHECK: rank0/result0.npy <f4 (2, 2) 1.0 2.0 10.0 20.0{{$}}
// CHECK: rank0/result1.npy <f4 (1, 2) 11.0 22.0{{$}}
// CHECK: rank1/arg1.npy <f8 (2,) 0.5 0.5{{$}}
// CHECK: rank1/result0.npy <f4 (2, 2) 1.0 2.0 10.0 20.0{{$}}
// CHECK: rank1/result1.npy <f4 (1, 2) 11.0 22.0{{$}}

// The first run's results count.
// RUN: commsched-run %s --ranks 2 --inputs-dir=%t/in --output-dir=%t/again --repeat=3
// RUN: diff -r %t/out %t/again

// A file for one argument comes before the directory.
// RUN: %python %S/Inputs/npy.py make %t/special1.npy '<f4' 1x2 5 6 --version2
// RUN: cp %t/in/rank0/arg0.npy %t/special0.npy
// RUN: commsched-run %s --ranks 2 --inputs-dir=%t/in \
// RUN:   --input=0=%t/special%%r.npy --output-dir=%t/special
// RUN: %prints %python %S/Inputs/npy.py show %t/special/rank0/result0.npy '(2, 2) 1.0 2.0 5.0 6.0{{$}}'

// What is made up depends on the seed, the rank and the argument.
// RUN: commsched-run %s --ranks 2 --output-dir=%t/seed0
// RUN: commsched-run %s --ranks 2 --output-dir=%t/seed0again --seed=0
// RUN: diff -r %t/seed0 %t/seed0again
// RUN: commsched-run %s --ranks 2 --output-dir=%t/seed1 --seed=1
// RUN: not cmp %t/seed0/rank0/result0.npy %t/seed1/rank0/result0.npy
// RUN: not cmp %t/seed0/rank0/arg1.npy %t/seed0/rank1/arg1.npy
// RUN: commsched-run %s --ranks 2 --output-dir=%t/same --same-inputs
// RUN: cmp %t/same/rank0/arg1.npy %t/same/rank1/arg1.npy
// RUN: cmp %t/same/rank0/arg1.npy %t/seed0/rank0/arg1.npy

commsched.group @pair size(2)

func.func @step(%shard: tensor<1x2xf32>, %state: memref<2xf64>,
                %param: memref<2xf32> {commsched.role = "unsharded_param"})
    -> (tensor<2x2xf32>, tensor<1x2xf32>) {
  %gather = commsched.all_gather %shard on @pair dim(0)
      : tensor<1x2xf32> -> !commsched.future<tensor<2x2xf32>>
  %full = commsched.wait %gather : !commsched.future<tensor<2x2xf32>>
  %reduce = commsched.all_reduce %shard on @pair reduction(sum)
      : tensor<1x2xf32> -> !commsched.future<tensor<1x2xf32>>
  %sum = commsched.wait %reduce : !commsched.future<tensor<1x2xf32>>
  %one = arith.constant 1 : index
  %old = memref.load %state[%one] : memref<2xf64>
  %new = arith.addf %old, %old : f64
  memref.store %new, %state[%one] : memref<2xf64>
  return %full, %sum : tensor<2x2xf32>, tensor<1x2xf32>
}
