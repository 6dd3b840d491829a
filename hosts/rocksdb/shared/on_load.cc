// For the library of one release: makes the id "springbloom" known when it is loaded.
#include "abi.h"

namespace {

__attribute__((constructor)) void Register() { springbloom_register(); }

}  // namespace
