// RUN: %rows %s | commsched-opt --test-commsched-infer-size-hints -o %t %remarks 2>&1 \
// RUN:   --allow-unregistered-dialect | FileCheck %s --check-prefix=REMARK
// RUN: grep -v func.func %t | grep "size_hints = " \
// RUN:   | not grep -vE 'commsched.size_hints = (array<[^>]*>).* test.size_hints = \1'
// RUN: commsched-opt %t --allow-unregistered-dialect --test-commsched-infer-size-hints | diff %t -

// Hints follow from those of operands. Operations get those that they are marked with.

commsched.group @g size(4)

func.func @collectives(%x: tensor<?x8xf32> {commsched.size_hints = array<i64: 32>},
                       %v: tensor<?xf32> {commsched.size_hints = array<i64: 6>}) {
  $run(%w = all_reduce %x on @g reduction(sum) {test.size_hints = array<i64: 32>} : tensor<?x8xf32> -> tensor<?x8xf32>)
  %v1 = commsched.all_gather %w on @g dim(0) {test.size_hints = array<i64: 128>} : tensor<?x8xf32> -> !commsched.future<tensor<?x8xf32>>
  %v2 = commsched.reduce_scatter %x on @g reduction(sum) dim(0) {test.size_hints = array<i64: 8>} : tensor<?x8xf32> -> !commsched.future<tensor<?x8xf32>>
  %v3 = commsched.all_to_all %x on @g split_dim(0) concat_dim(1) {test.size_hints = array<i64: 8, 32>} : tensor<?x8xf32> -> !commsched.future<tensor<?x?xf32>>
  %v4 = commsched.permute %x, %v on @g pairs(dense<[[0, 1]]> : tensor<1x2xi64>) {test.size_hints = array<i64: 32, 6>}
      : tensor<?x8xf32>, tensor<?xf32> -> !commsched.future<tensor<?x8xf32>, tensor<?xf32>>
  %v5 = commsched.recv on @g from(0) into %x {test.size_hints = array<i64: 32>} : into tensor<?x8xf32> -> !commsched.future<tensor<?x8xf32>>
  %v6 = commsched.wait %v1 : !commsched.future<tensor<?x8xf32>>
  %v7 = commsched.wait %v2 : !commsched.future<tensor<?x8xf32>>
  %v8 = commsched.wait %v3 : !commsched.future<tensor<?x?xf32>>
  %v9:2 = commsched.wait %v4 : !commsched.future<tensor<?x8xf32>, tensor<?xf32>>
  %v10 = commsched.wait %v5 : !commsched.future<tensor<?x8xf32>>
  return
}

func.func @operations(%x: tensor<?x8xf32> {commsched.size_hints = array<i64: 32>},
                      %s: tensor<5xf32>, %f: f32) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %d = tensor.dim %x, %c0 : tensor<?x8xf32>
  %v0 = arith.addf %x, %x {test.size_hints = array<i64: 32>} : tensor<?x8xf32>
  %v1 = tensor.cast %s {test.size_hints = array<i64: 5>} : tensor<5xf32> to tensor<?xf32>
  %v2 = tensor.empty(%d, %c16) {test.size_hints = array<i64: 32, 16>} : tensor<?x?xf32>
  %v3 = linalg.fill {test.size_hints = array<i64: 32, 16>} ins(%f : f32) outs(%v2 : tensor<?x?xf32>) -> tensor<?x?xf32>
  %v4 = tensor.extract_slice %v3[0, 0] [%d, 4] [1, 1] {test.size_hints = array<i64: 32>} : tensor<?x?xf32> to tensor<?x4xf32>
  return
}

func.func @regions(%x: tensor<?xf32> {commsched.size_hints = array<i64: 32>},
                   %n: index, %c: i1) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v0 = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> tensor<?xf32> {
    %v1 = arith.addf %v, %v {test.size_hints = array<i64: 32>} : tensor<?xf32>
    scf.yield %v1 : tensor<?xf32>
  } {test.size_hints = array<i64: 32>}
  %v2 = scf.if %c -> tensor<?xf32> {
    %v3 = arith.mulf %v0, %v0 {test.size_hints = array<i64: 32>} : tensor<?xf32>
    scf.yield %v3 : tensor<?xf32>
  } else {
    scf.yield %x : tensor<?xf32>
  } {test.size_hints = array<i64: 32>}
  return %v2 : tensor<?xf32>
}

// Hints that are there stay, and what is not known gets none: an opaque
// operator, sizes that a group does not divide, uneven parts.
// REMARK: remark: [Missed] SizeUnknown | Category:commsched | Function=kept | Remark="a gets no size hints: its sizes do not follow from those of its operands"
// REMARK: SizeUnknown {{.*}}commsched.reduce_scatter
// REMARK: SizeUnknown {{.*}}commsched.all_to_all
// REMARK: SizeUnknown {{.*}}arith.addf
// REMARK-NOT: remark:
func.func @kept(%x: tensor<?xf32> {commsched.size_hints = array<i64: 6>}) {
  %v0 = arith.addf %x, %x {commsched.size_hints = array<i64: 7>, test.size_hints = array<i64: 7>} : tensor<?xf32>
  %v1 = commsched.compute "a"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  $run(%v3 = reduce_scatter %x on @g reduction(sum) dim(0) : tensor<?xf32> -> tensor<?xf32>)
  $run(%v5 = all_to_all %x on @g split_dim(0) concat_dim(0) input_splits([1, 2, 3, 0]) : tensor<?xf32> -> tensor<?xf32>)
  %v6 = arith.addf %v1, %v1 : tensor<?xf32>
  return
}

// Rows of an exchange are known from a list, and expected where splits are
// values; parts of equal size say nothing of those that were sent.
// REMARK: remark: [Analysis] SizeExpected | Category:commsched | Function=exchanges | Remark="commsched.all_to_all is expected to deliver as many rows as it sends: its splits are known only when it runs"
// REMARK-NOT: remark:
// REMARK: remark: [Missed] SizeUnknown | Category:commsched | Function=exchanges
// REMARK-NOT: remark:
func.func @exchanges(%x: tensor<?x8xf32> {commsched.size_hints = array<i64: 6>},
                     %s: tensor<4xi64>) {
  $run(%v1 = all_to_all %x on @g split_dim(0) concat_dim(0) output_splits([4, 3, 2, 0]) {test.size_hints = array<i64: 9>} : tensor<?x8xf32> -> tensor<?x8xf32>)
  $run(%v3 = all_to_all %x on @g split_dim(0) concat_dim(0) input_splits(%s : tensor<4xi64>) output_splits(%s : tensor<4xi64>) {test.size_hints = array<i64: 6>} : tensor<?x8xf32> -> tensor<?x8xf32>)
  $run(%v5 = all_to_all %x on @g split_dim(0) concat_dim(0) output_splits(%s : tensor<4xi64>) {commsched.size_hints = array<i64: 40>, test.size_hints = array<i64: 40>} : tensor<?x8xf32> -> tensor<?x8xf32>)
  $run(%v7 = all_to_all %x on @g split_dim(0) concat_dim(0) input_splits(%s : tensor<4xi64>) : tensor<?x8xf32> -> tensor<?x8xf32>)
  return
}

// Rows one after the other are added up.
// REMARK: remark: [Missed] SizeUnknown | Category:commsched | Function=concatenated
// REMARK-NOT: remark:
func.func @concatenated(%x: tensor<?x8xf32> {commsched.size_hints = array<i64: 6>},
                        %y: tensor<10x8xf32>, %z: tensor<?x8xf32>) {
  %v0 = tensor.concat dim(0) %x, %y {test.size_hints = array<i64: 16>} : (tensor<?x8xf32>, tensor<10x8xf32>) -> tensor<?x8xf32>
  %v1 = tensor.concat dim(1) %x, %x {test.size_hints = array<i64: 6>} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  %v2 = tensor.concat dim(0) %x, %z : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
