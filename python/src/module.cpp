#include "module.hpp"

#include <exception>

#include "sharpen/base/error.hpp"
#include "sharpen/learn/train.hpp"
#include "sharpen/study/store.hpp"

namespace sharpen::python {

namespace {

// InputError is a ValueError of this package; a Failure is no fault of the input, nor is a training
// that diverges or a file that cannot be written.
void add_exceptions(nb::module_& module) {
  static nb::handle input_error, failure;
  input_error = nb::exception<InputError>(module, "InputError", PyExc_ValueError).release();
  failure = nb::exception<Failure>(module, "Failure", PyExc_RuntimeError).release();
  // The last translator is asked first: the same types, in the words of Python.
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const InputError& error) {
      PyErr_SetString(input_error.ptr(), in_python_words(error.marked()).c_str());
    } catch (const Failure& error) {
      PyErr_SetString(failure.ptr(), in_python_words(error.marked()).c_str());
    } catch (const learn::Diverged& error) {
      PyErr_SetString(failure.ptr(), in_python_words(error.marked()).c_str());
    } catch (const study::StoreFailure& error) {
      PyErr_SetString(failure.ptr(), in_python_words(error.marked()).c_str());
    }
  });
}

}  // namespace

}  // namespace sharpen::python

NB_MODULE(_core, module) {
  module.doc() = "Sharpen's C++ library; import sharpen instead.";
  // A tensor that is alive when Python ends keeps its pass: that is no leak worth a message.
  nanobind::set_leak_warnings(false);
  sharpen::python::add_exceptions(module);
  module.attr("version") = SHARPEN_VERSION;
  sharpen::python::add_settings(module);
  sharpen::python::add_solve(module);
  sharpen::python::add_layer(module);
  sharpen::python::add_panels(module);
  sharpen::python::add_models(module);
  sharpen::python::add_backtests(module);
  sharpen::python::add_estimator(module);
  sharpen::python::add_study(module);
  sharpen::python::add_cluster(module);
}
