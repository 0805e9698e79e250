// RUN: %fails commsched-opt %s --commsched-split=chunks=1 'must be 0 or from 2 to 64, but is 1'
// RUN: %fails commsched-opt %s --commsched-split=max-chunks=9 'must be from 2 to 8, but is 9'
// RUN: %fails commsched-opt %s --commsched-split="mode=ring chunks=4" "option 'chunks' of pass 'commsched-split' must be 0 with 'mode=ring', whose chunks are the ranks, but is 4"
func.func @empty() {
  return
}
