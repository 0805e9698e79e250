// The text below is what is printed for it, from text and the generic form.
// RUN: grep -v '^//' %s | grep . > %t.text
// RUN: commsched-opt %s | grep . | diff %t.text -
// RUN: commsched-opt %s --mlir-print-op-generic | commsched-opt | grep . | diff %t.text -
// RUN: %prints commsched-opt %s --mlir-print-op-generic 'kind = #commsched_rt<kind all_gather>'

// The kind is printed as a string, and read as a string or a keyword.
// RUN: sed 's/start "\([a-z_]*\)"/start \1/' %s | commsched-opt | grep . | diff %t.text -

module {
  func.func @kinds(%arg0: tensor<4xf32>) {
    %request = commsched_rt.start "all_gather" "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
    commsched_rt.wait %request
    %request_0 = commsched_rt.start "reduce_scatter" "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
    commsched_rt.wait %request_0
    %request_1 = commsched_rt.start "all_reduce" "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
    commsched_rt.wait %request_1
    %request_2 = commsched_rt.start "all_to_all" "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
    commsched_rt.wait %request_2
    %request_3 = commsched_rt.start "broadcast" "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
    commsched_rt.wait %request_3
    %request_4 = commsched_rt.start "permute" "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
    commsched_rt.wait %request_4
    %request_5 = commsched_rt.start "send" "s" on @g ins(%arg0 : tensor<4xf32>) {received = array<i64: 0>, sent = array<i64: 4>} : !commsched_rt.request
    commsched_rt.wait %request_5 ins(%arg0 : tensor<4xf32>)
    %request_6 = commsched_rt.start "recv" "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
    commsched_rt.wait %request_6
    return
  }
  func.func @split_values(%arg0: tensor<?x4xf32>, %arg1: tensor<?x4xf32>, %arg2: tensor<2xi64>, %arg3: index) {
    %splits, %rows = commsched_rt.read_splits ins(%arg2 : tensor<2xi64>)
    %splits_0, %rows_1 = commsched_rt.read_splits output ins(%arg2 : tensor<2xi64>)
    %request, %in_flight = commsched_rt.start "all_to_all" "a" on @g ins(%arg0 : tensor<?x4xf32>) outs(%arg1 : tensor<?x4xf32>) send_rows(%splits, %arg3) receive_rows(%splits_0, %rows_1) {received = array<i64: 0>, row = array<i64: 4>, sent = array<i64: 0>} : !commsched_rt.request, tensor<?x4xf32>
    %0 = commsched_rt.wait %request ins(%arg0 : tensor<?x4xf32>) outs(%in_flight : tensor<?x4xf32>) -> tensor<?x4xf32>
    return
  }
  func.func @implementations() {
    %request = commsched_rt.start "all_gather" "a" on @g {implementation = #commsched_rt.implementation<"nccl-4", "nccl", channels = 4>, received = array<i64>, sent = array<i64>} : !commsched_rt.request
    commsched_rt.wait %request
    commsched_rt.barrier "b" on @g {implementation = #commsched_rt.implementation<"second", "nccl", stream = "nccl">}
    return
  }
}
