//===- Conversion.cpp - Copies that convert elements ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Numerics/Conversion.h"

#include "Numerics/Elements.h"
#include "Numerics/Types.h"

using namespace commsched::runtime;

Error commsched::runtime::checkConversion(commsched_type target,
                                          commsched_type source) {
  if (!isComplex(source) || isComplex(target))
    return std::nullopt;
  return std::string("cannot convert '") + getName(source) + "' to '" +
         getName(target) + "'";
}

template <class T, class S>
static void convert(void *target, const void *source, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    writeElement(target, i, convertElement<T>(readElement<S>(source, i)));
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
        convert<T, S>(target, source, count);
    });
  });
}

Error commsched::runtime::copyRows(const StridedCopy &copy) {
  bool typed = copy.targetType && copy.sourceType;
  if (typed)
    if (Error error = checkConversion(*copy.targetType, *copy.sourceType))
      return error;
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
  return std::nullopt;
}
