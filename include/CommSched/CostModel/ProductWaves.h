//===- ProductWaves.h - Waves of tiles of products --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of a device a product of matrices keeps busy. A kernel divides the
// result into tiles, and the multiprocessors compute one tile each at a time:
// tiles at the edges compute rows and columns that do not exist (tile
// quantization), and the last wave of tiles may not fill the device (wave
// quantization). A chunk of a product has fewer tiles and so loses more.
//
// The source is NVIDIA's guide "Matrix Multiplication Background"
// (docs.nvidia.com/deeplearning/performance), which also lists the sizes of
// tiles that the libraries choose from.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_PRODUCTWAVES_H
#define COMMSCHED_COSTMODEL_PRODUCTWAVES_H

#include "CommSched/CostModel/Target.h"

#include <cstdint>

namespace mlir::commsched::cost {

/// `batch` products of an m x k with a k x n matrix. All sizes are at least 1.
struct ProductShape {
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  int64_t batch = 1;
};

/// m * n * k * batch.
double countMultiplications(const ProductShape &shape);

/// How a product runs on a device.
struct ProductTiling {
  /// The size of a tile of the result, of the tile that takes the least time.
  int64_t tileRows = 0;
  int64_t tileColumns = 0;
  /// The tiles of all products of the batch, and the waves that they need;
  /// doubles, because the product of large sizes may not fit in 64 bits.
  double tiles = 0;
  double waves = 0;
  /// The fraction, above 0 and at most 1, of the rate that the device reaches
  /// with full waves of the best tile and without a pipeline to fill.
  double efficiency = 1;
};

/// The tiling of `shape` that takes the least time on `target`. Without a
/// number of multiprocessors, there is one.
ProductTiling chooseTiling(const Target &target, const ProductShape &shape);

/// The factor, at least 1, by which the arithmetic of `count` products of the
/// shape `chunk` takes longer than that of the product `whole`, of which they
/// are the equal parts. It is 1 on a target whose multiprocessors are unknown.
double getChunkSlowdown(const Target &target, const ProductShape &whole,
                        const ProductShape &chunk, int64_t count);

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_PRODUCTWAVES_H
