#include "select/proof_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/vec.hpp"

namespace sharpen::select {

namespace {

constexpr std::size_t kWindow = 16;  // nodes that are out at a time
constexpr double kCentred = 200.0;   // squared Newton decrement from which t may grow
constexpr double kRaise = 2.0;       // t, along the path
constexpr double kStepBack = 0.6;    // t of a child, whose start is off the path
constexpr double kToProve = 0.9;     // the path's gap, of what is to prove, at which a node divides
constexpr int kMostSteps = 100;
constexpr double kPathEnd = 1e-10;  // a relative gap below which the path has no more to give
constexpr double kMostBytes = 2e9;  // of open nodes: the tree ends there, as by a limit on nodes
constexpr Index kLooks = 4;         // every so many nodes are rounded to a support

}  // namespace

// What a node came to.
struct ProofTree::Found {
  Open node;                          // itself, if it is still open
  double value = 0.0, to_beat = 0.0;  // when it went out: what was reached, and is to be beaten
  bool taken = false, done = false;
  Open children[2];
  struct Support {
    std::vector<Index> names;
    double bound;  // of a leaf, on its V; nothing is known of others
  };
  std::vector<Support> supports;  // worth an offer
  double dismissed = -kInfinity;
};

// The memory of one thread.
struct ProofTree::Worker {
  Worker(const ProofTree& tree)
      : problem(tree.problem_),
        settings(tree.settings_),
        bound(problem),
        multipliers(problem),
        enumeration(problem),
        fate(at(problem.n)) {
    if (settings.plain) search.emplace(problem, settings.net_positive);
    order.reserve(at(problem.n));
  }

  void work(Found& found);
  bool start(ProofNode& node);
  void leaf(ProofNode& node, Found& found, double to_beat);
  bool fix(ProofNode& node, double to_beat, Found& found);
  bool enumerate(const ProofNode& node, double to_beat, Found& found);
  void round_to_support(const ProofNode& node, double value, Found& found);
  void divide(ProofNode& node, Found& found);
  void divide_blindly(ProofNode& node, Found& found);
  void keep(ProofNode& node, const std::vector<Index>& positions);
  bool gives_up() const { return settings.give_up && settings.give_up(); }

  const ProofProblem& problem;
  const ProofTreeSettings& settings;
  ProofBound bound;
  ProofLeaf multipliers;
  ProofEnumeration enumeration;
  std::optional<ProofSearch> search;
  enum class Fate : char { open, in, out };
  std::vector<Fate> fate;  // per position
  std::vector<Index> order, support;
};

bool ProofTree::Worker::start(ProofNode& node) {
  if (!bound.begin(node.in, node.open)) return false;
  if (!node.point.d.empty() && static_cast<Index>(node.point.d.size()) == bound.names() &&
      bound.start(node.point))
    return true;
  return bound.cold();
}

// Everything that may be held can be: V of one support, from above.
void ProofTree::Worker::leaf(ProofNode& node, Found& found, double to_beat) {
  support = node.in;
  const Index room = problem.k - static_cast<Index>(node.in.size());
  if (room > 0) support.insert(support.end(), node.open.begin(), node.open.end());
  std::sort(support.begin(), support.end());
  double best = node.bound;
  if (problem.p() > 0 || problem.any_one_sided)
    best = std::min(best, multipliers.bound(support));
  else if (bound.begin(support, {}) && bound.cold())
    best = std::min(best, bound.bound());
  node.bound = best;
  if (settings.seen)
    settings.seen({.in = support, .open = {}, .point = {}, .bound = best, .id = 0});
  if (best > to_beat)
    found.supports.push_back({support, best});
  else
    found.dismissed = std::max(found.dismissed, best);
}

// Keeps the names at these positions of the point, in this order.
void ProofTree::Worker::keep(ProofNode& node, const std::vector<Index>& positions) {
  const ProofPoint& from = bound.point();
  ProofPoint& to = node.point;
  const auto pick = [&](const std::vector<double>& values, std::vector<double>& out) {
    out.resize(positions.size());
    for (std::size_t a = 0; a < positions.size(); ++a) out[a] = values[at(positions[a])];
  };
  pick(from.u, to.u);
  pick(from.d, to.d);
  pick(from.omega, to.omega);
  pick(from.q, to.q);
  to.lambda = from.lambda;
  to.tau = from.tau;
  to.t = from.t;
}

// Names that every support worth looking at has, or has not: without them, or with them, the bound
// is not above `to_beat`. True if there are enough to set the node up anew.
bool ProofTree::Worker::fix(ProofNode& node, double to_beat, Found& found) {
  const Index n = bound.names(), first = bound.always(), choose = bound.choose();
  order.resize(at(n - first));
  std::iota(order.begin(), order.end(), first);
  std::nth_element(order.begin(), order.begin() + choose, order.end(), [&](Index a, Index b) {
    const double sa = bound.share(a), sb = bound.share(b);
    return sa != sb ? sa > sb : a < b;
  });
  double last = kInfinity;
  for (Index a = 0; a < choose; ++a) last = std::min(last, bound.share(order[at(a)]));
  const double next = bound.share(order[at(choose)]);
  Index in = 0, out = 0;
  double dismissed = -kInfinity;
  std::fill(fate.begin(), fate.begin() + n, Fate::open);
  for (Index a = 0; a < n - first; ++a) {
    const Index name = order[at(a)];
    const bool top = a < choose;
    const double otherwise =
        bound.bound() + (top ? next - bound.share(name) : bound.share(name) - last);
    if (otherwise > to_beat) continue;
    fate[at(name)] = top ? Fate::in : Fate::out;
    (top ? in : out) += 1;
    dismissed = std::max(dismissed, otherwise);
  }
  const bool leaf = in == choose || n - first - in - out <= choose - in;
  if (in == 0 && out < std::max<Index>(1, (n - first) / 16) && !leaf) return false;
  found.dismissed = std::max(found.dismissed, dismissed);

  // Positions of the point that stay: those in (if they stay at all), then those open.
  std::vector<Index> positions, open;
  if (problem.any_one_sided) {
    for (Index a = 0; a < first; ++a) positions.push_back(a);
    for (Index a = first; a < n; ++a)
      if (fate[at(a)] == Fate::in) positions.push_back(a);
  }
  for (Index a = first; a < n; ++a) {
    const Index name = node.open[at(a - first)];
    if (fate[at(a)] == Fate::in) node.in.push_back(name);
    if (fate[at(a)] != Fate::open) continue;
    positions.push_back(a);
    open.push_back(name);
  }
  keep(node, positions);
  node.open = std::move(open);
  return true;
}

bool ProofTree::Worker::enumerate(const ProofNode& node, double to_beat, Found& found) {
  const auto n = static_cast<double>(bound.names());
  const double work = std::max(3e5, n * n * n / 3.0);
  if (!enumeration.run(bound, to_beat, work)) return false;
  const double above = bound.bound();  // of the node; the bound is that of its leaves from here on
  for (Index s = 0; s < enumeration.count(); ++s) {
    support = node.in;
    for (const Index a : enumeration.found(s)) support.push_back(node.open[at(a)]);
    ProofNode end{.in = support, .open = {}, .point = {}, .bound = above, .id = 0};
    leaf(end, found, to_beat);
  }
  found.dismissed = std::max(found.dismissed, to_beat);
  // A leaf is computed anew, and may come out below what others were dismissed against.
  if (problem.p() == 0)
    found.dismissed = std::max(found.dismissed, std::min(above, enumeration.best()));
  return true;
}

// The names that are held most.
void ProofTree::Worker::round_to_support(const ProofNode& node, double value, Found& found) {
  const Index n = bound.names(), first = bound.always(), choose = bound.choose();
  order.resize(at(n - first));
  std::iota(order.begin(), order.end(), first);
  std::nth_element(order.begin(), order.begin() + (choose - 1), order.end(), [&](Index a, Index b) {
    const double za = bound.held(a), zb = bound.held(b);
    return za != zb ? za > zb : a < b;
  });
  support = node.in;
  for (Index a = 0; a < choose; ++a) support.push_back(node.open[at(order[at(a)] - first)]);
  try {
    if (search &&
        !(search->exchange(support, settings.give_up) > value * (1.0 + 1e-12) + problem.smallest))
      return;
  } catch (const Interrupted&) {
    return;
  }
  std::sort(support.begin(), support.end());
  found.supports.push_back({support, -kInfinity});
}

void ProofTree::Worker::divide(ProofNode& node, Found& found) {
  const Index n = bound.names(), first = bound.always();
  Index chosen = first;
  for (Index a = first + 1; a < n; ++a)
    if (bound.urgency(a) > bound.urgency(chosen)) chosen = a;
  const Index name = node.open[at(chosen - first)];
  std::vector<Index> open = node.open;
  open.erase(open.begin() + (chosen - first));
  for (int side = 0; side < 2; ++side) {
    auto child = std::make_unique<ProofNode>();
    std::vector<Index> positions;
    for (Index a = 0; a < first; ++a) positions.push_back(a);
    if (side == 0 && problem.any_one_sided) positions.push_back(chosen);
    for (Index a = first; a < n; ++a)
      if (a != chosen) positions.push_back(a);
    keep(*child, positions);
    child->point.t *= kStepBack;
    child->in = node.in;
    if (side == 0) child->in.push_back(name);
    child->open = open;
    child->bound = node.bound;
    found.children[side] = std::move(child);
  }
}

// Where rounding leaves nothing to bound with: children are smaller, and have the same bound.
void ProofTree::Worker::divide_blindly(ProofNode& node, Found& found) {
  for (int side = 0; side < 2; ++side) {
    auto child = std::make_unique<ProofNode>();
    child->in = node.in;
    if (side == 0) child->in.push_back(node.open.front());
    child->open.assign(node.open.begin() + 1, node.open.end());
    child->bound = node.bound;
    found.children[side] = std::move(child);
  }
  found.node.reset();
}

void ProofTree::Worker::work(Found& found) {
  ProofNode& node = *found.node;
  if (std::isfinite(node.bound) && gives_up()) return;
  const double value = found.value, to_beat = found.to_beat;
  bool enumerated = false;
  const auto dismiss = [&](double at_most) {
    if (settings.seen) settings.seen(node);
    found.dismissed = std::max(found.dismissed, at_most);
    found.node.reset();
  };
  for (bool anew = true; anew;) {
    anew = false;
    const Index room = problem.k - static_cast<Index>(node.in.size());
    if (room == 0 || static_cast<Index>(node.open.size()) <= room) {
      leaf(node, found, to_beat);
      return found.node.reset();
    }
    if (std::isinf(node.bound) && bound.begin(node.in, node.open))
      node.bound = std::min(node.bound, bound.of_all());
    if (!start(node)) return divide_blindly(node, found);
    node.bound = std::min(node.bound, bound.bound());
    for (int i = 0; i < kMostSteps && !gives_up(); ++i) {
      if (node.bound <= to_beat) return dismiss(node.bound);
      if (bound.bound() <= node.bound && fix(node, to_beat, found)) {
        anew = true;
        enumerated = false;
        break;
      }
      const bool centred = bound.decrement() <= kCentred && i > 0;
      if (centred && !enumerated) {
        enumerated = true;
        if (enumerate(node, to_beat, found)) return found.node.reset();
      }
      if (centred && bound.gap() < kToProve * (bound.bound() - value)) break;
      if (centred && bound.gap() < kPathEnd * bound.bound()) break;
      if (centred) bound.raise(kRaise);
      if (!bound.step()) break;
      node.bound = std::min(node.bound, bound.bound());
    }
  }
  if (gives_up()) return;
  if (node.bound <= to_beat) return dismiss(node.bound);
  if (settings.seen) settings.seen(node);
  if (node.id % kLooks == 0) round_to_support(node, value, found);
  divide(node, found);
  found.node.reset();
}

ProofTree::ProofTree(const ProofProblem& problem, const ProofTreeSettings& settings,
                     const Threads& threads)
    : problem_(problem), settings_(settings), threads_(threads) {
  workers_.resize(at(threads.count()));
}

ProofTree::~ProofTree() = default;

double ProofTree::bound() const {
  double most = std::max(value_, dismissed_);
  for (const Open& node : open_) most = std::max(most, node->bound);
  return most;
}

void ProofTree::take(Found& found, const Offer& offer) {
  dismissed_ = std::max(dismissed_, found.dismissed);
  for (const Found::Support& support : found.supports) {
    const std::optional<double> reached = offer(support.names);
    if (!reached) continue;
    value_ = std::max(value_, *reached);
    dismissed_ = std::max(dismissed_, support.bound);
  }
  const auto put = [&](Open& node, bool anew) {
    if (!node) return;
    if (anew) node->id = ++ids_;
    open_.push_back(std::move(node));
    std::push_heap(open_.begin(), open_.end(), Later());
  };
  put(found.node, false);
  for (Open& child : found.children) put(child, true);
}

// Sends nodes out until there are kWindow, or none is left that counts.
void ProofTree::send() {
  const double node_bytes = 48.0 * static_cast<double>(problem_.n) + 256.0;
  while (out_.size() < kWindow && !gave_up_ && !open_.empty() && open_.front()->bound > beat()) {
    if (settings_.most_nodes > 0 && nodes_ >= settings_.most_nodes) return;
    if (static_cast<double>(open_.size()) * node_bytes > kMostBytes) return;
    std::pop_heap(open_.begin(), open_.end(), Later());
    Found& found = *out_.emplace_back(std::make_unique<Found>());
    found.node = std::move(open_.back());
    open_.pop_back();
    found.value = value_;
    found.to_beat = beat();
    ++nodes_;
  }
}

// What one thread does until nothing is out any more.
void ProofTree::work(Worker& worker, const Offer& offer) {
  std::unique_lock lock(mutex_);
  while (!out_.empty() && !failure_) {
    const auto mine =
        std::find_if(out_.begin(), out_.end(), [](const auto& f) { return !f->taken; });
    if (mine == out_.end()) {
      changed_.wait(lock);
      continue;
    }
    Found& found = **mine;
    found.taken = true;
    lock.unlock();
    worker.work(found);
    lock.lock();
    found.done = true;
    while (!out_.empty() && out_.front()->done) {
      take(*out_.front(), offer);
      out_.pop_front();
      gave_up_ = gave_up_ || (settings_.give_up && settings_.give_up());
      send();
    }
    changed_.notify_all();
  }
}

bool ProofTree::run(double value, const Offer& offer) {
  value_ = value;
  auto root = std::make_unique<ProofNode>();
  root->open = problem_.names;
  root->bound = kInfinity;
  open_.push_back(std::move(root));
  send();
  threads_.for_each(threads_.count(), [&](Index, int slot) {
    try {
      std::unique_ptr<Worker>& worker = workers_[at(slot)];
      if (!worker) worker = std::make_unique<Worker>(*this);
      work(*worker, offer);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      changed_.notify_all();
    }
  });
  if (failure_) std::rethrow_exception(failure_);
  if (!open_.empty() && open_.front()->bound > beat()) return false;
  // What is still open is not above what is looked for.
  for (const Open& node : open_) dismissed_ = std::max(dismissed_, node->bound);
  open_.clear();
  return true;
}

}  // namespace sharpen::select
