// What limits allow to earn at most, whatever the risk: for any multipliers lambda of the rows,
//   mu^T w <= lambda^T (limits of the rows) + sum over names held of max over [l_i, u_i] of r_i w,
//   r = mu - A^T lambda,
// and at most k of the terms are not zero.
#pragma once

#include <vector>

#include "sharpen/layer/limits.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::select {

// Of at most k names, by the multipliers of the best portfolio of any number of them; rounded up.
// Infinite where these bound nothing.
double largest_return(const layer::Limits& limits, const risk::Risk& risk, Index sample,
                      ConstVec mu, Index k);

// (n) The most that can be held of each name: its bound, or what a row over names that cannot be
// sold short leaves.
std::vector<double> most_of_each(const layer::Limits& limits, Index n);

}  // namespace sharpen::select
