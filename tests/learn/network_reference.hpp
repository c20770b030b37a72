// Networks the naive way, as a witness: sums in double, one entry after the other, and Adam as its
// paper writes it.
#pragma once

#include <cmath>
#include <vector>

#include "sharpen/learn/network.hpp"

namespace sharpen::learn::testing {

// Matrices whose rows are `gap` entries further apart than they are wide.
template <class Real>
struct Rows {
  Index rows, cols, stride;
  std::vector<Real> data;

  Rows(Index rows_, Index cols_, Index gap = 0)
      : rows(rows_), cols(cols_), stride(cols_ + gap), data(std::size_t(rows_ * stride), Real(7)) {}
  BasicMat<Real> view() { return {data.data(), rows, cols, stride}; }
  BasicMat<const Real> view() const { return {data.data(), rows, cols, stride}; }
  Real& operator()(Index i, Index j) { return data[std::size_t(i * stride + j)]; }
  Real operator()(Index i, Index j) const { return data[std::size_t(i * stride + j)]; }

  static Rows uniform(Index rows, Index cols, Index gap, Random& random) {
    Rows out(rows, cols, gap);
    for (Real& x : out.data) x = static_cast<Real>(2.0 * random.uniform() - 1.0);
    return out;
  }
};

template <class To, class From>
Rows<To> cast(const Rows<From>& from) {
  Rows<To> to(from.rows, from.cols, from.stride - from.cols);
  for (std::size_t i = 0; i < to.data.size(); ++i) to.data[i] = static_cast<To>(from.data[i]);
  return to;
}

template <class To, class From>
Network<To> cast(const Network<From>& from) {
  Network<To> to(from.shape);
  for (std::size_t i = 0; i < to.parameters.size(); ++i)
    to.parameters[i] = static_cast<To>(from.parameters[i]);
  return to;
}

// f of one row, and, if `gradient` is there, dL/df pulled back and added to it.
inline std::vector<double> reference_row(const Network<double>& network, const double* x,
                                         const double* dL_df, std::vector<double>* gradient) {
  const Shape& shape = network.shape;
  const auto width = [&](Index l) { return std::size_t(shape.width(l)); };
  std::vector<std::vector<double>> h = {{x, x + shape.inputs}};
  std::vector<std::size_t> start;  // of W_l
  std::size_t at = 0;
  for (Index l = 0; l < shape.layers(); ++l) {
    const std::size_t in = width(l), out = width(l + 1);
    std::vector<double> next(out);
    for (std::size_t j = 0; j < out; ++j) next[j] = network.parameters[at + in * out + j];
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t j = 0; j < out; ++j)
        next[j] += h.back()[i] * network.parameters[at + i * out + j];
    if (l + 1 < shape.layers())
      for (double& a : next) a = std::max(0.0, a);
    start.push_back(at);
    at += (in + 1) * out;
    h.push_back(next);
  }
  if (gradient != nullptr) {
    std::vector<double> delta(dL_df, dL_df + shape.outputs);
    for (Index l = shape.layers() - 1; l >= 0; --l) {
      const std::size_t in = width(l), out = width(l + 1), W = start[std::size_t(l)];
      const std::vector<double>& here = h[std::size_t(l)];
      std::vector<double> before(in);
      for (std::size_t i = 0; i < in; ++i)
        for (std::size_t j = 0; j < out; ++j) {
          (*gradient)[W + i * out + j] += here[i] * delta[j];
          if (l > 0 && here[i] > 0.0) before[i] += network.parameters[W + i * out + j] * delta[j];
        }
      for (std::size_t j = 0; j < out; ++j) (*gradient)[W + in * out + j] += delta[j];
      delta = before;
    }
  }
  return h.back();
}

inline Rows<double> reference_forward(const Network<double>& network, const Rows<double>& X) {
  Rows<double> f(X.rows, network.shape.outputs);
  for (Index r = 0; r < X.rows; ++r) {
    const auto row = reference_row(network, X.view().row(r).data(), nullptr, nullptr);
    for (Index j = 0; j < f.cols; ++j) f(r, j) = row[std::size_t(j)];
  }
  return f;
}

inline std::vector<double> reference_gradient(const Network<double>& network, const Rows<double>& X,
                                              const Rows<double>& dL_df) {
  std::vector<double> gradient(network.parameters.size());
  for (Index r = 0; r < X.rows; ++r)
    reference_row(network, X.view().row(r).data(), dL_df.view().row(r).data(), &gradient);
  return gradient;
}

inline double norm(const std::vector<double>& x) {
  double sum = 0.0;
  for (const double a : x) sum += a * a;
  return std::sqrt(sum);
}

// Kingma and Ba, algorithm 1, with the decay of Loshchilov and Hutter, algorithm 2.
inline void reference_adam(const AdamSettings& settings, std::vector<double> g,
                           Network<double>& network, AdamState<double>& state) {
  const double length = norm(g);
  if (settings.clip > 0.0 && length > settings.clip)
    for (double& a : g) a *= settings.clip / length;
  const auto t = static_cast<double>(++state.steps);
  for (std::size_t i = 0; i < g.size(); ++i) {
    double& m = state.mean[i];
    double& v = state.square[i];
    double& p = network.parameters[i];
    m = settings.beta1 * m + (1.0 - settings.beta1) * g[i];
    v = settings.beta2 * v + (1.0 - settings.beta2) * g[i] * g[i];
    const double m_hat = m / (1.0 - std::pow(settings.beta1, t));
    const double v_hat = v / (1.0 - std::pow(settings.beta2, t));
    p -= settings.learning_rate * settings.weight_decay * p +
         settings.learning_rate * m_hat / (std::sqrt(v_hat) + settings.epsilon);
  }
}

}  // namespace sharpen::learn::testing
