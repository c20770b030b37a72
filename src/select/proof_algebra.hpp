// Triangles and symmetric matrices of proofs: the top left of a larger matrix, by its lower half.
#pragma once

#include "select/proof_problem.hpp"

namespace sharpen::select {

inline int size_of(Index n) { return static_cast<int>(n); }

// x := L^-1 x, or L^-T x.
void solve_lower(const ProofMatrix& L, Index n, bool transposed, double* x);
bool factor_lower(ProofMatrix& A, Index n);  // false: not positive definite
// From the factor to the lower triangle of the inverse.
bool invert_lower(ProofMatrix& A, Index n);
// Y = A X, A (n, n) symmetric, X and Y (n, columns).
void multiply_symmetric(const ProofMatrix& A, Index n, const ProofMatrix& X, Index columns,
                        ProofMatrix& Y);

}  // namespace sharpen::select
