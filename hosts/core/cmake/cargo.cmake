# Libraries that cargo builds, for CMake projects: into CARGO_TARGET_DIR if that is set, and into the project's build folder if not. Another
# folder may be shared: then cargo waits while it builds there for others, and each checkout overwrites the libraries of the last one.
if(DEFINED ENV{CARGO_TARGET_DIR})
  set(springbloom_target_folder $ENV{CARGO_TARGET_DIR})
else()
  set(springbloom_target_folder ${CMAKE_BINARY_DIR}/springbloom-cargo)
endif()

# springbloom_cargo_build(TARGET PACKAGE TYPES FILES [FLAG...]): a target that builds the package as libraries of these types (staticlib,
# cdylib), with flags for rustc. FILES are its outputs. Cargo decides at each build whether they are up to date.
function(springbloom_cargo_build target package types files)
  add_custom_target(${target} ALL
    COMMAND ${CMAKE_COMMAND} -E env CARGO_TARGET_DIR=${springbloom_target_folder}
      cargo rustc --release --locked --package ${package} --crate-type ${types} -- ${ARGN}
    COMMENT "Cargo builds ${package} in ${springbloom_target_folder}, and waits (\"Blocking\") while another build uses that folder"
    WORKING_DIRECTORY ${CMAKE_CURRENT_FUNCTION_LIST_DIR} BYPRODUCTS ${files} USES_TERMINAL VERBATIM)
endfunction()
