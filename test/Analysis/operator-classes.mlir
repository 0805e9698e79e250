// RUN: commsched-test-opt %s --allow-unregistered-dialect --test-operator-classes | FileCheck %s

// What computing an operation again means: by its name, its own interface, an
// external model, or what its traits and interfaces tell.

commsched.group @dp size(4)

// An overload is no part of the name; a name is no prefix of another one.
// CHECK-LABEL: @operators
func.func @operators(%a: tensor<8x8xf32>, %s: tensor<2xi64> {commsched.role = "rng_state"}) {
  // CHECK: "aten.add.Tensor"{{.*}}test.class = "pointwise", test.fusible, test.recomputable}
  %0 = commsched.compute "aten.add.Tensor"(%a, %a) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: "aten._to_copy"{{.*}}test.class = "pointwise"
  %1 = commsched.compute "aten._to_copy"(%a) : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  // CHECK: "aten.sum.dim_IntList"{{.*}}test.class = "reduction", test.fusible, test.recomputable}
  %2 = commsched.compute "aten.sum.dim_IntList"(%a) : (tensor<8x8xf32>) -> tensor<8xf32>
  // CHECK: "aten.index.Tensor"{{.*}}test.class = "data_movement", test.fusible, test.recomputable}
  %3 = commsched.compute "aten.index.Tensor"(%a) : (tensor<8x8xf32>) -> tensor<8xf32>
  // CHECK: "aten.cat"{{.*}}{test.class = "concatenation"}
  %4 = commsched.compute "aten.cat"(%a, %a) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  // CHECK: "aten.mm"{{.*}}{test.class = "compute_intensive"}
  %5 = commsched.compute "aten.mm"(%a, %a) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: "aten.sumofsquares"{{.*}}{test.class = "other"}
  %6 = commsched.compute "aten.sumofsquares"(%a) : (tensor<8x8xf32>) -> tensor<8xf32>
  // CHECK: "aten"({{.*}}{test.class = "other"}
  %7 = commsched.compute "aten"(%a) : (tensor<8x8xf32>) -> tensor<8xf32>
  // CHECK: "prims.add"{{.*}}{test.class = "other"}
  %8 = commsched.compute "prims.add"(%a) : (tensor<8x8xf32>) -> tensor<8xf32>
  // Nobody knows it, but that it computes much.
  // CHECK: "vendor.gemm"{{.*}}test.class = "compute_intensive"}
  %9 = commsched.compute "vendor.gemm"(%a) {flops = 1.0e9 : f64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // A known operator is what its name says, however much it computes.
  // CHECK: "aten.mul.Tensor"{{.*}}test.class = "pointwise"
  %10 = commsched.compute "aten.mul.Tensor"(%a) {flops = 1.0e9 : f64} : (tensor<8x8xf32>) -> tensor<8x8xf32>

  // A constant needs nothing; one that is like something else does.
  // CHECK: "aten.full"(){{.*}}test.class = "constant", test.fusible, test.recomputable}
  %11 = commsched.compute "aten.full"() : () -> tensor<8xf32>
  // CHECK: "aten.full"(%{{.*}}test.class = "pointwise"
  %12 = commsched.compute "aten.full"(%2) : (tensor<8xf32>) -> tensor<8xf32>

  // A view shows storage; a copy is made where no view is possible, and what is
  // written in place is no mere view.
  // CHECK: "aten.reshape"{{.*}}alias = 0 : i64, {{.*}}test.class = "view", test.fusible, test.recomputable}
  %13 = commsched.compute "aten.reshape"(%a) {alias = 0 : i64} : (tensor<8x8xf32>) -> tensor<64xf32>
  // CHECK: "aten.reshape"{{.*}}{test.class = "data_movement"
  %14 = commsched.compute "aten.reshape"(%a) : (tensor<8x8xf32>) -> tensor<64xf32>
  // CHECK: "aten.relu_"{{.*}}test.class = "pointwise"
  %15 = commsched.compute "aten.relu_"(%0) {alias = 0 : i64, mutates = array<i64: 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>

  // Random numbers are the same again only with their state.
  // CHECK: "aten.native_dropout"{{.*}}test.class = "random", test.fusible}
  %16:2 = commsched.compute "aten.native_dropout"(%a) {random} : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xi1>)
  // CHECK: "aten.rand_like"{{.*}}test.class = "random", test.fusible}
  %17 = commsched.compute "aten.rand_like"(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: "aten.rrelu"{{.*}}test.class = "random", test.fusible}
  %18 = commsched.compute "aten.rrelu"(%a) {random} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: "rngprims.philox_rand"{{.*}}{random, test.class = "other"}
  %19 = commsched.compute "rngprims.philox_rand"(%s) {random} : (tensor<2xi64>) -> tensor<8x8xf32>
  // CHECK: "rngprims.philox_rand"(%arg0){{.*}}test.class = "random"
  %20 = commsched.compute "rngprims.philox_rand"(%a) {random} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// CHECK-LABEL: @communication
func.func @communication(%a: tensor<8xf32>) {
  // CHECK: commsched.all_gather {{.*}}{test.class = "collective"}
  %0 = commsched.all_gather %a on @dp dim(0) : tensor<8xf32> -> !commsched.future<tensor<32xf32>>
  // CHECK: commsched.wait {{.*}}{test.class = "collective"}
  %1 = commsched.wait %0 : !commsched.future<tensor<32xf32>>
  // CHECK: commsched.barrier {{.*}}{test.class = "collective"}
  commsched.barrier on @dp
  %true = arith.constant true
  // CHECK: scf.if
  scf.if %true {
    // CHECK-NEXT: commsched.barrier
    commsched.barrier on @dp
  // CHECK-NEXT: } {test.class = "collective"}
  }
  // CHECK: "test.unknown"() {test.class = "other"}
  "test.unknown"() : () -> ()
  return
}

// CHECK-LABEL: @traits
func.func @traits(%a: tensor<8x8xf32>, %m: memref<8x8xf32>) {
  // CHECK: arith.constant {{.*}}test.class = "constant"
  %c = arith.constant dense<1.0> : tensor<8x8xf32>
  // CHECK: arith.addf {{.*}}test.class = "pointwise"
  %0 = arith.addf %a, %c : tensor<8x8xf32>
  // CHECK: arith.truncf {{.*}}test.class = "pointwise"
  %1 = arith.truncf %a : tensor<8x8xf32> to tensor<8x8xbf16>
  // CHECK: unrealized_conversion_cast {{.*}}test.class = "pointwise"
  %cast = builtin.unrealized_conversion_cast %a : tensor<8x8xf32> to tensor<64xf32>
  // CHECK: math.exp {{.*}}test.class = "pointwise"
  %2 = math.exp %a : tensor<8x8xf32>
  // CHECK: memref.cast {{.*}}test.class = "view"
  %3 = memref.cast %m : memref<8x8xf32> to memref<?x8xf32>
  // CHECK: memref.load {{.*}}test.class = "other"
  %i = arith.constant 0 : index
  %4 = memref.load %m[%i, %i] : memref<8x8xf32>
  return
}

// CHECK-LABEL: @tensors
func.func @tensors(%a: tensor<8x8xf32>, %f: f32, %i: index) {
  // CHECK: tensor.empty() {test.class = "constant"
  %0 = tensor.empty() : tensor<8x8xf32>
  // CHECK: tensor.dim {{.*}}test.class = "constant"
  %1 = tensor.dim %a, %i : tensor<8x8xf32>
  // CHECK: tensor.splat {{.*}}test.class = "pointwise"
  %2 = tensor.splat %f : tensor<8x8xf32>
  // CHECK: tensor.extract_slice {{.*}}test.class = "view"
  %3 = tensor.extract_slice %a[0, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  // CHECK: tensor.cast {{.*}}test.class = "view"
  %4 = tensor.cast %a : tensor<8x8xf32> to tensor<?x8xf32>
  // CHECK: tensor.concat {{.*}}test.class = "concatenation"
  %5 = tensor.concat dim(0) %a, %3 : (tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<12x8xf32>
  // CHECK: tensor.insert_slice {{.*}}test.class = "data_movement"
  %6 = tensor.insert_slice %3 into %a[0, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  return
}

#same = affine_map<(i, j) -> (i, j)>
#swapped = affine_map<(i, j) -> (j, i)>
#row = affine_map<(i, j) -> (i)>

// CHECK-LABEL: @structured
func.func @structured(%a: tensor<8x8xf32>, %r: tensor<8xf32>, %f: f32,
                      %image: tensor<1x9x9x1xf32>, %window: tensor<2x2xf32>,
                      %kernel: tensor<2x2x1x1xf32>) {
  // CHECK: tensor.empty
  %e = tensor.empty() : tensor<8x8xf32>
  // The destination is written, not shown.
  // CHECK: linalg.fill {test.class = "pointwise"
  %0 = linalg.fill ins(%f : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: linalg.add {test.class = "pointwise"
  %1 = linalg.add ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: linalg.copy {test.class = "pointwise"
  %2 = linalg.copy ins(%a : tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: linalg.transpose {{.*}}permutation = [1, 0] {test.class = "data_movement"
  %3 = linalg.transpose ins(%a : tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) permutation = [1, 0]
  // CHECK: linalg.broadcast {{.*}}dimensions = [1] {test.class = "data_movement"
  %4 = linalg.broadcast ins(%r : tensor<8xf32>) outs(%0 : tensor<8x8xf32>) dimensions = [1]
  // CHECK: linalg.matmul {test.class = "compute_intensive"
  %5 = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: linalg.reduce {{.*}}dimensions = [1] {test.class = "reduction"
  %6 = linalg.reduce { arith.addf } ins(%a : tensor<8x8xf32>) outs(%r : tensor<8xf32>) dimensions = [1]
  // Arithmetic on elements that stand elsewhere is arithmetic.
  // CHECK: linalg.generic {{.*}}attrs = {test.class = "pointwise"
  %7 = linalg.generic {indexing_maps = [#swapped, #row, #same], iterator_types = ["parallel", "parallel"]}
      ins(%a, %r : tensor<8x8xf32>, tensor<8xf32>) outs(%0 : tensor<8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %sum = arith.addf %x, %y : f32
    linalg.yield %sum : f32
  } -> tensor<8x8xf32>
  %big = tensor.empty() : tensor<1x8x8x1xf32>
  // A pooling reads no weights.
  // CHECK: linalg.pooling_nhwc_max {test.class = "reduction"
  %8 = linalg.pooling_nhwc_max ins(%image, %window : tensor<1x9x9x1xf32>, tensor<2x2xf32>) outs(%big : tensor<1x8x8x1xf32>) -> tensor<1x8x8x1xf32>
  // CHECK: linalg.conv_2d_nhwc_hwcf {test.class = "compute_intensive"
  %9 = linalg.conv_2d_nhwc_hwcf ins(%image, %kernel : tensor<1x9x9x1xf32>, tensor<2x2x1x1xf32>) outs(%big : tensor<1x8x8x1xf32>) -> tensor<1x8x8x1xf32>
  // CHECK: linalg.softmax {test.class = "other"} dimension(1)
  %10 = tensor.empty() : tensor<8x8xf32>
  %11 = linalg.softmax dimension(1) ins(%a : tensor<8x8xf32>) outs(%10 : tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// CHECK-LABEL: @tosa
func.func @tosa(%a: tensor<1x8x8xf32>, %z: tensor<1xf32>) {
  // CHECK: tosa.add {{.*}}test.class = "pointwise"
  %0 = tosa.add %a, %a : (tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  // CHECK: tosa.cast {{.*}}test.class = "pointwise"
  %1 = tosa.cast %a : (tensor<1x8x8xf32>) -> tensor<1x8x8xf16>
  // CHECK: tosa.reduce_sum {{.*}}test.class = "reduction"
  %2 = tosa.reduce_sum %a {axis = 2 : i32} : (tensor<1x8x8xf32>) -> tensor<1x8x1xf32>
  // CHECK: tosa.transpose {{.*}}test.class = "data_movement"
  %3 = tosa.transpose %a {perms = array<i32: 0, 2, 1>} : (tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  // CHECK: tosa.concat {{.*}}test.class = "concatenation"
  %4 = tosa.concat %a, %a {axis = 0 : i32} : (tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<2x8x8xf32>
  // CHECK: tosa.matmul {{.*}}test.class = "compute_intensive"
  %5 = tosa.matmul %a, %a, %z, %z : (tensor<1x8x8xf32>, tensor<1x8x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8xf32>
  return
}
