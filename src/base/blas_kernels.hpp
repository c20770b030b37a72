// The kernels of OpenBLAS for this processor.
//
// OpenBLAS up to 0.3.24 takes Intel's processors of 2022 and later, which it does not know by name,
// for a Prescott of 2004. With those kernels a backtest of dense covariances takes more than twice
// as long, and the same numbers at another address have other last digits: a batch would not have
// the bits of its instances.
#pragma once

namespace sharpen {

// Lets OpenBLAS choose again if that has happened, unless the user has chosen by
// OPENBLAS_CORETYPE. Nobody else may be calling OpenBLAS meanwhile. Whether it did.
bool mend_blas_kernels();

}  // namespace sharpen
