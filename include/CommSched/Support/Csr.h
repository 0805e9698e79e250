//===- Csr.h - Compressed rows of small values ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A multimap from a dense index to values, kept in two arrays (compressed
// sparse rows), and the view of one row. The graphs of this library are read
// far more often than they are built, and have millions of edges: no list per
// node, no hashing.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SUPPORT_CSR_H
#define COMMSCHED_SUPPORT_CSR_H

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mlir::commsched {

/// A read-only view of consecutive values that live elsewhere.
template <typename T> class ArrayView {
public:
  ArrayView() = default;
  ArrayView(const T *data, size_t count) : first(data), count(count) {}

  const T *begin() const { return first; }
  const T *end() const { return first + count; }
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  const T &operator[](size_t index) const {
    assert(index < count && "index out of range");
    return first[index];
  }

private:
  const T *first = nullptr;
  size_t count = 0;
};

/// Rows of values, one row per key in [0, number of keys). Within a row the
/// values keep the order in which they were given.
template <typename T> class Csr {
public:
  /// Replaces the contents by `count` entries: entry i adds `valueOf(i)` to
  /// the row `keyOf(i)`; a negative key drops the entry. Keys must be below
  /// `numKeys`. O(numKeys + count).
  template <typename KeyFn, typename ValueFn>
  void build(size_t numKeys, size_t count, KeyFn keyOf, ValueFn valueOf) {
    // The row of key k is counted at k + 2, so that after the prefix sum
    // offsets[k + 1] is where row k begins and can serve as its fill cursor;
    // when all rows are filled it has become where row k ends.
    offsets.assign(numKeys + 2, 0);
    for (size_t i = 0; i < count; ++i)
      if (int32_t key = keyOf(i); key >= 0)
        ++offsets[static_cast<size_t>(key) + 2];
    for (size_t k = 2; k < offsets.size(); ++k)
      offsets[k] += offsets[k - 1];
    values.resize(offsets.back());
    for (size_t i = 0; i < count; ++i)
      if (int32_t key = keyOf(i); key >= 0)
        values[offsets[static_cast<size_t>(key) + 1]++] = valueOf(i);
  }

  /// The row of `key`; empty if there is no such key.
  ArrayView<T> operator[](int32_t key) const {
    size_t k = static_cast<size_t>(key);
    if (key < 0 || k + 1 >= offsets.size())
      return {};
    return {values.data() + offsets[k], offsets[k + 1] - offsets[k]};
  }

  void clear() {
    offsets.clear();
    values.clear();
  }

private:
  std::vector<size_t> offsets;
  std::vector<T> values;
};

} // namespace mlir::commsched

#endif // COMMSCHED_SUPPORT_CSR_H
