// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.h"

#include <cblas.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/parallel.h"

namespace reprise::kernels {
namespace {

// Below this a second thread costs more than it brings (measured: break-even near 80×80×80).
constexpr double one_thread_flops = 1e6;

// While it lives, parallel regions that this thread opens have one thread if `alone`.
class Alone {
 public:
  explicit Alone([[maybe_unused]] bool alone) {
#ifdef _OPENMP
    threads_ = alone ? omp_get_max_threads() : 1;
    if (threads_ > 1) omp_set_num_threads(1);
#endif
  }
  ~Alone() {
#ifdef _OPENMP
    if (threads_ > 1) omp_set_num_threads(threads_);
#endif
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  int threads_ = 1;
};

bool is_small(const Gemm& g) {
  return 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) < one_thread_flops;
}

// oneDNN adds up as many products at once as suit the CPU: up to 384, or 256. Sums that are split here have the same
// bits on all of them. Not where few sums have many terms, which threads share out.
std::int64_t sum_parts(const Gemm& g) {
  constexpr std::int64_t at_once = 256, least = 64, most = 4096;
  return g.m < least || g.n < least || g.k > most ? 1 : (g.k + at_once - 1) / at_once;
}

// With an empty inner dimension only beta · c is left, which neither library promises.
template <class T>
bool is_trivial(const Gemm& g, T beta, T* c) {
  if (g.m == 0 || g.n == 0) return true;
  if (g.k > 0) return false;
  for (std::int64_t i = 0; i < g.m; ++i)
    for (std::int64_t j = 0; j < g.n; ++j) c[i * g.ldc + j] = beta == T(0) ? T(0) : beta * c[i * g.ldc + j];
  return true;
}

}  // namespace

Gemm dense_gemm(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a, bool transpose_b) {
  return {m, n, k, transpose_a, transpose_b, transpose_a ? m : k, transpose_b ? k : n, n};
}

void gemm(const Gemm& g, float alpha, const float* a, const float* b, float beta, float* c) {
  if (is_trivial(g, beta, c)) return;
  Alone alone(is_small(g));
  const std::int64_t parts = sum_parts(g);
  for (std::int64_t part = 0; part < parts; ++part) {
    std::int64_t first = g.k * part / parts, count = g.k * (part + 1) / parts - first;
    const float* some_a = a + first * (g.transpose_a ? g.lda : 1);
    const float* some_b = b + first * (g.transpose_b ? 1 : g.ldb);
    dnnl_status_t status = dnnl_sgemm(g.transpose_a ? 'T' : 'N', g.transpose_b ? 'T' : 'N', g.m, g.n, count, alpha,
                                      some_a, g.lda, some_b, g.ldb, part == 0 ? beta : 1, c, g.ldc);
    if (status != dnnl_success) fail("[internal] oneDNN's sgemm fails with status {}", static_cast<int>(status));
  }
}

void gemm(const Gemm& g, double alpha, const double* a, const double* b, double beta, double* c) {
  if (is_trivial(g, beta, c)) return;
  Alone alone(is_small(g));
  auto size = [](std::int64_t n) { return static_cast<blasint>(n); };
  cblas_dgemm(CblasRowMajor, g.transpose_a ? CblasTrans : CblasNoTrans, g.transpose_b ? CblasTrans : CblasNoTrans,
              size(g.m), size(g.n), size(g.k), alpha, a, size(g.lda), b, size(g.ldb), beta, c, size(g.ldc));
}

}  // namespace reprise::kernels
