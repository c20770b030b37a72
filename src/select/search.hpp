// The search for a support by its value S(K): forward selection and one-for-one exchanges.
//
// The signal is held as mu = m - t_max 1 with t_max = -B/A of all n assets if that is positive
// (the whole market is on the t = 0 face), else 0: with mu = -1 + 1e-7 noise, m keeps the digits
// of the noise. Over K, with C(t) = |m - t 1|^2 in the norm of Sigma_KK^-1, A = 1^T b and
// B = 1^T a as in layer/tangent.hpp,
//   S(K) = min over t <= t_max of C(t),   or C(t_max) with net == any,
// which is C - B^2/A on the face and C otherwise. Any fixed t <= t_max bounds S(K') from above,
// and the best t of K is a tight bound for its neighbours: the screen of the exchanges.
#pragma once

#include <vector>

#include "select/kernels.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::select {

constexpr double kBarred = 1e300;  // added to the variance of what may not enter
// Values closer than this share of the larger are ties, which go to the lower column.
constexpr double kTie = 1e-13;

struct Signal {
  ConstVec m;          // (n)
  double t_max = 0.0;  // mu = m - t_max 1
  bool any_net = false;
};

// The scalars of one support, and what S would be with one more asset.
struct SupportValue {
  double A = 0.0;
  double B = 0.0;     // of mu
  double C = 0.0;     // of mu
  double face = 0.0;  // min over all t of C(t)
  double t = 0.0;     // where that minimum is, for m

  double value(const Signal& signal) const { return signal.any_net || B > 0.0 ? C : face; }
  // x, o, v: residuals of the asset's signal m, of its one, of its variance. The face formula is
  // C - B^2/A without the cancellation: no term is negative.
  double value_with(const Signal& signal, double x, double o, double v) const {
    const double q = x - signal.t_max * o;
    if (signal.any_net || B + q * o / v > 0.0) return C + q * q / v;
    const double qf = x - t * o;
    return face + qf * qf * A / (A * v + o * o);
  }
};

// Memory for supports of at most k out of n assets. Nothing is allocated after construction.
class Search {
 public:
  // keeps: with a second matrix (k, n) exchanges are faster, by how much reading a column takes.
  Search(Index n, Index k, bool exchanges, bool keeps = true);

  // Both leave the support in K(), in no particular order. A start needs signal, risk and
  // sample to stay alive until the exchanges are done. Both throw Interrupted.
  void forward(const Signal& signal, const risk::Risk& risk, Index sample, Vec scratch,
               const Stop& stop);
  // Continues from forward(). Returns false if it stopped before no exchange was left.
  bool exchange(const Stop& stop);

  std::span<const Index> K() const { return K_; }

 private:
  struct alignas(64) Line {
    double x[8];
  };
  // The best exchange known so far: asset K_[row] for asset j.
  struct Candidate {
    double value = 0.0;
    Index row = -1;
    Index j = -1;
  };

  void start();
  Index best_addition();
  Index first_of_best(double best, double margin) const;
  void add(Index p);

  void take_factor_from_forward(const Stop& stop);
  bool refresh(const Stop& stop);
  void backward(const Stop& stop);
  void return_to_confirmed();
  void set_small_state(const Stop& stop);
  void transpose_factor();
  void set_removals();
  void set_bounds(double value);
  bool find_exchange(Candidate& best);
  void inspect(Index block, Candidate& best) const;
  void prepare(const Candidate& chosen);
  void move_small_state(double value);
  void set_level();
  void finish_pending();
  void load_support(const Stop& stop);
  void read_column(Index j, Index row);
  void put_column(const Blocked& G, Index row) const;

  static double* first_of(std::vector<Line>& lines) { return lines.data()->x; }

  const Index n_, k_, blocks_;
  const Kernels& kernels_;
  const Signal* signal_ = nullptr;
  const risk::Risk* risk_ = nullptr;
  Index sample_ = 0;
  Vec scratch_;

  std::vector<Index> K_;
  std::vector<Line> matrix_, columns_, vectors_;  // what the pointers below point into
  Blocked W_;                                     // G of the forward selection, then W
  Blocked Sigma_;  // Sigma_K,:, for the exchanges only, if it is kept
  Residuals residuals_;
  double *bar_, *column_, *values_;
  std::vector<double> dependent_;  // (n) residual variances that count as zero
  SupportValue support_;
  double Bm_ = 0.0;  // B of m

  // The exchange search: all (k) or (k, k).
  std::vector<double> U_, H_, z_, u_, alpha_, eta_;     // U: the factor L of Sigma_KK, transposed
  std::vector<double> g_, gm_, g1_, h_, kept_, bound_;  // per asset that could leave
  std::vector<double> cross_, drop_, load_, diagonal_;
  std::vector<SupportValue> without_;
  std::vector<Index> confirmed_;  // the support of the last fresh factorisation
  double value_ = 0.0, t_ = 0.0, Bt_ = 0.0, A_ = 0.0;
  Exchange pending_;
  bool has_pending_ = false;
  Index entering_ = -1;
};

}  // namespace sharpen::select
