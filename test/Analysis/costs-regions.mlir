// RUN: commsched-opt %s --allow-unregistered-dialect --commsched-estimate-runtime \
// RUN:   | grep test.ns | not grep -vE "runtime_ns = ([0-9]+) : i64.* test.ns = \1 : i64"

// The target moves one byte a nanosecond. Operations take as long as they are marked
// with.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.memory_gb_s" = 1 : i64,
    "commsched.memory_efficiency" = 1 : i64,
    "commsched.kernel_launch_ns" = 0 : i64>>} {

// 10 iterations of 5 + 128 ns. What is carried around costs nothing itself. Of the
// other loop both regions run, one after the other.
func.func @loop(%x: tensor<16xf32>) -> tensor<16xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c20 = arith.constant 20 : index
  %0 = scf.for %i = %c0 to %c20 step %c2 iter_args(%y = %x) -> tensor<16xf32> {
    "other.pinned"() {commsched.runtime_ns = 5 : i64} : () -> ()
    %1 = "other.op"(%y) {test.ns = 128} : (tensor<16xf32>) -> tensor<16xf32>
    scf.yield %1 : tensor<16xf32>
  } {test.ns = 1330}
  %n = scf.while (%i = %c2) : (index) -> index {
    %goes_on = arith.cmpi slt, %i, %c20 : index
    "other.pinned"() {commsched.runtime_ns = 7 : i64} : () -> ()
    scf.condition(%goes_on) %i : index
  } do {
  ^bb0(%i: index):
    %next = arith.addi %i, %c2 {commsched.runtime_ns = 5 : i64} : index
    scf.yield %next : index
  } attributes {test.ns = 108}
  return %0 : tensor<16xf32>
}

// Only a hint says how often.
func.func @loop_of_unknown_length(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    "other.pinned"() {commsched.runtime_ns = 5 : i64} : () -> ()
  } {test.ns = 15, commsched.trip_count = 3}
  return
}

// 4 x 3 iterations.
func.func @loop_nest() {
  scf.forall (%i, %j) in (4, 3) {
    "other.pinned"() {commsched.runtime_ns = 5 : i64} : () -> ()
  } {test.ns = 60}
  affine.for %i = 0 to 7 {
    "other.pinned"() {commsched.runtime_ns = 5 : i64} : () -> ()
  } {test.ns = 35}
  return
}

// Differences of bounds need not fit their type. A counter that wraps around does
// not end where they say.
func.func @narrow_counters() {
  %least = arith.constant -128 : i8
  %most = arith.constant 127 : i8
  %c1 = arith.constant 1 : i8
  %c100 = arith.constant 100 : i8
  scf.for %i = %least to %most step %c1 : i8 {
    "other.pinned"() {commsched.runtime_ns = 5 : i64} : () -> ()
  } {test.ns = 1275}
  scf.for unsigned %i = %c1 to %c100 step %least : i8 {
    "other.pinned"() {commsched.runtime_ns = 5 : i64} : () -> ()
  } {test.ns = 5}
  scf.for %i = %least to %most step %c100 : i8 {
    "other.pinned"() {commsched.runtime_ns = 5 : i64} : () -> ()
  } {test.ns = 15, commsched.trip_count = 3}
  return
}

// 4 x (8 bytes read and 8 written): what is in a terminator counts, too.
func.func @loop_with_slices(%x: tensor<2xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = scf.forall (%i) in (4) shared_outs(%out = %y) -> tensor<8xf32> {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %x into %out[%i] [2] [1] {test.ns = 16} : tensor<2xf32> into tensor<8xf32>
    }
  } {test.ns = 64}
  return %0 : tensor<8xf32>
}

// Either 7 or 4 + 5 is run.
func.func @alternatives(%c: i1, %i: index) {
  scf.if %c {
    "other.pinned"() {commsched.runtime_ns = 7 : i64} : () -> ()
  } else {
    "other.pinned"() {commsched.runtime_ns = 4 : i64} : () -> ()
    "other.pinned"() {commsched.runtime_ns = 5 : i64} : () -> ()
  } {test.ns = 9}
  scf.index_switch %i {test.ns = 8}
  case 0 {
    "other.pinned"() {commsched.runtime_ns = 8 : i64} : () -> ()
    scf.yield
  }
  case 1 {
    "other.pinned"() {commsched.runtime_ns = 2 : i64} : () -> ()
    scf.yield
  }
  default {
    "other.pinned"() {commsched.runtime_ns = 1 : i64} : () -> ()
    scf.yield
  }
  return
}

// The region of an unknown operation may run once or for each element: at
// least the 2 x 64 bytes that it reads and writes, or all that is inside.
func.func @unknown_regions(%x: tensor<16xf32>) {
  %0 = "other.reduce"(%x) ({
    "other.pinned"() {commsched.runtime_ns = 5 : i64} : () -> ()
  }) {test.ns = 128} : (tensor<16xf32>) -> tensor<16xf32>
  %1 = "other.scope"(%x) ({
    "other.pinned"() {commsched.runtime_ns = 300 : i64} : () -> ()
  }) {test.ns = 300} : (tensor<16xf32>) -> tensor<16xf32>
  return
}

// A pin on the outside holds, whatever is inside.
func.func @pinned_outside(%c: i1, %x: tensor<16xf32>) {
  scf.if %c {
    "other.op"(%x) {test.ns = 64} : (tensor<16xf32>) -> ()
  } {commsched.runtime_ns = 3 : i64, test.ns = 3}
  return
}

}
