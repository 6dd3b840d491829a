// What RocksDB's headers take from folly where it has coroutines (USE_COROUTINES), declared as far as the host's C++ can be checked by a
// compiler on machines without folly (scripts/check-releases). Nothing can be linked or run with it.
#pragma once

#include <coroutine>
#include <functional>
#include <utility>

namespace folly {

using Func = std::function<void()>;

class Executor {
 public:
  template <typename Kind = Executor>
  class KeepAlive {};
  virtual ~Executor() = default;
  virtual void add(Func) = 0;
};

namespace coro {

namespace impl {
using std::coroutine_handle;
}

template <typename Result>
struct PromiseResult {
  void return_value(Result);
};
template <>
struct PromiseResult<void> {
  void return_void();
};

template <typename Result>
class [[nodiscard]] Task {
 public:
  struct promise_type : PromiseResult<Result> {
    Task get_return_object();
    std::suspend_always initial_suspend();
    std::suspend_always final_suspend() noexcept;
    void unhandled_exception();
  };
  bool await_ready() noexcept;
  void await_suspend(std::coroutine_handle<>) noexcept;
  Result await_resume();
};

template <typename Awaitable>
Awaitable co_nothrow(Awaitable);
template <typename Awaitable>
Awaitable co_viaIfAsync(Executor::KeepAlive<>, Awaitable);

}  // namespace coro
}  // namespace folly
