// RUN: commsched-opt %s --allow-unregistered-dialect > %t
// RUN: commsched-opt %s --allow-unregistered-dialect \
// RUN:   --commsched-order-collectives --commsched-raise-comms \
// RUN:   --commsched-sink-waits --commsched-reorder-compute-for-overlap | diff - %t
// RUN: commsched-opt %s --allow-unregistered-dialect \
// RUN:   --commsched-reorder-comms-preserving-peak-memory \
// RUN:   --commsched-sink-waits-iterative --commsched-simple-overlap \
// RUN:   --commsched-inductor-pipeline=reorder_for_peak_memory=false | diff - %t

// Nothing to do: no collectives, an order that is as good as any, costs that
// nobody can tell, no body.

commsched.group @g size(2)

func.func private @declared(tensor<4xf32>)

func.func @empty() {
  return
}

func.func @no_collectives(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 9 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  "foreign.op"() : () -> ()
  scf.if %c {
    %b = commsched.compute "b"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  }
  %d = commsched.compute "d"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}

func.func @in_order(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = commsched.all_reduce %x on @g reduction(sum) {commsched.order = 0 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %a = commsched.compute "a"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  %b = commsched.compute "b"(%a, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
