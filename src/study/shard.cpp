#include "sharpen/study/shard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "study/jobs.hpp"

namespace sharpen::study {

namespace {

// Microseconds: sums are the same on every machine, whatever their order.
using Micros = std::int64_t;
// A group that is so much longer than a part should be is cut.
constexpr double kTooLong = 1.2;

struct Piece {
  std::vector<Index> cells;  // ascending
  Micros cost = 0;
};

Micros microseconds(double seconds) { return std::llround(1e6 * seconds); }

// Costs of the plan's jobs, and which of them its cells share.
class PlannedWork {
 public:
  explicit PlannedWork(const Plan& plan)
      : plan_(plan),
        jobs_(make_jobs(plan, std::vector(plan.results.cells.size(), CellState::missing),
                        std::vector(plan.results.cells.size(), true))) {
    for (const Job& job : jobs_) costs_.push_back(cost_of(job));
    for (Index job = 0; job < static_cast<Index>(jobs_.size()); ++job)
      if (jobs_[at(job)].kind == TaskKind::cell) cells_.push_back(job);
  }

  const Job& of(Index cell) const { return jobs_[at(cells_[at(cell)])]; }

  Micros walks(const Piece& piece) const { return cost(piece, false); }
  Micros all(const Piece& piece) const { return cost(piece, true); }

 private:
  Micros cost_of(const Job& job) {
    const Cell& cell = plan_.results.cells[at(job.cell)];
    const bool trains = job.kind == TaskKind::training;
    const auto [found, fresh] =
        known_.try_emplace({cell.market, cell.method, trains ? "" : cell.k_given});
    if (fresh)
      found->second = microseconds(trains ? rough_training_seconds(plan_, job.cell)
                                          : rough_decision_seconds(plan_, job.cell) *
                                                static_cast<double>(decisions(plan_, job.cell)));
    return found->second;
  }

  // Of the cells and what they share, each once.
  Micros cost(const Piece& piece, bool with_trainings) const {
    std::set<Index> shared;
    Micros sum = 0;
    for (const Index cell : piece.cells) {
      sum += costs_[at(cells_[at(cell)])];
      if (with_trainings) shared.insert(of(cell).training);
      shared.insert(of(cell).oracle);
    }
    for (const Index job : shared)
      if (job >= 0) sum += costs_[at(job)];
    return sum;
  }

  const Plan& plan_;
  const std::vector<Job> jobs_;
  std::vector<Micros> costs_;                                      // of jobs
  std::vector<Index> cells_;                                       // the job of every cell
  std::map<std::tuple<Index, Index, std::string>, Micros> known_;  // by market, method and k
};

// Cells with the same group, which ascend.
std::vector<Piece> pieces_by(const std::vector<Index>& cells, const auto& group_of) {
  std::map<Index, Piece> found;
  for (const Index cell : cells) found[group_of(cell)].cells.push_back(cell);
  std::vector<Piece> out;
  for (auto& [group, piece] : found) out.push_back(std::move(piece));
  return out;
}

// Groups of cells that are connected by what they share.
std::vector<Piece> connected(const Plan& plan, const PlannedWork& work) {
  std::vector<Index> all(plan.results.cells.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<Index> leader = all;  // towards the first cell of the group
  const auto first = [&](Index cell) {
    while (leader[at(cell)] != cell) cell = leader[at(cell)] = leader[at(leader[at(cell)])];
    return cell;
  };
  std::map<Index, Index> user;  // a cell of every shared job
  for (const Index cell : all)
    for (const Index job : {work.of(cell).training, work.of(cell).oracle}) {
      if (job < 0) continue;
      const Index a = first(user.try_emplace(job, cell).first->second), b = first(cell);
      leader[at(std::max(a, b))] = std::min(a, b);
    }
  return pieces_by(all, first);
}

// The cells of one training in as many pieces as make none of them longer than `longest` by the
// work of its cells alone, and none of them shorter than the training that it repeats: more would
// gain next to nothing.
std::vector<Piece> cut_training(const PlannedWork& work, const Piece& piece, double longest) {
  const auto size = static_cast<Index>(piece.cells.size());
  const auto walks = static_cast<double>(work.walks(piece));
  const double training = static_cast<double>(work.all(piece)) - walks;
  const double wanted = std::ceil(walks / std::max(longest, training));
  const Index count = std::clamp<Index>(static_cast<Index>(wanted), 1, size);
  std::vector<Piece> out(at(count));
  for (Index i = 0; i < size; ++i) out[at(i * count / size)].cells.push_back(piece.cells[at(i)]);
  return out;
}

// The group itself, or what it is cut into.
void cut_group(const PlannedWork& work, const Piece& group, double longest,
               std::vector<Piece>& out) {
  if (static_cast<double>(work.all(group)) <= longest) return out.push_back(group);
  for (const Piece& trained :
       pieces_by(group.cells, [&](Index cell) { return work.of(cell).training; }))
    for (Piece& piece : cut_training(work, trained, longest)) out.push_back(std::move(piece));
}

// The longest first, each to the part that has least so far.
std::vector<Index> balanced(std::vector<Piece> pieces, Index parts, std::size_t cells) {
  std::ranges::sort(pieces, [](const Piece& a, const Piece& b) {
    return std::pair(-a.cost, a.cells.front()) < std::pair(-b.cost, b.cells.front());
  });
  using Load = std::pair<Micros, Index>;  // of a part
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (Index part = 1; part <= parts; ++part) loads.emplace(0, part);
  std::vector<Index> out(cells, 0);
  for (const Piece& piece : pieces) {
    const auto [load, part] = loads.top();
    loads.pop();
    loads.emplace(load + piece.cost, part);
    for (const Index cell : piece.cells) out[at(cell)] = part;
  }
  return out;
}

}  // namespace

Shard shard_of(std::string_view text) {
  if (text.empty()) return {};
  Shard shard;
  const char *begin = text.data(), *end = begin + text.size();
  const auto part = std::from_chars(begin, end, shard.part);
  const bool slash = part.ec == std::errc() && part.ptr != end && *part.ptr == '/';
  const auto of = slash ? std::from_chars(part.ptr + 1, end, shard.of) : part;
  const bool read = slash && of.ec == std::errc() && of.ptr == end;
  if (!read || shard.of < 1 || shard.of > static_cast<Index>(kMostCells) || shard.part < 1 ||
      shard.part > shard.of)
    throw InputError(
        fmt::format("{} = {} is no part of a study; write I/N, such as 3/100, with I from 1 to N "
                    "and N up to {}",
                    reference("shard"), printable(text), kMostCells));
  return shard;
}

std::vector<Index> cut(const Plan& plan, Index parts) {
  const PlannedWork work(plan);
  const std::vector<Piece> groups = connected(plan, work);
  Micros total = 0;
  for (const Piece& group : groups) total += work.all(group);
  const double longest =
      std::max(1.0, kTooLong * static_cast<double>(total) / static_cast<double>(parts));
  std::vector<Piece> pieces;
  for (const Piece& group : groups) cut_group(work, group, longest, pieces);
  for (Piece& piece : pieces) piece.cost = work.all(piece);
  return balanced(std::move(pieces), parts, plan.results.cells.size());
}

std::vector<bool> cells_in(const Plan& plan, const Shard& shard) {
  std::vector<bool> out(plan.results.cells.size(), true);
  if (shard.whole()) return out;
  const std::vector<Index> parts = cut(plan, shard.of);
  for (std::size_t cell = 0; cell < out.size(); ++cell) out[cell] = parts[cell] == shard.part;
  return out;
}

}  // namespace sharpen::study
