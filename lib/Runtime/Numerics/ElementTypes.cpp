//===- ElementTypes.cpp - Types, conversions and reductions ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Numerics/ElementTypes.h"

#include "Numerics/Elements.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <regex>

using namespace commsched::runtime;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

int64_t commsched::runtime::getByteSize(commsched_type type) {
  assert(isType(type));
  int64_t bytes = 0;
  dispatchType(type,
               [&](auto tag) { bytes = sizeof(typename decltype(tag)::Type); });
  return bytes;
}

Status commsched::runtime::parseElementType(const std::string &name,
                                            ElementType &element) {
  element.name = name;
  element.type = parseName<commsched_type>(name);
  if (element.type) {
    element.bytes = getByteSize(*element.type);
    return Status();
  }
  static const std::regex pattern("bytes<(?=0*[1-9])([0-9]{1,6})>");
  std::smatch digits;
  if (!std::regex_match(name, digits, pattern))
    return "unknown element type '" + name + "'";
  element.bytes = std::stoll(digits[1]);
  return Status();
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

Status commsched::runtime::checkConversion(commsched_type target,
                                           commsched_type source) {
  if (!isComplex(source) || isComplex(target))
    return Status();
  return concat("cannot convert '", getName(source), "' to '", getName(target),
                "'");
}

void commsched::runtime::convertElements(void *target,
                                         commsched_type targetType,
                                         const void *source,
                                         commsched_type sourceType,
                                         int64_t count) {
  if (count == 0)
    return;
  if (targetType == sourceType) {
    std::memmove(target, source, count * getByteSize(targetType));
    return;
  }
  dispatchType(targetType, [&](auto targetTag) {
    using T = typename decltype(targetTag)::Type;
    dispatchType(sourceType, [&](auto sourceTag) {
      using S = typename decltype(sourceTag)::Type;
      if constexpr (isComplexType<T> || !isComplexType<S>)
        for (int64_t i = 0; i < count; ++i)
          writeElement(target, i, convertElement<T>(readElement<S>(source, i)));
    });
  });
}

Status commsched::runtime::copyRows(const StridedCopy &copy) {
  bool typed = copy.targetType && copy.sourceType;
  if (typed)
    COMMSCHED_TRY(checkConversion(*copy.targetType, *copy.sourceType));
  for (int64_t row = 0; row < copy.rows && copy.rowElements > 0; ++row) {
    char *target = static_cast<char *>(copy.target) + row * copy.targetStride;
    const char *source =
        static_cast<const char *>(copy.source) + row * copy.sourceStride;
    if (typed)
      convertElements(target, *copy.targetType, source, *copy.sourceType,
                      copy.rowElements);
    else
      std::memmove(target, source, copy.rowElements);
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The value in which a T is reduced: integers as they are, since min and max
/// depend on the sign.
template <class T> static auto load(const void *data, int64_t index) {
  T value = readElement<T>(data, index);
  if constexpr (isComplexType<T> || std::is_integral_v<T>)
    return value;
  else
    return widen(value);
}

template <class T, class Wide>
static void store(void *data, int64_t index, Wide value) {
  if constexpr (std::is_same_v<T, Wide>)
    writeElement(data, index, value);
  else
    writeElement(data, index, narrow<T>(value));
}

namespace {
/// One of the reductions on values that `load` gives. Arithmetic on integers
/// goes by uint64_t, where it wraps around.
struct Sum {
  template <class W> W operator()(W a, W b) const {
    if constexpr (isComplexType<W>)
      return W{a.real + b.real, a.imaginary + b.imaginary};
    else if constexpr (std::is_integral_v<W>)
      return static_cast<W>(static_cast<uint64_t>(a) +
                            static_cast<uint64_t>(b));
    else
      return a + b;
  }
};
struct Prod {
  template <class W> W operator()(W a, W b) const {
    if constexpr (isComplexType<W>)
      return W{a.real * b.real - a.imaginary * b.imaginary,
               a.real * b.imaginary + a.imaginary * b.real};
    else if constexpr (std::is_integral_v<W>)
      return static_cast<W>(static_cast<uint64_t>(a) *
                            static_cast<uint64_t>(b));
    else
      return a * b;
  }
};
/// Min or Max.
template <bool isMax> struct Extreme {
  template <class W> W operator()(W a, W b) const {
    if constexpr (std::is_floating_point_v<W>) {
      if (std::isnan(a) || std::isnan(b))
        return std::numeric_limits<W>::quiet_NaN();
      if (a == b)
        return std::signbit(a) != isMax ? a : b;
    }
    return (a < b) == isMax ? b : a;
  }
};
} // namespace

/// Calls `function` with a TypeTag of the type and the operation; does nothing
/// for pairs that `checkReduction` refuses.
template <class Function>
static void dispatch(commsched_type type, commsched_reduction reduction,
                     Function &&function) {
  dispatchType(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    constexpr bool isBool = std::is_same_v<T, Bool>;
    constexpr bool isInteger = isBool || std::is_integral_v<T>;
    auto callIf = [&](auto exists, auto op) {
      if constexpr (exists.value)
        function(tag, op);
    };
    switch (reduction) {
    case COMMSCHED_SUM:
      return callIf(std::bool_constant<!isBool>(), Sum());
    case COMMSCHED_AVG:
      return callIf(std::bool_constant<!isInteger>(), Sum());
    case COMMSCHED_PROD:
      return callIf(std::bool_constant<!isBool>(), Prod());
    case COMMSCHED_MIN:
      return callIf(std::bool_constant<!isComplexType<T>>(), Extreme<false>());
    case COMMSCHED_MAX:
      return callIf(std::bool_constant<!isComplexType<T>>(), Extreme<true>());
    case COMMSCHED_BAND:
      return callIf(std::bool_constant<isInteger>(), std::bit_and<>());
    case COMMSCHED_BOR:
      return callIf(std::bool_constant<isInteger>(), std::bit_or<>());
    case COMMSCHED_BXOR:
      return callIf(std::bool_constant<isInteger>(), std::bit_xor<>());
    }
  });
}

Status commsched::runtime::checkReduction(const ElementType &element,
                                          commsched_reduction reduction) {
  bool exists = false;
  if (element.type)
    dispatch(*element.type, reduction, [&](auto, auto) { exists = true; });
  if (exists)
    return Status();
  return concat("reduction '", getName(reduction),
                "' is not defined for type '", element.name, "'");
}

/// Integers have no average.
template <class W> static W divide(W value, int64_t divisor) {
  if constexpr (isComplexType<W>) {
    auto real = static_cast<typename W::Part>(divisor);
    return W{value.real / real, value.imaginary / real};
  } else if constexpr (std::is_floating_point_v<W>) {
    return value / static_cast<W>(divisor);
  } else {
    return value;
  }
}

void commsched::runtime::accumulate(commsched_type type,
                                    commsched_reduction reduction, void *target,
                                    const void *source, int64_t count) {
  dispatch(type, reduction, [&](auto tag, auto op) {
    using T = typename decltype(tag)::Type;
    for (int64_t i = 0; i < count; ++i)
      store<T>(target, i, op(load<T>(target, i), load<T>(source, i)));
  });
}

void commsched::runtime::divideElements(commsched_type type, void *data,
                                        int64_t count, int64_t divisor) {
  dispatchType(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (int64_t i = 0; i < count; ++i)
      store<T>(data, i, divide(load<T>(data, i), divisor));
  });
}

void commsched::runtime::reduceInOrder(commsched_type type,
                                       commsched_reduction reduction,
                                       const void *const *sources,
                                       int64_t numSources, void *target,
                                       int64_t count) {
  dispatch(type, reduction, [&](auto tag, auto op) {
    using T = typename decltype(tag)::Type;
    using Wide = decltype(load<T>(nullptr, 0));
    // Blocks stay in the cache, and each source is read from front to back.
    constexpr int64_t blockSize = 1024;
    Wide block[blockSize];
    for (int64_t begin = 0; begin < count; begin += blockSize) {
      int64_t size = std::min(blockSize, count - begin);
      for (int64_t i = 0; i < size; ++i)
        block[i] = load<T>(sources[0], begin + i);
      for (int64_t s = 1; s < numSources; ++s)
        for (int64_t i = 0; i < size; ++i)
          block[i] = op(block[i], load<T>(sources[s], begin + i));
      for (int64_t i = 0; i < size; ++i)
        store<T>(target, begin + i,
                 reduction == COMMSCHED_AVG ? divide(block[i], numSources)
                                            : block[i]);
    }
  });
}
