// A layer that runs several times is gathered several times. The second gather
// may share the first one's cast, or gather again what the first one gave; then
// only its own operations belong to it.

// RUN: commsched-opt %s --commsched-raise-comms --commsched-enforce-fsdp-order \
// RUN:   > %t
// RUN: FileCheck %s < %t
// RUN: commsched-opt %t --commsched-enforce-fsdp-order | diff - %t

!part = tensor<4xbf16>
!whole = tensor<8xbf16>
!future = !commsched.future<!whole>
commsched.group @dp size(2)

// Two nested modules, of which each runs three times. The cast, which all of
// its gathers need, stands with the first.
// CHECK-LABEL: func.func @every_layer_three_times(
// CHECK-NEXT: "cast_a"
// CHECK-NEXT: "copy_in_a1"
// CHECK-NEXT: "gather_a1"
// CHECK-NEXT: "wait_a1"
// CHECK-NEXT: "copy_out_a1"
// CHECK-NEXT: "cast_b"
// CHECK-NEXT: "copy_in_b1"
// CHECK-NEXT: "gather_b1"
// CHECK-NEXT: "a1"
// CHECK-NEXT: "wait_b1"
// CHECK-NEXT: "copy_out_b1"
// CHECK-NEXT: "copy_in_a2"
// CHECK-NEXT: "gather_a2"
// CHECK-NEXT: "b1"
// CHECK-NEXT: "wait_a2"
// CHECK-NEXT: "copy_out_a2"
// CHECK-NEXT: "copy_in_b2"
// CHECK-NEXT: "gather_b2"
// CHECK-NEXT: "a2"
// CHECK-NEXT: "wait_b2"
// CHECK-NEXT: "copy_out_b2"
// CHECK-NEXT: "copy_in_a3"
// CHECK-NEXT: "gather_a3"
// CHECK-NEXT: "b2"
// CHECK-NEXT: "wait_a3"
// CHECK-NEXT: "copy_out_a3"
// CHECK-NEXT: "copy_in_b3"
// CHECK-NEXT: "gather_b3"
// CHECK-NEXT: "a3"
// CHECK-NEXT: "wait_b3"
// CHECK-NEXT: "copy_out_b3"
// CHECK-NEXT: "b3"
// CHECK-NEXT: return
func.func @every_layer_three_times(%pa: tensor<4xf32>, %pb: tensor<4xf32>,
                                   %x: !whole) -> !whole {
  %ca = commsched.compute "cast_a"(%pa) : (tensor<4xf32>) -> !part
  %cb = commsched.compute "cast_b"(%pb) : (tensor<4xf32>) -> !part
  %s_a1, %o_a1 = commsched.all_gather_copy_in %ca on @dp
      {commsched.name = "copy_in_a1"} : !part -> !part, !whole
  %g_a1 = commsched.all_gather %s_a1 on @dp dim(0) into %o_a1
      {commsched.name = "gather_a1"} : !part into !whole -> !future
  %w_a1 = commsched.wait %g_a1 {commsched.name = "wait_a1"} : !future
  %f_a1 = commsched.split_with_sizes_copy %w_a1 on @dp
      {commsched.name = "copy_out_a1"} : !whole -> !whole
  %a1 = commsched.compute "a1"(%x, %f_a1) : (!whole, !whole) -> !whole
  %s_b1, %o_b1 = commsched.all_gather_copy_in %cb on @dp
      {commsched.name = "copy_in_b1"} : !part -> !part, !whole
  %g_b1 = commsched.all_gather %s_b1 on @dp dim(0) into %o_b1
      {commsched.name = "gather_b1"} : !part into !whole -> !future
  %w_b1 = commsched.wait %g_b1 {commsched.name = "wait_b1"} : !future
  %f_b1 = commsched.split_with_sizes_copy %w_b1 on @dp
      {commsched.name = "copy_out_b1"} : !whole -> !whole
  %b1 = commsched.compute "b1"(%a1, %f_b1) : (!whole, !whole) -> !whole
  %s_a2, %o_a2 = commsched.all_gather_copy_in %ca on @dp
      {commsched.name = "copy_in_a2"} : !part -> !part, !whole
  %g_a2 = commsched.all_gather %s_a2 on @dp dim(0) into %o_a2
      {commsched.name = "gather_a2"} : !part into !whole -> !future
  %w_a2 = commsched.wait %g_a2 {commsched.name = "wait_a2"} : !future
  %f_a2 = commsched.split_with_sizes_copy %w_a2 on @dp
      {commsched.name = "copy_out_a2"} : !whole -> !whole
  %a2 = commsched.compute "a2"(%b1, %f_a2) : (!whole, !whole) -> !whole
  %s_b2, %o_b2 = commsched.all_gather_copy_in %cb on @dp
      {commsched.name = "copy_in_b2"} : !part -> !part, !whole
  %g_b2 = commsched.all_gather %s_b2 on @dp dim(0) into %o_b2
      {commsched.name = "gather_b2"} : !part into !whole -> !future
  %w_b2 = commsched.wait %g_b2 {commsched.name = "wait_b2"} : !future
  %f_b2 = commsched.split_with_sizes_copy %w_b2 on @dp
      {commsched.name = "copy_out_b2"} : !whole -> !whole
  %b2 = commsched.compute "b2"(%a2, %f_b2) : (!whole, !whole) -> !whole
  %s_a3, %o_a3 = commsched.all_gather_copy_in %ca on @dp
      {commsched.name = "copy_in_a3"} : !part -> !part, !whole
  %g_a3 = commsched.all_gather %s_a3 on @dp dim(0) into %o_a3
      {commsched.name = "gather_a3"} : !part into !whole -> !future
  %w_a3 = commsched.wait %g_a3 {commsched.name = "wait_a3"} : !future
  %f_a3 = commsched.split_with_sizes_copy %w_a3 on @dp
      {commsched.name = "copy_out_a3"} : !whole -> !whole
  %a3 = commsched.compute "a3"(%b2, %f_a3) : (!whole, !whole) -> !whole
  %s_b3, %o_b3 = commsched.all_gather_copy_in %cb on @dp
      {commsched.name = "copy_in_b3"} : !part -> !part, !whole
  %g_b3 = commsched.all_gather %s_b3 on @dp dim(0) into %o_b3
      {commsched.name = "gather_b3"} : !part into !whole -> !future
  %w_b3 = commsched.wait %g_b3 {commsched.name = "wait_b3"} : !future
  %f_b3 = commsched.split_with_sizes_copy %w_b3 on @dp
      {commsched.name = "copy_out_b3"} : !whole -> !whole
  %b3 = commsched.compute "b3"(%a3, %f_b3) : (!whole, !whole) -> !whole
  return %b3 : !whole
}

// The second gather's shard is a slice of what the first one gave: the slice
// belongs to the second, the first copy-out to the first.
// CHECK-LABEL: func.func @second_gather_of_what_the_first_gave(
// CHECK-NEXT: "cast"
// CHECK-NEXT: "copy_in1"
// CHECK-NEXT: "gather1"
// CHECK-NEXT: "wait1"
// CHECK-NEXT: "copy_out1"
// CHECK-NEXT: "reshard"
// CHECK-NEXT: "copy_in2"
// CHECK-NEXT: "gather2"
// CHECK-NEXT: "layer1"
// CHECK-NEXT: "wait2"
// CHECK-NEXT: "copy_out2"
// CHECK-NEXT: "layer2"
// CHECK-NEXT: return
func.func @second_gather_of_what_the_first_gave(%p: tensor<4xf32>, %x: !whole)
    -> !whole {
  %c = commsched.compute "cast"(%p) : (tensor<4xf32>) -> !part
  %s1, %o1 = commsched.all_gather_copy_in %c on @dp
      {commsched.name = "copy_in1"} : !part -> !part, !whole
  %g1 = commsched.all_gather %s1 on @dp dim(0) into %o1
      {commsched.name = "gather1"} : !part into !whole -> !future
  %w1 = commsched.wait %g1 {commsched.name = "wait1"} : !future
  %f1 = commsched.split_with_sizes_copy %w1 on @dp
      {commsched.name = "copy_out1"} : !whole -> !whole
  %r = commsched.compute "reshard"(%f1) {alias = 0 : i64} : (!whole) -> !part
  %y = commsched.compute "layer1"(%x, %f1) : (!whole, !whole) -> !whole
  %s2, %o2 = commsched.all_gather_copy_in %r on @dp
      {commsched.name = "copy_in2"} : !part -> !part, !whole
  %g2 = commsched.all_gather %s2 on @dp dim(0) into %o2
      {commsched.name = "gather2"} : !part into !whole -> !future
  %w2 = commsched.wait %g2 {commsched.name = "wait2"} : !future
  %f2 = commsched.split_with_sizes_copy %w2 on @dp
      {commsched.name = "copy_out2"} : !whole -> !whole
  %z = commsched.compute "layer2"(%y, %f2) : (!whole, !whole) -> !whole
  return %z : !whole
}
