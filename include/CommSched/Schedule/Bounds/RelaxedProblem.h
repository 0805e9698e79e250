//===- RelaxedProblem.h - What all rewritten programs exceed ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A problem whose lower bound holds for a program and for all programs that
// merging its collectives and splitting its operations make of it.
//
// Merging. Let the cost of every collective be such that those of the members
// of a bucket add up to no more than what the bucket takes, and let the cost of
// every operation that a bucket absorbs be part of what its copy-in takes at
// least. Then no merged program is shorter than this one can be. For, take an
// order of the merged program and its timeline. Replace each merged start by
// what it absorbs and the starts of its members, one directly after the other,
// and each merged wait by the waits of its members; leave out the copies. That
// is a legal order of the program (BucketedProblem::expand()). By induction
// over it, the clocks of the compute stream and of all communication streams
// are at no operation later than in the merged program: what is absorbed and
// left out takes the compute stream no longer than the copy-in did, and the
// members follow each other on their stream, so that all of them have ended by
// the time when the bucket has.
//
// Splitting. An operation of cost c that is split in k <= K chunks, each of at
// least c / k, runs on its machine for c, with others between the chunks. Let
// its *first* part be the first c / K of the first chunk that runs, its *last*
// part the last c / K of the last one, and the *middle* what is left. With the
// parts as operations, of which the middle one may be interrupted:
//
//   - The parts of an operation follow each other.
//   - What depends on an operation of another region needs all chunks: its
//     first part comes after the last part of the other.
//   - Within a region, chunk i needs chunk i. The first chunk that runs needs
//     some chunk, whose end is not before that of the first part of the other
//     operation. The chunk that needs the last chunk to run of the other one is
//     not after the last chunk to run of its own: the last part comes after the
//     last part of the other operation.
//
// The parts of a start are of the first and the last chunk of the collective,
// which are also those that start first and last, since streams are in order.
// The wait of the first part is the first wait that runs, that of the others
// the last one. So every timeline of the split program is one of the problem
// that has the parts and these dependences, up to the interruptions, which
// computeTightLowerBound() and computePeriodBound() allow: they assume of the
// operations on a machine only that their times add up.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_BOUNDS_RELAXEDPROBLEM_H
#define COMMSCHED_SCHEDULE_BOUNDS_RELAXEDPROBLEM_H

#include "CommSched/Schedule/Model/Problem.h"

#include <vector>

namespace mlir::commsched::schedule {

/// Operations that may be split together.
struct DivisibleRegion {
  /// In ascending order, a Start and its Wait together; none is a Blocking.
  std::vector<NodeId> members;
  /// The largest number of chunks, at least 2.
  int32_t mostChunks = 2;
};

/// Returns the parts of the operations of `problem`, with `costsNs`, one an
/// operation (that of a Wait does not count), and without buffers, which do not
/// bound time. An operation may be in several
/// regions, of which a program splits at most one. Nothing depends on those
/// that are `detached`, nor they on anything: what they stand for may run
/// before and behind others in pieces, as the iterations of a loop do, and only
/// takes its time. The problem that is returned is finalized; its error is that
/// of `problem` or of the costs. O(nodes + dependences * regions of an
/// operation).
Problem relax(const Problem &problem, const std::vector<int64_t> &costsNs,
              const std::vector<DivisibleRegion> &regions = {},
              const std::vector<NodeId> &detached = {});

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_BOUNDS_RELAXEDPROBLEM_H
