# This host's C++ compiled for a release of RocksDB that comes as a shared library, for CMake projects.
include(${CMAKE_CURRENT_LIST_DIR}/../../core/cmake/cargo.cmake)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
option(ROCKSDB_ASSERTIONS "RocksDB has assertions and type information, as Debian compiles it: both change its classes" OFF)
set(springbloom_host_folder ${CMAKE_CURRENT_LIST_DIR}/../cpp)
set(springbloom_scripts ${CMAKE_CURRENT_LIST_DIR}/../../../scripts)

# Rust's part of it, as a static library.
set(springbloom_core ${springbloom_target_folder}/release/libspringbloom_host_core.a)
springbloom_cargo_build(springbloom_core_build springbloom-host-core staticlib ${springbloom_core})

# springbloom_add_host(TARGET RELEASE [SOURCE...]): a shared library of the host, compiled against the headers of the release, which are
# fetched, and of these sources. What its RocksDB was compiled with, where headers depend on it, is for the caller to add.
function(springbloom_add_host target release)
  execute_process(COMMAND ${springbloom_scripts}/rocksdb-sources ${release}
    OUTPUT_VARIABLE rocksdb OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${springbloom_host_folder}/*.cc)
  list(APPEND sources ${ARGN})
  # One file that includes all of them compiles many times faster: RocksDB's headers take longer than what includes them.
  list(TRANSFORM sources REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE includes)
  list(JOIN includes "" includes)
  set(together ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc)
  file(CONFIGURE OUTPUT ${together} CONTENT "${includes}")
  set_source_files_properties(${together} PROPERTIES OBJECT_DEPENDS "${sources}")

  add_library(${target} SHARED ${together})
  add_dependencies(${target} springbloom_core_build)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_include_directories(${target} PRIVATE ${springbloom_host_folder})
  # As system headers: warnings in them are RocksDB's to mend.
  target_include_directories(${target} SYSTEM PRIVATE ${rocksdb} ${rocksdb}/include)
  # As RocksDB's own builds have them, where headers depend on them. Which compressions RocksDB has makes no difference in what is used here.
  target_compile_definitions(${target} PRIVATE HAVE_UINT128_EXTENSION OS_LINUX ROCKSDB_PLATFORM_POSIX ROCKSDB_LIB_IO_POSIX)
  if(ROCKSDB_ASSERTIONS)
    target_compile_definitions(${target} PRIVATE ROCKSDB_USE_RTTI)
    target_compile_options(${target} PRIVATE -UNDEBUG)
  else()
    target_compile_definitions(${target} PRIVATE NDEBUG)
    target_compile_options(${target} PRIVATE -fno-rtti)
  endif()
  # Option maps name members by offset, as RocksDB's own do.
  target_compile_options(${target} PRIVATE -include cstdint -Wall -Wno-invalid-offsetof)
  # Open tables and our threads run its code until the process ends.
  target_link_options(${target} PRIVATE -Wl,-z,nodelete)
  target_link_libraries(${target} PRIVATE ${springbloom_core} pthread dl m)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${springbloom_core})
endfunction()
