// Best-first branch and bound over the names that are in, out, or open (proof_problem.hpp).
//
// A few nodes are out at a time. Each is worked on by itself, against the value that was reached
// when it went out; what they found is taken in in the order in which they went out, and for each
// that comes in the open nodes of largest bound go out. So the tree, and every bit of the result,
// is the same for any number of threads, and no thread waits for the others to come to an end.
#pragma once

#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "select/proof_bound.hpp"
#include "select/proof_enumerate.hpp"
#include "select/proof_leaf.hpp"
#include "select/proof_search.hpp"
#include "sharpen/base/threads.hpp"

namespace sharpen::select {

struct ProofNode {
  std::vector<Index> in, open;
  ProofPoint point;  // without names: there is none yet
  double bound = 0.0;
  Index id = 0;
};

struct ProofTreeSettings {
  double tolerance = 0.0;  // relative, on V: what is this little above the value is not looked at
  Index most_nodes = 0;    // 0: any number
  bool net_positive = false;
  bool plain = true;  // no limits but the net position: supports can be improved here
  std::function<bool()> give_up = {};  // asked by any thread; true: the rest stays open
  // Tests look at every node that was bounded.
  std::function<void(const ProofNode&)> seen = {};
};

class ProofTree {
 public:
  // V(K) in truth, of a support that looks better than what there is; none if there is no
  // portfolio on it, which is sure.
  using Offer = std::function<std::optional<double>(std::span<const Index> K)>;

  ProofTree(const ProofProblem& problem, const ProofTreeSettings& settings, const Threads& threads);
  ~ProofTree();

  // `value` is reached already. True if nothing is left open.
  bool run(double value, const Offer& offer);

  double value() const { return value_; }
  double bound() const;  // no support has a larger V
  Index nodes() const { return nodes_; }
  bool gave_up() const { return gave_up_; }

 private:
  struct Worker;
  struct Found;
  using Open = std::unique_ptr<ProofNode>;
  struct Later {
    bool operator()(const Open& a, const Open& b) const {
      return a->bound != b->bound ? a->bound < b->bound : a->id > b->id;
    }
  };

  double beat() const {
    return value_ + settings_.tolerance * std::abs(value_) + problem_.smallest;
  }
  void send();
  void work(Worker& worker, const Offer& offer);
  void take(Found& found, const Offer& offer);

  const ProofProblem& problem_;
  const ProofTreeSettings& settings_;
  const Threads& threads_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Open> open_;  // a heap
  std::deque<std::unique_ptr<Found>> out_;
  std::mutex mutex_;  // of all that changes, but for what is in the hands of a worker
  std::condition_variable changed_;
  std::exception_ptr failure_;
  double value_ = 0.0, dismissed_ = -std::numeric_limits<double>::infinity();
  Index nodes_ = 0, ids_ = 0;
  bool gave_up_ = false;
};

}  // namespace sharpen::select
