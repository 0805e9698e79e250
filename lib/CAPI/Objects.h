//===- Objects.h - What the handles of the C interface are ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CAPI_OBJECTS_H
#define COMMSCHED_LIB_CAPI_OBJECTS_H

#include "commsched-c/Schedule.h"

#include "CommSched/Schedule/Model/Problem.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

/// What a Problem cannot hold, because its functions take enumerations and
/// existing nodes, is kept beside it until it is finalized.
struct CommSchedProblem {
  mlir::commsched::schedule::Problem problem;
  /// The first such mistake, or empty.
  std::string mistake;

  void note(std::string text) {
    if (mistake.empty())
      mistake = std::move(text);
  }
};

namespace mlir::commsched::capi {

inline CommSchedStatus fail(char **error, CommSchedStatus status,
                            const char *text) {
  if (!error)
    return status;
  size_t size = std::strlen(text) + 1;
  *error = static_cast<char *>(std::malloc(size));
  if (*error)
    std::memcpy(*error, text, size);
  return status;
}

inline CommSchedStatus fail(char **error, CommSchedStatus status,
                            const std::string &text) {
  return fail(error, status, text.c_str());
}

/// Calls `run`, and turns what the standard library throws into errors.
template <typename RunFn>
CommSchedStatus guard(char **error, RunFn run) noexcept {
  if (error)
    *error = nullptr;
  try {
    return run();
  } catch (const std::bad_alloc &) {
    return fail(error, COMMSCHED_OUT_OF_MEMORY, "memory is exhausted");
  } catch (const std::length_error &) {
    return fail(error, COMMSCHED_OUT_OF_MEMORY, "memory is exhausted");
  } catch (const std::exception &exception) {
    return fail(error, COMMSCHED_INTERNAL_ERROR, exception.what());
  }
}

/// The same for functions that return an index, or 0 for nothing, and -1 for an
/// error, which is also that `object` is NULL.
template <typename ObjectT, typename RunFn>
int32_t guardIndex(ObjectT *object, RunFn run) noexcept {
  if (!object)
    return -1;
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<RunFn, ObjectT &>>)
      return run(*object), 0;
    else
      return run(*object);
  } catch (const std::exception &) {
    return -1;
  }
}

inline CommSchedStatus isNull(char **error, const char *what) {
  return fail(error, COMMSCHED_INVALID_ARGUMENT, std::string(what) + " NULL");
}

/// That `problem` is there and was finalized without an error.
inline CommSchedStatus check(const CommSchedProblem *problem, char **error) {
  if (!problem)
    return isNull(error, "the problem is");
  if (!problem->mistake.empty())
    return fail(error, COMMSCHED_INVALID_PROBLEM, problem->mistake);
  if (const Status &status = problem->problem.check(); !status)
    return fail(error, COMMSCHED_INVALID_PROBLEM, status.error());
  return COMMSCHED_SUCCESS;
}

} // namespace mlir::commsched::capi

#endif // COMMSCHED_LIB_CAPI_OBJECTS_H
