# rankfall_openblas: OpenBLAS with its C interface. Debian's package config names no target, hence this one.
find_path(RANKFALL_CBLAS_INCLUDE openblas_config.h REQUIRED PATH_SUFFIXES openblas-pthread openblas
          DOC "folder of OpenBLAS's cblas.h")
find_library(RANKFALL_OPENBLAS openblas REQUIRED PATH_SUFFIXES openblas-pthread DOC "OpenBLAS")
add_library(rankfall_openblas INTERFACE)
target_include_directories(rankfall_openblas SYSTEM INTERFACE ${RANKFALL_CBLAS_INCLUDE})
target_link_libraries(rankfall_openblas INTERFACE ${RANKFALL_OPENBLAS})
