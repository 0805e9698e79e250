//===- Solver.cpp - The scheduler for Python ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Extension.h"

#include "commsched-c/Schedule.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

/// One-dimensional arrays of the caller, which are only read.
template <typename T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Int8s = Array<uint8_t>;
using Int32s = Array<int32_t>;
using Int64s = Array<int64_t>;

namespace {

template <typename T, void (*destroy)(T *)> struct Deleter {
  void operator()(T *pointer) const { destroy(pointer); }
};
using OwnedProblem =
    std::unique_ptr<CommSchedProblem,
                    Deleter<CommSchedProblem, commschedProblemDestroy>>;
using OwnedOptions =
    std::unique_ptr<CommSchedOptions,
                    Deleter<CommSchedOptions, commschedOptionsDestroy>>;
using OwnedResult =
    std::unique_ptr<CommSchedResult,
                    Deleter<CommSchedResult, commschedResultDestroy>>;

/// A problem that is finalized, and so may be read in several threads.
struct NativeProblem {
  OwnedProblem problem;
};

} // namespace

/// Throws what `status` is in Python, and releases the text.
static void check(CommSchedStatus status, char *error) {
  if (status == COMMSCHED_SUCCESS)
    return;
  std::string text = error ? error : "memory is exhausted";
  commschedErrorDestroy(error);
  if (status == COMMSCHED_OUT_OF_MEMORY)
    throw std::bad_alloc();
  if (status == COMMSCHED_INTERNAL_ERROR)
    throw std::runtime_error(text);
  throw nb::value_error(text.c_str());
}

/// Throws unless arrays that belong together have one size, and returns it.
static size_t getSize(const char *what, std::initializer_list<size_t> sizes) {
  for (size_t size : sizes)
    if (size != *sizes.begin())
      throw nb::value_error(
          (std::string("the arrays of ") + what + " have different lengths, " +
           std::to_string(*sizes.begin()) + " and " + std::to_string(size))
              .c_str());
  return *sizes.begin();
}

static NativeProblem makeProblem(const Int8s &kinds, const Int64s &costsNs,
                                 const Int32s &streams, const Int32s &starts,
                                 const Int32s &from, const Int32s &to,
                                 const Int8s &dependenceKinds,
                                 const Int64s &bytes, const Int32s &producers,
                                 const Int8s &freed, const Int32s &usedBuffers,
                                 const Int32s &users, const Int32s &expensive) {
  size_t numNodes = getSize(
      "nodes", {kinds.size(), costsNs.size(), streams.size(), starts.size()});
  size_t numDependences =
      getSize("dependences", {from.size(), to.size(), dependenceKinds.size()});
  size_t numBuffers =
      getSize("buffers", {bytes.size(), producers.size(), freed.size()});
  size_t numUses = getSize("uses", {usedBuffers.size(), users.size()});
  OwnedProblem problem(commschedProblemCreate());
  if (!problem)
    throw std::bad_alloc();
  char *error = nullptr;
  CommSchedStatus status = COMMSCHED_SUCCESS;
  {
    nb::gil_scoped_release release;
    CommSchedProblem *handle = problem.get();
    status =
        commschedProblemAddNodes(handle, numNodes, kinds.data(), costsNs.data(),
                                 streams.data(), starts.data(), &error);
    if (status == COMMSCHED_SUCCESS)
      status = commschedProblemAddDependences(handle, numDependences,
                                              from.data(), to.data(),
                                              dependenceKinds.data(), &error);
    if (status == COMMSCHED_SUCCESS)
      status =
          commschedProblemAddBuffers(handle, numBuffers, bytes.data(),
                                     producers.data(), freed.data(), &error);
    if (status == COMMSCHED_SUCCESS)
      status = commschedProblemAddUses(handle, numUses, usedBuffers.data(),
                                       users.data(), &error);
    for (size_t i = 0; i < expensive.size(); ++i)
      commschedProblemSetExpensive(handle, expensive.data()[i]);
    if (status == COMMSCHED_SUCCESS)
      status = commschedProblemFinalize(handle, &error);
  }
  check(status, error);
  return {std::move(problem)};
}

/// Copies an array with an element per node.
template <typename T>
static nb::bytes toBytes(const CommSchedResult *result,
                         const T *(*get)(const CommSchedResult *)) {
  return nb::bytes(get(result), sizeof(T) * commschedResultGetNumNodes(result));
}

static nb::tuple toTuple(const CommSchedResult *result) {
  return nb::make_tuple(
      toBytes(result, commschedResultGetOrder),
      commschedResultGetStepNs(result), commschedResultGetComputeNs(result),
      commschedResultGetCommNs(result), commschedResultGetExposedCommNs(result),
      commschedResultGetPeakBytes(result),
      static_cast<int>(commschedResultGetOrigin(result)),
      toBytes(result, commschedResultGetBeginNs),
      toBytes(result, commschedResultGetEndNs),
      toBytes(result, commschedResultGetExposedNs));
}

static OwnedOptions
makeOptions(const std::vector<std::pair<int32_t, int32_t>> &exclusive,
            const Int32s &links, int64_t slowdownPpm) {
  OwnedOptions options(commschedOptionsCreate());
  int failed = !options;
  for (auto [stream, other] : exclusive)
    failed |= commschedOptionsAddExclusiveStreams(options.get(), stream, other);
  if (links.size())
    failed |=
        commschedOptionsSetLinks(options.get(), links.size(), links.data());
  failed |= commschedOptionsSetComputeSlowdown(options.get(), slowdownPpm);
  if (failed)
    throw std::bad_alloc();
  return options;
}

static nb::tuple
schedule(const NativeProblem &problem, int64_t limitBytes, int32_t slackPercent,
         int64_t effort,
         const std::vector<std::pair<int32_t, int32_t>> &exclusive,
         const Int32s &links, int64_t slowdownPpm) {
  OwnedOptions options = makeOptions(exclusive, links, slowdownPpm);
  commschedOptionsSetMemoryLimit(options.get(), limitBytes);
  commschedOptionsSetSlackPercent(options.get(), slackPercent);
  commschedOptionsSetEffort(options.get(), effort);
  CommSchedResult *result = nullptr;
  char *error = nullptr;
  CommSchedStatus status;
  {
    nb::gil_scoped_release release;
    status = commschedSchedule(problem.problem.get(), options.get(), &result,
                               &error);
  }
  check(status, error);
  OwnedResult owned(result);
  return toTuple(result);
}

static nb::tuple
simulate(const NativeProblem &problem, const Int32s &order,
         const std::vector<std::pair<int32_t, int32_t>> &exclusive,
         const Int32s &links, int64_t slowdownPpm) {
  OwnedOptions options = makeOptions(exclusive, links, slowdownPpm);
  CommSchedResult *result = nullptr;
  char *error = nullptr;
  CommSchedStatus status;
  {
    nb::gil_scoped_release release;
    status = commschedSimulate(problem.problem.get(), options.get(),
                               order.data(), order.size(), &result, &error);
  }
  check(status, error);
  OwnedResult owned(result);
  return toTuple(result);
}

static int64_t computeLowerBound(const NativeProblem &problem, bool isTight) {
  int64_t boundNs = 0;
  char *error = nullptr;
  CommSchedStatus status;
  {
    nb::gil_scoped_release release;
    auto compute =
        isTight ? commschedComputeTightLowerBound : commschedComputeLowerBound;
    status = compute(problem.problem.get(), &boundNs, &error);
  }
  check(status, error);
  return boundNs;
}

static int64_t parseBytes(const char *text) {
  int64_t bytes = 0;
  char *error = nullptr;
  CommSchedStatus status = commschedParseBytes(text, &bytes, &error);
  check(status, error);
  return bytes;
}

static int64_t getLimitBytes(const char *text, int64_t peakBytes) {
  int64_t bytes = 0;
  char *error = nullptr;
  CommSchedStatus status =
      commschedParseMemoryBudget(text, peakBytes, &bytes, &error);
  check(status, error);
  return bytes;
}

void addSolver(nb::module_ &module) {
  module.def("parse_bytes", &parseBytes);
  module.def("limit_bytes", &getLimitBytes);
  nb::class_<NativeProblem>(module, "Problem");
  module.def("make_problem", &makeProblem);
  module.def("schedule", &schedule);
  module.def("simulate", &simulate);
  module.def("lower_bound", &computeLowerBound);
}
