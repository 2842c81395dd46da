// The source of the targets that own precompiled headers; see rankfall_precompile in RankfallFlags.cmake.
int main() {}
