# rankfall_turbojpeg: the TurboJPEG library.
find_path(RANKFALL_TURBOJPEG_INCLUDE turbojpeg.h REQUIRED DOC "folder of turbojpeg.h")
find_library(RANKFALL_TURBOJPEG turbojpeg REQUIRED DOC "TurboJPEG")
add_library(rankfall_turbojpeg INTERFACE)
target_include_directories(rankfall_turbojpeg SYSTEM INTERFACE ${RANKFALL_TURBOJPEG_INCLUDE})
target_link_libraries(rankfall_turbojpeg INTERFACE ${RANKFALL_TURBOJPEG})
