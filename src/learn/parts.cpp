#include "learn/parts.hpp"

#include <algorithm>

#include "sharpen/base/threads.hpp"

namespace sharpen::learn {

namespace {

std::vector<Index> names_at(std::span<const char> eligible, Index sample, Index n) {
  std::vector<Index> out;
  for (Index j = 0; j < n; ++j)
    if (eligible[at(sample * n + j)] != 0) out.push_back(j);
  return out;
}

}  // namespace

void gather_names(ConstVec v, std::span<const Index> assets, Vec out) {
  for (std::size_t i = 0; i < assets.size(); ++i) out[i] = v[at(assets[i])];
}

void scatter_names(ConstVec some, std::span<const Index> assets, Vec out) {
  std::ranges::fill(out, 0.0);
  for (std::size_t i = 0; i < assets.size(); ++i) out[at(assets[i])] = some[i];
}

PartedRisk::PartedRisk(ConstMat returns, Index lookback, std::span<const Index> ends,
                       std::span<const char> eligible, const risk::RiskSettings& settings,
                       const Threads& threads, const Control& control)
    : n_(returns.cols),
      prepared_(settings.parts),
      ones_(ends.size() * at(n_)),
      diagonal_(ones_.size()) {
  const auto samples = static_cast<Index>(ends.size());
  for (Index s = 0; s < samples; ++s) {
    std::vector<Index> assets = names_at(eligible, s, n_);
    if (parts_.empty() || parts_.back().assets != assets)
      parts_.push_back({.first = s, .count = 0, .assets = std::move(assets)});
    ++parts_.back().count;
    part_of_.push_back(static_cast<Index>(parts_.size()) - 1);
  }
  for (SamplePart& part : parts_) {
    control.ask();
    if (part.assets.empty()) continue;
    const Index first = ends[at(part.first)] - lookback;
    const Index last = ends[at(part.first + part.count - 1)];
    for (Index t = first; t < last; ++t)
      for (const Index j : part.assets) part.returns.push_back(returns(t, j));
    std::vector<Index> own;
    for (Index s = 0; s < part.count; ++s) own.push_back(ends[at(part.first + s)] - first);
    part.risk = risk::from_windows({part.returns.data(), last - first, part.m()}, lookback, own,
                                   settings, threads, {.stop = control.stop});
    scratch_ = std::max(scratch_, part.risk->scratch_size());
    for (Index s = 0; s < part.count; ++s) {
      if (part.risk->status(s) != Status::ok) continue;
      const std::size_t at_sample = at((part.first + s) * n_);
      scatter_names(part.risk->ones_solution(s), part.assets,
                    Vec(ones_).subspan(at_sample, at(n_)));
      scatter_names(part.risk->diagonal(s), part.assets, Vec(diagonal_).subspan(at_sample, at(n_)));
    }
  }
  scratch_ += 2 * n_ + n_;  // what goes in and out of the names, and a mask
}

template <class Act>
auto PartedRisk::on_names(Index s, ConstVec in, Vec out, Vec scratch, const Act& act) const {
  const SamplePart& own = part(s);
  const auto m = own.assets.size();
  const Vec some = scratch.first(m), found = scratch.subspan(at(n_), m);
  gather_names(in, own.assets, some);
  if constexpr (std::is_void_v<decltype(act(*own.risk, s, some, found, scratch))>) {
    act(*own.risk, local(s), some, found, scratch.subspan(at(3 * n_)));
    scatter_names(found, own.assets, out);
  } else {
    const auto result = act(*own.risk, local(s), some, found, scratch.subspan(at(3 * n_)));
    scatter_names(found, own.assets, out);
    return result;
  }
}

risk::Form PartedRisk::form() const {
  for (const SamplePart& part : parts_)
    if (part.risk) return part.risk->form();
  return risk::Form::dense;
}

std::size_t PartedRisk::bytes() const {
  std::size_t sum = (ones_.size() + diagonal_.size()) * sizeof(double);
  for (const SamplePart& part : parts_)
    sum += part.returns.size() * sizeof(double) + (part.risk ? part.risk->bytes() : 0);
  return sum;
}

Status PartedRisk::status(Index s) const {
  const SamplePart& own = part(s);
  return own.risk ? own.risk->status(local(s)) : Status::invalid_input;
}

double PartedRisk::jitter(Index s) const { return part(s).risk->jitter(local(s)); }

double PartedRisk::ones_norm2(Index s) const { return part(s).risk->ones_norm2(local(s)); }

double PartedRisk::solve(Index s, ConstVec m, Vec out, Vec scratch) const {
  return on_names(s, m, out, scratch,
                  [](const risk::Risk& risk, Index sample, ConstVec in, Vec found, Vec rest) {
                    return risk.solve(sample, in, found, rest);
                  });
}

void PartedRisk::lower_solve(Index s, ConstVec m, Vec out, Vec scratch) const {
  on_names(s, m, out, scratch,
           [](const risk::Risk& risk, Index sample, ConstVec in, Vec found, Vec rest) {
             risk.lower_solve(sample, in, found, rest);
           });
}

void PartedRisk::lower_solve_t(Index s, ConstVec g, Vec out, Vec scratch) const {
  on_names(s, g, out, scratch,
           [](const risk::Risk& risk, Index sample, ConstVec in, Vec found, Vec rest) {
             risk.lower_solve_t(sample, in, found, rest);
           });
}

void PartedRisk::root_solve(Index s, ConstVec m, Vec out, Vec scratch) const {
  on_names(s, m, out, scratch,
           [](const risk::Risk& risk, Index sample, ConstVec in, Vec found, Vec rest) {
             risk.root_solve(sample, in, found, rest);
           });
}

void PartedRisk::apply(Index s, ConstVec w, Vec out, Vec scratch) const {
  on_names(s, w, out, scratch,
           [](const risk::Risk& risk, Index sample, ConstVec in, Vec found, Vec rest) {
             risk.apply(sample, in, found, rest);
           });
}

void PartedRisk::column(Index s, Index j, Vec out, Vec scratch) const {
  const SamplePart& own = part(s);
  const auto found = std::ranges::lower_bound(own.assets, j);
  const Vec some = scratch.first(own.assets.size());
  std::ranges::fill(out, 0.0);
  if (found == own.assets.end() || *found != j) return;
  own.risk->column(local(s), found - own.assets.begin(), some, scratch.subspan(at(3 * n_)));
  scatter_names(some, own.assets, out);
}

void PartedRisk::submatrix(Index s, std::span<const Index> K, Mat out, Vec scratch) const {
  const Vec whole_column = scratch.subspan(at(n_), at(n_));
  for (std::size_t b = 0; b < K.size(); ++b) {
    column(s, K[b], whole_column, scratch);
    for (std::size_t a = 0; a < K.size(); ++a)
      out(static_cast<Index>(a), static_cast<Index>(b)) = whole_column[at(K[a])];
  }
}

Index PartedRisk::restriction_size() const {
  Index most = 0;
  for (const SamplePart& part : parts_)
    if (part.risk) most = std::max(most, part.risk->restriction_size());
  return most;
}

bool PartedRisk::restrict_to(Index s, ConstVec p, Vec factor, Vec scratch) const {
  const SamplePart& own = part(s);
  const Vec mask = scratch.first(own.assets.size());
  gather_names(p, own.assets, mask);
  return own.risk->restrict_to(local(s), mask, factor, scratch.subspan(at(3 * n_)));
}

void PartedRisk::restricted_solve(Index s, ConstVec p, ConstVec factor, ConstVec v, Vec out,
                                  Vec scratch) const {
  const Vec mask = scratch.subspan(at(2 * n_), part(s).assets.size());
  gather_names(p, part(s).assets, mask);
  on_names(s, v, out, scratch,
           [&](const risk::Risk& risk, Index sample, ConstVec in, Vec found, Vec rest) {
             risk.restricted_solve(sample, mask, factor, in, found, rest);
           });
}

}  // namespace sharpen::learn
