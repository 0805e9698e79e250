// RUN: commsched-test-opt %s --allow-unregistered-dialect --test-operator-classes \
// RUN:   | grep test.is | not grep -vE 'test.class = ("[a-z_]+"), (test.fusible, )?test.is = \1'

// What computing an operation again means: by its name, its own interface, an
// external model, or what its traits and interfaces tell. Operations are marked with
// their class.

commsched.group @dp size(4)

// An overload is no part of the name; a name is no prefix of another one.
func.func @operators(%a: tensor<8x8xf32>, %s: tensor<2xi64> {commsched.role = "rng_state"}) {
  %0 = commsched.compute "aten.add.Tensor"(%a, %a) {test.is = "pointwise"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = commsched.compute "aten._to_copy"(%a) {test.is = "pointwise"} : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %2 = commsched.compute "aten.sum.dim_IntList"(%a) {test.is = "reduction"} : (tensor<8x8xf32>) -> tensor<8xf32>
  %3 = commsched.compute "aten.index.Tensor"(%a) {test.is = "data_movement"} : (tensor<8x8xf32>) -> tensor<8xf32>
  %4 = commsched.compute "aten.cat"(%a, %a) {test.is = "concatenation"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %5 = commsched.compute "aten.mm"(%a, %a) {test.is = "compute_intensive"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %6 = commsched.compute "aten.sumofsquares"(%a) {test.is = "other"} : (tensor<8x8xf32>) -> tensor<8xf32>
  %7 = commsched.compute "aten"(%a) {test.is = "other"} : (tensor<8x8xf32>) -> tensor<8xf32>
  %8 = commsched.compute "prims.add"(%a) {test.is = "other"} : (tensor<8x8xf32>) -> tensor<8xf32>
  // Nobody knows it, but that it computes much.
  %9 = commsched.compute "vendor.gemm"(%a) {test.is = "compute_intensive", flops = 1.0e9 : f64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // A known operator is what its name says, however much it computes.
  %10 = commsched.compute "aten.mul.Tensor"(%a) {test.is = "pointwise", flops = 1.0e9 : f64} : (tensor<8x8xf32>) -> tensor<8x8xf32>

  // A constant needs nothing; one that is like something else does.
  %11 = commsched.compute "aten.full"() {test.is = "constant"} : () -> tensor<8xf32>
  %12 = commsched.compute "aten.full"(%2) {test.is = "pointwise"} : (tensor<8xf32>) -> tensor<8xf32>

  // A view shows storage; a copy is made where no view is possible, and what is
  // written in place is no mere view.
  %13 = commsched.compute "aten.reshape"(%a) {test.is = "view", alias = 0 : i64} : (tensor<8x8xf32>) -> tensor<64xf32>
  %14 = commsched.compute "aten.reshape"(%a) {test.is = "data_movement"} : (tensor<8x8xf32>) -> tensor<64xf32>
  %15 = commsched.compute "aten.relu_"(%0) {test.is = "pointwise", alias = 0 : i64, mutates = array<i64: 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>

  // Random numbers are the same again only with their state.
  %16:2 = commsched.compute "aten.native_dropout"(%a) {test.is = "random", random} : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xi1>)
  %17 = commsched.compute "aten.rand_like"(%a) {test.is = "random"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %18 = commsched.compute "aten.rrelu"(%a) {test.is = "random", random} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %19 = commsched.compute "rngprims.philox_rand"(%s) {test.is = "other", random} : (tensor<2xi64>) -> tensor<8x8xf32>
  %20 = commsched.compute "rngprims.philox_rand"(%a) {test.is = "random", random} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

func.func @communication(%a: tensor<8xf32>) {
  %0 = commsched.all_gather %a on @dp dim(0) {test.is = "collective"} : tensor<8xf32> -> !commsched.future<tensor<32xf32>>
  %1 = commsched.wait %0 {test.is = "collective"} : !commsched.future<tensor<32xf32>>
  commsched.barrier on @dp {test.is = "collective"}
  %true = arith.constant true
  scf.if %true {
    commsched.barrier on @dp
  } {test.is = "collective"}
  "test.unknown"() {test.is = "other"} : () -> ()
  return
}

func.func @traits(%a: tensor<8x8xf32>, %m: memref<8x8xf32>) {
  %c = arith.constant {test.is = "constant"} dense<1.0> : tensor<8x8xf32>
  %0 = arith.addf %a, %c {test.is = "pointwise"} : tensor<8x8xf32>
  %1 = arith.truncf %a {test.is = "pointwise"} : tensor<8x8xf32> to tensor<8x8xbf16>
  %cast = builtin.unrealized_conversion_cast %a : tensor<8x8xf32> to tensor<64xf32> {test.is = "pointwise"}
  %2 = math.exp %a {test.is = "pointwise"} : tensor<8x8xf32>
  %3 = memref.cast %m {test.is = "view"} : memref<8x8xf32> to memref<?x8xf32>
  %i = arith.constant 0 : index
  %4 = memref.load %m[%i, %i] {test.is = "other"} : memref<8x8xf32>
  return
}

func.func @tensors(%a: tensor<8x8xf32>, %f: f32, %i: index) {
  %0 = tensor.empty() {test.is = "constant"} : tensor<8x8xf32>
  %1 = tensor.dim {test.is = "constant"} %a, %i : tensor<8x8xf32>
  %2 = tensor.splat %f {test.is = "pointwise"} : tensor<8x8xf32>
  %3 = tensor.extract_slice %a[0, 0] [4, 8] [1, 1] {test.is = "view"} : tensor<8x8xf32> to tensor<4x8xf32>
  %4 = tensor.cast %a {test.is = "view"} : tensor<8x8xf32> to tensor<?x8xf32>
  %5 = tensor.concat dim(0) %a, %3 {test.is = "concatenation"} : (tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<12x8xf32>
  %6 = tensor.insert_slice %3 into %a[0, 0] [4, 8] [1, 1] {test.is = "data_movement"} : tensor<4x8xf32> into tensor<8x8xf32>
  return
}

#same = affine_map<(i, j) -> (i, j)>
#swapped = affine_map<(i, j) -> (j, i)>
#row = affine_map<(i, j) -> (i)>

func.func @structured(%a: tensor<8x8xf32>, %r: tensor<8xf32>, %f: f32,
                      %image: tensor<1x9x9x1xf32>, %window: tensor<2x2xf32>,
                      %kernel: tensor<2x2x1x1xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  // The destination is written, not shown.
  %0 = linalg.fill {test.is = "pointwise"} ins(%f : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.add {test.is = "pointwise"} ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.copy {test.is = "pointwise"} ins(%a : tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = linalg.transpose ins(%a : tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) permutation = [1, 0] {test.is = "data_movement"}
  %4 = linalg.broadcast ins(%r : tensor<8xf32>) outs(%0 : tensor<8x8xf32>) dimensions = [1] {test.is = "data_movement"}
  %5 = linalg.matmul {test.is = "compute_intensive"} ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %6 = linalg.reduce { arith.addf } ins(%a : tensor<8x8xf32>) outs(%r : tensor<8xf32>) dimensions = [1] {test.is = "reduction"}
  // Arithmetic on elements that stand elsewhere is arithmetic.
  %7 = linalg.generic {indexing_maps = [#swapped, #row, #same], iterator_types = ["parallel", "parallel"]}
      ins(%a, %r : tensor<8x8xf32>, tensor<8xf32>) outs(%0 : tensor<8x8xf32>) attrs = {test.is = "pointwise"} {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %sum = arith.addf %x, %y : f32
    linalg.yield %sum : f32
  } -> tensor<8x8xf32>
  %big = tensor.empty() : tensor<1x8x8x1xf32>
  // A pooling reads no weights.
  %8 = linalg.pooling_nhwc_max {test.is = "reduction"} ins(%image, %window : tensor<1x9x9x1xf32>, tensor<2x2xf32>) outs(%big : tensor<1x8x8x1xf32>) -> tensor<1x8x8x1xf32>
  %9 = linalg.conv_2d_nhwc_hwcf {test.is = "compute_intensive"} ins(%image, %kernel : tensor<1x9x9x1xf32>, tensor<2x2x1x1xf32>) outs(%big : tensor<1x8x8x1xf32>) -> tensor<1x8x8x1xf32>
  %10 = tensor.empty() : tensor<8x8xf32>
  %11 = linalg.softmax {test.is = "other"} dimension(1) ins(%a : tensor<8x8xf32>) outs(%10 : tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

func.func @tosa(%a: tensor<1x8x8xf32>, %z: tensor<1xf32>) {
  %0 = tosa.add %a, %a {test.is = "pointwise"} : (tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  %1 = tosa.cast %a {test.is = "pointwise"} : (tensor<1x8x8xf32>) -> tensor<1x8x8xf16>
  %2 = tosa.reduce_sum %a {test.is = "reduction", axis = 2 : i32} : (tensor<1x8x8xf32>) -> tensor<1x8x1xf32>
  %3 = tosa.transpose %a {test.is = "data_movement", perms = array<i32: 0, 2, 1>} : (tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  %4 = tosa.concat %a, %a {test.is = "concatenation", axis = 0 : i32} : (tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<2x8x8xf32>
  %5 = tosa.matmul %a, %a, %z, %z {test.is = "compute_intensive"} : (tensor<1x8x8xf32>, tensor<1x8x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8xf32>
  return
}
