// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-quantize-activations=size-in-mb=0.0625 %remarks \
// RUN:   -o %t 2> %t.remarks
// RUN: FileCheck %s --implicit-check-not=remark: < %t.remarks
// RUN: commsched-opt %t --test-commsched-verify-partition | FileCheck %s --check-prefix=IR

// RUN: commsched-opt %t.mlir --commsched-quantize-activations="size-in-mb=0 \
// RUN:   exclude-primals allowed-dtypes=f32,bf16 quantize-dynamic-shape" \
// RUN:   | FileCheck %s --check-prefix=MORE

// Which of the saved values are quantized, and why others are not. Only 1/16
// MiB and more: 32768 numbers of bf16.

// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 0 stays as it is: it is argument 0, whose role is "parameter"
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 2 stays as it is: it is argument 2, whose role is "rng_state"
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 3 stays as it is: it is argument 3, which has no role
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 4 stays as it is: it is a view of argument 0, whose role is "parameter"
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 5 stays as it is: it is a copy of argument 4, whose role is "parameter"
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 6 stays as it is: it is a copy of argument 5, whose role is "parameter"
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 7 stays as it is: it is a copy of argument 5, whose role is "parameter"
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 11 stays as it is: its element type f32 is not allowed
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 12 stays as it is: its element type i16 is not allowed
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 13 stays as it is: its element type f8E5M2 is not allowed
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 14 stays as it is: its 65534 bytes are less than 0.0625 MiB
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 16 stays as it is: it is a single number
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 17 stays as it is: with a scale, a row of 4 elements takes no less memory
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 19 stays as it is: it has no elements
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 20 stays as it is: its size is not known
// CHECK: remark: [Missed] ActivationKept {{.*}}saved value 21 stays as it is: its type has the encoding "tiled"
// CHECK: remark: [Passed] ActivationQuantized {{.*}}BytesAfter=32784, BytesBefore=65536, {{.*}}saved value 1 becomes f8E5M2
// CHECK: remark: [Passed] ActivationQuantized {{.*}}BytesAfter=32784, BytesBefore=65536, {{.*}}saved value 8 becomes f8E5M2
// CHECK: remark: [Passed] ActivationQuantized {{.*}}BytesAfter=32772, BytesBefore=65536, {{.*}}saved value 9 becomes f8E5M2
// CHECK: remark: [Passed] ActivationQuantized {{.*}}BytesAfter=32784, BytesBefore=65536, {{.*}}saved value 10 becomes f8E5M2
// CHECK: remark: [Passed] ActivationQuantized {{.*}}BytesAfter=32772, BytesBefore=65536, {{.*}}saved value 15 becomes f8E5M2
// CHECK: remark: [Passed] ActivationQuantized {{.*}}BytesAfter=73728, BytesBefore=81920, {{.*}}saved value 18 becomes f8E5M2

// IR-LABEL: func.func @f_forward(
// IR: return
// IR-SAME: : tensor<4x8192xbf16>, tensor<4x8192xf8E5M2>, tensor<4x8192xbf16>, tensor<4x8192xbf16>, tensor<32768xbf16>, tensor<4x8192xbf16>, tensor<4x8192xbf16>, tensor<32768xbf16>, tensor<4x8192xf8E5M2>, tensor<32768xf8E5M2>, tensor<4x8192xf8E5M2>, tensor<4x8192xf32>, tensor<4x8192xi16>, tensor<8x8192xf8E5M2>, tensor<1x32767xbf16>, tensor<1x32768xf8E5M2>, tensor<bf16>, tensor<8192x4xbf16>, tensor<8192x5xf8E5M2>, tensor<0x16xbf16>, tensor<?x16xbf16>, tensor<4x8192xbf16, "tiled">, tensor<4x1xf32>, tensor<4x1xf32>, tensor<1xf32>, tensor<4x1xf32>, tensor<1x1xf32>, tensor<8192x1xf32>, index{{$}}
// MORE-LABEL: func.func @f_forward(
// MORE: return
// MORE-SAME: : tensor<4x8192xbf16>, tensor<4x8192xbf16>, tensor<4x8192xbf16>, tensor<4x8192xbf16>, tensor<32768xbf16>, tensor<4x8192xbf16>, tensor<4x8192xbf16>, tensor<32768xbf16>, tensor<4x8192xf8E5M2>, tensor<32768xbf16>, tensor<4x8192xf8E5M2>, tensor<4x8192xf8E5M2>, tensor<4x8192xi16>, tensor<8x8192xf8E5M2>, tensor<1x32767xf8E5M2>, tensor<1x32768xf8E5M2>, tensor<bf16>, tensor<8192x4xbf16>, tensor<8192x5xf8E5M2>, tensor<0x16xbf16>, tensor<?x16xf8E5M2>, tensor<4x8192xbf16, "tiled">, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<8192x1xf32>, tensor<?x1xf32>, index{{$}}

!flat = tensor<32768xbf16>
!t = tensor<4x8192xbf16>
!u = tensor<4x8192xbf16, "tiled">
commsched.group @dp size(2)

func.func @f_forward(%parameter: !t {commsched.role = "parameter"}, %input: !t
    {commsched.role = "input"}, %state: !t {commsched.role = "rng_state"},
    %unknown: !t, %wide: tensor<4x8192xf32> {commsched.role = "parameter"},
    %shard: tensor<2x8192xf32> {commsched.role = "parameter"},
    %small_input: tensor<2x8192xbf16> {commsched.role = "input"},
    %wide_input: tensor<4x8192xf32> {commsched.role = "input"}) -> (!t, !t, !t,
    !t, !flat, !t, !t, !flat, !t, !flat, !t, tensor<4x8192xf32>,
    tensor<4x8192xi16>, tensor<8x8192xf8E5M2>, tensor<1x32767xbf16>,
    tensor<1x32768xbf16>, tensor<bf16>, tensor<8192x4xbf16>,
    tensor<8192x5xbf16>, tensor<0x16xbf16>, tensor<?x16xbf16>, !u, index) {
  %parameter_view = commsched.compute "view"(%parameter) {alias = 0} : (!t) -> !flat
  %parameter_cast = arith.truncf %wide : tensor<4x8192xf32> to !t
  %cast = arith.truncf %shard : tensor<2x8192xf32> to tensor<2x8192xbf16>
  $run(%gathered = all_gather %cast on @dp dim(0) : tensor<2x8192xbf16> -> !t)
  %gathered_view = commsched.compute "view"(%gathered) {alias = 0} : (!t) -> !flat
  $run(%gathered_input = all_gather %small_input on @dp dim(0) : tensor<2x8192xbf16> -> !t)
  %input_view = commsched.compute "view"(%input) {alias = 0} : (!t) -> !flat
  %input_cast = arith.truncf %wide_input : tensor<4x8192xf32> to !t
  %f32 = commsched.compute "f32"(%input) : (!t) -> tensor<4x8192xf32>
  %i16 = commsched.compute "i16"(%input) : (!t) -> tensor<4x8192xi16>
  %f8 = commsched.compute "f8"(%input) : (!t) -> tensor<8x8192xf8E5M2>
  %small = commsched.compute "small"(%input) : (!t) -> tensor<1x32767xbf16>
  %computed = commsched.compute "computed"(%input) : (!t) -> tensor<1x32768xbf16>
  %number = commsched.compute "number"(%input) : (!t) -> tensor<bf16>
  %short_rows = commsched.compute "short_rows"(%input) : (!t) -> tensor<8192x4xbf16>
  %longer_rows = commsched.compute "longer_rows"(%input) : (!t) -> tensor<8192x5xbf16>
  %empty = commsched.compute "empty"(%input) : (!t) -> tensor<0x16xbf16>
  %dynamic = commsched.compute "dynamic"(%input) : (!t) -> tensor<?x16xbf16>
  %encoded = commsched.compute "encoded"(%input) : (!t) -> !u
  %size = arith.constant 3 : index
  return %parameter, %input, %state, %unknown, %parameter_view, %parameter_cast,
      %gathered, %gathered_view, %gathered_input, %input_view, %input_cast,
      %f32, %i16, %f8, %small, %computed, %number, %short_rows, %longer_rows,
      %empty, %dynamic, %encoded, %size : !t, !t, !t, !t, !flat, !t, !t, !flat,
      !t, !flat, !t, tensor<4x8192xf32>, tensor<4x8192xi16>,
      tensor<8x8192xf8E5M2>, tensor<1x32767xbf16>, tensor<1x32768xbf16>,
      tensor<bf16>, tensor<8192x4xbf16>, tensor<8192x5xbf16>, tensor<0x16xbf16>,
      tensor<?x16xbf16>, !u, index
}

func.func @f_backward(%parameter: !t {commsched.role = "parameter"}, %input: !t
    {commsched.role = "input"}, %state: !t {commsched.role = "rng_state"},
    %unknown: !t, %parameter_view: !flat {commsched.role = "saved_activation"},
    %parameter_cast: !t {commsched.role = "saved_activation"}, %gathered: !t
    {commsched.role = "saved_activation"}, %gathered_view: !flat
    {commsched.role = "saved_activation"}, %gathered_input: !t
    {commsched.role = "saved_activation"}, %input_view: !flat
    {commsched.role = "saved_activation"}, %input_cast: !t
    {commsched.role = "saved_activation"}, %f32: tensor<4x8192xf32>
    {commsched.role = "saved_activation"}, %i16: tensor<4x8192xi16>
    {commsched.role = "saved_activation"}, %f8: tensor<8x8192xf8E5M2>
    {commsched.role = "saved_activation"}, %small: tensor<1x32767xbf16>
    {commsched.role = "saved_activation"}, %computed: tensor<1x32768xbf16>
    {commsched.role = "saved_activation"}, %number: tensor<bf16>
    {commsched.role = "saved_activation"}, %short_rows: tensor<8192x4xbf16>
    {commsched.role = "saved_activation"}, %longer_rows: tensor<8192x5xbf16>
    {commsched.role = "saved_activation"}, %empty: tensor<0x16xbf16>
    {commsched.role = "saved_activation"}, %dynamic: tensor<?x16xbf16>
    {commsched.role = "saved_activation"}, %encoded: !u
    {commsched.role = "saved_activation"}, %size: index
    {commsched.role = "saved_activation"}) {
  return
}

func.func @f(%x0: !t {commsched.role = "parameter"}, %x1: !t {commsched.role = "input"}, %x2: !t {commsched.role = "rng_state"}, %x3: !t, %x4: tensor<4x8192xf32> {commsched.role = "parameter"}, %x5: tensor<2x8192xf32> {commsched.role = "parameter"}, %x6: tensor<2x8192xbf16> {commsched.role = "input"}, %x7: tensor<4x8192xf32> {commsched.role = "input"}) {
  %f:23 = call @f_forward(%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7) : (!t, !t, !t, !t, tensor<4x8192xf32>, tensor<2x8192xf32>, tensor<2x8192xbf16>, tensor<4x8192xf32>) -> (!t, !t, !t, !t, !flat, !t, !t, !flat, !t, !flat, !t, tensor<4x8192xf32>, tensor<4x8192xi16>, tensor<8x8192xf8E5M2>, tensor<1x32767xbf16>, tensor<1x32768xbf16>, tensor<bf16>, tensor<8192x4xbf16>, tensor<8192x5xbf16>, tensor<0x16xbf16>, tensor<?x16xbf16>, !u, index)
  call @f_backward(%f#0, %f#1, %f#2, %f#3, %f#4, %f#5, %f#6, %f#7, %f#8, %f#9, %f#10, %f#11, %f#12, %f#13, %f#14, %f#15, %f#16, %f#17, %f#18, %f#19, %f#20, %f#21, %f#22)
      : (!t, !t, !t, !t, !flat, !t, !t, !flat, !t, !flat, !t, tensor<4x8192xf32>, tensor<4x8192xi16>, tensor<8x8192xf8E5M2>, tensor<1x32767xbf16>, tensor<1x32768xbf16>, tensor<bf16>, tensor<8192x4xbf16>, tensor<8192x5xbf16>, tensor<0x16xbf16>, tensor<?x16xbf16>, !u, index) -> ()
  return
}
