// The step of Adam: the norm of the gradient first, then every parameter once.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "learn/network_memory.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::learn {

namespace {

template <class Real>
AdamCoefficients<Real> coefficients(const AdamSettings& settings, std::int64_t step, double norm) {
  const auto t = static_cast<double>(step);
  const double correction1 = 1.0 - std::pow(settings.beta1, t);
  const double root2 = std::sqrt(1.0 - std::pow(settings.beta2, t));
  const bool clips = settings.clip > 0.0 && norm > settings.clip;
  // rate m / (sqrt(v) + epsilon) is learning_rate m' / (sqrt(v') + settings.epsilon) with the
  // corrected moments m' = m / correction1, v' = v / root2^2.
  return {static_cast<Real>(clips ? settings.clip / norm : 1.0),
          static_cast<Real>(settings.beta1),
          static_cast<Real>(settings.beta2),
          static_cast<Real>(settings.learning_rate * root2 / correction1),
          static_cast<Real>(settings.epsilon * root2),
          static_cast<Real>(1.0 - settings.learning_rate * settings.weight_decay)};
}

}  // namespace

// |h^T d|^2 = sum of (h h^T) o (d d^T), matrices of (rows, rows), from their lower triangles.
template <class Real>
double PassMemory<Real>::streamed_norm2(const LayerPlan& layer, BasicMat<const Real> in,
                                        BasicMat<const Real> next, const Threads& threads) const {
  const Index size = rows * rows;
  threads.for_each(layer.parts + 1, [&](Index p, int) {
    const Index first = p * layer.part, count = std::min(layer.part, layer.in - first);
    lower_gram(p < layer.parts ? middle_cols(in, first, count) : next,
               {parts.data() + p * size, rows, rows});
  });
  const Real* dd = parts.data() + layer.parts * size;
  double norm2 = 0.0;
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j <= i; ++j) {
      const Index at = i * rows + j;
      double hh = 0.0;
      for (Index p = 0; p < layer.parts; ++p)
        hh += static_cast<double>(parts.data()[p * size + at]);
      norm2 += (i == j ? 1.0 : 2.0) * hh * static_cast<double>(dd[at]);
    }
  return norm2 < 0.0 ? 0.0 : norm2;  // by rounding; NaN stays
}

template <class Real>
double PassMemory<Real>::stored_norm2(const Threads& threads) {
  threads.for_each(static_cast<Index>(blocks.size()), [&](Index b, int) {
    const Block& block = blocks[static_cast<std::size_t>(b)];
    const bool used = !(block.weights && streams(layer(block.layer)));
    squares[static_cast<std::size_t>(b)] =
        used ? kernel.square_sum(stored.data() + block.stored, block.count) : 0.0;
  });
  double norm2 = 0.0;
  for (const double square : squares) norm2 += square;
  return norm2;
}

// |dW_ij| <= rows max|h| max|d|.
template <class Real>
double PassMemory<Real>::streamed_bound2(const LayerPlan& layer, BasicMat<const Real> in,
                                         BasicMat<const Real> next, const Threads& threads) {
  const auto greatest = [&](BasicMat<const Real> A) {
    double most = 0.0;
    for (Index i = 0; i < A.rows; ++i) {
      const auto row = static_cast<double>(kernel.greatest(A.data + i * A.stride, A.cols));
      if (!(row <= most)) most = row;
      if (std::isnan(most)) break;
    }
    return most;
  };
  threads.for_each(layer.parts, [&](Index p, int) {
    const Index first = p * layer.part, count = std::min(layer.part, layer.in - first);
    streamed[static_cast<std::size_t>(p)] = greatest(middle_cols(in, first, count));
  });
  double most = 0.0;
  for (Index p = 0; p < layer.parts && !std::isnan(most); ++p)
    if (const double part = streamed[static_cast<std::size_t>(p)]; !(part <= most)) most = part;
  const double entry = static_cast<double>(rows) * most * greatest(next);
  return static_cast<double>(layer.in) * static_cast<double>(layer.out) * entry * entry;
}

// Tile by tile of the inputs: dW into memory that stays in the cache, then Adam on its parameters.
template <class Real>
double PassMemory<Real>::streamed_adam(const LayerPlan& layer, BasicMat<const Real> in,
                                       BasicMat<const Real> next,
                                       const AdamCoefficients<Real>& adam, Real* parameters,
                                       AdamState<Real>& state, const Threads& threads) {
  const Index tiles = (layer.in + layer.stream - 1) / layer.stream;
  threads.for_each(tiles, [&](Index item, int slot) {
    const Index first = item * layer.stream, count = std::min(layer.stream, layer.in - first);
    const BasicMat<Real> dW = {stream_tiles.data() + slot * stream_tile, count, layer.out};
    multiply_tn<Real>(middle_cols(in, first, count), next, 0, dW);
    const Index at = layer.weights + first * layer.out;
    streamed[static_cast<std::size_t>(item)] =
        kernel.adam(adam, count * layer.out, dW.data, parameters + at, state.mean.data() + at,
                    state.square.data() + at);
  });
  return std::accumulate(streamed.begin(), streamed.begin() + tiles, 0.0);
}

template <class Real>
void PassMemory<Real>::stored_adam(const AdamCoefficients<Real>& adam, Real* parameters,
                                   AdamState<Real>& state, const Threads& threads) const {
  threads.for_each(static_cast<Index>(blocks.size()), [&](Index b, int) {
    const Block& block = blocks[static_cast<std::size_t>(b)];
    if (block.weights && streams(layer(block.layer))) return;
    kernel.adam(adam, block.count, stored.data() + block.stored, parameters + block.parameter,
                state.mean.data() + block.parameter, state.square.data() + block.parameter);
  });
}

template <class Real>
StepReport Pass<Real>::step(Network<Real>& network, AdamState<Real>& state,
                            const AdamSettings& settings, BasicMat<const Real> X,
                            BasicMat<const Real> dL_df, const Threads& threads) {
  Memory& memory = *memory_;
  memory.check_step(network, X, dL_df, threads);
  const std::size_t count = network.parameters.size();
  if (state.mean.size() != count || state.square.size() != count)
    throw InputError("network: the state of Adam has " + std::to_string(state.mean.size()) +
                     " entries, must have " + std::to_string(count));
  if (X.rows == 0) return {};
  Real* parameters = network.parameters.data();
  memory.backward(parameters, X, dL_df, nullptr, threads);

  // The sum over the layers that stream of what(layer, h_l, delta_(l+1)).
  const auto sum_streamed = [&](const auto& what) {
    double sum = 0.0;
    for (Index l = 0; l < memory.depth(); ++l)
      if (memory.streams(memory.layer(l)))
        sum += what(memory.layer(l), l == 0 ? X : memory.h(l, 0, X.rows),
                    l + 1 == memory.depth() ? dL_df : memory.delta(l + 1, X.rows));
    return sum;
  };
  using Matrix = BasicMat<const Real>;
  // Beyond it the squares that Adam keeps would overflow.
  constexpr auto most = static_cast<double>(std::numeric_limits<Real>::max());
  double norm2 = memory.stored_norm2(threads);
  // Without a clip the norm of what streams may come with the update, if it is sure to be finite.
  const bool late = settings.clip == 0.0 &&
                    norm2 + sum_streamed([&](const LayerPlan& layer, Matrix h, Matrix delta) {
                      return memory.streamed_bound2(layer, h, delta, threads);
                    }) <=
                        most;
  if (!late)
    norm2 += sum_streamed([&](const LayerPlan& layer, Matrix h, Matrix delta) {
      return memory.streamed_norm2(layer, h, delta, threads);
    });
  if (!(norm2 <= most)) return {std::sqrt(norm2), false};

  ++state.steps;
  const AdamCoefficients<Real> adam = coefficients<Real>(settings, state.steps, std::sqrt(norm2));
  const double streamed2 = sum_streamed([&](const LayerPlan& layer, Matrix h, Matrix delta) {
    return memory.streamed_adam(layer, h, delta, adam, parameters, state, threads);
  });
  memory.stored_adam(adam, parameters, state, threads);
  return {std::sqrt(late ? norm2 + streamed2 : norm2), true};
}

template StepReport Pass<float>::step(Network<float>&, AdamState<float>&, const AdamSettings&,
                                      BasicMat<const float>, BasicMat<const float>, const Threads&);
template StepReport Pass<double>::step(Network<double>&, AdamState<double>&, const AdamSettings&,
                                       BasicMat<const double>, BasicMat<const double>,
                                       const Threads&);

}  // namespace sharpen::learn
