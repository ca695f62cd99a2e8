// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

namespace rdmend {

// A C library's pointer, freed by the function that the library names for it: CHandle<ibv_context, ibv_close_device>.
template <auto Free>
struct CDelete {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
template <class T, auto Free>
using CHandle = std::unique_ptr<T, CDelete<Free>>;

}  // namespace rdmend
