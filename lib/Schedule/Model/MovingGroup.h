//===- MovingGroup.h - Groups of moving operations --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group of adjacent operations that moves up or down an order as a unit. The
// group passes independent operations and absorbs those that it depends on.
// Solvers whose rules are stated for swaps of two operations use it to make
// many swaps at once: between two related operations, a logarithmic search
// finds the farthest position that the memory limit allows.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_MODEL_MOVINGGROUP_H
#define COMMSCHED_LIB_SCHEDULE_MODEL_MOVINGGROUP_H

#include "EditableSchedule.h"

#include <functional>
#include <queue>

namespace mlir::commsched::schedule {

enum class Direction { Up, Down };

/// Terms for both directions: the operation *in front* of the group is the next
/// one on its way, a *nearer* position is met earlier, and the way *ends* at
/// position -1 or size().
class MovingGroup {
public:
  MovingGroup(EditableSchedule &schedule, Direction direction);

  /// Makes a group of one. O(log n) for each of its dependences and buffers,
  /// and for each user of a buffer that it frees.
  void startWith(NodeId node);

  /// The group stands at [first, end).
  int32_t first() const { return begin; }
  int32_t end() const { return behind; }

  /// The position in front of the group.
  int32_t front() const { return isUp() ? begin - 1 : behind; }
  /// The position where the way ends.
  int32_t wayEnd() const { return isUp() ? -1 : schedule.size(); }
  /// The operation in front of the group, which has to be there.
  NodeId frontNode() const { return schedule.at(front()); }
  /// The nearer of two positions.
  int32_t nearer(int32_t a, int32_t b) const {
    return isUp() ? std::max(a, b) : std::min(a, b);
  }
  /// The next position on the way.
  int32_t beyond(int32_t position) const {
    return isUp() ? position - 1 : position + 1;
  }

  /// The nearest position, before `until` is reached, at which `has` holds in
  /// the sense of OrderTree::findLast(); `until` if there is none. O(log n).
  template <typename Predicate>
  int32_t findNearest(int32_t until, Predicate has) const {
    const EditableSchedule::Tree &tree = schedule.getTree();
    int32_t found = isUp() ? tree.findLast(until + 1, begin, has)
                           : tree.findFirst(behind, until, has);
    return found < 0 ? until : found;
  }

  /// The position of the nearest operation that a member depends on (up), or
  /// that depends on a member (down); the end of the way if there is none.
  int32_t nextDependence();
  /// The hardest kind of dependence between the group and the operation at
  /// nextDependence(), which has to be on the way.
  DependenceKind nextDependenceKind() const { return dependences.top().kind; }

  /// The position of the nearest operation that, once passed, frees something
  /// in a member's stead (up), or in whose stead a member does (down).
  int32_t nextHandover();

  /// The nearest position, before `until` is reached, of an operation that
  /// cannot be passed within `limitBytes` of live memory; `until` if there is
  /// none. No handover may be on the way. O(log n).
  int32_t findOverflow(int32_t until, int64_t limitBytes) const;
  /// The highest level of live bytes that passing the operation at `position`
  /// would reach, there or in the group, when all before it have been passed.
  /// No handover may be on the way. O(log n).
  int64_t peakWhenPassing(int32_t position) const;

  /// Passes everything before `position`, which is then in front. No handover
  /// may be on the way. Returns how many operations that were. O(log n).
  int32_t passUntil(int32_t position);

  /// Passes the operation in front, handovers included, unless live memory
  /// would go over `limitBytes`. Returns the highest level that it reaches or
  /// would have reached, there or in the group. If that is over the limit, the
  /// group is done with: it knows no longer what it hands over. O(log n), also
  /// for each buffer that is handed over.
  int64_t passOne(int64_t limitBytes);

  /// Makes the operation in front a member.
  void absorbFront();

  /// How long the members hold the compute stream.
  int64_t computeTime() const {
    return schedule.getTree().range(begin, behind).computeTime;
  }

private:
  /// A dependence on what is so far on the way.
  struct Ahead {
    int32_t distance;
    DependenceKind kind;
    bool operator>(const Ahead &other) const {
      return distance != other.distance ? distance > other.distance
                                        : kind > other.kind;
    }
  };
  /// The users of one buffer on the way; those from `next` on are ahead.
  struct Handover {
    BufferId buffer;
    /// The member that frees the buffer now (up), or that will free it once the
    /// operation ahead has been passed (down).
    NodeId member;
    std::vector<int32_t> distances;
    size_t next = 0;
  };
  struct HandoverAhead {
    int32_t distance;
    int32_t handover;
    bool operator>(const HandoverAhead &other) const {
      return distance > other.distance;
    }
  };
  template <typename T>
  using NearestFirst = std::priority_queue<T, std::vector<T>, std::greater<T>>;

  bool isUp() const { return direction == Direction::Up; }
  bool isMember(NodeId node) const {
    int32_t position = schedule.position(node);
    return begin <= position && position < behind;
  }
  /// Positions as distances from the side where the way begins: what is not
  /// passed keeps its distance while the group moves.
  int32_t distanceOf(int32_t position) const {
    return isUp() ? schedule.size() - 1 - position : position;
  }
  int32_t positionOf(int32_t distance) const {
    return isUp() ? schedule.size() - 1 - distance : distance;
  }
  bool isAhead(int32_t distance) const {
    return distance >= distanceOf(front());
  }

  void addMember(NodeId node);
  void addDependence(NodeId other, DependenceKind kind);
  void addHandovers(NodeId member);
  void addHandover(NodeId member, BufferId buffer);
  void pushHandover(int32_t handover);
  std::vector<int32_t> takeHandovers(int32_t distance);
  void exchangeWithFront();

  EditableSchedule &schedule;
  Direction direction;
  int32_t begin = 0;
  int32_t behind = 0;
  NearestFirst<Ahead> dependences;
  /// Members whose handovers have not been computed yet: a group that cannot
  /// move at all never needs them.
  std::vector<NodeId> withoutHandovers;
  std::vector<Handover> handovers;
  NearestFirst<HandoverAhead> nextHandovers;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_MODEL_MOVINGGROUP_H
