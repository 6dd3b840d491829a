// Brings the id "springbloom" into a program that has RocksDB as a shared library, when it is linked, preloaded or opened by dlopen.
//
// Asks RocksDB for its release, and loads the library beside this one that is compiled for exactly that one. That library cannot come
// first: with another release it would lack symbols, and the program would not start.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace {

// The releases that there are libraries for.
constexpr const char* kReleases = SPRINGBLOOM_RELEASES;
// rocksdb::GetRocksVersionAsString(bool).
constexpr const char* kVersionFunction =
#if _GLIBCXX_USE_CXX11_ABI
    "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb";
#else
    "_ZN7rocksdb23GetRocksVersionAsStringEb";
#endif

void Refuse(const std::string& why) {
  std::fprintf(stderr, "springbloom: %s; this Springbloom is for a shared RocksDB of release %s, and is not in use\n",
               why.c_str(), kReleases);
}

__attribute__((constructor)) void Load() {
  const auto version = reinterpret_cast<std::string (*)(bool)>(dlsym(RTLD_DEFAULT, kVersionFunction));
  if (version == nullptr) {
    Refuse("no shared RocksDB is loaded, or its symbols are hidden");
    return;
  }
  const std::string release = version(/*with_patch=*/true);
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&Load), &here) == 0) {
    Refuse("its own file is not known");
    return;
  }
  const std::string file = here.dli_fname;
  const size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash);
  const std::string library = folder + "/libspringbloom_rocksdb-" + release + ".so";
  if (access(library.c_str(), F_OK) != 0) {
    Refuse("the program has RocksDB " + release + ", and there is no " + library);
  } else if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    Refuse(dlerror());
  }
}

}  // namespace
