//===- Image.h - Memory before and after launches ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One buffer with the tensors of a few launches, guard bytes between them, and
// the expected contents after the launches: outputs change, all other bytes do
// not.
//
// Inputs are a function of the launch and the rank, so that each rank can work
// out by itself what all the others send: the expected results come from the
// definition of the collective, with no communication and none of the runtime's
// arithmetic.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_CONFORMANCE_IMAGE_H
#define COMMSCHED_UNITTESTS_CONFORMANCE_IMAGE_H

#include "Cases.h"

#include <cstddef>

namespace commsched::conformance {

using Bytes = std::vector<std::byte>;

/// One execution of a case on one row of its group.
struct CaseLaunch {
  const Case *theCase = nullptr;
  const std::vector<int32_t> *row = nullptr;
  /// Tells executions of the same case apart.
  uint64_t repetition = 0;

  int32_t getSize() const { return static_cast<int32_t>(row->size()); }
};

/// Returns the input of member `rank` for tensor `index`. Sums, products and so
/// on over the members are exact in the tensor's type, in whatever order.
Bytes makeInput(const CaseLaunch &launch, size_t index, int32_t rank);

/// Returns the expected output of member `rank` for tensor `index`.
Bytes makeOutput(const CaseLaunch &launch, size_t index, int32_t rank);

/// `count` bytes that differ from seed to seed.
Bytes makeNoise(uint64_t seed, int64_t count);

/// The offsets of the tensors of a launch; -1: null.
struct LaunchBuffers {
  std::vector<int64_t> inputs;
  std::vector<int64_t> outputs;
};

class Image {
public:
  explicit Image(uint64_t seed) : seed(seed) {}

  /// Adds the tensors of `launch` for its member `rank`. `owner` is what
  /// findDefects calls the launch.
  LaunchBuffers add(const CaseLaunch &launch, int32_t rank, size_t owner);

  const Bytes &getContents() const { return before; }

  struct Defect {
    size_t owner;
    std::string text;
  };
  /// Returns the differences of `found` from the expected contents, one defect
  /// for each tensor.
  std::vector<Defect> findDefects(Bytes found) const;

private:
  struct Region {
    size_t owner;
    std::string name;
    const ElementFormat *format;
    int64_t begin;
    int64_t end;
    bool isReduced;
  };

  /// Adds a tensor, and the guard that follows it.
  int64_t addRegion(Region region, const Bytes &start, const Bytes &end);
  void addInPlace(const CaseLaunch &launch, size_t index, int32_t rank,
                  size_t owner, LaunchBuffers &buffers);
  void addGuard(int64_t bytes);

  uint64_t seed;
  Bytes before;
  Bytes after;
  /// Bytes that may hold anything afterwards.
  std::vector<std::pair<int64_t, int64_t>> free;
  std::vector<Region> regions;
};

} // namespace commsched::conformance

#endif // COMMSCHED_UNITTESTS_CONFORMANCE_IMAGE_H
