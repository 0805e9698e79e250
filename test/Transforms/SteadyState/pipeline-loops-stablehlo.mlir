// RUN: commsched-opt %s --convert-stablehlo-to-commsched --commsched-pipeline-loops=memory-budget=400%% \
// RUN:   --convert-commsched-to-stablehlo --mlir-print-op-generic | FileCheck %s --enable-var-scope
// RUN: commsched-opt %s --convert-stablehlo-to-commsched -o /dev/null \
// RUN:   --commsched-pipeline-loops=memory-budget=400%% --remarks-filter=commsched 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: commsched-opt %s --convert-stablehlo-to-commsched -o /dev/null \
// RUN:   --commsched-pipeline="memory-budget=0%% strict"

// RUN: sed 's/dense<8> : tensor<i32>/dense<7> : tensor<i32>/; s/direction LT/direction LE/' %s \
// RUN:   | commsched-opt --convert-stablehlo-to-commsched --commsched-pipeline-loops=memory-budget=400%% \
// RUN:   --mlir-print-op-generic | FileCheck %s --check-prefix=LE
// RUN: sed 's/dense<8> : tensor<i32>/dense<127> : tensor<i32>/; s/direction LT/direction LE/; s/tensor<i32>/tensor<i8>/g' %s \
// RUN:   | commsched-opt --convert-stablehlo-to-commsched --commsched-pipeline-loops --remarks-filter=commsched \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRAPS
// RUN: sed 's/dense<8> : tensor<i32>/dense<9223372036854775807> : tensor<i32>/; s/direction LT/direction LE/; s/tensor<i32>/tensor<ui64>/g' %s \
// RUN:   | commsched-opt --convert-stablehlo-to-commsched --commsched-pipeline-loops --remarks-filter=commsched \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRAPS
// RUN: sed 's/dense<8> : tensor<i32>/dense<9223372036854775808> : tensor<i32>/; s/tensor<i32>/tensor<ui64>/g' %s \
// RUN:   | commsched-opt --convert-stablehlo-to-commsched --commsched-pipeline-loops --remarks-filter=commsched \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: sed 's/%zero = "stablehlo.constant"() <{value = dense<0>/%zero = "stablehlo.constant"() <{value = dense<120>/; s/dense<8> : tensor<i32>/dense<128> : tensor<i32>/; s/tensor<i32>/tensor<ui8>/g' %s \
// RUN:   | commsched-opt --convert-stablehlo-to-commsched --commsched-pipeline-loops=memory-budget=400%% \
// RUN:   --mlir-print-op-generic | FileCheck %s --check-prefix=UNSIGNED

// A scan over layers as JAX writes it, with what it calls inlined: a loop of
// StableHLO remains one.

// REMARK: LoopPipelined | {{.*}}Function=scan | {{.*}}Depth=2
// REMARK: LoopKept | {{.*}}Function=until | {{.*}}: it may end early: stablehlo.compare decides, and not a comparison of a counter with a constant"

// LE: dense<6> : tensor<i32>
// LE-NEXT: "stablehlo.compare"{{.*}} LE>
// WRAPS: LoopKept | {{.*}}Function=scan | {{.*}}: it has too many iterations"
// LARGE: LoopKept | {{.*}}Function=scan | {{.*}}: it counts to a constant that is no integer below 2^63
// UNSIGNED: dense<127> : tensor<ui8>
// UNSIGNED-NEXT: "stablehlo.compare"

// CHECK:       ^bb0(%[[STACKED:.+]]: tensor<8x64x256xf32>, %[[X:.+]]: tensor<256x256xf32>):
// CHECK:         "stablehlo.dynamic_slice"(%[[STACKED]],
// CHECK:         "stablehlo.all_gather"
// CHECK:         "stablehlo.while"
// CHECK:           "stablehlo.constant"() <{value = dense<7> : tensor<i32>}>
// CHECK:           "stablehlo.all_gather"
// CHECK:           "stablehlo.dot_general"
// CHECK:         %[[LAST:.+]] = "stablehlo.dot_general"
// CHECK-NOT:     "stablehlo.all_gather"
// CHECK:         "func.return"(%[[LAST]])
// CHECK-NOT:   scf.
// CHECK-NOT:   arith.

// The copy-in of merged gathers runs an iteration before them. The buffer that it
// is for has no form in StableHLO, and is not carried.

// CHECK:       sym_name = "merged"
// CHECK:         "stablehlo.while"
// CHECK:         "stablehlo.compare"
// CHECK:         ^bb0(%{{[^:]+}}: tensor<i32>, %{{[^:]+}}: tensor<i32>, %{{[^:]+}}: tensor<64x64xf32>, %[[SENT:[^:]+]]: tensor<2048xf32>, %{{[^:]+}}: tensor<8192xf32>):
// CHECK:           "stablehlo.async_start"(%[[SENT]])
// CHECK:           "stablehlo.concatenate"
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<8x64x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>, sym_name = "scan"}> ({
  ^bb0(%stacked: tensor<8x64x256xf32>, %x: tensor<256x256xf32>):
    %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %y:3 = "stablehlo.while"(%stacked, %zero, %x) ({
    ^bb0(%s: tensor<8x64x256xf32>, %i: tensor<i32>, %a: tensor<256x256xf32>):
      %end = "stablehlo.constant"() <{value = dense<8> : tensor<i32>}> : () -> tensor<i32>
      %goes_on = "stablehlo.compare"(%i, %end) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%goes_on) : (tensor<i1>) -> ()
    }, {
    ^bb0(%s: tensor<8x64x256xf32>, %i: tensor<i32>, %a: tensor<256x256xf32>):
      %zero0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
      %slice = "stablehlo.dynamic_slice"(%s, %i, %zero0, %zero0) <{slice_sizes = array<i64: 1, 64, 256>}> {commsched.runtime_ns = 1000 : i64} : (tensor<8x64x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x256xf32>
      %shard = "stablehlo.reshape"(%slice) {commsched.runtime_ns = 0 : i64} : (tensor<1x64x256xf32>) -> tensor<64x256xf32>
      %w = "stablehlo.all_gather"(%shard) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<64x256xf32>) -> tensor<256x256xf32>
      %b = "stablehlo.dot_general"(%a, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> {commsched.runtime_ns = 50000 : i64} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %next = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%s, %next, %b) : (tensor<8x64x256xf32>, tensor<i32>, tensor<256x256xf32>) -> ()
    }) : (tensor<8x64x256xf32>, tensor<i32>, tensor<256x256xf32>) -> (tensor<8x64x256xf32>, tensor<i32>, tensor<256x256xf32>)
    "func.return"(%y#2) : (tensor<256x256xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "until"}> ({
  ^bb0(%x: tensor<f32>):
    %y = "stablehlo.while"(%x) ({
    ^bb0(%a: tensor<f32>):
      %end = "stablehlo.constant"() <{value = dense<8.0> : tensor<f32>}> : () -> tensor<f32>
      %goes_on = "stablehlo.compare"(%a, %end) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%goes_on) : (tensor<i1>) -> ()
    }, {
    ^bb0(%a: tensor<f32>):
      %sum = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %add = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%add) : (tensor<f32>) -> ()
      }) : (tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%sum) : (tensor<f32>) -> ()
    }) : (tensor<f32>) -> tensor<f32>
    "func.return"(%y) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<8x16x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>, sym_name = "merged"}> ({
  ^bb0(%stacked: tensor<8x16x64xf32>, %x: tensor<64x64xf32>):
    %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %y:2 = "stablehlo.while"(%zero, %x) ({
    ^bb0(%i: tensor<i32>, %a: tensor<64x64xf32>):
      %end = "stablehlo.constant"() <{value = dense<8> : tensor<i32>}> : () -> tensor<i32>
      %goes_on = "stablehlo.compare"(%i, %end) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%goes_on) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i: tensor<i32>, %a: tensor<64x64xf32>):
      %slice = "stablehlo.dynamic_slice"(%stacked, %i, %zero, %zero) <{slice_sizes = array<i64: 1, 16, 64>}> {commsched.runtime_ns = 1000 : i64} : (tensor<8x16x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x64xf32>
      %shard = "stablehlo.reshape"(%slice) {commsched.runtime_ns = 0 : i64} : (tensor<1x16x64xf32>) -> tensor<16x64xf32>
      %other = "stablehlo.negate"(%shard) {commsched.runtime_ns = 1000 : i64} : (tensor<16x64xf32>) -> tensor<16x64xf32>
      %w = "stablehlo.all_gather"(%shard) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<16x64xf32>) -> tensor<64x64xf32>
      %b = "stablehlo.dot_general"(%a, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> {commsched.runtime_ns = 3000 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %v = "stablehlo.all_gather"(%other) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<16x64xf32>) -> tensor<64x64xf32>
      %c = "stablehlo.dot_general"(%b, %v) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> {commsched.runtime_ns = 3000 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %next = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%next, %c) : (tensor<i32>, tensor<64x64xf32>) -> ()
    }) : (tensor<i32>, tensor<64x64xf32>) -> (tensor<i32>, tensor<64x64xf32>)
    "func.return"(%y#1) : (tensor<64x64xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
