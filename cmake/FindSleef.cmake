# rankfall_sleef: the SLEEF vector library, whose float32 sine is PyTorch's.
find_path(RANKFALL_SLEEF_INCLUDE sleef.h REQUIRED DOC "folder of sleef.h")
find_library(RANKFALL_SLEEF sleef REQUIRED DOC "SLEEF")
add_library(rankfall_sleef INTERFACE)
target_include_directories(rankfall_sleef SYSTEM INTERFACE ${RANKFALL_SLEEF_INCLUDE})
target_link_libraries(rankfall_sleef INTERFACE ${RANKFALL_SLEEF})
