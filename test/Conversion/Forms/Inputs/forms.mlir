// The forms in which StableHLO has a collective, a module each once expand_rows.py
// has written them. check_forms.py says what the comments mean.

LET $devices {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32}
LET $partitions {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32}
LET $channel channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>
LET $groups replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>
LET $none replica_groups = dense<> : tensor<0x0xi64>
LET $mesh "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "y"=4]>, sym_name = "mesh"}> : () -> ()
LET $inline #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 4>]>
LET $axis(NAME) #stablehlo.axis_ref<name = "NAME">
LET $sum(E) ({
    ^bb0(%one: tensor<E>, %other: tensor<E>):
      %both = "stablehlo.add"(%one, %other) : (tensor<E>, tensor<E>) -> tensor<E>
      "stablehlo.return"(%both) : (tensor<E>) -> ()
    })
LET $gather(PROPERTIES) "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, PROPERTIES}> : (tensor<8xf32>) -> tensor<32xf32>
LET $reduce(PROPERTIES of X) "stablehlo.all_reduce"(X) <{PROPERTIES}> $sum(f32) : (tensor<8xf32>) -> tensor<8xf32>
LET $permute(PROPERTIES) "stablehlo.collective_permute"(%x) <{PROPERTIES}> : (tensor<8xf32>) -> tensor<8xf32>
LET $before
LET $result %c
LET $E tensor<f32>
LET $X tensor<8xf32>
LET $Y tensor<32xf32>

// -----

module attributes $devices {
  $before
  func.func @main(%x: tensor<8xf32>) -> $Y {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64,
    ROW
    }> : (tensor<8xf32>) -> $Y
    return %0 : $Y
  }
}

// -----

// channel-to-host: A channel of the type 2, to the host.
// becomes: barrier: its 'channel_handle' has the type 2, and the type of a channel between devices is 1
LET $devices $partitions
channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, $groups, use_global_device_ids
// channel-unspecified: A channel of the type 0, which says nothing.
// becomes: commsched.group @replica_groups_0 size(4) ranks(dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>, commsched.all_gather
LET $devices $partitions
channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, $groups, use_global_device_ids
// groups-empty-by-types: Without a number of devices, the types of the gather say that there are eight.
// becomes: commsched.group @replica_groups_0 size(8) ranks(dense<[[0, 1, 2, 3, 4, 5, 6, 7]]>, commsched.all_gather
LET $devices {}
LET $Y tensor<64xf32>
$none
// groups-iota-three-dimensions: An iota of three dimensions, transposed.
// becomes: commsched.group @replica_groups_0 size(4) ranks(dense<[[0, 4, 1, 5], [2, 6, 3, 7]]>, commsched.all_gather
replica_groups = dense<[[0, 4, 1, 5], [2, 6, 3, 7]]> : tensor<2x4xi64>
// groups-listed: Two groups of four replicas.
// becomes: commsched.group @replica_groups_0 size(4) ranks(dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>, commsched.all_gather
$groups
// groups-mesh-axes: An axis of a mesh that the module declares.
// becomes: commsched.group @replica_groups_0 size(4) ranks(dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>, commsched.all_gather
LET $devices $partitions
LET $before $mesh
$channel, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [$axis(y)]>, use_global_device_ids
// groups-mesh-device-ids: A mesh with an order of its devices.
// becomes: commsched.group @replica_groups_0 size(4) ranks(dense<[[7, 6, 5, 4], [3, 2, 1, 0]]>, commsched.all_gather
LET $devices $partitions
LET $before "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "y"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>, sym_name = "mesh"}> : () -> ()
$channel, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [$axis(y)]>, use_global_device_ids
// groups-mesh-two-axes: Two axes, of which the first varies slowest.
// becomes: commsched.group @replica_groups_0 size(8) ranks(dense<[[0, 4, 1, 5, 2, 6, 3, 7]]>, commsched.all_gather
LET $devices $partitions
LET $before $mesh
LET $Y tensor<64xf32>
$channel, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [$axis(y), $axis(x)]>, use_global_device_ids
// groups-transposed: A transposed iota: each second replica.
// becomes: commsched.group @replica_groups_0 size(4) ranks(dense<[[0, 2, 4, 6], [1, 3, 5, 7]]>, commsched.all_gather
replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>
// ids-devices: Global ids: devices.
// becomes: commsched.group @replica_groups_0 size(4) ranks(dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>, commsched.all_gather
LET $devices $partitions
$channel, $groups, use_global_device_ids
// ids-devices-without-channel: Global ids without a channel: devices.
// becomes: commsched.group @replica_groups_0 size(4) ranks(dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>, commsched.all_gather
$groups, use_global_device_ids
// ids-partitions-missing: The types say that a replica has two partitions.
// becomes: commsched.group @replica_groups_0 size(8) ranks(dense<[[0, 2, 4, 6, 1, 3, 5, 7]]>, commsched.all_gather
LET $devices {mhlo.num_replicas = 4 : i32}
LET $Y tensor<64xf32>
$channel, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>
// ids-replicas-missing: The ids say that there are four replicas, which XLA does not write.
// becomes: commsched.group @replica_groups_0 size(4) ranks(dense<[[0, 2, 4, 6], [1, 3, 5, 7]]>, commsched.all_gather
LET $devices {mhlo.num_partitions = 2 : i32}
replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>
// ids-whole-replicas: A channel without global ids: replicas with all their partitions.
// becomes: commsched.group @replica_groups_0 size(4) ranks(dense<[[0, 2, 1, 3], [4, 6, 5, 7]]>, commsched.all_gather
LET $devices {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 4 : i32}
$channel, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
// illegal-partitions-missing: The number of partitions is missing.
// becomes: error: the attribute 'mhlo.num_partitions' of the module is missing
LET $devices {mhlo.num_replicas = 4 : i32}
LET $Y tensor<48xf32>
$channel, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>
// illegal-result: A result that no group of four devices delivers.
// becomes: error: result 0 is a 'tensor<24xf32>', but a group of 4 devices delivers a 'tensor<32xf32>'
LET $Y tensor<24xf32>
$groups

// -----

module attributes $devices {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.all_reduce"(%x) <{
    ROW
    }> $sum(f32) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// groups-different-sizes: A group of three devices and one of five.
// becomes: barrier: its groups have different sizes
replica_groups = dense<[[0, 1, 2, -1, -1], [3, 4, 5, 6, 7]]> : tensor<2x5xi64>
// groups-empty-devices: No groups and global ids: all devices.
// becomes: commsched.group @replica_groups_0 size(8) ranks(dense<[[0, 1, 2, 3, 4, 5, 6, 7]]>, commsched.all_reduce
LET $devices $partitions
$channel, $none, use_global_device_ids
// groups-empty-replicas: No groups: all replicas.
// becomes: commsched.group @replica_groups_0 size(8) ranks(dense<[[0, 1, 2, 3, 4, 5, 6, 7]]>, commsched.all_reduce
$none
// groups-empty-row: One group without devices: all replicas.
// becomes: commsched.group @replica_groups_0 size(8) ranks(dense<[[0, 1, 2, 3, 4, 5, 6, 7]]>, commsched.all_reduce
replica_groups = dense<> : tensor<1x0xi64>
// groups-empty-unknown: Nothing says how many devices there are.
// becomes: barrier: its empty 'replica_groups' are all devices, whose number is not known
LET $devices {}
$none
// groups-empty-whole-replicas: No groups and a channel: all partitions of all replicas.
// becomes: commsched.group @replica_groups_0 size(8) ranks(dense<[[0, 2, 4, 6, 1, 3, 5, 7]]>, commsched.all_reduce
LET $devices {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 4 : i32}
$channel, $none
// groups-mesh-in-place: An axis of a mesh that the attribute holds.
// becomes: commsched.group @replica_groups_0 size(2) ranks(dense<[[0, 4], [1, 5], [2, 6], [3, 7]]>, commsched.all_reduce
LET $devices $partitions
$channel, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = $inline, axes = [$axis(x)]>, use_global_device_ids
// groups-mesh-part-of-axis: The first half of an axis of four devices.
// becomes: commsched.group @replica_groups_0 size(2) ranks(dense<[[0, 2], [1, 3], [4, 6], [5, 7]]>, commsched.all_reduce
LET $devices $partitions
$channel, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = $inline, axes = [#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]>, use_global_device_ids
// groups-mesh-unknown: A mesh that the module does not declare.
// becomes: barrier: its 'replica_groups' name the mesh @mesh, of which the module declares no axes
LET $devices $partitions
$channel, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [$axis(y)]>, use_global_device_ids
// groups-one-device: Groups of one device.
// becomes: commsched.group @replica_groups_0 size(1) ranks(dense<[[0], [1], [2], [3], [4], [5], [6], [7]]>, commsched.all_reduce
replica_groups = dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi64>
// ids-cross-replica: No channel: replicas, in each partition.
// becomes: commsched.group @replica_groups_0 size(2) ranks(dense<[[0, 2], [4, 6], [1, 3], [5, 7]]>, commsched.all_reduce
LET $devices {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 4 : i32}
replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
// illegal-device-missing: A device in no group.
// becomes: error: 'replica_groups' does not list the replica 6, but the module has 8 replicas
replica_groups = dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi64>
// illegal-device-twice: A device in two groups.
// becomes: error: 'replica_groups' lists the replica 3 in group 0 and again in group 1
replica_groups = dense<[[0, 1, 2, 3], [3, 4, 5, 6]]> : tensor<2x4xi64>
// illegal-ninth-device: A device that does not exist.
// becomes: error: 'replica_groups' lists the replica 8 in group 1, but the module has 8 replicas
LET $devices {mhlo.num_replicas = 8 : i32}
replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 8]]> : tensor<2x4xi64>
// odd-group-empty: One of two groups is empty.
// becomes: barrier: its groups have different sizes
LET $devices {}
replica_groups = dense<[[0, 1], [-1, -1]]> : tensor<2x2xi64>
// odd-group-gaps: Groups of the same size have fill between their devices.
// becomes: barrier: its groups have different sizes
LET $devices {}
replica_groups = dense<[[0, -1, 2], [3, 1, -1]]> : tensor<2x3xi64>
// odd-group-splat: A group of one device as a splat.
// becomes: commsched.group @replica_groups_0 size(1) ranks(dense<0>, commsched.all_reduce
LET $devices {}
$channel, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids
// odd-property: A property that StableHLO does not have.
// becomes: commsched.all_reduce
$groups, my_field = 3 : i64

// -----

module attributes $devices {
  func.func @main(%x: $X, %k: $E) -> $X {
    %0 = "stablehlo.all_reduce"(%x) <{$groups}> ({
    ^bb0(%p: $E, %q: $E):
      ROW
      "stablehlo.return"($result) : ($E) -> ()
    }) : ($X) -> $X
    return %0 : $X
  }
}

// -----

// reducer-add: The reducer is `add`.
// becomes: commsched.all_reduce reduction(sum)
%c = "stablehlo.add"(%p, %q) : ($E, $E) -> $E
// reducer-and: The reducer is `and`.
// becomes: commsched.all_reduce reduction(band)
LET $E tensor<i1>
LET $X tensor<8xi1>
%c = "stablehlo.and"(%p, %q) : ($E, $E) -> $E
// reducer-attributes: The operation of the reducer has an attribute.
// becomes: commsched.all_reduce reduction(sum)
%c = "stablehlo.add"(%p, %q) {mhlo.frontend_attributes = {a = "b"}} : ($E, $E) -> $E
// reducer-converts: The sum is computed in a wider type, and rounded.
// becomes: commsched.all_reduce reduction(sum)
LET $E tensor<bf16>
LET $X tensor<8xbf16>
%a = "stablehlo.convert"(%p) : (tensor<bf16>) -> tensor<f32>
%b = "stablehlo.convert"(%q) : (tensor<bf16>) -> tensor<f32>
%d = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
%c = "stablehlo.convert"(%d) : (tensor<f32>) -> tensor<bf16>
// reducer-maximum: The reducer is `maximum`.
// becomes: commsched.all_reduce reduction(max)
LET $E tensor<bf16>
LET $X tensor<8xbf16>
%c = "stablehlo.maximum"(%p, %q) : ($E, $E) -> $E
// reducer-minimum: The reducer is `minimum`.
// becomes: commsched.all_reduce reduction(min)
LET $E tensor<i32>
LET $X tensor<8xi32>
%c = "stablehlo.minimum"(%p, %q) : ($E, $E) -> $E
// reducer-multiply: The reducer is `multiply`.
// becomes: commsched.all_reduce reduction(prod)
LET $E tensor<complex<f32>>
LET $X tensor<8xcomplex<f32>>
%c = "stablehlo.multiply"(%p, %q) : ($E, $E) -> $E
// reducer-narrower: The sum is computed in a narrower type.
// becomes: barrier: its reducer is not one of add
%a = "stablehlo.convert"(%p) : (tensor<f32>) -> tensor<bf16>
%b = "stablehlo.convert"(%q) : (tensor<f32>) -> tensor<bf16>
%d = "stablehlo.add"(%a, %b) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
%c = "stablehlo.convert"(%d) : (tensor<bf16>) -> tensor<f32>
// reducer-or: The reducer is `or`.
// becomes: commsched.all_reduce reduction(bor)
LET $E tensor<i1>
LET $X tensor<8xi1>
%c = "stablehlo.or"(%p, %q) : ($E, $E) -> $E
// reducer-other: The reducer is no operation that commsched has.
// becomes: barrier: its reducer is not one of add, maximum, minimum, multiply, and, or, xor
%c = "stablehlo.subtract"(%p, %q) : ($E, $E) -> $E
// reducer-swapped: The arguments are swapped.
// becomes: commsched.all_reduce reduction(sum)
LET $E tensor<ui8>
LET $X tensor<8xui8>
%c = "stablehlo.add"(%q, %p) : ($E, $E) -> $E
// reducer-xor: The reducer is `xor`.
// becomes: commsched.all_reduce reduction(bxor)
LET $E tensor<i32>
LET $X tensor<8xi32>
%c = "stablehlo.xor"(%p, %q) : ($E, $E) -> $E
// odd-reducer-argument: The reducer returns an argument, whatever it computes.
// becomes: barrier: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements
LET $result %p
%c = "stablehlo.add"(%p, %q) : ($E, $E) -> $E
// odd-reducer-bits-of-floats: Bits of floats.
// becomes: barrier: its reducer is not defined for its elements
%c = "stablehlo.and"(%p, %q) : ($E, $E) -> $E
// odd-reducer-captures: The reducer uses a value from outside.
// becomes: barrier: its reducer is not one of add
%c = "stablehlo.add"(%p, %k) : ($E, $E) -> $E
// odd-reducer-collective: The reducer communicates.
// becomes: barrier: its reducer is not one of add
%i = "stablehlo.all_reduce"(%p) <{$groups}> $sum(f32) : ($E) -> $E
%c = "stablehlo.add"(%i, %q) : ($E, $E) -> $E
// odd-reducer-complex: The largest of complex numbers.
// becomes: barrier: its reducer is not defined for its elements
LET $E tensor<complex<f32>>
LET $X tensor<8xcomplex<f32>>
%c = "stablehlo.maximum"(%p, %q) : ($E, $E) -> $E
// odd-reducer-one-argument: The reducer uses one argument.
// becomes: barrier: its reducer is not one of add
%c = "stablehlo.add"(%p, %p) : ($E, $E) -> $E
// odd-reducer-two-operations: The reducer has two operations.
// becomes: barrier: its reducer is not one of add
%d = "stablehlo.add"(%p, %q) : ($E, $E) -> $E
%c = "stablehlo.add"(%d, %q) : ($E, $E) -> $E

// -----

module attributes $devices {
  func.func @main(%x: $X) -> $Y {
    ROW
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, $groups}> : ($X) -> $Y
    return %0 : $Y
  }
}

// -----

// type-complex: Complex elements.
// becomes: commsched.all_gather
LET $X tensor<8xcomplex<f32>>
LET $Y tensor<32xcomplex<f32>>
// type-dynamic: A dynamic size.
// becomes: barrier: tensor<?xf32> has a dynamic size
LET $X tensor<?xf32>
LET $Y tensor<?xf32>
// type-f8: Elements of eight bits.
// becomes: commsched.all_gather
LET $X tensor<8xf8E4M3FN>
LET $Y tensor<32xf8E4M3FN>
// type-i1: Elements of one bit.
// becomes: commsched.all_gather
LET $X tensor<8xi1>
LET $Y tensor<32xi1>
// type-quantized: Quantized elements.
// becomes: barrier: the size of
LET $X tensor<8x!quant.uniform<i8:f32, 1.000000e+00>>
LET $Y tensor<32x!quant.uniform<i8:f32, 1.000000e+00>>

// -----

module attributes $devices {
  func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<32xf32>) {
    ROW
    %1 = $gather($groups)
    return %0, %1 : tensor<8xf32>, tensor<32xf32>
  }
}

// -----

// call-annotation: An annotation of the sharding.
// becomes: stays: stablehlo.custom_call
%0 = "stablehlo.custom_call"(%x) <{call_target_name = "Sharding"}> {mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> tensor<8xf32>
// call-assertion: An assertion.
// becomes: stays: stablehlo.custom_call
%0 = "stablehlo.custom_call"(%x) <{call_target_name = "shape_assertion", has_side_effect = true}> : (tensor<8xf32>) -> tensor<8xf32>
// call-callback: A callback into Python, which reaches no other device.
// becomes: stays: stablehlo.custom_call
%0 = "stablehlo.custom_call"(%x) <{call_target_name = "xla_ffi_python_cpu_callback", has_side_effect = true}> : (tensor<8xf32>) -> tensor<8xf32>
// call-pure: A call without side effects.
// becomes: stays: stablehlo.custom_call
%0 = "stablehlo.custom_call"(%x) <{call_target_name = "my_kernel"}> : (tensor<8xf32>) -> tensor<8xf32>
// call-unknown: A call with side effects that might communicate.
// becomes: barrier: whether @my_exchange communicates is not known
%0 = "stablehlo.custom_call"(%x) <{call_target_name = "my_exchange", has_side_effect = true}> : (tensor<8xf32>) -> tensor<8xf32>
// groups-empty-by-others: Without a number of devices, the groups of the gather say that there are eight.
// becomes: commsched.group @replica_groups_0 size(8) ranks(dense<[[0, 1, 2, 3, 4, 5, 6, 7]]>, commsched.group @replica_groups_1 size(4) ranks(dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>, commsched.all_reduce, commsched.all_gather
LET $devices {}
%0 = $reduce($none of %x)
// infeed: Data from the host.
// becomes: stays: stablehlo.infeed
%t = "stablehlo.create_token"() : () -> !stablehlo.token
%0:2 = "stablehlo.infeed"(%t) <{infeed_config = "", layout = [[0]]}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
// random-numbers: Random numbers, whose state is kept in order.
// becomes: stays: stablehlo.rng
%l = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
%n = "stablehlo.constant"() <{value = dense<8> : tensor<1xi64>}> : () -> tensor<1xi64>
%0 = "stablehlo.rng"(%l, %l, %n) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>

// -----

module attributes $devices {
  func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    ROW
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// ids-mixed: Replicas and devices are the same, since there is one partition.
// becomes: commsched.group @replica_groups_0 size(4) ranks(dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>, commsched.group @all_devices size(8) ranks(dense<[[0, 1, 2, 3, 4, 5, 6, 7]]>, commsched.all_reduce %arg0 on @replica_groups_0, commsched.all_gather %arg0 on @replica_groups_0, commsched.permute
%0 = $reduce($groups of %x)
%2 = $gather($channel, $groups, use_global_device_ids)
%1 = $permute(source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
// ids-mixed-unknown: Replicas and partitions, of which the module says no number: the same devices.
// becomes: commsched.group @replica_groups_0 size(8) ranks(dense<[[0, 1, 2, 3, 4, 5, 6, 7]]>, commsched.group @all_devices size(2) ranks(dense<[[0, 1]]>, commsched.all_reduce, commsched.permute
LET $devices {}
%0 = $reduce(replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64> of %x)
%1 = $permute($channel, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)

// -----

module attributes $devices {
  func.func @main(%x: tensor<8xf32>, %y: tensor<2x3xf32>, %r: tensor<1xi32>, %k: tensor<i1>) -> tensor<8xf32> {
    ROW
    return %0 : tensor<8xf32>
  }
}

// -----

// all-gather-several: Several operands.
// becomes: commsched.all_gather %arg1, %arg2 on @replica_groups_0 dim(0) {commsched.name = "all_gather.0", mhlo.frontend_attributes = {a = "b"}, stablehlo.named, stablehlo.properties
%1:2 = "stablehlo.all_gather"(%y, %r) <{all_gather_dim = 0 : i64, $groups}> {mhlo.frontend_attributes = {a = "b"}} : (tensor<2x3xf32>, tensor<1xi32>) -> (tensor<8x3xf32>, tensor<4xi32>)
%0 = "stablehlo.negate"(%x) : (tensor<8xf32>) -> tensor<8xf32>
// all-reduce-several: Several operands.
// becomes: commsched.all_reduce
%0, %1 = "stablehlo.all_reduce"(%x, %y) <{$groups}> $sum(f32) : (tensor<8xf32>, tensor<2x3xf32>) -> (tensor<8xf32>, tensor<2x3xf32>)
// all-to-all-of-parts: Each operand is for another device, and each result from another.
// becomes: barrier: commsched has no such collective
%0:4 = "mhlo.all_to_all"(%x, %x, %x, %x) <{$groups}> : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
// async-pair: A start and a done.
// becomes: commsched.all_gather %arg2 on @replica_groups_0 dim(0) {commsched.name = "all_gather.0", inner = 2 : i64, stablehlo.async = {attributes = {outer = 1 : i64}}
%f = "stablehlo.async_start"(%r) ({
^bb0(%a: tensor<1xi32>):
  %g = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, $groups}> {inner = 2 : i64} : (tensor<1xi32>) -> tensor<4xi32>
  "stablehlo.return"(%g) : (tensor<4xi32>) -> ()
}) {outer = 1 : i64} : (tensor<1xi32>) -> !stablehlo.future<tensor<4xi32>>
%0 = "stablehlo.negate"(%x) : (tensor<8xf32>) -> tensor<8xf32>
%g = "stablehlo.async_done"(%f) {last = 3 : i64} : (!stablehlo.future<tensor<4xi32>>) -> tensor<4xi32>
// async-pair-several: Several operands between a start and a done.
// becomes: commsched.all_gather %arg1, %arg2 on @replica_groups_0 dim(0)
%f = "stablehlo.async_start"(%y, %r) ({
^bb0(%a: tensor<2x3xf32>, %b: tensor<1xi32>):
  %g:2 = "stablehlo.all_gather"(%a, %b) <{all_gather_dim = 0 : i64, $groups}> {inner = 2 : i64} : (tensor<2x3xf32>, tensor<1xi32>) -> (tensor<8x3xf32>, tensor<4xi32>)
  "stablehlo.return"(%g#0, %g#1) : (tensor<8x3xf32>, tensor<4xi32>) -> ()
}) {outer = 1 : i64} : (tensor<2x3xf32>, tensor<1xi32>) -> !stablehlo.future<tensor<8x3xf32>, tensor<4xi32>>
%0 = "stablehlo.negate"(%x) : (tensor<8xf32>) -> tensor<8xf32>
%g:2 = "stablehlo.async_done"(%f) {last = 3 : i64} : (!stablehlo.future<tensor<8x3xf32>, tensor<4xi32>>) -> (tensor<8x3xf32>, tensor<4xi32>)
// async-slice: What is asynchronous is no collective.
// becomes: barrier: its region is not one collective of its arguments
%f = "stablehlo.async_start"(%x) ({
^bb0(%a: tensor<8xf32>):
  %g = "stablehlo.negate"(%a) : (tensor<8xf32>) -> tensor<8xf32>
  "stablehlo.return"(%g) : (tensor<8xf32>) -> ()
}) : (tensor<8xf32>) -> !stablehlo.future<tensor<8xf32>>
%0 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<8xf32>>) -> tensor<8xf32>
// async-two-operations: Two operations between start and done.
// becomes: barrier: its region is not one collective of its arguments
%f = "stablehlo.async_start"(%x) ({
^bb0(%a: tensor<8xf32>):
  %g = $reduce($groups of %a)
  %n = "stablehlo.negate"(%g) : (tensor<8xf32>) -> tensor<8xf32>
  "stablehlo.return"(%n) : (tensor<8xf32>) -> ()
}) : (tensor<8xf32>) -> !stablehlo.future<tensor<8xf32>>
%0 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<8xf32>>) -> tensor<8xf32>
// collective-broadcast: From the first device of each group.
// becomes: commsched.broadcast root(0)
%0 = "stablehlo.collective_broadcast"(%x) <{$groups}> : (tensor<8xf32>) -> tensor<8xf32>
// collective-broadcast-dynamic-root: The last operand says where the data comes from.
// becomes: barrier: its root is known at run time only
%0 = "stablehlo.collective_broadcast"(%x, %r) <{has_dynamic_root, $groups}> : (tensor<8xf32>, tensor<1xi32>) -> tensor<8xf32>
// collective-broadcast-partial: Devices outside of the groups get zeros.
// becomes: barrier: not all devices take part
%0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[2, 0]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
// collective-permute: A ring.
// becomes: commsched.permute
%0 = $permute(source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>)
// collective-permute-partial: Devices that receive nothing get zeros.
// becomes: commsched.group @all_devices size(8) ranks(dense<[[0, 1, 2, 3, 4, 5, 6, 7]]>, commsched.permute %arg0 on @all_devices pairs(dense<[[0, 1], [2, 3]]>
%0 = $permute(source_target_pairs = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>)
// collective-reduce: One device of each group gets the sum.
// becomes: barrier: commsched has no such collective
%0 = "stablehlo.collective_reduce"(%x) <{$groups}> $sum(f32) : (tensor<8xf32>) -> tensor<8xf32>
// ids-cross-partition: A channel and no flag: partitions, in each replica.
// becomes: commsched.group @replica_groups_0 size(4) ranks(dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>, commsched.all_to_all
LET $devices {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32}
%0 = "stablehlo.all_to_all"(%x) <{$channel, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<8xf32>) -> tensor<8xf32>
// illegal-target-twice: Two devices send to one.
// becomes: error: 'source_target_pairs' has the target 1 in pair 0 and again in pair 1
%0 = $permute(source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>)
// region-branch: In one of two branches, which all devices choose alike.
// becomes: commsched.all_reduce
%0 = "stablehlo.if"(%k) ({
  %1 = $reduce($groups of %x)
  "stablehlo.return"(%1) : (tensor<8xf32>) -> ()
}, {
  "stablehlo.return"(%x) : (tensor<8xf32>) -> ()
}) : (tensor<i1>) -> tensor<8xf32>
// region-loop: In the body of a loop.
// becomes: commsched.all_reduce
%i = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
%m, %0 = "stablehlo.while"(%i, %x) ({
^bb0(%j: tensor<i32>, %v: tensor<8xf32>):
  %n = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
  %l = "stablehlo.compare"(%j, %n) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
  "stablehlo.return"(%l) : (tensor<i1>) -> ()
}, {
^bb0(%j: tensor<i32>, %v: tensor<8xf32>):
  %o = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %m = "stablehlo.add"(%j, %o) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %1 = $reduce($groups of %v)
  "stablehlo.return"(%m, %1) : (tensor<i32>, tensor<8xf32>) -> ()
}) : (tensor<i32>, tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>)
// region-unknown: In a region of an operation of another dialect.
// becomes: barrier: it is in a region of 'other.scope', an operation that is not known
%0 = "other.scope"() ({
  %1 = $reduce($groups of %x)
  "other.yield"(%1) : (tensor<8xf32>) -> ()
}) : () -> tensor<8xf32>
// send-recv: From one device to another.
// becomes: barrier: it communicates in the order of its token
LET $devices $partitions
LET $between channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>
%t = "stablehlo.create_token"() : () -> !stablehlo.token
%s = "stablehlo.send"(%x, %t) <{$between}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
%0, %u = "stablehlo.recv"(%s) <{$between}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
// odd-async-arguments-swapped: The operands of the collective are not those of the pair.
// becomes: barrier: its region is not one collective of its arguments
%f = "stablehlo.async_start"(%x, %y) ({
^bb0(%a: tensor<8xf32>, %b: tensor<2x3xf32>):
  %g:2 = "stablehlo.all_gather"(%b, %a) <{all_gather_dim = 0 : i64, $groups}> : (tensor<2x3xf32>, tensor<8xf32>) -> (tensor<8x3xf32>, tensor<32xf32>)
  "stablehlo.return"(%g#0, %g#1) : (tensor<8x3xf32>, tensor<32xf32>) -> ()
}) : (tensor<8xf32>, tensor<2x3xf32>) -> !stablehlo.future<tensor<8x3xf32>, tensor<32xf32>>
%d:2 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<8x3xf32>, tensor<32xf32>>) -> (tensor<8x3xf32>, tensor<32xf32>)
%0 = "stablehlo.tanh"(%x) : (tensor<8xf32>) -> tensor<8xf32>
// odd-async-captures: An asynchronous collective of a value from outside.
// becomes: barrier: its region is not one collective of its arguments
%f = "stablehlo.async_start"(%x) ({
^bb0(%a: tensor<8xf32>):
  %g = $gather($groups)
  "stablehlo.return"(%g) : (tensor<32xf32>) -> ()
}) : (tensor<8xf32>) -> !stablehlo.future<tensor<32xf32>>
%d = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<32xf32>>) -> tensor<32xf32>
%0 = "stablehlo.tanh"(%x) : (tensor<8xf32>) -> tensor<8xf32>
// odd-async-empty: No region between start and done.
// becomes: barrier: its region is not one collective of its arguments
%f = "stablehlo.async_start"(%x) ({
}) : (tensor<8xf32>) -> !stablehlo.future<tensor<8xf32>>
%0 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<8xf32>>) -> tensor<8xf32>
// odd-async-nothing: What is asynchronous returns its argument.
// becomes: barrier: its region is not one collective of its arguments
%f = "stablehlo.async_start"(%x) ({
^bb0(%a: tensor<8xf32>):
  "stablehlo.return"(%a) : (tensor<8xf32>) -> ()
}) : (tensor<8xf32>) -> !stablehlo.future<tensor<8xf32>>
%0 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<8xf32>>) -> tensor<8xf32>
// odd-attributes: What are properties now is among the attributes, and nobody uses the result.
// becomes: commsched.all_gather
%g = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, $groups} : (tensor<8xf32>) -> tensor<32xf32>
%0 = "stablehlo.tanh"(%x) : (tensor<8xf32>) -> tensor<8xf32>
// odd-no-operands: Nothing is reduced.
// becomes: barrier: it has no operands
"stablehlo.all_reduce"() <{$groups}> $sum(f32) : () -> ()
%0 = "stablehlo.tanh"(%x) : (tensor<8xf32>) -> tensor<8xf32>
// odd-permute-none: To nobody.
// becomes: commsched.permute
%0 = $permute(source_target_pairs = dense<> : tensor<0x2xi64>)
// odd-permute-self: To itself.
// becomes: commsched.permute
%0 = $permute(source_target_pairs = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>)
// odd-ragged-lists: A ragged all-to-all without entries for each device.
// becomes: barrier: its lists do not have entries for each device
%0 = "stablehlo.custom_call"(%x, %x, %r, %r, %r, %r) <{backend_config = {$groups}, call_target_name = "ragged_all_to_all"}> : (tensor<8xf32>, tensor<8xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<8xf32>

// -----

module attributes $devices {
  func.func @main(%x: $X) -> $Y {
    ROW
    return %0 : $Y
  }
}

// -----

// all-to-all: Splits and concatenates along one dimension.
// becomes: commsched.all_to_all split_dim(0) concat_dim(0)
LET $X tensor<8x8xf32>
LET $Y tensor<8x8xf32>
%0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 0 : i64, $groups, split_count = 4 : i64, split_dimension = 0 : i64}> : ($X) -> $Y
// all-to-all-two-dimensions: Splits along one dimension, and concatenates along another.
// becomes: commsched.all_to_all split_dim(1) concat_dim(0)
LET $X tensor<8x8xf32>
LET $Y tensor<32x2xf32>
%0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 0 : i64, $groups, split_count = 4 : i64, split_dimension = 1 : i64}> : ($X) -> $Y
// promotion-all-reduce: The result has a wider element type than the operand.
// becomes: commsched.all_reduce
LET $X tensor<8xbf16>
LET $Y tensor<8xf32>
%0 = "stablehlo.all_reduce"(%x) <{$groups}> $sum(f32) : ($X) -> $Y
// promotion-in-reducer: The reducer computes in a wider type than operand and result have.
// becomes: barrier: its reducer is not one of add
LET $X tensor<8xbf16>
LET $Y tensor<8xbf16>
%0 = "stablehlo.all_reduce"(%x) <{$groups}> $sum(f32) : ($X) -> $Y
// promotion-reduce-scatter: The result has a wider element type than the operand.
// becomes: commsched.reduce_scatter
LET $X tensor<8x8xbf16>
LET $Y tensor<8x2xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{$groups, scatter_dimension = 1 : i64}> $sum(f32) : ($X) -> $Y
// reduce-scatter: Along the second dimension.
// becomes: commsched.reduce_scatter reduction(sum) dim(1)
LET $X tensor<8x8xf32>
LET $Y tensor<8x2xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{$groups, scatter_dimension = 1 : i64}> $sum(f32) : ($X) -> $Y
// odd-bounds: A type with bounds, as older versions write them.
// becomes: commsched.all_reduce
LET $X tensor<4x4xf32, #stablehlo.type_extensions<bounds = [8, 8]>>
LET $Y $X
%0 = "stablehlo.all_reduce"(%x) <{$groups}> $sum(f32) : ($X) -> $Y
// odd-empty-tensor: No elements.
// becomes: commsched.all_reduce
LET $X tensor<0x4xf32>
LET $Y $X
%0 = "stablehlo.all_reduce"(%x) <{$groups}> $sum(f32) : ($X) -> $Y
// odd-narrowed: The result has a narrower element type than the operand.
// becomes: barrier: its result has another element type than its operand
LET $Y tensor<8xbf16>
%0 = "stablehlo.all_reduce"(%x) <{$groups}> $sum(bf16) : ($X) -> $Y
// odd-scalar: No tensor.
// becomes: barrier: f32 is no ranked tensor
LET $X f32
LET $Y f32
%0 = "stablehlo.all_reduce"(%x) <{$groups}> $sum(f32) : ($X) -> $Y
// odd-token: A token.
// becomes: barrier: !stablehlo.token is no ranked tensor
LET $X !stablehlo.token
LET $Y $X
%0 = "stablehlo.all_reduce"(%x) <{$groups}> $sum(f32) : ($X) -> $Y

// -----

// ragged-all-to-all: A custom call whose parts are known at run time.
// becomes: commsched.ragged_all_to_all %arg0 on @replica_groups_0 send(%arg2, %arg3) at(%arg4) receive(%arg5) into %arg1
module attributes $devices {
  func.func @main(%x: tensor<8x4xf32>, %o: tensor<16x4xf32>, %a: tensor<8xi32>, %b: tensor<8xi32>, %c: tensor<8xi32>, %d: tensor<8xi32>) -> tensor<16x4xf32> {
    %0 = "stablehlo.custom_call"(%x, %o, %a, %b, %c, %d) <{api_version = 4 : i32, backend_config = {replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}, call_target_name = "ragged_all_to_all"}> : (tensor<8x4xf32>, tensor<16x4xf32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) -> tensor<16x4xf32>
    return %0 : tensor<16x4xf32>
  }
}

// -----

// region-manual-computation: In the program of one device.
// becomes: commsched.all_gather
module attributes $partitions {
  "sdy.mesh"() <{mesh = #sdy.mesh<["i"=8]>, sym_name = "mesh"}> : () -> ()
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %r = "sdy.manual_computation"(%x) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"i"}]>]>, manual_axes = #sdy<manual_axes{"i"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{}]>]>}> ({
    ^bb0(%a: tensor<1xf32>):
      %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, $channel, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<1xf32>) -> tensor<8xf32>
      "sdy.return"(%0) : (tensor<8xf32>) -> ()
    }) : (tensor<8xf32>) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

module attributes $partitions {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "sdy.manual_computation"(%x) <{in_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>}> ({
    ROW
    }) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @main.manual_computation_0()
}

// -----

  // odd-manual-blocks: A program of one device with two blocks.
  // becomes: commsched.all_reduce
  ^bb0(%p: tensor<8xf32>):
    %q = $reduce($channel, $groups, use_global_device_ids of %x)
    "cf.br"()[^bb1] : () -> ()
  ^bb1:
    "sdy.return"(%q) : (tensor<8xf32>) -> ()

  // odd-manual-captures: A collective of a value from outside of the program of one device.
  // becomes: commsched.all_reduce
  ^bb0(%p: tensor<8xf32>):
    %q = $reduce($channel, $groups, use_global_device_ids of %x)
    "sdy.return"(%q) : (tensor<8xf32>) -> ()

  // odd-manual-empty: A program of one device without a body.
  // becomes: stays: sdy.manual_computation

  // odd-manual-nested: A program of one device in another one.
  // becomes: commsched.all_reduce
  ^bb0(%p: tensor<8xf32>):
    %m = "sdy.manual_computation"(%p) <{in_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>}> ({
    ^bb0(%a: tensor<8xf32>):
      %q = $reduce($channel, $groups, use_global_device_ids of %a)
      "sdy.return"(%q) : (tensor<8xf32>) -> ()
    }) : (tensor<8xf32>) -> tensor<8xf32>
    "sdy.return"(%m) : (tensor<8xf32>) -> ()

  // odd-manual-returns-nothing: A program of one device that returns nothing.
  // becomes: commsched.all_reduce
  ^bb0(%p: tensor<8xf32>):
    %q = $reduce($channel, $groups, use_global_device_ids of %x)
    "sdy.return"() : () -> ()

// -----

ROW

// -----

// odd-group-name-taken: A function has the name of the group.
// becomes: commsched.group @replica_groups_0_0 size(4) ranks(dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>, commsched.all_reduce
func.func private @replica_groups_0()
func.func @group_name_taken(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = $reduce($groups of %x)
  return %r : tensor<8xf32>
}

// odd-modes: Replicas and partitions in one module.
// becomes: commsched.group @replica_groups_0 size(2) ranks(dense<[[0, 2], [1, 3]]>, commsched.group @replica_groups_1 size(2) ranks(dense<[[0, 1], [2, 3]]>, commsched.group @replica_groups_2 size(4) ranks(dense<[[0, 2, 1, 3]]>, commsched.all_reduce
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {
  func.func @modes(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = $reduce(replica_groups = dense<[[0, 1]]> : tensor<1x2xi64> of %x)
    %1 = $reduce($channel, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids of %x)
    %2 = $reduce($channel, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64> of %x)
    return %2 : tensor<8xf32>
  }
}

// odd-nested-module: In a module in the module.
// becomes: stays: stablehlo.all_reduce
module {
  module @inner {
    func.func @nested_module(%x: tensor<8xf32>) -> tensor<8xf32> {
      %r = $reduce($groups of %x)
      return %r : tensor<8xf32>
    }
  }
}

// odd-no-function: In no function.
// becomes: commsched.all_reduce
%x = "stablehlo.constant"() <{value = dense<1.0> : tensor<8xf32>}> : () -> tensor<8xf32>
%r = $reduce($groups of %x)

// odd-recursion: In a function that calls itself.
// becomes: commsched.all_reduce
func.func @recursion(%x: tensor<8xf32>) -> tensor<8xf32> {
  %q = call @recursion(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %r = $reduce($groups of %x)
  return %r : tensor<8xf32>
}
