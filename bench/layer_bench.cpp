// The layer against the memory traffic it cannot avoid: eight triangular solves in the dense
// form, a stream over the window in the low-rank form. Soft top-k against bisection.
#include <cblas.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>
#include <string>

#include "measure.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/layer/sparse_tangent.hpp"

namespace {

using namespace sharpen;
using namespace sharpen::layer;
using bench::alternate;
using bench::at_least;
using bench::at_most;
using bench::require;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

RowMatrix simulated_returns(Index rows, Index n, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  const auto draw = [&] { return normal(engine); };
  const RowMatrix loadings = RowMatrix::NullaryExpr(5, n, draw);
  RowMatrix returns = 0.005 * RowMatrix::NullaryExpr(rows, 5, draw) * loadings;
  returns += 0.01 * RowMatrix::NullaryExpr(rows, n, draw);
  return returns;
}

// A batch of B signals, one for each window of a panel, and the layer on them.
struct Set {
  RowMatrix returns, mu, dL_dw, w, dL_dmu;
  std::vector<Index> ends, samples;
  std::unique_ptr<risk::Risk> risk;
  std::unique_ptr<SparseTangent> layer;
  std::unique_ptr<LayerCache> cache;
  std::vector<Outcome> outcomes;

  Set(Index n, Index T, Index B, risk::Form form, Score score, Reoptimization reoptimization,
      const Threads& threads)
      : returns(simulated_returns(T + B, n, 7)),
        mu(0.1 * simulated_returns(B, n, 8)),
        dL_dw(simulated_returns(B, n, 9)),
        w(B, n),
        dL_dmu(B, n),
        outcomes(static_cast<std::size_t>(B)) {
    for (Index i = 0; i < B; ++i) {
      ends.push_back(T + i);
      samples.push_back(i);
    }
    risk::RiskSettings settings;
    settings.form = form;
    settings.parts = {.lower = score == Score::cholesky, .root = score == Score::symmetric};
    risk = risk::from_windows({returns.data(), returns.rows(), n}, T, ends, settings, threads);
    LayerSettings mode;
    mode.k = n / 10;
    mode.score = score;
    mode.reoptimization = reoptimization;
    mode.sizing.kind = Sizing::volatility;
    layer = std::make_unique<SparseTangent>(mode, *risk);
    cache = std::make_unique<LayerCache>(*layer, B, 2);
  }

  Mat view(RowMatrix& m) { return {m.data(), m.rows(), m.cols()}; }
  void run(const Threads& threads) {
    layer->forward(samples, view(mu), *cache, view(w), outcomes, threads);
    layer->vjp(*cache, view(dL_dw), view(dL_dmu), threads);
  }

  // Unit risk, and the gradient against a central difference along one direction.
  void validate(const std::string& what) {
    const Threads one(1);
    run(one);
    const RowMatrix base_w = w, base_gradient = dL_dmu;
    std::vector<double> scratch(static_cast<std::size_t>(risk->scratch_size()));
    Eigen::VectorXd Sigma_w(w.cols());
    for (Index i = 0; i < w.rows(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      require(outcomes[at].solved(), what + ": an instance was not solved");
      const auto n = static_cast<std::size_t>(w.cols());
      risk->apply(samples[at], {w.row(i).data(), n}, {Sigma_w.data(), n}, scratch);
      const double volatility = std::sqrt(w.row(i).dot(Sigma_w));
      require(std::abs(volatility / 0.10 - 1.0) < 1e-8, what + ": not at the target volatility");
    }
    const RowMatrix direction = simulated_returns(w.rows(), w.cols(), 10);
    const double h = 1e-5;
    const RowMatrix at = mu;
    mu = at + h * 0.1 * direction;
    run(one);
    const RowMatrix up = w;
    mu = at - h * 0.1 * direction;
    run(one);
    for (Index i = 0; i < w.rows(); ++i) {
      const double numeric = dL_dw.row(i).dot(up.row(i) - w.row(i)) / (2.0 * h);
      const double analytic = 0.1 * base_gradient.row(i).dot(direction.row(i));
      const double size = 0.1 * base_gradient.row(i).norm() * direction.row(i).norm();
      require(std::abs(numeric - analytic) < 1e-4 * size, what + ": the gradient is wrong");
    }
    mu = at;
    run(one);
    require(w == base_w && dL_dmu == base_gradient, what + ": not the same bits twice");
  }
};

void dense_against_triangular_solves() {
  constexpr Index n = 200, T = 100, B = 64;
  const Threads one(1), two(2);
  Set masked(n, T, B, risk::Form::dense, Score::cholesky, Reoptimization::masked, two);
  Set symmetric(n, T, B, risk::Form::dense, Score::symmetric, Reoptimization::masked, two);
  Set restricted(n, T, B, risk::Form::dense, Score::symmetric, Reoptimization::restricted, two);
  Set low_rank(n, T, B, risk::Form::low_rank, Score::symmetric, Reoptimization::restricted, two);
  masked.validate("dense masked");
  symmetric.validate("dense masked, symmetric score");
  restricted.validate("dense restricted");
  low_rank.validate("low-rank restricted");

  // The same factors, as LAPACK leaves them: column-major, lower.
  std::vector<Eigen::MatrixXd> L;
  for (Index s = 0; s < B; ++s) {
    const RowMatrix window = masked.returns.middleRows(s, T);
    const RowMatrix centred = window.rowwise() - window.colwise().mean();
    Eigen::MatrixXd Sigma = centred.transpose() * centred / double(T - 1);
    const double level = Sigma.trace() / double(n);
    Sigma *= 0.9;
    Sigma.diagonal().array() += 0.1 * level;
    L.push_back(Sigma.llt().matrixL());
  }
  Eigen::VectorXd x(n);
  const auto eight_dtrsv = [&] {
    for (Index s = 0; s < B; ++s) {
      x = masked.mu.row(s);
      for (int i = 0; i < 8; ++i)
        cblas_dtrsv(CblasColMajor, CblasLower, i % 2 ? CblasTrans : CblasNoTrans, CblasNonUnit,
                    static_cast<int>(n), L[static_cast<std::size_t>(s)].data(), static_cast<int>(n),
                    x.data(), 1);
    }
  };
  const std::vector<double> t =
      alternate({eight_dtrsv, [&] { masked.run(one); }, [&] { symmetric.run(one); },
                 [&] { restricted.run(one); }, [&] { low_rank.run(one); }},
                31);
  // Each pair alone: a run that follows its twin finds the caches warm, and so must its twin.
  const auto pair = [&](Set& set) {
    return alternate({[&] { set.run(one); }, [&] { set.run(two); }}, 31, bench::Clock::wall);
  };
  const std::vector<double> masked_wall = pair(masked), restricted_wall = pair(restricted);
  const auto us = [&](double seconds) { return 1e6 * seconds / double(B); };
  fmt::print("n = {}, T = {}, B = {}, forward + backward, microseconds per instance:\n", n, T, B);
  fmt::print("  eight dtrsv                            {:8.1f}\n", us(t[0]));
  fmt::print("  masked, cholesky score                 {:8.1f}   two threads {:.1f}\n", us(t[1]),
             us(masked_wall[1]));
  fmt::print("  masked, symmetric score                {:8.1f}\n", us(t[2]));
  fmt::print("  restricted, symmetric score            {:8.1f}   two threads {:.1f}\n", us(t[3]),
             us(restricted_wall[1]));
  fmt::print("  restricted, symmetric score, low rank  {:8.1f}\n", us(t[4]));
  at_most("layer_masked_over_8_dtrsv", t[1] / t[0], 0.85);
  at_least("layer_masked_two_threads_speedup", masked_wall[0] / masked_wall[1], 1.7);
  at_least("layer_restricted_two_threads_speedup", restricted_wall[0] / restricted_wall[1], 1.7);
}

double stream(const double* p, Index count) {
  return cblas_ddot(static_cast<int>(count), p, 1, p, 1);
}

// Seconds of forward + backward in the masked mode, and of a stream over what it has to read.
struct Pace {
  double layer, stream;
};

void print_pace(const std::string& what, Index T, Index n, double megabytes, const Pace& pace) {
  fmt::print("low rank, T = {}, n = {}: {} {:.0f} us, streaming its {:.1f} MB {:.0f} us\n", T, n,
             what, 1e6 * pace.layer, megabytes, 1e6 * pace.stream);
}

// Eight passes over the (T, n) window: two each for the score, the direction and their two vjps.
Pace symmetric_pace(Index n, Index T) {
  const Threads one(1);
  Set set(n, T, 1, risk::Form::low_rank, Score::symmetric, Reoptimization::masked, one);
  set.validate("low rank, symmetric score");
  constexpr int kPasses = 8;
  double sink = 0.0;
  const auto passes = [&] {
    for (int i = 0; i < kPasses; ++i) sink += stream(set.returns.data(), T * n);
  };
  const std::vector<double> t = alternate({[&] { set.run(one); }, passes}, 101);
  require(std::isfinite(sink), "the stream");
  print_pace("symmetric score", T, n, kPasses * 8e-6 * double(T * n), {t[0], t[1]});
  return {t[0], t[1]};
}

// Window and factor side by side for the score; four passes over the window for the direction and
// its vjp; window and factor again, from the end, for the score's. Together the two are twice as
// large as the window: the runs are not mixed, or each would find the caches full of the other's.
Pace cholesky_pace(Index n, Index T) {
  const Threads one(1);
  Set set(n, T, 1, risk::Form::low_rank, Score::cholesky, Reoptimization::masked, one);
  set.validate("low rank, cholesky score");
  const auto size = static_cast<Index>(set.risk->bytes() / sizeof(double));
  const std::vector<double> factor(static_cast<std::size_t>(size), 1.0);
  constexpr Index kPieces = 64;
  double sink = 0.0;
  const auto piece = [&](const double* p, Index count, Index i) {
    const Index first = i * count / kPieces, last = (i + 1) * count / kPieces;
    sink += stream(p + first, last - first);
  };
  const auto both = [&](Index i) {
    piece(set.returns.data(), T * n, i);
    piece(factor.data(), size, i);
  };
  const auto passes = [&] {
    for (Index i = 0; i < kPieces; ++i) both(i);
    for (int i = 0; i < 4; ++i) sink += stream(set.returns.data(), T * n);
    for (Index i = kPieces - 1; i >= 0; --i) both(i);
  };
  const std::vector<double> t = bench::alternate_warm({[&] { set.run(one); }, passes}, 11);
  require(std::isfinite(sink), "the stream");
  print_pace("cholesky score", T, n, 8e-6 * double(6 * T * n + 2 * size), {t[0], t[1]});
  return {t[0], t[1]};
}

void low_rank_against_streaming() {
  constexpr Index T = 100, kSmall = 2000, kLarge = 8000;
  const Pace small = symmetric_pace(kSmall, T), large = symmetric_pace(kLarge, T);
  at_most("low_rank_growth_2000_to_8000", large.layer / small.layer, 6.0);
  at_most("low_rank_over_streaming_n2000", small.layer / small.stream, 1.5);
  at_most("low_rank_over_streaming_n8000", large.layer / large.stream, 1.5);

  // The first growth stays within this machine's caches, the second leaves them: the stream tells.
  const Pace n1000 = cholesky_pace(1000, T), n2000 = cholesky_pace(kSmall, T),
             n4000 = cholesky_pace(4000, T), n8000 = cholesky_pace(kLarge, T);
  fmt::print(
      "low rank, T = {}, cholesky score: the stream grows {:.2f} times from n = 1000 to 4000, "
      "{:.2f} times from 2000 to 8000\n",
      T, n4000.stream / n1000.stream, n8000.stream / n2000.stream);
  at_most("low_rank_cholesky_growth_1000_to_4000", n4000.layer / n1000.layer, 6.0);
  at_most("low_rank_cholesky_growth_2000_to_8000", n8000.layer / n2000.layer, 6.0);
}

void low_rank_memory() {
  constexpr Index n = 200, T = 100, S = 2000;
  const Threads two(2);
  for (const Score score : {Score::symmetric, Score::cholesky}) {
    const Set set(n, T, S, risk::Form::low_rank, score, Reoptimization::masked, two);
    const bool symmetric = score == Score::symmetric;
    const double megabytes = 1e-6 * (static_cast<double>(set.risk->bytes()) +
                                     8.0 * static_cast<double>(set.returns.size()));
    fmt::print("low rank, n = {}, T = {}, {} score: {} samples hold {:.0f} MB, returns included\n",
               n, T, symmetric ? "symmetric" : "cholesky", S, megabytes);
    at_most(symmetric ? "low_rank_2000_samples_mb" : "low_rank_cholesky_2000_samples_mb", megabytes,
            400.0);
  }
}

void soft_topk_against_bisection() {
  constexpr Index n = 200, k = 20;
  constexpr int kVectors = 64;
  std::vector<std::vector<double>> xs;
  for (int i = 0; i < kVectors; ++i) {
    const Eigen::VectorXd z =
        simulated_returns(1, n, 100 + static_cast<unsigned>(i)).row(0).cwiseAbs();
    const Eigen::VectorXd x = z * std::sqrt(double(n)) / z.norm();
    xs.emplace_back(x.data(), x.data() + n);
  }
  std::vector<double> p(n), q(n), v(n), scratch(n);
  for (const double beta : {1.0, 5.0, 20.0, 100.0}) {
    const TopKSettings newton{k, beta};
    TopKSettings bisection{k, beta, TopKSolver::bisection};
    // The fewest halvings that reach Newton's promise, |sum p - k| <= 1e-10 k, on every vector.
    for (bisection.bisections = 20; bisection.bisections < 80; ++bisection.bisections)
      if (std::all_of(xs.begin(), xs.end(), [&](const auto& x) {
            return soft_topk_forward(bisection, x, q, v, scratch).converged;
          }))
        break;
    for (const auto& x : xs) {
      require(soft_topk_forward(newton, x, p, v, scratch).converged, "soft top-k converged");
      require(soft_topk_forward(bisection, x, q, v, scratch).converged, "bisection converged");
      for (std::size_t i = 0; i < p.size(); ++i)
        require(std::abs(p[i] - q[i]) < 1e-8, "soft top-k and bisection agree");
    }
    const auto run = [&](const TopKSettings& settings) {
      return [&, settings] {
        for (const auto& x : xs) soft_topk_forward(settings, x, p, v, scratch);
      };
    };
    const std::vector<double> t = alternate({run(newton), run(bisection)}, 51);
    fmt::print("soft top-k, n = {}, beta = {}: newton {:.2f} us, {} bisections {:.2f} us\n", n,
               beta, 1e6 * t[0] / kVectors, bisection.bisections, 1e6 * t[1] / kVectors);
    at_least(fmt::format("soft_topk_speedup_beta_{:g}", beta), t[1] / t[0], 4.0);
  }
}

}  // namespace

int main() {
  dense_against_triangular_solves();
  low_rank_against_streaming();
  low_rank_memory();
  soft_topk_against_bisection();
}
