// DEFINE: %{report} = commsched-opt %s -o /dev/null --commsched-report=

// What PyTorch's caching allocator reserves for a step. Without the options
// there is none of it.
// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=NONE
// NONE-NOT: reserved_bytes
// NONE-NOT: total_bytes

// RUN: %{report}"format=json allocator=pytorch" | FileCheck %s \
// RUN:   --check-prefix=FIXED --implicit-check-not=total_bytes
// RUN: %{report}"format=json allocator=pytorch-expandable" | FileCheck %s --check-prefix=EXPANDABLE
// RUN: %{report}"format=table allocator=pytorch reserved-bytes=12GiB" | FileCheck %s --check-prefix=TABLE
// RUN: %{report}"format=json allocator=pytorch reserved-bytes=1KiB" | FileCheck %s --check-prefix=BOTH
// RUN: %fails commsched-opt %s --commsched-report=reserved-bytes=5gb -o /dev/null "error: option 'reserved-bytes' of pass 'commsched-report' must be bytes such as 68719476736, 64GiB or 640MB, but is '5gb'"

// The argument takes a segment of 2 MiB, "a" one of 12 MiB for 11, "b" one of
// 20 MiB for 3. "c" takes that of "a", since it leaves less than 1 MiB there.
// FIXED: "function":"step",{{.*}}"peak_memory_bytes":14684160,{{.*}}"reserved_bytes":35651584,"fragmentation_bytes":20967424,
//
// One page of 20 MiB holds "a" and "b", and later "b" and "c".
// EXPANDABLE: "function":"step",{{.*}}"peak_memory_bytes":14684160,{{.*}}"reserved_bytes":23068672,"fragmentation_bytes":8384512,
//
//      TABLE: function @step
//      TABLE:   peak memory 14.00 MiB
// TABLE-NEXT:   reserved memory 34.00 MiB 20.00 MiB of it not live at the peak
// TABLE-NEXT:   other memory 12.00 GiB
// TABLE-NEXT:   total memory 12.03 GiB
//
// BOTH: "function":"step",{{.*}}"reserved_bytes":35651584,"fragmentation_bytes":20967424,"other_bytes":1024,"total_bytes":35652608,
func.func @step(%x: tensor<4096xi8>) -> tensor<3145728xi8> {
  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 10 : i64}
      : (tensor<4096xi8>) -> tensor<11534336xi8>
  %b = commsched.compute "b"(%a) {commsched.runtime_ns = 10 : i64}
      : (tensor<11534336xi8>) -> tensor<3145728xi8>
  %c = commsched.compute "c"(%b) {commsched.runtime_ns = 10 : i64}
      : (tensor<3145728xi8>) -> tensor<11534336xi8>
  return %b : tensor<3145728xi8>
}
