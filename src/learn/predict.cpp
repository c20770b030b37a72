#include <fmt/format.h>

#include "learn/samples.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/learn/model.hpp"

namespace sharpen::learn {

namespace {

void check(const Model& model, Index member, ConstMat returns, std::span<const Index> ends,
           std::span<const Index> assets, Mat mu) {
  const auto m = static_cast<Index>(assets.size());
  if (member < 0 || member >= static_cast<Index>(model.members.size()))
    throw InputError(fmt::format("member = {} is outside [0, {}]", member,
                                 static_cast<Index>(model.members.size()) - 1));
  if (returns.cols != m || mu.cols != m || mu.rows != static_cast<Index>(ends.size()))
    throw InputError(fmt::format("returns are {} x {} and mu {} x {}, for {} windows of {} assets",
                                 returns.rows, returns.cols, mu.rows, mu.cols, ends.size(), m));
  for (const Index end : ends)
    if (end < model.settings.lookback || end > returns.rows)
      throw InputError(fmt::format("a window that ends before row {} is outside [{}, {}]", end,
                                   model.settings.lookback, returns.rows));
  for (const Index asset : assets)
    if (asset < 0 || asset >= model.n())
      throw InputError(
          fmt::format("asset = {} is outside [0, {}] of the model", asset, model.n() - 1));
  if (model.settings.network == NetworkKind::joint)
    for (Index j = 0; j < std::max(m, model.n()); ++j)
      if (j >= m || j >= model.n() || assets[at(j)] != j)
        throw InputError("a joint network needs all assets of the model, in its order");
}

}  // namespace

void expected_returns(const Model& model, Index member, ConstMat returns,
                      std::span<const Index> ends, std::span<const Index> assets, Mat mu,
                      const Threads& threads) {
  check(model, member, returns, ends, assets, mu);
  if (ends.empty() || assets.empty()) return;
  const Features<float> features(model.settings.network, model.settings.lookback, returns,
                                 model.scaling, assets);
  const Network<float>& network = model.members[at(member)].network;
  // Always so many windows at once, if need be the last one again: BLAS may round a row differently
  // among fewer rows, and a panel that ends earlier must change nothing.
  constexpr Index most = 32;
  const Index per_window = features.rows_per_window(), rows = most * per_window;
  Pass<float> pass(network.shape, rows, threads.count());
  std::vector<float> X(at(rows * features.inputs())), out(at(most * mu.cols));
  const BasicMat<float> inputs(X.data(), rows, features.inputs());
  std::vector<Index> some;
  const double unit = model.scaling.unit();
  for (Index first = 0; first < mu.rows; first += most) {
    const Index count = std::min(most, mu.rows - first);
    some.assign(ends.begin() + first, ends.begin() + first + count);
    some.resize(at(most), some.back());
    features.gather(some, inputs);
    pass.forward(network, inputs, BasicMat<float>(out.data(), rows, network.shape.outputs),
                 threads);
    for (Index w = 0; w < count; ++w)
      for (Index j = 0; j < mu.cols; ++j)
        mu(first + w, j) = unit * static_cast<double>(out[at(w * mu.cols + j)]);
  }
}

}  // namespace sharpen::learn
