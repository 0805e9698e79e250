// One step of a stencil on three fields, each of 64 x 64 points on each of four
// ranks in a ring: every point becomes the sum of the points above and below it.
// A rank sends the first row of each field up and the last row down: six small
// permutes, of which those of one direction may travel together.

!field = tensor<64x64xf32>
!interior = tensor<62x64xf32>
!row = tensor<1x64xf32>
!sent = !commsched.future<tensor<1x64xf32>>

commsched.group @ring size(4)

func.func @step(%u: !field, %v: !field, %w: !field)
    -> (!field, !field, !field) {
  // The rows of u on their way.
  %u_first = tensor.extract_slice %u[0, 0] [1, 64] [1, 1] : !field to !row
  %u_up = commsched.permute %u_first on @ring
      pairs(dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>)
      {commsched.name = "u_up"} : !row -> !sent
  %u_last = tensor.extract_slice %u[63, 0] [1, 64] [1, 1] : !field to !row
  %u_down = commsched.permute %u_last on @ring
      pairs(dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>)
      {commsched.name = "u_down"} : !row -> !sent

  // What needs no row of a neighbour.
  %u_above = tensor.extract_slice %u[0, 0] [62, 64] [1, 1]
      : !field to !interior
  %u_below = tensor.extract_slice %u[2, 0] [62, 64] [1, 1]
      : !field to !interior
  %u_inside = arith.addf %u_above, %u_below : !interior

  // The first and the last row.
  %u_south = commsched.wait %u_up : !sent
  %u_north = commsched.wait %u_down : !sent
  %u_second = tensor.extract_slice %u[1, 0] [1, 64] [1, 1] : !field to !row
  %u_top = arith.addf %u_north, %u_second : !row
  %u_previous = tensor.extract_slice %u[62, 0] [1, 64] [1, 1]
      : !field to !row
  %u_bottom = arith.addf %u_previous, %u_south : !row
  %u_next = tensor.concat dim(0) %u_top, %u_inside, %u_bottom
      : (!row, !interior, !row) -> !field

  // The rows of v on their way.
  %v_first = tensor.extract_slice %v[0, 0] [1, 64] [1, 1] : !field to !row
  %v_up = commsched.permute %v_first on @ring
      pairs(dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>)
      {commsched.name = "v_up"} : !row -> !sent
  %v_last = tensor.extract_slice %v[63, 0] [1, 64] [1, 1] : !field to !row
  %v_down = commsched.permute %v_last on @ring
      pairs(dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>)
      {commsched.name = "v_down"} : !row -> !sent

  // What needs no row of a neighbour.
  %v_above = tensor.extract_slice %v[0, 0] [62, 64] [1, 1]
      : !field to !interior
  %v_below = tensor.extract_slice %v[2, 0] [62, 64] [1, 1]
      : !field to !interior
  %v_inside = arith.addf %v_above, %v_below : !interior

  // The first and the last row.
  %v_south = commsched.wait %v_up : !sent
  %v_north = commsched.wait %v_down : !sent
  %v_second = tensor.extract_slice %v[1, 0] [1, 64] [1, 1] : !field to !row
  %v_top = arith.addf %v_north, %v_second : !row
  %v_previous = tensor.extract_slice %v[62, 0] [1, 64] [1, 1]
      : !field to !row
  %v_bottom = arith.addf %v_previous, %v_south : !row
  %v_next = tensor.concat dim(0) %v_top, %v_inside, %v_bottom
      : (!row, !interior, !row) -> !field

  // The rows of w on their way.
  %w_first = tensor.extract_slice %w[0, 0] [1, 64] [1, 1] : !field to !row
  %w_up = commsched.permute %w_first on @ring
      pairs(dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>)
      {commsched.name = "w_up"} : !row -> !sent
  %w_last = tensor.extract_slice %w[63, 0] [1, 64] [1, 1] : !field to !row
  %w_down = commsched.permute %w_last on @ring
      pairs(dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>)
      {commsched.name = "w_down"} : !row -> !sent

  // What needs no row of a neighbour.
  %w_above = tensor.extract_slice %w[0, 0] [62, 64] [1, 1]
      : !field to !interior
  %w_below = tensor.extract_slice %w[2, 0] [62, 64] [1, 1]
      : !field to !interior
  %w_inside = arith.addf %w_above, %w_below : !interior

  // The first and the last row.
  %w_south = commsched.wait %w_up : !sent
  %w_north = commsched.wait %w_down : !sent
  %w_second = tensor.extract_slice %w[1, 0] [1, 64] [1, 1] : !field to !row
  %w_top = arith.addf %w_north, %w_second : !row
  %w_previous = tensor.extract_slice %w[62, 0] [1, 64] [1, 1]
      : !field to !row
  %w_bottom = arith.addf %w_previous, %w_south : !row
  %w_next = tensor.concat dim(0) %w_top, %w_inside, %w_bottom
      : (!row, !interior, !row) -> !field

  return %u_next, %v_next, %w_next : !field, !field, !field
}
