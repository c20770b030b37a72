// What an optimum would be worth with one name less, one name more, or both, while every other
// asset and row stays on its side.
//
// On its segment (limited.hpp) the optimum of theta (mu^T w - costs) - 1/2 w^T Sigma w has the
// value
//   f(theta) = -c0 / 2 + m0 theta + r1 / 2 theta^2,
// c0 = |w0|^2, m0 the return of w0, r1 = |w1|^2. With P as in limited.hpp, a free name i that
// leaves takes w_i^2 / (2 P_ii) from f; a name j that comes adds g^2 / (2 v), g its residual signal
// and v its residual variance given the free names and active rows. If both happen,
//   g_ij = g_j + w_i / P_ii u_ij,  v_ij = v_j + u_ij^2 / P_ii,  u_j = P Sigma_Fj,
// so that f changes by (P_ii g_j^2 + 2 g_j w_i u_ij - w_i^2 v_j) / (2 P_ii v_j + 2 u_ij^2), which
// is right also where rows leave i no way to leave alone; w and g are linear in theta. A name i
// that rests at b takes rho_i b + b^2 v_i / 2, and g_ij = g_j + b c_ij with c the residual
// covariance.
#pragma once

#include <span>
#include <vector>

#include "sharpen/base/view.hpp"
#include "sharpen/layer/limited.hpp"

namespace sharpen::layer {

struct ExchangeTable {
  struct Leaver {
    Index asset = -1;
    double w0 = 0.0, w1 = 0.0, own = 0.0;  // free: w and P_ii
    double w = 0.0;                        // at the present theta
    // At rest: what f changes by without it. Free: what it pays once past its holding.
    double rests_at = 0.0, by1 = 0.0, by_theta = 0.0;
    bool free = false;
  };
  struct Entrant {
    Index asset = -1;
    int direction = 1;
    double gain0 = 0.0, gain1 = 0.0, variance = 0.0;
    double gain = 0.0;         // at the present theta
    double most = kUnlimited;  // |w| at its bound
  };

  // Of leavers[l] and entrants[e]; -1: nobody. Of the same kind as worth(-1, -1).
  double worth(Index l, Index e) const;

  // What f changes by: the coefficients of 1, theta and theta^2.
  struct Change {
    double by1 = 0.0, by_theta = 0.0, by_theta2 = 0.0;
    bool possible = true;
  };
  Change of_leaving(const Leaver& out) const;
  Change of_exchange(const Leaver& out, const Entrant& in, double u) const;
  double utility_change(const Leaver& out, const Entrant& in, double u) const;

  std::vector<Leaver> leavers;
  std::vector<Entrant> entrants;
  std::vector<double> cross;  // (leavers, entrants) u or c
  double c0 = 0.0, m0 = 0.0, r1 = 0.0, theta = 0.0;
  ObjectiveSettings objective;
  LimitedEnd end = LimitedEnd::ok;
  std::vector<double> right, rows, given_right, given_rows, explained, column;  // work space
};

}  // namespace sharpen::layer
