//===- ProductWaves.cpp - Waves of tiles of products ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/ProductWaves.h"

#include <algorithm>
#include <cmath>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

namespace {
struct TileSize {
  int64_t rows;
  int64_t columns;
};
} // namespace

/// The tiles that NVIDIA's guide names, from the most to the least efficient.
static constexpr TileSize tileSizes[] = {{256, 128}, {128, 256}, {128, 128},
                                         {256, 64},  {64, 256},  {128, 64},
                                         {64, 128},  {64, 64}};

/// Elements along k that a tile waits for before its first multiplication, and
/// that its epilogue takes: two stages of 64. An assumption.
static constexpr double fillElements = 128;

/// Multiplications for each element that a tile loads at which loads take as
/// long as the arithmetic does. An assumption: it makes 64 x 64 tiles 21 %
/// slower than those of 256 x 128.
static constexpr double balancedIntensity = 16;

/// The fraction of the arithmetic that a tile reaches beside its loads: the
/// fewer elements are loaded for a multiplication, the more.
static double getTileEfficiency(TileSize tile) {
  double rows = static_cast<double>(tile.rows);
  double columns = static_cast<double>(tile.columns);
  double intensity = rows * columns / (rows + columns);
  return intensity / (intensity + balancedIntensity);
}

static double divideUp(int64_t size, int64_t tile) {
  return std::ceil(static_cast<double>(size) / static_cast<double>(tile));
}

static double getMultiprocessors(const Target &target) {
  return std::max(target.multiprocessors, 1.0);
}

/// Multiplications that one multiprocessor at the rate of the best tile does
/// in the time of the product.
static double getTime(const ProductTiling &tiling, const ProductShape &shape) {
  TileSize tile{tiling.tileRows, tiling.tileColumns};
  double ofTile = static_cast<double>(tile.rows) *
                  static_cast<double>(tile.columns) *
                  (static_cast<double>(shape.k) + fillElements);
  return tiling.waves * ofTile * getTileEfficiency(tileSizes[0]) /
         getTileEfficiency(tile);
}

double cost::countMultiplications(const ProductShape &shape) {
  return static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
         static_cast<double>(shape.n) * static_cast<double>(shape.k);
}

ProductTiling cost::chooseTiling(const Target &target,
                                 const ProductShape &shape) {
  double multiprocessors = getMultiprocessors(target);
  ProductTiling best;
  double bestTime = 0;
  for (TileSize tile : tileSizes) {
    ProductTiling tiling;
    tiling.tileRows = tile.rows;
    tiling.tileColumns = tile.columns;
    tiling.tiles = static_cast<double>(shape.batch) *
                   divideUp(shape.m, tile.rows) *
                   divideUp(shape.n, tile.columns);
    tiling.waves = std::ceil(tiling.tiles / multiprocessors);
    double time = getTime(tiling, shape);
    if (best.tileRows != 0 && time >= bestTime)
      continue;
    best = tiling;
    bestTime = time;
  }
  best.efficiency =
      std::min(countMultiplications(shape) / (multiprocessors * bestTime), 1.0);
  return best;
}

double cost::getChunkSlowdown(const Target &target, const ProductShape &whole,
                              const ProductShape &chunk, int64_t count) {
  if (target.multiprocessors < 1)
    return 1;
  double wholeTime = getTime(chooseTiling(target, whole), whole);
  double chunkTime = getTime(chooseTiling(target, chunk), chunk);
  return std::max(static_cast<double>(count) * chunkTime / wholeTime, 1.0);
}
